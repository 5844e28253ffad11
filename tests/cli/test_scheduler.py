"""`coterie fit --scheduler`: what a cluster finds, in a folder here."""

import contextlib
import json

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed
from tests.dask.clusters import in_threads


@pytest.fixture(scope="module")
def address():
    """The address of a scheduler with two workers."""
    with contextlib.ExitStack() as stack:
        yield in_threads(stack, 2).scheduler.address


@pytest.mark.usefixtures("shown_at_once")
def test_model_labels_and_summary(folder, rows, X, address, capsys):
    assert main(["fit", rows, "-k", "3", "--out", "out", "--scheduler", address, "--algorithm", "lloyd"]) == 0
    assert everything(folder / "out") == ["labels.npy", "model.coterie", "run.toml", "summary.json"]
    expected = coterie.KMeans(n_clusters=3, random_state=0).fit(X)
    np.testing.assert_array_equal(np.load("out/labels.npy"), expected.labels_)
    model = coterie.load("out/model.coterie")
    assert type(model) is coterie.KMeans
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=1e-12)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["cluster_sizes"] == {"smallest": 100, "median": 100, "largest": 100}
    assert summary["traffic"]["n_tasks"] > 0
    assert summary["traffic"]["n_exchanged"] == 0
    printed = capsys.readouterr()
    assert "iteration" in printed.err
    assert "300 rows x 4 columns in 3 clusters by k-means" in printed.out
    assert main(["predict", "out/model.coterie", rows, "--out", "again.npy", "--quiet"]) == 0
    np.testing.assert_array_equal(np.load("again.npy"), expected.labels_)


@pytest.mark.parametrize(
    ("method", "kind", "objective"),
    [
        ("nested", coterie.NestedMiniBatchKMeans, "inertia"),
        ("gmm", coterie.TruncatedGaussianMixture, "free energy"),
        ("laplacian-kmodes", coterie.LaplacianKModes, "objective"),
    ],
)
def test_other_methods(folder, rows, X, address, capsys, method, kind, objective):
    command = ["fit", rows, "-k", "3", "--out", "out", "--scheduler", address, "--method", method, "--json"]
    assert main(command) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["method"] == method
    assert summary["objective_name"] == objective
    model = coterie.load("out/model.coterie")
    assert type(model) is kind
    np.testing.assert_array_equal(np.load("out/labels.npy"), model.predict(X))


def test_no_scheduler(rows, capsys):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        found = failed(capsys, 1, "fit", rows, "-k", "3", "--scheduler", "tcp://127.0.0.1:9")
    assert found.startswith("No Dask scheduler answers at tcp://127.0.0.1:9: ")
