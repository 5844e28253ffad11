"""Whole paths: the problems of the paper (rows sparse and dense) and two moons of growing sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.convex.data import PHI, moons
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import mib_cell
from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result, summarize

PAPER_SIZES, MOON_SIZES = (100, 200, 300, 400, 500), (1000, 5000, 20_000, 100_000)
PAPER_GAMMAS, MOON_GAMMAS = np.geomspace(0.01, 10, 50), np.geomspace(0.01, 100, 50)
PAPER_TOL, MOON_TOL = 1e-4, 1e-5

# Seconds of others: the paper's own table (a machine of 2013), and CCMMR measured on this kind of machine.
PAPER_SECONDS = {
    ("sparse", "ama"): (1.5, 2.9, 4.5, 6.0, 7.4),
    ("sparse", "admm"): (5.4, None, None, None, 436),
    ("dense", "ama"): (16.1, 71.7, 295, 542, 1110),
    ("dense", "admm"): (109, None, None, None, 13087),
}
CCMMR_SECONDS = {1000: 0.53, 5000: 3.7, 20_000: 17.2}

FASTEST = "fast AMA"
SOLVERS: dict[str, dict[str, Any]] = {
    FASTEST: {"solver": "ama"},
    "AMA": {"solver": "plain-ama"},
    "fast AMA, the paper's step": {"solver": "ama", "step_size": "paper"},
    "ADMM": {"solver": "admm"},
    "ADMM, Boyd's residuals": {"solver": "admm", "stopping": "residuals"},
}


def run_path(kind: str, n_rows: int, solver: str, n_threads: int, seed: int = 0) -> dict[str, Any]:
    """Follow one path; return its costs, its largest relative gap, iterations and last number of clusters."""
    from coterie import ConvexClusterPath

    if kind == "moons":
        X, gammas, tol = moons(n_rows), MOON_GAMMAS, MOON_TOL
        graph: dict[str, Any] = {"n_neighbors": 15}
    else:
        X, gammas, tol = np.random.default_rng(seed).standard_normal((n_rows, 2)), PAPER_GAMMAS, PAPER_TOL
        graph = {"weights": "dense"} if kind == "dense" else {"n_neighbors": n_rows // 4}
    model = ConvexClusterPath(
        gammas, distance_decay=PHI, tol=tol, n_threads=n_threads, max_iter=50_000, **graph, **SOLVERS[solver]
    )
    with measured() as cost:
        model.fit(X)
    return {
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "other_seconds": cost.other_seconds,
        "peak_bytes": cost.peak_bytes,
        "gap": float(model.relative_gaps_.max()),
        "iterations": model.n_iter_,
        "edges": len(model.edges_),
        "clusters": int(model.n_clusters_path_[-1]),
    }


# --- tables

HEADERS = ["edges", "seconds", "CPU s", "others' CPU s", "iterations", "largest gap", "clusters", "MiB"]


def measure_paper(benchmark: Benchmark, kind: str) -> None:
    """Tables 2 (dense) and 3 (sparse) of the paper: n standard normal rows of two columns."""
    cells = []
    for solver in benchmark.select({name: Contender("coterie", run_path) for name in SOLVERS}):
        key = (kind, "admm" if solver.startswith("ADMM") else "ama")
        for n_rows, theirs in zip(PAPER_SIZES, PAPER_SECONDS[key]):
            if benchmark.options.quick and n_rows > PAPER_SIZES[0]:
                continue
            result = _path(benchmark, kind, n_rows, solver)
            cells.append([solver, f"{n_rows}", *_cells(result), _theirs(theirs)])
    title = f"{kind} weights, phi = 2, 50 gammas from 0.01 to 10, relative gap {PAPER_TOL:g}"
    benchmark.report.table(title, ["solver", "n", *HEADERS, "paper's s"], cells)


def measure_moons(benchmark: Benchmark, kind: str) -> None:
    """The scale runs: two moons, 15 neighbors."""
    cells = []
    for n_rows in benchmark.options.sizes:
        result = _path(benchmark, kind, n_rows, FASTEST)
        cells.append([f"{n_rows:,}", *_cells(result), _theirs(CCMMR_SECONDS.get(n_rows))])
    title = f"two moons, 15 neighbors, phi = 2, 50 gammas from 0.01 to 100, relative gap {MOON_TOL:g}"
    benchmark.report.table(title, ["n", *HEADERS, "CCMMR's s"], cells)


def _path(benchmark: Benchmark, kind: str, n_rows: int, solver: str) -> Result:
    repeats = benchmark.options.repeats if n_rows <= 5000 and solver == FASTEST else 1
    options = (kind, n_rows, solver, benchmark.options.threads)
    runs = [benchmark.isolated(run_path, *options) for _ in range(repeats)]
    kept = {"kind": kind, "n": n_rows, "solver": solver, "runs": runs}
    benchmark.report.data.setdefault("runs", []).append(kept)
    return summarize(runs)


def _cells(result: Result) -> list[str]:
    return [
        f"{result['edges']:,.0f}", f"{result['seconds']:.3g}", f"{result['cpu_seconds']:.3g}",
        f"{result['other_seconds']:.2g}", f"{result['iterations']:,.0f}", f"{result['gap']:.1e}",
        f"{result['clusters']:.0f}", mib_cell(result),
    ]  # fmt: skip


def _theirs(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:g}"
