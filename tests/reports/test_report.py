"""Content of the report of each method."""

import base64
import re

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.datasets import load_iris
from coterie.reports.describe import column_effects, original_units, term_weights
from coterie.reports.page import Explorer, Facts, Table, Warnings
from coterie.reports.quality import measure_stability
from coterie.reports.subject import read_subject
from coterie.rows.derived import normalized
from tests.reports.conftest import fitted, reported


def section(report, title):
    return next(part for part in report.page.sections if part.title == title)


def parts(report, title, kind):
    return [part for part in section(report, title).parts if isinstance(part, kind)]


def data_of(report):
    (explorer,) = parts(report, "Clusters", Explorer)
    return explorer.data


def numbers(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype)


def column(report, name):
    (found,) = [column for column in data_of(report)["columns"] if column["name"] == name]
    return found


def test_every_method_has_a_page(each):
    _, X, report = each
    assert len(report.html) < 1_000_000
    titles = [part.title for part in report.page.sections]
    assert titles == ["Clusters", "Descriptions", "Quality", "How it was made"]
    data = data_of(report)
    assert sum(cluster["size"] for cluster in data["clusters"]) == np.count_nonzero(
        report.subject.labels >= 0
    )
    labels = [numbers(layer["labels"], "<i4") for layer in data["layers"]]
    np.testing.assert_array_equal(labels[data["start"]], report.subject.labels)
    assert f"{len(X):,} rows" in report.page.subtitle


def test_the_layers_of_a_path_and_of_density_clustering():
    model, _ = fitted("convex-path")
    layers = data_of(reported("convex-path"))["layers"]
    found = [numbers(layer["labels"], "<i4") for layer in layers]
    np.testing.assert_array_equal(found, model.labels_path_)
    random = np.random.default_rng(1)
    X = random.normal(size=(600, 2)) + random.integers(0, 8, (600, 2)) // 3 * 3
    model = coterie.DensityClustering().fit(X)
    assert len(model.layers_) > 1
    data = data_of(coterie.report(model, X, stability=False))
    found = [numbers(layer["labels"], "<i4") for layer in data["layers"]]
    np.testing.assert_array_equal(found[-len(model.layers_) :], model.layers_)
    np.testing.assert_array_equal(found[data["start"]], model.labels_)
    for layer, labels in zip(data["layers"][-len(model.layers_) :], model.layers_):
        sizes = np.bincount(labels[labels >= 0])
        assert (
            layer["clusters"] is None or [cluster["size"] for cluster in layer["clusters"]] == sizes.tolist()
        )


def test_representative_and_borderline_rows_are_those_of_the_examples(iris):
    model, _, report = iris
    placement = report.subject.placement
    for cluster, found in enumerate(data_of(report)["clusters"]):
        for places, shown in (
            (placement.ranks, found["exemplars"]),
            (placement.borderline, found["borderline"]),
        ):
            own = np.flatnonzero(model.labels_ == cluster)
            assert shown == own[np.argsort(places[own])][:6].tolist()


def test_examples_are_in_the_sample(monkeypatch):
    monkeypatch.setattr("coterie.reports.subject.MOST_DRAWN", 300)
    random = np.random.default_rng(0)
    X = random.normal(size=(5_000, 2)) + np.repeat(
        [[0, 0], [9, 0], [0, 9], [50, 50]], [2_000, 1_500, 1_480, 20], axis=0
    )
    model = coterie.KMeans(4, n_init=5, random_state=0).fit(X)
    report = coterie.report(model, X, stability=False)
    sample = report.subject.sample
    assert len(sample.rows) <= 300
    assert np.bincount(sample.labels).min() == 20
    for cluster, found in enumerate(report.clusters.exemplars):
        own = np.flatnonzero(model.labels_ == cluster)
        nearest = own[np.argsort(report.subject.placement.ranks[own])][:6]
        np.testing.assert_array_equal(sample.rows[found], nearest)


def test_effects_are_those_of_textbooks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:100, 1] += 2
    labels = np.repeat([0, 1], [100, 300]).astype(np.int32)
    effects = column_effects(X, labels, np.array([100, 300]))
    inside, outside = X[:100], X[100:]
    within = np.sqrt((100 * inside.var(axis=0) + 300 * outside.var(axis=0)) / 400)
    np.testing.assert_allclose(effects[0], (inside.mean(axis=0) - outside.mean(axis=0)) / within)
    np.testing.assert_allclose(effects[1], -effects[0])
    np.testing.assert_allclose(column_effects(sp.csr_array(X), labels, np.array([100, 300])), effects)
    X[:, 0], X[:, 2] = labels, 5
    effects = column_effects(X, labels, np.array([100, 300]))
    assert effects[0, 0] == -np.inf
    assert effects[0, 2] == 0


def test_effects_count_rows_of_the_sample_as_those_of_the_data():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 2)), np.repeat(np.arange(3, dtype=np.int32), 20)
    repeated = np.repeat(np.arange(60), np.repeat([1, 4, 2], 20))
    wanted = column_effects(X[repeated], labels[repeated], np.bincount(labels[repeated]))
    np.testing.assert_allclose(column_effects(X, labels, np.array([20, 80, 40])), wanted)


def test_silhouettes_are_those_of_scikit_learn(iris):
    from sklearn.metrics import silhouette_samples

    model, X, report = iris
    values = silhouette_samples(X, model.labels_)
    wanted = [values[model.labels_ == cluster].mean() for cluster in range(3)]
    np.testing.assert_allclose(report.quality.measures["silhouette"], wanted)


def test_names_of_texts_and_of_counts(table):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, size=(90, 12))
    for group in range(3):
        counts[30 * group : 30 * group + 30, 4 * group : 4 * group + 4] += rng.poisson(3, size=(30, 4))
    labels = np.repeat(np.arange(3, dtype=np.int32), 30)
    weights = term_weights(sp.csr_array(counts), labels, 3)
    assert [sorted(np.argsort(-line)[:4]) for line in weights] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    model = coterie.KMeans(3, random_state=0).fit(sp.csr_array(counts.astype(float)))
    words = [f"word{i}" for i in range(12)]
    report = coterie.report(model, sp.csr_array(counts.astype(float)), terms=words, stability=False)
    found = {tuple(sorted(terms[:4])) for terms in report.clusters.terms}
    assert ("word10", "word11", "word8", "word9") in found
    assert report.names[0] == ", ".join(report.clusters.terms[0][:3])


def test_names_of_columns():
    import pyarrow

    random = np.random.default_rng(0)
    far = np.repeat([[9, 0, 1], [-9, 0, 0], [0, 30, 0]], 50, axis=0)
    X = random.normal(size=(150, 3)) * [1, 1, 0] + far
    made = pyarrow.table({name: X[:, j] for j, name in enumerate(["income", "age", "member"])})
    model = coterie.KMeans(3, init=X[[0, 60, 110]]).fit(made)
    names = coterie.report(model, made, stability=False).names
    assert names == {0: "member, high income", 1: "low income, low age", 2: "high age, not member"}
    assert coterie.report(model.fit(X), X, stability=False).names[0] == "Cluster 0"


def test_names_that_are_given(iris, tmp_path):
    model, X, _ = iris
    (tmp_path / "names.csv").write_text('cluster,name\n2,"a, b"\n0,first\n')
    report = coterie.report(model, X, names=tmp_path / "names.csv", stability=False)
    assert report.names == {0: "first", 1: "Cluster 1", 2: "a, b"}
    assert ">first<" in report.html
    with pytest.raises(ValueError, match="names has cluster 3, and there are 3"):
        coterie.report(model, X, names={3: "x"}, stability=False)
    report = coterie.report(model, X, names=["first", None, float("nan")], stability=False)
    assert report.names == {0: "first", 1: "Cluster 1", 2: "Cluster 2"}
    with pytest.raises(ValueError, match="names must have a name for each of 3 clusters, got 2"):
        coterie.report(model, X, names=["first", "second"], stability=False)


def test_columns_and_categories_of_the_map():
    import pyarrow

    random = np.random.default_rng(0)
    X = random.normal(size=(100, 2))
    made = pyarrow.table({
        "id": [f"r{i}" for i in range(100)], "kind": ["x", "y", None, "z"] * 25, "weight": np.arange(100.0),
        "a": X[:, 0], "b": X[:, 1],
    })  # fmt: skip
    rows = coterie.as_rows(made, columns=["a", "b"])
    report = coterie.report(coterie.KMeans(2, random_state=0).fit(rows), rows, stability=False)
    kind = column(report, "kind")
    assert [kind["categories"][int(code)] if code >= 0 else None for code in numbers(kind["values"], "<f4")[:4]] == [
        "x", "y", None, "z",
    ]  # fmt: skip
    np.testing.assert_array_equal(numbers(column(report, "weight")["values"], "<f4"), np.arange(100))
    np.testing.assert_array_equal(numbers(column(report, "b")["values"], "<f4"), X[:, 1].astype("f4"))
    scores = numbers(column(report, "outlier score")["values"], "<f4")
    np.testing.assert_array_equal(scores, report.subject.model.outlier_scores_)


def test_texts_are_escaped_and_cut(table):
    model, rows = table
    report = coterie.report(model, rows, stability=False)
    assert report.subject.id_name == "id"
    assert report.subject.text_name == "text"
    html = report.html
    assert "<script>alert" not in html
    # No element can end in the data of the map.
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL):
        assert "<" not in data
    assert "long " * 200 not in html


def test_stability():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) * 0.3 + np.repeat([[0, 0], [9, 0], [0, 9], [9, 9]], 150, axis=0)
    measured, _ = measure_stability(read_subject(coterie.KMeans(4, n_init=5, random_state=0).fit(X), X))
    assert np.count_nonzero(measured > 0.75) >= 3
    sizes = coterie.SizeConstrainedKMeans(4, size_min=140, random_state=0).fit(
        X
    )  # half of the rows are too few
    assert measure_stability(read_subject(sizes, X)) == (
        None,
        "Stability is not measured: the parameters of this fit are for more than 300 rows.",
    )
    noise = rng.uniform(size=(600, 2))
    bad = coterie.report(coterie.KMeans(12, random_state=0).fit(noise), noise)
    (warned,) = parts(bad, "Quality", Warnings)
    assert any("not reproduced" in line for line in warned.lines)


def test_known_classes(iris):
    model, X, report = iris
    (facts,) = parts(report, "Quality", Facts)
    accuracy = coterie.metrics.clustering_accuracy(load_iris()[1], model.labels_)
    assert dict(facts.entries)["accuracy of the best match"] == f"{accuracy:.1%}"
    (table,) = parts(report, "Descriptions", Table)
    assert "0 100%" in [line[1] for line in table.rows]
    _, y = load_iris()
    with pytest.raises(ValueError, match="known must have one class for each of 150 rows"):
        coterie.report(model, X, known=y[:7])
    names = np.array(["setosa", "versicolor", None], dtype=object)[y]
    (facts,) = parts(coterie.report(model, X, known=names, stability=False), "Quality", Facts)
    assert dict(facts.entries)["rows with a known class"] == 100


def test_wrong_arguments_are_one_line(iris):
    model, X, _ = iris
    for wrong, words in (
        ({"projection": "magic"}, "projection must be one of auto, tsne, pca"),
        ({"labels": [1, 2]}, "of 2 rows, and here are 150"),
        ({"labels": np.full(150, 0.5)}, "whole numbers"),
        ({"text": "body"}, "There is no column 'body'"),
    ):
        with pytest.raises(ValueError, match=words):
            coterie.report(model, X, **wrong)


@pytest.mark.filterwarnings("ignore:.*distinct")  # fewer different rows than clusters
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("X", [np.arange(12.0)[:, None], np.arange(12.0).reshape(-1, 2), np.ones((20, 3))])
def test_reports_of_few_rows(k, X):
    report = coterie.report(coterie.KMeans(k, random_state=0).fit(X), X)
    assert np.isfinite(report.layout.points).all()
    assert report.html


def test_a_notebook_gets_a_frame_and_a_file_the_page(iris, tmp_path):
    *_, report = iris
    assert report._repr_html_().startswith("<iframe ")
    assert "<script" not in report._repr_html_()
    report.save(tmp_path / "iris.html")
    assert (tmp_path / "iris.html").read_text() == report.html
    with pytest.raises(ValueError, match=r"'iris.pdf'"):
        report.save(tmp_path / "iris.pdf")


@pytest.fixture(scope="module")
def customers():
    """Customers of three kinds with a note each, scaled and encoded, and the table itself."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    kind = random.integers(0, 3, 300)
    frame = pandas.DataFrame({
        "id": [f"c{i}" for i in range(300)], "age": random.normal(40, 5, 300) + 25 * (kind == 1),
        "income": random.normal(30_000, 5_000, 300) + 40_000 * (kind == 2),
        "place": np.take(["Rome", "Oslo", "Oslo"], kind),
        "visits": random.poisson(3 + 5 * kind),
        "note": [f"fast delivery, great, number {i}" for i in range(300)],
    })  # fmt: skip
    rows = coterie.prepare_rows(
        frame, columns=["age", "income", "place"], scale="standard", categories=["place"]
    )
    return coterie.KMeans(3, n_init=5, random_state=0).fit(rows), rows, frame


def test_features_and_table_are_in_original_units(customers):
    model, rows, frame = customers
    report = coterie.report(model, rows, stability=False)
    made = report.table().to_pandas().set_index("cluster")
    means = frame.groupby(model.labels_)[["age", "income", "visits"]].mean()
    np.testing.assert_allclose(made[means.columns], means)
    shares = (frame["place"] == "Rome").groupby(model.labels_).mean()
    np.testing.assert_allclose(made["place=Rome"], shares)
    assert made["size"].tolist() == np.bincount(model.labels_).tolist()
    oldest = int(means["age"].argmax())
    shown = report.clusters.features(oldest)
    assert f"age {means['age'].max():.3g}, all {frame['age'].mean():.3g}" in shown
    (table,) = parts(report, "Descriptions", Table)
    assert [column.name for column in table.columns][:3] == ["cluster", "age", "income"]
    assert table.rows[-1][1].value == f"{frame['age'].mean():.3g}"


def test_a_table_with_texts_is_named_by_its_numbers(customers):
    model, rows, _ = customers
    report = coterie.report(model, rows, stability=False)
    assert report.subject.text_name == "note"
    assert any("high income" in name for name in report.names.values())
    assert "delivery" not in " ".join(report.names.values())
    assert report.table()["example"][0].as_py().startswith("fast delivery")


@pytest.mark.parametrize(
    ("column", "text", "id"),
    [("K{:04}", None, "c"), ("{:02}.01.2024", None, None), ("{:04} is a text of some words", "c", None)],
)
def test_ids_and_texts_are_found_by_their_cells(column, text, id):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pandas.DataFrame({"x": X[:, 0], "y": X[:, 1], "c": [column.format(i) for i in range(60)]})
    rows = coterie.as_rows(frame, columns=["x", "y"])
    subject = read_subject(coterie.KMeans(2, random_state=0).fit(rows), rows)
    assert (subject.text_name, subject.id_name) == (text, id)


def test_scaling_is_undone(customers):
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler

    *_, frame = customers
    numbers = frame[["age", "income"]]
    for options in (
        {"scale": "robust"},
        {"missing": "mean", "scale": "standard"},
        {"transformer": MinMaxScaler()},
        {},
    ):
        rows = coterie.prepare_rows(frame, columns=["age", "income"], **options)
        np.testing.assert_allclose(original_units(rows.read(), rows.preparation), numbers)
    for other in (normalized(rows), coterie.prepare_rows(frame, PCA(2), columns=["age", "income"])):
        assert original_units(other.read(), other.preparation) is None


def test_components_of_vectors_are_no_features():
    import pyarrow

    random = np.random.default_rng(0)
    X = random.normal(size=(90, 30)) + 9 * np.eye(3, 30)[np.arange(90) % 3]
    words = ["tax law", "goal match", "guitar song"]
    texts = [f"{words[i % 3]} and {words[i % 3].split()[0]} at number {i}" for i in range(90)]
    table = pyarrow.table({"text": texts, "embedding": list(X)})
    report = coterie.report(coterie.KMeans(3, n_init=3, random_state=0).fit(table), table, stability=False)
    assert sorted(name.split(", ")[0] for name in report.names.values()) == ["goal", "guitar", "tax"]
    assert all(report.clusters.features(cluster) == [] for cluster in range(3))
    wide = pyarrow.table({f"e{i}": X[:, i] for i in range(30)})
    model = coterie.KMeans(3, random_state=0).fit(wide)
    assert coterie.report(model, wide, stability=False).names[0] == "Cluster 0"
