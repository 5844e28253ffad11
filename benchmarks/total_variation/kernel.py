"""The inner iteration against the memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.limits import memory_bandwidth
from benchmarks.harness.measuring import seconds_of
from benchmarks.total_variation.graphs import load_graph

ITERATIONS, ROUNDS = 20, 15
# The length of the first primal step and how fast it falls, about as in a fit.
FIRST_STEP, CONVEXITY = 4.0, 0.05


def run_kernel(data: str, n_threads: int) -> dict[str, float]:
    """Time inner iterations and the statistics, late in a fit, and count the bytes that an iteration must move."""
    from coterie.graphs.spectral import local_order, spectral_vectors
    from coterie.total_variation.descent import TotalVariationDescent
    from coterie.total_variation.problem import CutGraph

    graph, classes = load_graph(data)
    k = len(np.unique(classes))
    prepared = CutGraph(graph, local_order(spectral_vectors(graph, max(k, 10), 0)))
    descent = TotalVariationDescent(prepared, k, n_threads=n_threads)
    noise = np.random.default_rng(0).dirichlet(np.ones(k), len(classes))
    start = (0.7 * np.eye(k)[classes] + 0.3 * noise).astype(np.float32)
    descent.start(prepared.arranged(start))
    for _ in range(3):
        descent.outer_step(1e-3)
    kernels = Kernels(prepared, descent.memberships, n_threads)
    iterations, statistics = [], []
    for _ in range(ROUNDS):
        kernels.begin_anew()
        iterations.append(seconds_of(kernels.iterate) / ITERATIONS)
        statistics.append(seconds_of(kernels.statistics))
    # Duals, F and F_bar are read and written, the anchors read; each edge names its other end.
    edges = graph.nnz // 2
    must_move = 4 * (2 * edges * k + 5 * len(classes) * k + edges)
    return {
        "ms": 1e3 * float(np.median(iterations)),
        "best_ms": 1e3 * min(iterations),
        "statistics_ms": 1e3 * float(np.median(statistics)),
        "megabytes": must_move / 1e6,
        "gb_s": 1e-9 * must_move / float(np.median(iterations)),
        "duals_stored": prepared.n_duals / edges,
    }


class Kernels:
    """The kernels of an outer step, on arrays of the same shapes and layout as those of `TotalVariationDescent`.

    The linear terms of the inner problem, which weigh nothing beside edges and projections, are left at 0.

    Parameters
    ----------
    graph : CutGraph
        The graph.
    memberships : ndarray of shape (n, k)
        Those of a fit, in the order of the graph's vertices.
    n_threads : int
        Threads.
    """

    def __init__(self, graph: Any, memberships: np.ndarray, n_threads: int) -> None:
        from coterie.arrays import padded_rows

        self._graph, self._n_threads = graph, n_threads
        (n, self._k), dtype = memberships.shape, graph.dtype
        self._memberships, self._extrapolated, self._spare, self._anchors = (
            padded_rows(n, self._k, dtype) for _ in range(4)
        )
        self._memberships[:, : self._k] = memberships
        self._duals = np.zeros((graph.n_duals, self._k), dtype)
        mean_degree = graph.degrees.mean()
        self._row_steps = (mean_degree / np.maximum(graph.degrees, 1e-3)).astype(dtype)
        self._fixed, self._squares = np.zeros(n, np.uint8), np.zeros(graph.n_blocks)
        self._tau = FIRST_STEP / np.sqrt(2 * mean_degree)
        scales, dual_steps, *_, at_median = self._outer = padded_rows(6, self._k, dtype)
        scales[: self._k], dual_steps[: self._k] = 1, 0.5 / mean_degree
        at_median[self._k :] = -np.inf  # columns that fill the cache line get nothing

    def begin_anew(self) -> None:
        """Let the next inner problem be that around the present memberships."""
        self._anchors[:] = self._memberships
        self._extrapolated[:] = self._memberships

    def iterate(self) -> None:
        """Take the inner iterations."""
        from coterie import _kernels

        self._tau = _kernels.iterate_primal_dual(
            self._graph.kernel_graph, self._duals, self._memberships, self._extrapolated, self._spare,
            self._anchors, self._fixed, self._row_steps, self._outer, False, self._tau, CONVEXITY, ITERATIONS,
            self._squares, self._n_threads,
        )  # fmt: skip

    def statistics(self) -> None:
        """Measure the columns of the memberships."""
        from coterie import _kernels

        k = self._k
        medians, sums, counts = np.empty(k, self._graph.dtype), np.empty((3, k)), np.empty((2, k), np.int64)
        rank = self._graph.n_vertices // k
        _kernels.column_statistics(
            self._graph.kernel_graph, self._memberships, rank, medians, sums, counts, self._n_threads
        )


def measure_kernel(benchmark: Benchmark, data: str) -> None:
    """Print how fast an inner iteration is, and what share of the memory bandwidth that takes."""
    n_threads = benchmark.options.threads
    bandwidth = benchmark.isolated(memory_bandwidth, n_threads)
    result = benchmark.isolated(run_kernel, data, n_threads)
    benchmark.report.data.setdefault("kernel", {})[data] = {**result, "bandwidth": bandwidth}
    rows = [
        ["inner iteration, ms (best)", f"{result['ms']:.2f} ({result['best_ms']:.2f})"],
        ["statistics, ms", f"{result['statistics_ms']:.2f}"],
        ["bytes that must move, MB", f"{result['megabytes']:.1f}"],
        ["GB/s", f"{result['gb_s']:.1f}"],
        ["of the memory's reads in this run", f"{result['gb_s'] / bandwidth['read']:.0%}"],
        ["of its copies", f"{result['gb_s'] / bandwidth['copy']:.0%}"],
        ["duals stored for each edge", f"{result['duals_stored']:.2f}"],
    ]
    benchmark.report.table(f"An inner iteration on {data}, {n_threads} threads", ["", ""], rows)
