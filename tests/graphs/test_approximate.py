"""Approximate neighbors: nearly all of them, and the same for a seed."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie.graphs import nearest_neighbors
from coterie.graphs.approximate import (
    CellIndex,
    approximate_index,
    draw_recall_sample,
    few_directions,
    rounding_is_small,
)
from coterie.graphs.exact import exact_neighbors, lowest_scores
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
@settings(max_examples=10)
@given(n=st.sampled_from([8, 50, 333]), seed=st.integers(0, 100))
def test_all_neighbors_are_found_where_all_cells_are_visited(n_queries, n, seed):
    X = clusters(n, seed, np.float64)
    queries = clusters(n_queries, seed + 1, np.float64) if n_queries else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.graphs.approximate.plan_reach", lambda *_: (1e9, 0.0))
        index = CellIndex(X, queries, 7, 0.5, seed, 2)
    same_bits(index.neighbors(queries, 7, 2), exact_neighbors(X, queries, 7, 2))
    assert index.recall == 1


def test_many_equal_rows():
    """A third of the rows are zeros: more than any cell should hold."""
    X = clusters(3000, 0)
    X[::3] = 0
    X[5::400] = X[1]
    found = nearest_neighbors(X, 6, method="approximate", random_state=0)
    true = nearest_neighbors(X, 6, **METHOD)
    assert np.mean(found.square_distances <= true.square_distances[:, -1:] * (1 + 1e-5)) > 0.97
    same_bits(found.ids[::3], true.ids[::3])
    assert all(len(set(ids)) == 6 and row not in ids for row, ids in enumerate(found.ids.tolist()))
    queries = np.vstack([X[:3], clusters(50, 1)])
    found = nearest_neighbors(X, 6, queries=queries, method="approximate", random_state=0)
    np.testing.assert_array_equal(found.ids[0], np.arange(0, 18, 3))
    own = np.sum((queries[:, None].astype(np.float64) - X[found.ids]) ** 2, axis=2)
    np.testing.assert_allclose(found.square_distances, own, rtol=1e-5)


@settings(max_examples=50)
@given(
    n=st.integers(2, 60),
    n_distinct=st.integers(1, 12),
    has_queries=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_copies_of_few_rows_have_the_neighbors_of_the_exact_search(n, n_distinct, has_queries, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_distinct, 2)), 1)[rng.integers(0, n_distinct, n)]
    queries = np.vstack([X[:3], rng.normal(size=(4, 2))]) if has_queries else None
    searched = []

    def index(points, *others):
        searched.append(len(points))
        return approximate_index(points, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.graphs.neighbors.approximate_index", index)
        m = int(rng.integers(1, n + has_queries))
        found = nearest_neighbors(X, m, queries=queries, method="approximate", random_state=0)
    same_bits(found, nearest_neighbors(X, m, queries=queries, **METHOD))
    assert all(count == len(np.unique(X, axis=0)) for count in searched)


@pytest.mark.parametrize("kind", ["a plane", "no direction", "noisy groups", "far rows", "many ties"])
@pytest.mark.parametrize(("aim", "n_queries"), [(0.8, 300), (0.95, 0)])
def test_target_recall_is_reached_and_reported(kind, aim, n_queries):
    X = shapes(kind)
    queries = X[:n_queries] + np.float32(0.01) if n_queries else None
    found = nearest_neighbors(X, 8, queries=queries, method="approximate", recall=aim, random_state=3)
    _, true = nearest_neighbors(X, 8, queries=queries, **METHOD)
    reached = np.mean(found.square_distances <= true[:, -1:] * (1 + 1e-5))
    assert reached > aim - 0.03
    assert abs(found.recall - reached) < 0.05
    assert found.method == ("exact" if found.recall == 1 else "approximate")


def test_few_directions_are_used_if_they_are_enough():
    for kind, n_directions in {"a plane": 32, "no direction": None, "noisy groups": None}.items():
        X = shapes(kind)
        probes, offsets = draw_recall_sample(X[::20], np.arange(0, len(X), 20), X, X.mean(axis=0), 8, 2)
        found = few_directions(X, X.mean(axis=0), offsets, probes, 0.99, 0, 2)
        assert (found and found.directions.shape[1]) == n_directions
        if found is not None:
            relative = X - X.mean(axis=0)
            np.testing.assert_allclose(found.near, relative @ found.directions, rtol=1e-3, atol=1e-3)
            asked = found.near[probes.own]
            ids, _ = lowest_scores(asked, found.near, offsets, found.n_candidates, 2)
            assert probes.recall(X, ids) >= 0.99
            assert probes.recall(X, ids[:, :-1]) < 0.99


def test_bytes_are_for_points_that_rounding_does_not_mix():
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 30)).astype(np.float32)
    near = list(rows[:, None] + 0.5 * random.normal(size=(40, 9, 30)).astype(np.float32))
    far = 300 * rows[:1]
    assert rounding_is_small(rows, near)
    assert not rounding_is_small(rows, [points[:3] for points in near])
    assert not rounding_is_small(rows + far, [points + far for points in near])


def test_probes_have_true_neighbors():
    X = clusters(500, 1)
    rows = np.arange(0, 500, 2)
    probes, offsets = draw_recall_sample(X[rows], rows, X, X.mean(axis=0), 6, 2)
    np.testing.assert_allclose(offsets, np.square(X - X.mean(axis=0)).sum(axis=1), rtol=1e-5)
    true = nearest_neighbors(X, 6, **METHOD)[0][rows]
    assert [len(half.own) for half in probes.halves()] == [125, 125]
    assert not set(probes.halves()[0].own) & set(probes.halves()[1].own)
    assert probes.recall(X, true) == 1
    half = np.where(np.arange(6) < 3, true, -1)
    assert probes.recall(X, half) == pytest.approx(0.5)
    assert probes.recall(X, np.hstack([half, probes.own[:, None]])) == pytest.approx(0.5)
    assert probes.enough(X, half, 0.5) == 3
    assert probes.enough(X, np.hstack([probes.own[:, None], half]), 0.5) == 4
    assert probes.enough(X, half, 0.6) is None


def test_a_recall_that_is_not_reached_is_warned_of(monkeypatch):
    monkeypatch.setattr("coterie.graphs.approximate.plan_reach", lambda *_: (0.0, 0.0))
    X = shapes("no direction")
    with pytest.warns(ConvergenceWarning, match=r"below the target of 99\.0%"):
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


def test_the_search_is_exact_where_rows_would_meet_nearly_all_others():
    X = np.random.default_rng(0).normal(size=(900, 70)).astype(np.float32)
    found = nearest_neighbors(X, 5, method="approximate", random_state=0)
    assert (found.method, found.recall) == ("exact", 1.0)
    same_bits(found, nearest_neighbors(X, 5, **METHOD))


def test_auto_is_exact_for_small_sets_and_approximate_for_large_ones(monkeypatch):
    X = clusters(600, 0)
    options = dict(random_state=0)
    exact, approximate = (nearest_neighbors(X, 30, method=m, **options)[0] for m in ("exact", "approximate"))
    assert np.any(exact != approximate)
    work = len(X) * X.size
    monkeypatch.setattr("coterie.graphs.neighbors.LEAST_WORK", work)
    np.testing.assert_array_equal(nearest_neighbors(X, 30, **options)[0], exact)
    monkeypatch.setattr("coterie.graphs.neighbors.LEAST_WORK", work - 1)
    found = nearest_neighbors(X, 30, **options)
    np.testing.assert_array_equal(found.ids, approximate)
    assert found.method == "approximate"
    nearest_neighbors(sp.csr_array(X), 3)


def test_any_instruction_set_with_fused_multiply_add_looks_into_the_same_cells():
    X = clusters(1500, 0)
    found = []
    for name in FUSED:
        with using(name):
            found.append(nearest_neighbors(X, 5, method="approximate", random_state=0)[0])
    for ids in found[1:]:
        same_bits(ids, found[0])
