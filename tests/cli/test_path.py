"""`coterie path`."""

import json
import os

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything


@pytest.mark.usefixtures("shown_at_once")
def test_path(folder, rows, X, capsys):
    pytest.importorskip("matplotlib")
    line = [
        "path",
        rows,
        "--neighbors",
        "10",
        "--distance-decay",
        "0.1",
        "--gammas",
        "15",
        "--connect",
        "--out",
        "out",
    ]
    assert main([*line, "--clusters", "3"]) == 0
    printed = capsys.readouterr()
    assert "15 gammas" in printed.out
    assert "300 to 1 clusters" in printed.out
    assert "gamma 15/15" in printed.err
    assert os.path.join("out", "path.npz") in printed.out
    assert everything(folder / "out") == [
        "dendrogram.png", "labels.csv", "path.npz", "path.png", "summary.json",
    ]  # fmt: skip
    path = coterie.ConvexClusterPath(n_gammas=15, n_neighbors=10, distance_decay=0.1, connect=True).fit(X)
    labels = np.loadtxt(folder / "out" / "labels.csv", delimiter=",", skiprows=1, dtype=int)
    np.testing.assert_array_equal(labels.T, path.labels_path_)
    with np.load(folder / "out" / "path.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["centroids"], path.centroids_path_)
        np.testing.assert_array_equal(arrays["linkage"], path.linkage_)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["clusters"] == path.n_clusters_path_.tolist()
    assert summary["largest_gap"] <= 1e-5


def test_path_of_a_table(folder, table, X, capsys):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("matplotlib")
    line = ["path", table, "--columns", "a,b,c,d", "--gammas", "4", "--norm", "l1", "--quiet", "--out", "out"]
    assert main(line) == 0
    labels = pyarrow.read_table(folder / "out" / "labels.parquet")
    assert labels.num_rows == 300
    assert labels.num_columns == 4
    assert labels.column_names[0] == "gamma=0"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--solver", "plain-ama", "--step-size", "0.05"], dict(solver="plain-ama", step_size=0.05)),
        (["--weights", "tree", "--norm", "l1"], dict(weights="tree", norm="l1")),
    ],
)
def test_every_solver(folder, X, options, parameters):
    pytest.importorskip("matplotlib")
    X = X[::5]
    np.save("few.npy", X)
    assert main(["path", "few.npy", "--gammas", "4", "--quiet", "--out", "out", *options]) == 0
    path = coterie.ConvexClusterPath(n_gammas=4, **parameters).fit(X)
    with np.load(folder / "out" / "path.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["centroids"], path.centroids_path_)
    facts = json.loads((folder / "out" / "summary.json").read_text())["parameters"]
    assert {name: facts[name] for name in parameters} == parameters


@pytest.mark.usefixtures("shown_at_once")
def test_path_of_many_rows(folder, rows, X, monkeypatch):
    """Of many rows only the labels of few clusters are written, and no centroids, unless all are asked for."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("coterie.cli.path._FEW_ROWS", 299)
    monkeypatch.setattr("coterie.cli.path._FEW_CLUSTERS", 20)
    line = ["path", rows, "--weights", "tree", "--norm", "l1", "--gammas", "8", "--quiet", "--out"]
    assert main([*line, "few"]) == 0
    assert main([*line, "all", "--all-gammas"]) == 0
    path = coterie.ConvexClusterPath(n_gammas=8, weights="tree", norm="l1").fit(X)
    expected = np.flatnonzero(path.n_clusters_path_ <= 20)
    assert 0 < len(expected) < len(path.gammas_)
    with np.load("few/path.npz") as few, np.load("all/path.npz") as whole:
        np.testing.assert_array_equal(few["labeled"], expected)
        np.testing.assert_array_equal(few["labels"], path.labels_path_[expected])
        np.testing.assert_array_equal(whole["labels"], path.labels_path_)
        assert {*whole.files} - {*few.files} == {"centroids"}
        np.testing.assert_array_equal(few["linkage"], whole["linkage"])
    columns = (folder / "few" / "labels.csv").read_text().splitlines()[0].split(",")
    assert columns == [f"gamma={gamma:.6g}" for gamma in path.gammas_[expected]]
    assert json.loads((folder / "few" / "summary.json").read_text())["largest_gap"] < 1e-10


def test_equal_rows_give_no_warnings_of_matplotlib(folder, capsys):
    np.save("equal.npy", np.ones((30, 3)))
    assert main(["path", "equal.npy", "--out", "out"]) == 0
    assert "warning" not in capsys.readouterr().err
