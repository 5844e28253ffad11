"""Graphs that others have made, as neighbors and distances: of `--graph`, or in place of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

import coterie
from coterie.cli import main
from coterie.cli.inputs import read_graph
from coterie.graphs import knn_graph
from tests.cli.running import failed


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(30, 3))


def test_neighbors_in_a_file_are_a_graph(rows, tmp_path):
    distances, ids = NearestNeighbors(n_neighbors=5).fit(rows).kneighbors(rows)
    file = str(tmp_path / "neighbors.npz")
    for save in (np.savez, np.savez_compressed):
        save(file, ids=ids, distances=distances)
        assert (read_graph(file, 30) != knn_graph(rows, 4)).nnz == 0
    with pytest.raises(ValueError, match="a row and a column for each of the 31 rows"):
        read_graph(file, 31)
    np.savez(file, ids=ids + 40, distances=distances)
    with pytest.raises(ValueError, match=r"neighbors\.npz: ids has a number that is not -1, or 0 to 29"):
        read_graph(file, 30)


def test_matrices_and_files_that_are_cut_are_read_as_before(rows, tmp_path):
    graph, file = knn_graph(rows, 4), str(tmp_path / "graph.npz")
    sp.save_npz(file, sp.csr_matrix(graph))
    assert (read_graph(file, 30) != graph).nnz == 0
    np.savez(file, ids=np.zeros((30, 2), dtype=int), distances=np.zeros((30, 2)))
    content = (tmp_path / "graph.npz").read_bytes()
    (tmp_path / "graph.npz").write_bytes(content[:-100])
    with pytest.raises(ValueError, match=r"graph\.npz"):
        read_graph(file, 30)


@pytest.mark.parametrize("method", ["total-variation", "laplacian-kmodes"])
def test_neighbors_file_replaces_rows(method, rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    distances, ids = NearestNeighbors(n_neighbors=5).fit(rows).kneighbors(rows)
    np.savez("neighbors.npz", ids=ids, distances=distances)
    sp.save_npz("graph.npz", sp.csr_matrix(knn_graph(rows, 4)))
    options = ["-k", "2", "--affinity", "precomputed", "--method", method, "--n-init", "2", "-q"]
    for file in ("neighbors", "graph"):
        assert main(["fit", f"{file}.npz", *options, "--out", file]) == 0
    assert np.array_equal(np.load("neighbors/labels.npy"), np.load("graph/labels.npy"))
    assert coterie.load("neighbors/model.coterie").n_features_in_ == 30
    assert main(["verify", "neighbors", "-q"]) == 0
    problem = failed(capsys, 1, "fit", "neighbors.npz", *options, "--sep", ";")
    assert "sep has no meaning for neighbors.npz" in problem
