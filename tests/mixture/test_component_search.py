"""The best components of a row: all of them compared, or those near its cell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.mixture.component_search import ComponentSearch
from coterie.mixture.parameters import MixtureParameters
from coterie.rows import as_rows
from tests.reference import truncated_mixture as oracle

DTYPES = [np.float32, np.float64]
KINDS = ["tied", "spherical", "diag"]


def some_mixture(n_components, d, kind, dtype, seed, offset=0.0, spread=1.0):
    random = np.random.default_rng(seed)
    means = (random.normal(scale=spread, size=(n_components, d)) + offset).astype(dtype)
    shape = {"tied": (), "spherical": (n_components,), "diag": (n_components, d)}[kind]
    weights = np.full(n_components, 1 / n_components)
    if kind != "tied":
        weights = random.dirichlet(np.ones(n_components))
    return MixtureParameters(means, random.uniform(0.3, 3, size=shape), weights)


def some_rows(n, d, dtype, seed, offset=0.0, spread=1.0):
    return (np.random.default_rng(seed + 1).normal(scale=1.5 * spread, size=(n, d)) + offset).astype(dtype)


def table_of(X, parameters):
    return oracle.energies(X, parameters.means, parameters.variances, parameters.weights)


def gather(blocks, n_rows, n_best):
    ids, energies = np.full((n_rows, n_best), -1), np.full((n_rows, n_best), np.nan)
    for part, _, found, values in blocks:
        ids[part], energies[part] = found, values
    return ids, energies


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
class TestExact:
    @given(
        n=st.sampled_from([1, 2, 17, 97]), d=st.sampled_from([1, 2, 7, 16, 33]),
        n_components=st.sampled_from([1, 2, 5, 16, 17, 60]), share=st.floats(0, 1),
        offset=st.sampled_from([0.0, 1000.0]), seed=st.integers(0, 999),
    )  # fmt: skip
    def test_best_and_labels_are_the_oracles(self, kind, dtype, n, d, n_components, share, offset, seed):
        parameters = some_mixture(n_components, d, kind, dtype, seed, offset)
        X = some_rows(n, d, dtype, seed, offset)
        n_best = max(1, int(share * n_components))
        search = ComponentSearch(parameters, 2)
        table = table_of(X, parameters)
        ids, energies = gather(search.best(as_rows(X), n_best, exact=True), n, n_best)
        np.testing.assert_allclose(energies, np.sort(table, axis=1)[:, :n_best], rtol=1e-9, atol=1e-8)
        # Which of two comes first is rounding where they are equally good; none may come twice.
        np.testing.assert_allclose(energies, np.take_along_axis(table, ids, axis=1), rtol=1e-9, atol=1e-8)
        assert all(len(set(row)) == n_best for row in ids)
        labels = search.labels_and_distances(as_rows(X), exact=True)[0]
        assert labels.dtype == np.int32
        slack = 1e-3 if dtype == np.float32 else 1e-9
        assert np.all(table[np.arange(n), labels] <= table.min(axis=1) + slack)

    @pytest.mark.parametrize("n", [1, 300])
    @pytest.mark.parametrize("block_bytes", [1, 4000, 128 << 20])
    def test_energies_are_the_oracles(self, kind, dtype, n, block_bytes, monkeypatch):
        monkeypatch.setattr("coterie.mixture.component_search._SCORED_BYTES", block_bytes)
        parameters, X = some_mixture(31, 5, kind, dtype, 0), some_rows(n, 5, dtype, 0)
        found, seen = np.full((n, 31), np.nan), np.zeros(n, dtype=int)
        for part, energies in ComponentSearch(parameters, 1).energies(as_rows(X)):
            found[part] = energies
            seen[part] += 1
        np.testing.assert_array_equal(seen, 1)
        np.testing.assert_allclose(found, table_of(X, parameters), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
class TestTruncated:
    @settings(max_examples=10)
    @given(
        n=st.sampled_from([1, 50, 200]), d=st.sampled_from([1, 2, 9, 17]),
        n_components=st.sampled_from([1, 2, 17, 100, 300]), n_best=st.integers(1, 6), seed=st.integers(0, 99),
    )  # fmt: skip
    def test_finds_components_and_their_energies(self, kind, dtype, n, d, n_components, n_best, seed):
        parameters = some_mixture(n_components, d, kind, dtype, seed, spread=9.0)
        X, n_best = some_rows(n, d, dtype, seed, spread=9.0), min(n_best, n_components)
        search, table = ComponentSearch(parameters, 2), table_of(X, parameters)
        ids, energies = gather(search.best(as_rows(X), n_best, exact=False), n, n_best)
        assert np.all((ids >= 0) & (ids < n_components))
        assert all(len(set(row)) == n_best for row in ids)
        assert np.all(np.diff(energies, axis=1) >= 0)
        np.testing.assert_allclose(energies, np.take_along_axis(table, ids, axis=1), rtol=1e-9, atol=1e-8)
        labels = search.labels_and_distances(as_rows(X), exact=False)[0]
        assert np.all((labels >= 0) & (labels < n_components))
        if n_components <= 17:  # every list holds them all
            np.testing.assert_allclose(energies, np.sort(table, axis=1)[:, :n_best], rtol=1e-9, atol=1e-8)
        if kind != "tied":
            np.testing.assert_array_equal(labels, ids[:, 0])

    def test_truncated_search_recall(self, kind, dtype):
        parameters = some_mixture(1000, 5, kind, dtype, 0, spread=20.0)
        random = np.random.default_rng(1)
        X = parameters.means[random.integers(0, 1000, size=2000)] + random.normal(size=(2000, 5))
        X, table = X.astype(dtype), table_of(X.astype(dtype), parameters)
        labels = ComponentSearch(parameters, 2).labels_and_distances(as_rows(X), exact=False)[0]
        assert np.mean(table[np.arange(2000), labels] > table.min(axis=1) + 1e-3) < 0.01

    def test_bits_do_not_depend_on_threads_or_blocks(self, kind, dtype, monkeypatch):
        parameters, X = some_mixture(300, 5, kind, dtype, 0), some_rows(1000, 5, dtype, 0)
        reference = ComponentSearch(parameters, 1)
        labels = reference.labels_and_distances(as_rows(X), exact=False)[0]
        ids, energies = gather(reference.best(as_rows(X), 5, exact=False), 1000, 5)
        for n_threads, block_bytes in [(2, 128 << 20), (3, 16 * 5 * 77)]:
            monkeypatch.setattr("coterie.mixture.component_search._SCORED_BYTES", block_bytes)
            search = ComponentSearch(parameters, n_threads)
            np.testing.assert_array_equal(search.labels_and_distances(as_rows(X), exact=False)[0], labels)
            found = gather(search.best(as_rows(X), 5, exact=False), 1000, 5)
            np.testing.assert_array_equal(found[0], ids)
            np.testing.assert_array_equal(found[1], energies)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exact", [True, False])
def test_equal_components_go_to_the_lowest_number(exact):
    parameters = MixtureParameters(np.ones((40, 3)), np.array(1.0), np.full(40, 1 / 40))
    X = np.random.default_rng(0).normal(size=(50, 3))
    search = ComponentSearch(parameters, 1)
    np.testing.assert_array_equal(search.labels_and_distances(as_rows(X), exact=exact)[0], 0)
    ids, _ = gather(search.best(as_rows(X), 3, exact=exact), 50, 3)
    np.testing.assert_array_equal(ids, np.tile([0, 1, 2], (50, 1)))
