"""Whole paths: of two moons of growing sizes, and of the problems of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import mib_cell, number
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result

PHI = 2.0  # the scale of distances in the weights
PAPER_SIZES, MOON_SIZES = (100, 200, 300, 400, 500), (1000, 5000, 20_000, 100_000)
PAPER_GAMMAS, MOON_GAMMAS = np.geomspace(0.01, 10, 50), np.geomspace(0.01, 100, 50)
PAPER_TOL, MOON_TOL = 1e-4, 1e-5

# Seconds of CCMMR, measured on this kind of machine.
CCMMR_SECONDS = {1000: 0.53, 5000: 3.7, 20_000: 17.2}

FASTEST = "fast AMA"
SOLVERS: dict[str, dict[str, Any]] = {
    FASTEST: {"solver": "ama"},
    "AMA": {"solver": "plain-ama"},
    "fast AMA, the paper's step": {"solver": "ama", "step_size": "paper"},
    "ADMM": {"solver": "admm"},
    "ADMM, Boyd's residuals": {"solver": "admm", "stopping": "residuals"},
}


def moons(n_rows: int) -> np.ndarray:
    """Return two half moons with noise of 0.05."""
    from sklearn.datasets import make_moons

    return make_moons(n_rows, noise=0.05, random_state=0)[0]


def run_path(kind: str, n_rows: int, solver: str, n_threads: int, seed: int = 0) -> dict[str, Any]:
    """Follow one path; return its costs, its largest relative gap and its iterations."""
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
        **vars(cost),
        "gap": float(model.relative_gaps_.max()),
        "iterations": model.n_iter_,
    }


def measure_moons(benchmark: Benchmark, kind: str) -> None:
    """Follow paths of growing numbers of rows: two moons, 15 neighbors."""
    title = f"two moons, 15 neighbors, phi = 2, 50 gammas from 0.01 to 100, relative gap {MOON_TOL:g}"
    sizes = {f"n = {n_rows:,}": n_rows for n_rows in map(int, benchmark.options.sizes)}

    def run(name: str, _: int) -> Result:
        theirs = {"theirs": CCMMR_SECONDS.get(sizes[name])}
        return benchmark.isolated(run_path, kind, sizes[name], FASTEST, benchmark.threads) | theirs

    once = {name: 1 for name, n_rows in sizes.items() if n_rows > 5000}
    summaries = benchmark.measure(title, list(sizes), run, most_rounds=once)
    columns = {
        "seconds": number("seconds", ".3g"),
        "CPU s": number("cpu_seconds", ".3g"),
        "iterations": number("iterations", ",.0f"),
        "largest gap": number("gap", ".1e"),
        "MiB": mib_cell,
        "CCMMR's s": number("theirs", "g"),
    }
    benchmark.table(title, columns, summaries)
