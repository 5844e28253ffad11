"""`coterie fit`: what it writes, and that it is what Python gives."""

import json
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed

pandas = pytest.importorskip("pandas")

ADDED = ["cluster", "name", "distance", "outlier_score"]


def summary(folder="coterie-out"):
    return json.loads(Path(folder, "summary.json").read_text())


def test_array(rows, X, folder, capsys):
    assert main(["fit", rows, "-k", "3"]) == 0
    assert everything(folder / "coterie-out") == [
        "clusters.csv",
        "labels.npy",
        "model.coterie",
        "summary.json",
    ]
    expected = coterie.KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    facts = summary()
    assert facts["objective"] == expected.inertia_
    assert facts["method"] == "k-means"
    assert facts["input"]["rows"] == 300
    assert not facts["interrupted"]
    out = capsys.readouterr().out
    for word in ("rows.npy", "300 rows", "3 clusters", "k-means", "column 1", "coterie report coterie-out"):
        assert word in out


FORMATS = {
    "csv": ("read_csv", "to_csv", {"index": False}, {}),
    "tsv": ("read_csv", "to_csv", {"index": False, "sep": "\t"}, {"sep": "\t"}),
    "parquet": ("read_parquet", "to_parquet", {}, {}),
    "feather": ("read_feather", "to_feather", {}, {}),
    "jsonl": ("read_json", "to_json", {"orient": "records", "lines": True}, {"lines": True}),
    "xlsx": ("read_excel", "to_excel", {"index": False}, {}),
}


@pytest.mark.parametrize("ending", FORMATS)
def test_table_comes_back_in_its_format(folder, frame, ending):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    file, (read, write, how, same) = f"customers.{ending}", FORMATS[ending]
    getattr(frame, write)(file, **how)
    assert main(["fit", file, "-k", "3", "--missing", "drop", "--scale", "standard", "-q", "-o", "out"]) == 0
    found = getattr(pandas, read)(f"out/labels.{ending}", **same)
    assert found.columns.tolist() == [*frame.columns, *ADDED]
    pandas.testing.assert_frame_equal(found[list(frame.columns)], frame, check_dtype=False)
    assert found[ADDED].isna().all(axis=1).tolist() == [row == 3 for row in range(300)]
    labels = coterie.load("out/model.coterie").labels_
    assert found["cluster"].dropna().astype(int).tolist() == labels.tolist()


def test_same_table_in_python(table, frame):
    assert main(["fit", table, "-k", "3", "--missing", "drop", "-q"]) == 0
    model = coterie.load("coterie-out/model.coterie")
    names = pandas.read_csv("coterie-out/clusters.csv")["name"].tolist()
    ours = coterie.results_table(model, frame, names=names)
    found = pandas.read_csv("coterie-out/labels.csv")
    ours = ours.astype({"cluster": float}).fillna(np.nan)
    pandas.testing.assert_frame_equal(found, ours, check_dtype=False, rtol=1e-5)


def test_table_of_clusters_has_original_units(table, frame):
    assert main(["fit", table, "-k", "3", "--missing", "drop", "--scale", "standard", "-q"]) == 0
    clusters = pandas.read_csv("coterie-out/clusters.csv")
    own = frame.drop(3).assign(cluster=coterie.load("coterie-out/model.coterie").labels_)
    grouped = own.groupby("cluster")
    assert clusters["size"].tolist() == grouped.size().tolist()
    for name in ("age", "income", "visits"):
        np.testing.assert_allclose(clusters[name], grouped[name].mean(), rtol=1e-4)
    shares = own.assign(rome=own.city == "Rome").groupby("cluster")["rome"].mean()
    np.testing.assert_allclose(clusters["city=Rome"], shares, rtol=1e-4)


def test_terminal_shows_original_units(table, capsys):
    assert main(["fit", table, "-k", "3", "--missing", "drop", "--scale", "standard"]) == 0
    out = capsys.readouterr().out
    assert "high age" in out
    assert "age 140, all 72.8" in out
    assert "1 row dropped" in out


def test_columns_out(table):
    for columns, expected in (("none", []), ("id", ["customer_id"])):
        assert main(["fit", table, "-k", "3", "--missing", "drop", "-q", "--id", "customer_id",
                     "--columns-out", columns]) == 0  # fmt: skip
        assert pandas.read_csv("coterie-out/labels.csv").columns.tolist() == [*expected, *ADDED]


def test_vectors_do_not_come_back(folder, X):
    texts = [f"the {word} story number {i}" for i, word in enumerate(["sea", "wood", "city"] * 100)]
    pandas.DataFrame({"text": texts, "vector": list(X)}).to_parquet("texts.parquet")
    assert main(["fit", "texts.parquet", "-k", "3", "-q"]) == 0
    assert pandas.read_parquet("coterie-out/labels.parquet").columns.tolist() == ["text", *ADDED]
    clusters = pandas.read_csv("coterie-out/clusters.csv")
    assert clusters["example"].isin(texts).all()
    assert not [name for name in clusters.columns if "vector" in name]


def test_input_column_of_the_same_name_is_kept(folder, frame):
    frame.rename(columns={"city": "name", "visits": "cluster"}).to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "-k", "3", "--missing", "drop", "-q", "--columns", "age"]) == 0
    found = pandas.read_csv("coterie-out/labels.csv")
    assert found.columns.tolist()[3:7] == ["cluster", "name", "cluster_cluster", "cluster_name"]


def test_index_without_a_name_is_called_index_in_csv(folder, frame):
    shuffled = frame.sample(frac=1, random_state=0)
    shuffled.to_parquet("t.parquet")
    assert main(["fit", "t.parquet", "-k", "3", "--missing", "drop", "-q"]) == 0
    assert main(["predict", "coterie-out", "t.parquet", "-o", "labels.csv", "-q"]) == 0
    assert pandas.read_csv("labels.csv")["index"].tolist() == shuffled.index.tolist()


def test_labels_are_written_like_the_input(folder, frame):
    frame[["city", "age", "visits"]].to_csv("t.csv", index=False, sep=";", decimal=",")
    assert main(["fit", "t.csv", "-k", "3", "--missing", "drop", "-q"]) == 0
    found = pandas.read_csv("coterie-out/labels.csv", sep=";", decimal=",")
    assert found.columns.tolist()[:4] == ["city", "age", "visits", "cluster"]
    assert found["distance"].dtype == float
    np.testing.assert_allclose(found["age"], frame["age"])
    clusters = pandas.read_csv("coterie-out/clusters.csv", sep=";", decimal=",")
    np.testing.assert_allclose(clusters["age"], found.groupby("cluster")["age"].mean(), rtol=1e-4)
    assert main(["predict", "coterie-out", "t.csv", "-q"]) == 0
    assert Path("labels.csv").read_text() == Path("coterie-out/labels.csv").read_text()


def test_csv_is_quoted_where_needed_and_has_six_digits_of_results(folder, frame):
    frame.assign(city='a "b", c', note="plain", age=1 / 3 + frame["age"]).to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "-k", "3", "--missing", "drop", "-q"]) == 0
    given, (head, line, *_) = (
        Path("t.csv").read_text().splitlines()[1], Path("coterie-out/labels.csv").read_text().splitlines()
    )  # fmt: skip
    assert head.count('"') == 0
    assert line.startswith(f"{given},")
    measures = line.split(",")[-2:]
    assert all(float(text) == float(f"{float(text):.6g}") for text in measures)


def test_formulas_are_escaped_on_request(folder, frame):
    frame.assign(city="=cmd|'/c calc'!A0").to_csv("t.csv", index=False)
    for option, sign in (([], "="), (["--csv-escape"], "'=")):
        assert main(["fit", "t.csv", "-k", "3", "--missing", "drop", "-q", *option]) == 0
        found = pandas.read_csv("coterie-out/labels.csv")
        assert found["city"].str.startswith(sign).all()
        np.testing.assert_allclose(found["visits"], frame["visits"])  # a negative number is no formula


def test_outliers(table):
    assert main(["fit", table, "-k", "3", "--missing", "drop", "--outliers", "2%", "-q"]) == 0
    found = pandas.read_csv("coterie-out/labels.csv")
    marked = found["cluster"] == -1
    assert marked.sum() == 5
    assert found["outlier_score"][marked].min() > found["outlier_score"][~marked].max()
    assert found["name"][marked].isna().all()
    assert summary()["outliers"]["marked"] == 5


def test_parameters_and_method(rows, X):
    line = "-k 3 --method gmm -p covariance_type=spherical -p n_init=2 --seed 4 -q"
    assert main(["fit", rows, *line.split()]) == 0
    model = coterie.load("coterie-out/model.coterie")
    expected = coterie.TruncatedGaussianMixture(3, covariance_type="spherical", n_init=2, random_state=4).fit(
        X
    )
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_parameters_that_are_files(rows, X):
    np.save("centers.npy", X[[0, 100, 200]])
    assert main(["fit", rows, "-k", "3", "-p", "init=centers.npy", "-q", "-o", "first"]) == 0
    assert main(["fit", rows, "-k", "3", "-p", "init=first", "-q", "-o", "second"]) == 0
    np.testing.assert_array_equal(np.load("first/labels.npy"), np.load("second/labels.npy"))
    assert summary("first")["parameters"]["init"] == "centers.npy"


def test_known_labels(folder, frame, X):
    kind = np.array([None] * 300, dtype=object)
    kind[[0, 1, 100, 101, 200, 201]] = ["a", "a", "b", "b", "c", "c"]
    frame.fillna(40).assign(kind=kind).to_csv("t.csv", index=False)
    line = "fit t.csv -k 3 --method total-variation --labels kind --scale standard -q"
    assert main(line.split()) == 0
    np.testing.assert_array_equal(
        pandas.read_csv("coterie-out/labels.csv")["cluster"], np.repeat([0, 1, 2], 100)
    )
    assert summary()["known_classes"] == ["a", "b", "c"]
    assert main(["verify", "coterie-out", "-q"]) == 0


def test_graph_and_affinities(rows, X):
    import scipy.sparse as sp
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, 10)
    graph = sp.csr_array(graph.maximum(graph.T))
    sp.save_npz("graph.npz", graph)
    line = "fit graph.npz -k 3 --method multilevel -p affinity=precomputed -q -o a"
    assert main(line.split()) == 0
    expected = coterie.MultilevelGraphClustering(3, affinity="precomputed").fit(graph)
    np.testing.assert_array_equal(np.load("a/labels.npy"), expected.labels_)
    line = f"fit {rows} --graph graph.npz --method convex-clustering -p gamma=0.1 -q -o b"
    assert main(line.split()) == 0
    expected = coterie.ConvexClustering(gamma=0.1, weights="precomputed").fit(X, graph=graph)
    np.testing.assert_array_equal(np.load("b/labels.npy"), expected.labels_)


def test_rows_in_no_cluster(rows, X, capsys):
    far = np.random.default_rng(0).uniform(-50, 50, (20, 4))
    np.save(rows, np.concatenate([X, far]))
    assert main(["fit", rows, "--method", "density"]) == 0
    labels = np.load("coterie-out/labels.npy")
    assert np.count_nonzero(labels < 0) > 10
    assert f"{np.count_nonzero(labels < 0)} rows in no cluster" in capsys.readouterr().out


def test_array_with_dropped_rows(folder, X):
    X[[5, 7], 1] = np.nan
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "3", "--missing", "drop", "-q"]) == 0
    labels = np.load("coterie-out/labels.npy")
    assert np.flatnonzero(labels < 0).tolist() == [5, 7]
    assert len(labels) == 300


def test_output_folder_of_other_rows_is_kept(rows, table, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    Path("coterie-out/mine.txt").write_text("of the user")
    before = Path("coterie-out/summary.json").read_text()
    assert "--force" in failed(capsys, 2, "fit", table, "-k", "3")
    assert Path("coterie-out/summary.json").read_text() == before
    assert main(["fit", table, "-k", "3", "--missing", "drop", "--force", "-q"]) == 0
    assert sorted(path.name for path in Path("coterie-out").iterdir()) == [
        "clusters.csv", "labels.csv", "mine.txt", "model.coterie", "summary.json",
    ]  # fmt: skip


def test_json_is_the_summary(rows, capsys):
    assert main(["fit", rows, "-k", "3", "--json", "-q"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {name: value for name, value in summary().items() if name != "format"}


def test_names_are_printed_without_control_characters(folder, frame, capsys):
    frame.rename(columns={"age": "a\x1b[31mge"}).fillna(40).to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "-k", "3"]) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert r"a\x1b[31mge" in captured.out


def test_progress_in_a_pipe(rows, capsys):
    assert main(["fit", rows, "-k", "3"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["starting", "reading rows.npy", "fitting k-means"]
    main(["fit", rows, "-k", "3", "-p", "n_int=3"])
    assert "reading" not in capsys.readouterr().err
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert capsys.readouterr().err == ""
