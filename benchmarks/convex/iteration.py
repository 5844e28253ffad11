"""One accelerated iteration against the memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.convex.data import PHI, moons
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.limits import best_seconds, memory_bandwidth

N_ROWS, QUICK_ROWS = 100_000, 5000


def run_iteration(n_rows: int, n_columns: int, n_threads: int) -> dict[str, Any]:
    """Measure accelerated iterations on 15 neighbors; columns after the second are noise."""
    from coterie.convex.norms import find_norm
    from coterie.convex.problem import SolverOptions, order_problem
    from coterie.convex.solvers import make_solver
    from coterie.convex.weights import weight_graph

    X = moons(n_rows)
    graph, _ = weight_graph(X, kind="knn", n_neighbors=15, decay=PHI, connect=False, n_threads=n_threads)
    if n_columns > 2:
        X = np.column_stack([X, 0.05 * np.random.default_rng(0).standard_normal((n_rows, n_columns - 2))])
    options = SolverOptions()
    ordered = order_problem(X, graph, find_norm("l2", n_columns), options, n_threads=n_threads)
    solver = make_solver(ordered.problem, options)
    solver.start(1.0)
    for _ in range(20):
        solver.iterate()
    seconds = best_seconds(solver.iterate, 30)
    n_edges, p = ordered.problem.dual_shape
    # What has to move: duals read twice (the present and the former) and written, ends, weights and steps of the edges;
    # rows and two kinds of points read, two written.
    moved = n_edges * (3 * 8 * p + 4 + 4 + 8 + 8) + n_rows * 5 * 8 * p
    return {"seconds": seconds, "edges": n_edges, "rate": 1e-9 * moved / seconds}


def measure_iteration(benchmark: Benchmark, key: str) -> None:
    """Compare an iteration with the memory's reads."""
    limit = benchmark.isolated(memory_bandwidth, benchmark.options.threads)["read"]
    n_rows = QUICK_ROWS if benchmark.options.quick else N_ROWS
    cells = []
    for n_columns in (2, 50):
        result = benchmark.isolated(run_iteration, n_rows, n_columns, benchmark.options.threads)
        share = result["rate"] / limit
        cells.append([
            f"{n_rows:,} x {n_columns}", f"{result['edges']:,}", f"{1e3 * result['seconds']:.2f}",
            f"{result['rate']:.1f}", f"{share:.0%}",
        ])  # fmt: skip
    title = f"an accelerated iteration; the memory reads {limit:.0f} GB/s"
    benchmark.report.table(title, ["rows", "edges", "ms", "GB/s", "of memory"], cells)
