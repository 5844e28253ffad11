"""Searches of an E-step, with the energies of all rows with all components."""

import numpy as np
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.mixture.posteriors import TruncatedPosteriors, distinct_draws
from coterie.rows import as_rows
from tests.reference import truncated_mixture as oracle


def tolerance(dtype):
    return dict(rtol=1e-4, atol=1e-4) if dtype == np.float32 else dict(rtol=1e-11, atol=1e-11)


def some_neighbors(random, n_components, n_neighbors):
    others = distinct_draws(random, n_components, n_components - 1, n_neighbors - 1)
    own = np.arange(n_components, dtype=np.int32)[:, None]
    return np.hstack([own, others + (others >= own)]).astype(np.int32)


class Problem:
    """Arguments of a search, and the energies of all rows with all components."""

    def __init__(
        self,
        n,
        d,
        n_components,
        n_candidates,
        n_neighbors,
        dtype,
        seed=0,
        scaled=False,
        extra=False,
        n_dead=0,
    ):
        random = np.random.RandomState(seed)
        sizes = n, d, n_components, n_candidates, n_neighbors
        self.sizes = *sizes, dtype.__name__, seed, scaled, extra, n_dead
        self.dtype = dtype
        self.X = random.normal(size=(n, d)).astype(dtype)
        self.means = random.normal(size=(n_components, d)).astype(dtype)
        self.scales = random.uniform(0.5, 2, size=(n_components, d)).astype(dtype) if scaled else None
        self.precisions = random.uniform(0.5, 2, size=n_components).astype(dtype)
        self.offsets = random.uniform(0, 3, size=n_components).astype(dtype)
        self.offsets[random.permutation(n_components)[:n_dead]] = np.inf
        self.candidates = distinct_draws(random, n, n_components, n_candidates)
        self.neighbors = some_neighbors(random, n_components, n_neighbors)
        self.extra = random.randint(n_components, size=n, dtype=np.int32) if extra else None
        scales = np.ones((n_components, d)) if self.scales is None else self.scales.astype(float)
        relative = self.X.astype(float)[:, None, :] - self.means
        self.table = self.precisions.astype(float) * np.sum((relative * scales) ** 2, axis=2) + self.offsets

    def __repr__(self):
        return f"Problem{self.sizes}"

    def search(self, group_size=16, update_neighbors=True, regroup=False, n_threads=2, rows=None):
        """Candidates, energies, neighbors, number of distances."""
        candidates, neighbors = self.candidates.copy(), self.neighbors.copy()
        energies = np.full(candidates.shape, np.nan, dtype=self.dtype)
        n_distances = _kernels.truncated_search(
            kernel_rows(self.X) if rows is None else rows, self.means, self.scales, self.precisions,
            self.offsets, candidates, energies, neighbors, self.extra, group_size, update_neighbors,
            regroup, n_threads,
        )  # fmt: skip
        return candidates, energies, neighbors, n_distances

    def refresh(self, n_threads=2, rows=None):
        """Candidates and their energies, without a search."""
        candidates, energies = (
            self.candidates.copy(),
            np.full(self.candidates.shape, np.nan, dtype=self.dtype),
        )
        _kernels.distances_to_listed(
            kernel_rows(self.X) if rows is None else rows, self.means, self.scales, self.precisions,
            self.offsets, candidates, energies, n_threads,
        )  # fmt: skip
        return candidates, energies

    def expected(self, **options):
        return oracle.partial_e_step(self.table, self.candidates, self.neighbors, self.extra, **options)


@st.composite
def problems(draw, dtype, dead=False):
    n = draw(st.sampled_from([1, 2, 3, 15, 17, 40, 97]))
    d = draw(st.sampled_from([1, 2, 3, 7, 8, 15, 16, 17, 33]))
    n_components = draw(st.sampled_from([1, 2, 3, 5, 16, 17, 40]))
    sizes = st.one_of(st.just(1), st.just(n_components), st.integers(1, min(n_components, 6)))
    return Problem(
        n, d, n_components, draw(sizes), draw(sizes), dtype, draw(st.integers(0, 999)),
        scaled=draw(st.booleans()), extra=draw(st.booleans()),
        n_dead=draw(st.integers(1, n_components)) if dead else 0,
    )  # fmt: skip


def shares_of(energies, negligible, n_threads=2):
    shares, log_densities = np.full_like(energies, np.nan), np.full(len(energies), np.nan)
    _kernels.truncated_posteriors(energies, negligible, shares, log_densities, n_threads)
    return shares, log_densities


def e_step(X, sizes, seed=0, weights=None, n_threads=2, **options):
    options = dict(random_candidate=False, group_size=16, search_every=3) | options
    return TruncatedPosteriors(
        as_rows(X), weights, sizes, random=np.random.RandomState(seed), n_threads=n_threads, **options
    )  # fmt: skip
