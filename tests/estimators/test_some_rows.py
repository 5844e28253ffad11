"""Models of a graph that were fitted to some rows, since there was no time for all: the others follow these."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.graphs.hurried import Pace
from coterie.metrics import balanced_cut

N_ROWS = 1500
MODELS = {
    "total-variation": coterie.TotalVariationClustering(4, n_init=8, random_state=0),
}


@pytest.fixture(scope="module")
def rows_and_classes():
    return make_blobs(N_ROWS, 3, centers=4, cluster_std=0.5, random_state=1)


@pytest.fixture
def slow(monkeypatch):
    """A machine on which there is time for some of the rows, by what it is measured to do."""
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, source, n_threads: cls(3e-5, 1.2e-8)))


def fitted_to_some(model, *data):
    with pytest.warns(ConvergenceWarning, match=f"the clusters are those of .* of the {N_ROWS} rows"):
        return model.set_params(max_time=60.0).fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_the_other_rows_follow(name, slow, rows_and_classes, tmp_path):
    rows, classes = rows_and_classes
    model = fitted_to_some(MODELS[name], rows)
    assert adjusted_rand_score(classes, model.labels_) == 1
    assert model.memberships_.shape == (N_ROWS, 4)
    assert model.outlier_scores_.shape == (N_ROWS,)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(model.memberships_.argmax(axis=1), model.labels_)
    assert adjusted_rand_score(model.predict(rows), model.labels_) == 1
    model.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_is_that_of_neighbors_among_some(name, slow, rows_and_classes):
    graph = fitted_to_some(MODELS[name], rows_and_classes[0]).affinity_matrix_
    degrees = np.diff(graph.indptr)
    is_directed = getattr(MODELS[name], "symmetrize", "max") == "none"
    assert graph.shape == (N_ROWS, N_ROWS)
    assert graph.has_sorted_indices
    assert is_directed == bool((graph != graph.T).nnz)
    reached = np.unique(graph.indices) if is_directed else np.flatnonzero(degrees > MODELS[name].n_neighbors)
    assert 100 < len(reached) < N_ROWS
    assert degrees.min() >= MODELS[name].n_neighbors


def test_objectives_are_those_of_all_rows(slow, rows_and_classes):
    rows = rows_and_classes[0]
    cut = fitted_to_some(MODELS["total-variation"], rows)
    assert cut.energy_ == pytest.approx(balanced_cut(cut.affinity_matrix_, cut.labels_, 4))


def test_known_classes_are_kept(slow, rows_and_classes):
    rows, classes = rows_and_classes
    known = np.full(N_ROWS, -1)
    known[::7] = classes[::7]
    known[:3] = (classes[:3] + 1) % 4  # wrong ones, too
    model = fitted_to_some(coterie.TotalVariationClustering(4, random_state=0), rows, known)
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    assert np.mean(model.labels_ == classes) > 0.98


def test_given_memberships_keep_their_columns(slow, rows_and_classes):
    rows, classes = rows_and_classes
    given = np.tile([0.4, 0.2, 0.2, 0.2], (N_ROWS, 1))
    for column in range(4):
        given[np.flatnonzero(classes == column)[0]] = np.eye(4)[column]
    fitted_to_some(coterie.TotalVariationClustering(4, init=given, max_iter=50, random_state=0), rows)


def test_sparse_rows_follow_too(slow, rows_and_classes):
    rows, classes = rows_and_classes
    model = fitted_to_some(coterie.TotalVariationClustering(4, n_init=8, random_state=0), sp.csr_array(rows))
    assert adjusted_rand_score(classes, model.labels_) == 1


def test_where_there_is_time_all_rows_are_fitted(rows_and_classes):
    rows = rows_and_classes[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        coterie.TotalVariationClustering(4, max_time=1000.0, n_init=1, random_state=0).fit(rows)
