"""`coterie select-graph-weight`."""

import json
import shlex

import numpy as np
import pytest

import coterie
from coterie import LaplacianKModes, select_graph_weight
from coterie.cli import main
from tests.cli.running import everything

LINE = shlex.split("select-graph-weight rows.npy -k 3 --graph-weights 1,2 --n-init 2 --max-iter 5")


@pytest.fixture
def scan(X):
    return lambda y=None: select_graph_weight(
        LaplacianKModes(3, n_init=2, max_iter=5, random_state=0), X, [1, 2], y=y
    )


def test_best_graph_weight_is_kept(folder, rows, scan, capsys):
    assert main([*LINE, "--out", "out"]) == 0
    expected = scan()
    assert np.array_equal(np.load("out/labels.npy"), expected.best_model.labels_)
    model = coterie.load("out/model.coterie")
    assert (model.graph_weight, model.callback) == (expected.best_graph_weight, None)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert (summary["command"], summary["best_graph_weight"]) == (
        "select-graph-weight",
        expected.best_graph_weight,
    )
    assert [row["modularity"] for row in summary["scan"]] == expected.modularities.tolist()
    assert f"best graph weight {expected.best_graph_weight:g}" in capsys.readouterr().out
    assert everything(folder / "out") == ["labels.npy", "model.coterie", "run.toml", "summary.json"]
    assert main(["select-graph-weight", "--config", "out", "--out", "again", "-q"]) == 0
    assert np.array_equal(np.load("again/labels.npy"), np.load("out/labels.npy"))


def test_labels_select_the_graph_weight(rows, scan):
    y = np.full(300, -1)
    y[[0, 1, 100, 101, 200, 201]] = [0, 0, 1, 1, 2, 2]
    np.save("y.npy", y)
    assert main([*LINE, "--labels", "y.npy", "-q"]) == 0
    assert np.array_equal(np.load("coterie-graph-weight/labels.npy"), scan(y).best_model.labels_)
