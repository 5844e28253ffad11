"""What `fit` and `predict` write of the rows of tables."""

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed

pandas = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

RESULTS = ["cluster", "distance", "outlier_score", "rank"]


@pytest.fixture
def csv(folder, X):
    pandas.DataFrame(X, columns=list("abcd")).to_csv("rows.csv", index=False)
    return "rows.csv"


def test_fit_and_predict(folder, csv):
    assert main(["fit", csv, "-k", "3", "-q"]) == 0
    labels, examples = (parquet.read_table(f"coterie-out/{name}.parquet") for name in ("labels", "examples"))
    assert labels.column_names == RESULTS
    assert examples.column_names == ["example", "place", "row", *labels.column_names]
    assert examples.num_rows == 60
    assert main(["predict", "coterie-out/model.coterie", csv, "-q"]) == 0
    assert main(["predict", "coterie-out/model.coterie", csv, "--out", "new/some.parquet", "-q"]) == 0
    assert everything(folder / "new") == ["some-examples.parquet", "some.parquet"]
    for name in ("labels.parquet", "new/some.parquet"):
        assert parquet.read_table(name) == labels
    for name in ("examples.parquet", "new/some-examples.parquet"):
        assert parquet.read_table(name) == examples


def test_arrays_have_labels_alone(folder, rows):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert everything(folder / "coterie-out") == ["labels.npy", "model.coterie", "summary.json"]
    assert main(["predict", "coterie-out/model.coterie", rows, "--out", "l.parquet", "-q"]) == 0
    assert np.array_equal(parquet.read_table("l.parquet")["cluster"], np.load("coterie-out/labels.npy"))


@pytest.mark.parametrize(("method", "column"), [("gmm", "posterior"), ("laplacian-kmodes", "membership")])
def test_other_methods(folder, csv, method, column):
    assert main(["fit", csv, "-k", "3", "--method", method, "-q"]) == 0
    names = parquet.read_table("coterie-out/labels.parquet").column_names
    assert names == ["cluster", "distance", column, "outlier_score", "rank"]


def test_normalized_rows(folder, csv):
    assert main(["fit", csv, "-k", "3", "--normalize", "-q"]) == 0
    assert main(["predict", "coterie-out/model.coterie", csv, "-q"]) == 0
    table = parquet.read_table("labels.parquet")
    assert table == parquet.read_table("coterie-out/labels.parquet")
    assert max(table["distance"].to_pylist()) <= 2


def test_a_failure_leaves_nothing(folder, csv, monkeypatch, capsys):
    def fail(self, batch):
        raise OSError("the disk is full")

    monkeypatch.setattr("coterie.results.Examples.look_at", fail)
    assert "No space left" in failed(capsys, 1, "fit", csv, "-k", "3", "-q")
    assert not (folder / "coterie-out").exists()


def test_ids_and_kept_columns(folder, X, capsys):
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(number=np.arange(300), name="somebody")
    frame.to_csv("rows.csv", index=False)
    assert main(["fit", "rows.csv", "-k", "3", "--id", "number", "--keep", "name", "-q"]) == 0
    labels = parquet.read_table("coterie-out/labels.parquet")
    assert labels.column_names == ["number", "name", *RESULTS]
    assert labels["number"].to_pylist() == list(range(300))
    assert parquet.read_table("coterie-out/examples.parquet").column_names[3:5] == ["number", "name"]
    frame[["name", "d", "number", "c", "b", "a"]].rename(columns={"number": "_id"}).to_csv(
        "moved.csv", index=False
    )
    assert main(["predict", "coterie-out/model.coterie", "moved.csv", "--keep", "d", "-q"]) == 1
    assert main(["predict", "coterie-out/model.coterie", "moved.csv", "-q"]) == 0
    moved = parquet.read_table("labels.parquet")
    assert moved.column_names == ["_id", "name", *RESULTS]
    assert moved.drop_columns(["_id"]) == labels.drop_columns(["number"])
    assert main(["verify", "coterie-out", "-q"]) == 0
    capsys.readouterr()
    assert "no column 'nothing'" in failed(capsys, 1, "fit", "rows.csv", "-k", "3", "--id", "nothing")


def test_a_table_of_vectors(folder, X):
    frame = pandas.DataFrame({"uuid": [f"u{i}" for i in range(300)], "text": "words", "vector": list(X)})
    frame.to_parquet("rows.parquet")
    assert main(["fit", "rows.parquet", "-k", "3", "-q"]) == 0
    labels = parquet.read_table("coterie-out/labels.parquet")
    assert labels.column_names == ["uuid", "text", *RESULTS]
    model = coterie.load("coterie-out/model.coterie")
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(X), labels["cluster"])
    assert coterie.results_table(model, frame, keep=[]).column_names[0] == "uuid"
    assert main(["verify", "coterie-out", "-q"]) == 0
