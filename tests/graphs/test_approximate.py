"""Approximate neighbors: nearly all of them, and the same for a seed."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie.graphs import nearest_neighbors
from coterie.graphs.approximate import Aim, approximate_neighbors
from coterie.graphs.directions import few_directions
from coterie.graphs.exact import exact_neighbors, lowest_scores
from coterie.graphs.probes import draw_probes
from tests.graphs.examples import DTYPES, METHOD, clusters, shapes
from tests.support.bits import same_bits
from tests.support.instruction_sets import FUSED, using


@pytest.mark.parametrize("dtype", DTYPES)
def test_most_neighbors_are_found_approximately(dtype):
    X = clusters(3000, 0, dtype)
    ids, squares = nearest_neighbors(X, 6, method="approximate", random_state=0)
    expected, _ = nearest_neighbors(X, 6, **METHOD)
    assert np.mean([len(set(a) & set(b)) / 6 for a, b in zip(ids, expected)]) > 0.97
    assert ids.dtype == np.int32
    assert squares.dtype == dtype
    assert np.all(ids != np.arange(3000)[:, None])
    assert all(len(set(row)) == 6 for row in ids)
    assert np.all(np.diff(squares, axis=1) >= 0)
    own = np.sum((X[:, None].astype(np.float64) - X[ids]) ** 2, axis=2)
    np.testing.assert_allclose(squares, own, rtol=1e-5)


@pytest.mark.parametrize("n_queries", [0, 70])
@settings(max_examples=10, deadline=None)
@given(n=st.sampled_from([8, 50, 333]), seed=st.integers(0, 100))
def test_all_neighbors_are_found_where_all_cells_are_visited(n_queries, n, seed):
    X = clusters(n, seed, np.float64)
    queries = clusters(n_queries, seed + 1, np.float64) if n_queries else None
    *found, recall = approximate_neighbors(X, queries, 7, Aim(0.5, least_work=1e12), seed, 2)
    same_bits(found, exact_neighbors(X, queries, 7, 2))
    assert recall == 1


@pytest.mark.parametrize("aim", [0.8, 0.95])
@pytest.mark.parametrize("kind", ["a plane", "no direction", "noisy groups", "far rows", "many ties"])
@pytest.mark.parametrize("n_queries", [0, 300])
def test_target_recall_is_reached_and_reported(kind, aim, n_queries):
    X = shapes(kind)
    queries = X[:n_queries] + np.float32(0.01) if n_queries else None
    found = nearest_neighbors(X, 8, queries=queries, method="approximate", recall=aim, random_state=3)
    _, true = nearest_neighbors(X, 8, queries=queries, **METHOD)
    reached = np.mean(found.square_distances <= true[:, -1:] * (1 + 1e-5))
    assert reached > aim - 0.03
    assert abs(found.recall - reached) < 0.04
    assert found.method == "approximate"


def test_few_directions_are_used_if_they_are_enough():
    for kind, n_directions in {"a plane": 32, "no direction": None, "noisy groups": None}.items():
        X = shapes(kind)
        X -= X.mean(axis=0)
        offsets = np.square(X).sum(axis=1)
        probes = draw_probes(X, X, offsets, 8, 0, are_points=True, n_threads=2)
        found = few_directions(X, offsets, probes, 0.99, 0, 2)
        assert (found and found.directions.shape[1]) == n_directions
        if found is not None:
            np.testing.assert_allclose(found.near, X @ found.directions, rtol=1e-3, atol=1e-3)
            asked = found.near[probes.rows]
            ids, _ = lowest_scores(asked, found.near, offsets, found.n_candidates, 2)
            assert probes.recall(X, ids) >= 0.99
            assert probes.recall(X, ids[:, :-1]) < 0.99


def test_probes_have_true_neighbors():
    X = clusters(500, 1)
    probes = draw_probes(X, X, np.square(X).sum(axis=1), 6, 0, are_points=True, n_threads=2)
    true, _ = nearest_neighbors(X, 6, **METHOD)
    assert len(probes.rows) == 384
    assert [len(half.rows) for half in probes.halves()] == [192, 192]
    assert not set(probes.halves()[0].own) & set(probes.halves()[1].own)
    assert probes.recall(X, true[probes.rows]) == 1
    half = np.where(np.arange(6) < 3, true[probes.rows], -1)
    assert probes.recall(X, half) == pytest.approx(0.5)
    assert probes.recall(X, np.hstack([half, probes.own[:, None]])) == pytest.approx(0.5)
    assert probes.enough(X, half, 0.5) == 3
    assert probes.enough(X, np.hstack([probes.own[:, None], half]), 0.5) == 4
    assert probes.enough(X, half, 0.6) is None


def test_a_recall_that_is_not_reached_is_warned_of(monkeypatch):
    monkeypatch.setattr("coterie.graphs.cell_search.MOST_VISITS", (1,))
    X = shapes("no direction")
    with pytest.warns(ConvergenceWarning, match=r"of the nearest rows were found, and 99\.0% were wanted"):
        found = nearest_neighbors(X, 8, method="approximate", random_state=0)
    assert found.recall < 0.9


@pytest.mark.parametrize("recall", [0, 1, -0.5, float("nan"), "all", True])
def test_invalid_recalls(recall):
    with pytest.raises(ValueError, match="recall must be a number above 0 and below 1"):
        nearest_neighbors(np.eye(9), 2, recall=recall)


def test_pairs_can_be_pickled():
    found = nearest_neighbors(clusters(60, 0), 3)
    again = pickle.loads(pickle.dumps(found))
    same_bits(again, found)
    assert (again.method, again.recall) == ("exact", 1.0) == (found.method, found.recall)
    same_bits(again.ids, found[0])


def test_approximate_neighbors_have_the_same_bits_for_a_seed_and_any_threads():
    X = clusters(2000, 0)
    results = [
        nearest_neighbors(X, 5, method="approximate", random_state=seed, n_threads=n_threads)
        for seed, n_threads in [(0, 1), (0, 2), (0, 3), (1, 2)]
    ]
    for neighbors in results[1:3]:
        same_bits(neighbors, results[0])
    assert np.any(results[3][0] != results[0][0])


def test_cells_with_few_points_are_no_obstacle():
    """As many neighbors are wanted as no few cells hold; and equal rows, which leave cells empty."""
    X = clusters(400, 0)
    ids, _ = nearest_neighbors(X, 390, method="approximate", random_state=0)
    assert np.mean(ids == nearest_neighbors(X, 390, **METHOD)[0]) > 0.98
    assert all(len(set(row)) == 390 for row in ids)
    ids, squares = nearest_neighbors(np.ones((300, 2)), 4, method="approximate", random_state=0)
    assert not squares.any()
    assert np.all(ids != np.arange(300)[:, None])
    assert all(len(set(row)) == 4 for row in ids)


def test_auto_is_exact_for_small_sets_and_approximate_for_large_ones(monkeypatch):
    X = clusters(600, 0)
    options = dict(random_state=0)
    exact, approximate = (nearest_neighbors(X, 30, method=m, **options)[0] for m in ("exact", "approximate"))
    assert np.any(exact != approximate)
    np.testing.assert_array_equal(nearest_neighbors(X, 30, **options)[0], exact)
    monkeypatch.setattr("coterie.graphs.neighbors.LEAST_WORK", 1)
    found = nearest_neighbors(X, 30, **options)
    np.testing.assert_array_equal(found.ids, approximate)
    assert found.method == "approximate"
    # Just above the limit it does nearly as much as the exact search would, and finds nearly all.
    monkeypatch.setattr("coterie.graphs.neighbors.LEAST_WORK", 600 * 600 * 6 - 1)
    found = nearest_neighbors(X, 30, **options)
    assert (found.method, found.recall) == ("approximate", 1.0)
    nearest_neighbors(sp.csr_array(X), 3)


def test_any_instruction_set_with_fused_multiply_add_looks_into_the_same_cells():
    X = clusters(1500, 0)
    found = []
    for name in FUSED:
        with using(name):
            found.append(nearest_neighbors(X, 5, method="approximate", random_state=0)[0])
    for ids in found[1:]:
        same_bits(ids, found[0])
