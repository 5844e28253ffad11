"""`coterie predict`."""

import json
import os

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed


def test_predict(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    np.save("others.npy", X[::-1].astype(np.float32))
    arguments = ["predict", "coterie-out/model.coterie", "others.npy", "--out", "new/l.npy", "--threads", "1"]
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == {
        "labels": os.path.join("new", "l.npy"),
    }
    assert report["input"]["rows"] == 300
    assert np.array_equal(np.load("new/l.npy"), np.load("coterie-out/labels.npy")[::-1])
    np.save("narrow.npy", X[:, :2])
    message = failed(capsys, 1, "predict", "coterie-out/model.coterie", "narrow.npy")
    assert "narrow.npy has 2 columns" in message
    assert "4" in message


def test_columns_in_another_order(folder, X, capsys):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.to_csv("rows.csv", index=False)
    frame[list("dbac")].to_csv("moved.csv", index=False)
    assert main(["fit", "rows.csv", "-k", "3", "-q"]) == 0
    assert list(coterie.load("coterie-out/model.coterie").feature_names_in_) == list("abcd")
    assert main(["predict", "coterie-out/model.coterie", "moved.csv", "-q"]) == 0
    assert parquet.read_table("labels.parquet") == parquet.read_table("coterie-out/labels.parquet")
    frame.rename(columns={"a": "x"}).to_csv("other.csv", index=False)
    message = failed(capsys, 1, "predict", "coterie-out/model.coterie", "other.csv")
    assert "Cannot read other.csv: no column 'a'. Its columns are 'x', 'b', 'c', 'd'." in message


def test_python_prepares_rows_as_the_command_does(folder, X):
    X = X * np.random.default_rng(1).uniform(1, 50, size=(300, 1))
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "5", "--normalize", "-q"]) == 0
    assert main(["predict", "coterie-out/model.coterie", "rows.npy", "-q"]) == 0
    labels = np.load("labels.npy")
    assert np.array_equal(labels, np.load("coterie-out/labels.npy"))
    assert np.array_equal(coterie.load("coterie-out/model.coterie").predict(X), labels)
