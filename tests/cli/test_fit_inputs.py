"""Files that `coterie fit` takes, and how it prepares their rows."""

import json

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed


def test_table(folder, table, X, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    assert main(["fit", table, "-k", "3", "--columns", "d, a", "--out", "out"]) == 0
    assert everything(folder / "out") == [
        "examples.parquet",
        "labels.parquet",
        "model.coterie",
        "summary.json",
    ]
    labels = pyarrow.read_table("out/labels.parquet")
    assert labels.column_names[-4:] == ["cluster", "distance", "outlier_score", "rank"]
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X[:, [3, 0]]).labels_
    assert np.array_equal(labels["cluster"], expected)
    # The columns are remembered, so prediction takes the same ones.
    assert main(["predict", "out/model.coterie", table]) == 0
    assert np.array_equal(pyarrow.read_table("labels.parquet")["cluster"], expected)
    assert main(["predict", "out/model.coterie", table, "--out", "labels.npy"]) == 0
    assert np.array_equal(np.load("labels.npy"), expected)


@pytest.fixture
def vectors(folder, X):
    """A table as an embedding pipeline writes it."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    embedding = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), 4).cast(
        pyarrow.list_(pyarrow.float64())
    )
    table = pyarrow.table({"id": [f"r{i}" for i in range(300)], "topic": [1] * 300, "embedding": embedding})
    parquet.write_table(table.append_column("other", embedding), "two.parquet")
    parquet.write_table(table, "vectors.parquet")
    return "vectors.parquet"


def test_a_column_of_vectors(folder, vectors, X, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X).labels_
    assert main(["fit", vectors, "-k", "3", "--out", "out"]) == 0
    assert "Used: 1 column (embedding). Left out: " in capsys.readouterr().out
    summary = json.loads((folder / "out/summary.json").read_text())
    assert summary["warnings"] == []
    assert "topic" in summary["used"]
    assert np.array_equal(pyarrow.read_table("out/labels.parquet")["cluster"], expected)
    # A model of vectors also knows the rows of an array.
    np.save("rows.npy", X)
    for file in (vectors, "rows.npy"):
        assert main(["predict", "out/model.coterie", file, "--out", "labels.npy", "-q"]) == 0
        assert np.array_equal(np.load("labels.npy"), expected)
    assert "Clustered" not in capsys.readouterr().err
    assert main(["info", vectors]) == 0
    assert "embedding[0]" in capsys.readouterr().out


def test_several_columns_of_vectors(folder, vectors, X, capsys):
    message = failed(capsys, 1, "fit", "two.parquet", "-k", "3")
    assert "several columns of vectors: embedding, other. Choose one" in message
    assert message.endswith("--columns embedding.")
    assert main(["fit", "two.parquet", "--columns", "embedding", "-k", "3", "-q"]) == 0
    assert capsys.readouterr().err == ""
    # Which one, is remembered.
    assert main(["predict", "coterie-out/model.coterie", "two.parquet", "-q"]) == 0


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--columns", "c:d"], [2, 3]),
        (["--columns", "2:4"], [1, 2]),  # name is column 1
        (["--columns", "[ac],b"], [0, 2, 1]),
        (["--exclude", "name,d"], [0, 1, 2]),
        (["--exclude", "n*, 0"], [1, 2, 3]),
        (["--columns", "a:d", "--exclude", "name"], [0, 1, 2, 3]),
    ],
)
def test_choice_of_columns(options, chosen, folder, table, X):
    assert main(["fit", table, "-k", "3", "-q", *options]) == 0
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X[:, chosen])
    model = coterie.load("coterie-out/model.coterie")
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
    summary = json.loads((folder / "coterie-out/summary.json").read_text())
    assert summary["columns"] == ["abcd"[i] for i in chosen]
    # By name: another order, and more columns, make no difference.
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, ::-1], columns=list("dcba")).assign(extra=1.0)
    frame.to_parquet("other.parquet")
    assert main(["predict", "coterie-out/model.coterie", "other.parquet", "--out", "labels.npy", "-q"]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.labels_)


def test_text_table(folder, X, capsys):
    np.savetxt("rows.csv", X, delimiter=",", header="a,b,c,d", comments="")
    assert main(["info", "rows.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["column_names"] == ["a", "b", "c", "d"]
    for columns in ("b,c", "1,2"):
        assert main(["fit", "rows.csv", "-k", "3", "--columns", columns, "-q"]) == 0
        model = coterie.load("coterie-out/model.coterie")
        expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X[:, 1:3])
        assert np.allclose(model.cluster_centers_, expected.cluster_centers_)


@pytest.mark.parametrize(
    ("sep", "decimal", "options"),
    [
        (";", ",", []),
        ("\t", ",", []),
        (";", ".", ["--sep", ";", "--decimal", "."]),
        ("\t", ".", ["--sep", "tab"]),
        ("\t", ".", ["--sep", "\\t"]),
        (":", ",", ["--sep", ":", "--decimal", ","]),
    ],
)
def test_text_tables_of_other_dialects(sep, decimal, options, folder, X):
    lines = [sep.join("abcd"), *(sep.join(map(repr, row)).replace(".", decimal) for row in X.tolist())]
    (folder / "rows.csv").write_text("\n".join(lines))
    assert main(["fit", "rows.csv", "-k", "3", "-q", *options]) == 0
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X)
    model = coterie.load("coterie-out/model.coterie")
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)


@pytest.mark.parametrize("options", [[], ["--normalize"]])
def test_sparse(folder, X, options):
    from sklearn.datasets import dump_svmlight_file

    sparse = np.where(X > 1, X, 0)
    sparse[0] = 1
    np.save("rows.npy", sparse)
    dump_svmlight_file(sparse, np.zeros(300), "rows.svm")
    labels = []
    for file in ("rows.npy", "rows.svm"):
        assert main(["fit", file, "-k", "3", "--init", "random", "-q", "--force", *options]) == 0
        assert main(["predict", "coterie-out/model.coterie", file, "-q"]) == 0
        labels += [np.load("coterie-out/labels.npy"), np.load("labels.npy")]
    for other in labels[1:]:
        assert np.array_equal(labels[0], other)


def test_memory_and_streaming_are_bit_identical(folder, monkeypatch):
    np.save("rows.npy", np.random.default_rng(0).integers(0, 255, size=(5000, 9), dtype=np.uint8))
    found = []
    for kept in (2**30, 0):
        monkeypatch.setattr("coterie.blocks.kernel_rows.KEPT_BYTES", kept)
        assert main(["fit", "rows.npy", "-k", "20", "--max-iter", "5", "--normalize", "-q"]) == 0
        found.append(coterie.load("coterie-out/model.coterie").cluster_centers_)
    assert np.array_equal(*found)


def test_normalize_is_remembered(folder, X):
    X = X * np.random.default_rng(1).uniform(1, 50, size=(300, 1))
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "3", "--normalize", "-q"]) == 0
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(unit)
    model = coterie.load("coterie-out/model.coterie")
    assert np.allclose(model.cluster_centers_, expected.cluster_centers_)
    assert json.loads((folder / "coterie-out/summary.json").read_text())["normalize"] is True
    assert main(["predict", "coterie-out/model.coterie", "rows.npy", "-q"]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.labels_)
    assert np.array_equal(model.predict(X), expected.labels_)


def test_a_large_file_is_parsed_once(folder, table, X, kept_bytes, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    main(["fit", table, "--exclude", "name", "-k", "3", "-q", "--out", "kept"])
    read, parsed = parquet.ParquetFile.iter_batches, []

    def counted(self, *args, columns, **options):
        for batch in read(self, *args, columns=columns, **options):
            parsed.append(batch.num_rows if "a" in columns else 0)
            yield batch

    kept_bytes(0)
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    assert main(["fit", table, "--exclude", "name", "-k", "3", "-q", "--out", "copied"]) == 0
    # The fit, hashes and results take no more than the look at ids and scales.
    assert sum(parsed) <= 3 * len(X)  # the first rows tell which columns are features
    summaries = [json.loads((folder / out / "summary.json").read_text()) for out in ("kept", "copied")]
    assert summaries[0]["hashes"] == summaries[1]["hashes"]
    assert (folder / "kept/labels.parquet").read_bytes() == (folder / "copied/labels.parquet").read_bytes()
