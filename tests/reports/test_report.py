"""What a report of each method says, and that it says it of the right rows."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.datasets import load_iris
from coterie.reports.page import Cards, Facts, Folded, Table, Warnings
from coterie.reports.separation import column_statistics, term_weights
from coterie.reports.subject import sampled_by_cluster


def section(report, title):
    return next(part for part in report.page.sections if part.title == title)


def parts(report, title, kind):
    return [part for part in section(report, title).parts if isinstance(part, kind)]


def test_every_method_has_a_page(each):
    _, X, report = each
    html = report.html
    assert len(html) < 3_000_000
    titles = [part.title for part in report.page.sections]
    assert titles[:4] == ["Result", "Map", "Clusters", "Fit"]
    assert section(report, "Fit").parts
    (cards,) = parts(report, "Clusters", Cards)
    assert len(cards.cards) == report.subject.n_clusters
    assert f"{len(X):,} rows" in report.page.subtitle
    text, pictures = report.markdown
    assert {f"]({name})" in text for name in pictures} == {True}


def test_what_only_a_method_has():
    from tests.reports.conftest import reported

    captions = {
        "gmm": "Shares of the components of the mixture",
        "laplacian-kmodes": "Modes: the row that stands for each cluster",
        "total-variation": "Cuts of the graph",
    }
    for name, caption in captions.items():
        assert caption in [table.caption for table in parts(reported(name), "Fit", Table)]
    html = reported("convex-path").html
    assert 'type="range"' in html
    assert "duality gap of the objective" in html
    assert "eigenvectors of the graph" in reported("total-variation").html


def test_the_rows_of_a_card_are_those_of_the_examples(iris):
    *_, report = iris
    examples = report.subject.examples
    (cards,) = parts(report, "Clusters", Cards)
    for cluster, card in enumerate(cards.cards):
        for kind, title in (("nearest", "nearest"), ("doubtful", "doubtful")):
            wanted = [
                str(row)
                for row, of, k in zip(*(examples[n].to_pylist() for n in ("row", "cluster", "example")))
                if of == cluster and k == kind
            ]
            shown = [
                *card.parts,
                *(own for part in card.parts if isinstance(part, Folded) for own in part.parts),
            ]
            tables = [part for part in shown if isinstance(part, Table) and part.columns[0].name == "row"]
            (table,) = [part for part in tables if title in part.caption]
            assert [line[0] for line in table.rows] == wanted


def test_effects_are_those_of_textbooks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:100, 1] += 2
    labels = np.repeat([0, 1], [100, 300]).astype(np.int32)

    class Whole:
        block, labels_ = X, labels

    Whole.labels = labels
    effects = column_statistics(Whole, np.array([100, 300])).effects_of(0, 3)
    inside, outside = X[:100, 1], X[100:, 1]
    within = np.sqrt((99 * inside.var() + 299 * outside.var()) / 398)
    assert effects[0].column == 1
    assert effects[0].size == pytest.approx((inside.mean() - outside.mean()) / within)
    assert effects[0].low < 2 < effects[0].high
    others = {effect.column: (effect.low, effect.high) for effect in effects[1:]}
    assert all(low < 0 < high for low, high in others.values())


def test_terms_of_a_matrix_of_counts():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, size=(90, 12))
    for group in range(3):
        counts[30 * group : 30 * group + 30, 4 * group : 4 * group + 4] += rng.poisson(3, size=(30, 4))
    labels = np.repeat(np.arange(3, dtype=np.int32), 30)
    weights = term_weights(sp.csr_array(counts), labels, 3)
    assert [sorted(np.argsort(-line)[:4]) for line in weights] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    model = coterie.KMeans(3, random_state=0).fit(sp.csr_array(counts.astype(float)))
    words = [f"word{i}" for i in range(12)]
    report = coterie.report(model, sp.csr_array(counts.astype(float)), terms=words, stability=0)
    (overview,) = parts(report, "Clusters", Table)
    found = {tuple(sorted(line[-1].split(", ")[:4])) for line in overview.rows}
    assert ("word10", "word11", "word8", "word9") in found


def test_texts_are_escaped_and_cut(table):
    model, rows = table
    report = coterie.report(model, rows, stability=0)
    assert report.subject.id_name == "id"
    assert report.subject.text_name == "text"
    html = report.html
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html
    # In the map's data, too: no element can end there.
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL):
        assert "<" not in data
    assert "long " * 200 not in html
    text, _ = report.markdown
    assert not re.search(r"(?<!\\)<script", text)


def test_a_sample_has_some_rows_of_each_cluster():
    labels = np.repeat(np.arange(4, dtype=np.int32), [50_000, 3_000, 40, 2])
    chosen = sampled_by_cluster(labels, 1_000)
    assert len(chosen) <= 1_000
    assert np.array_equal(chosen, np.unique(chosen))
    assert np.bincount(labels[chosen]).min() == 2
    assert np.array_equal(sampled_by_cluster(labels[:500], 1_000), np.arange(500))


def test_warnings_are_words():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), [[60, 0], [61, 0]], [[0, 90]]])
    model = coterie.KMeans(3, random_state=0).fit(X)
    (warned,) = parts(coterie.report(model, X, stability=0), "Result", Warnings)
    assert any("2 clusters hold 0.99% of the rows" in line for line in warned.lines)
    assert any("One cluster holds 99% of the rows" in line for line in warned.lines)
    fewer = {"warnings": ["told"], "clusters": 5}
    (warned,) = parts(coterie.report(model, X, stability=0, summary=fewer), "Result", Warnings)
    assert warned.lines[:2] == ["told", "Of 5 clusters asked for 3 are left."]


def test_stability_knows_what_is_there(monkeypatch):
    # A machine that is busy must not take the fits for slow ones.
    monkeypatch.setattr("coterie.reports.stability._SECONDS", 1e9)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2)) * 0.3 + np.repeat([[0, 0], [9, 0], [0, 9], [9, 9]], 500, axis=0)
    good = coterie.report(coterie.KMeans(4, n_init=5, random_state=0).fit(X), X)
    measured = [dict(card.parts[0].entries)["stability"] for card in parts(good, "Clusters", Cards)[0].cards]
    assert sum("stable" in line for line in measured) >= 3
    noise = rng.uniform(size=(2_000, 2))
    bad = coterie.report(coterie.KMeans(12, random_state=0).fit(noise), noise)
    (warned,) = parts(bad, "Result", Warnings)
    assert any("not found again" in line for line in warned.lines)


def test_known_classes(iris):
    _, _, report = iris
    (facts,) = [part for part in section(report, "Known classes").parts if isinstance(part, Facts)]
    assert dict(facts.entries)["accuracy of the best match"] == "89.3%"
    X, y = load_iris()
    model, _, _ = iris
    with pytest.raises(ValueError, match="known must have one class for each of 150 rows"):
        coterie.report(model, X, known=y[:7])
    names = np.array(["setosa", "versicolor", None], dtype=object)[y]
    assert dict(section(coterie.report(model, X, known=names, stability=0), "Known classes").parts[0].entries)[
        "rows with a class"] == 100  # fmt: skip


def test_wrong_arguments_are_one_line(iris):
    model, X, _ = iris
    for wrong, words in (
        ({"projection": "magic"}, "projection must be one of auto, centers"),
        ({"projection": "graph"}, "has no graph"),
        ({"labels": [1, 2]}, "has labels of 2 rows, and here are 150"),
        ({"labels": np.full(150, 0.5)}, "whole numbers"),
        ({"image_shape": (3, 3)}, "Images of 3x3 have 9 numbers"),
        ({"text": "body"}, "No column 'body'"),
    ):
        with pytest.raises(ValueError, match=words):
            coterie.report(model, X, **wrong)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("columns", [1, 2])
def test_small_ones(k, columns):
    X = np.arange(12.0).reshape(-1, columns)
    report = coterie.report(coterie.KMeans(k, random_state=0).fit(X), X)
    assert np.isfinite(report.projection.points).all()
    assert report.html


def test_equal_rows():
    X = np.ones((20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer different rows than clusters
        model = coterie.KMeans(2, random_state=0).fit(X)
    assert coterie.report(model, X).html


def test_a_notebook_gets_a_frame(iris):
    *_, report = iris
    frame = report._repr_html_()
    assert frame.startswith("<iframe ")
    assert "<script" not in frame


def test_save(iris, tmp_path):
    *_, report = iris
    (page,) = report.save(tmp_path / "iris.html")
    assert page.read_text() == report.html
    files = report.save(tmp_path / "iris.md")
    assert (tmp_path / "iris-map.png") in files
    assert "](<iris-map.png>)" in (tmp_path / "iris.md").read_text()
    with pytest.raises(ValueError, match=r"ends in .html or .md, got 'iris.pdf'"):
        report.save(tmp_path / "iris.pdf")


def test_points_for_other_programs(table):
    model, rows = table
    points = coterie.report(model, rows, stability=0).points()
    assert points.column_names == ["x", "y", "row", "cluster", "label", "id", "text"]
    assert points["cluster"].to_pylist() == model.labels_.tolist()


def test_pictures_of_rows_that_are_images(digits):
    *_, report = digits
    html = report.html
    assert "data:image/webp" in html
    assert len(html) < 4_000_000
