"""Convex clustering: whole paths against the seconds that others published, each gamma with its duality gap.

    python -m benchmarks.convex [--rows sparse,dense,moons,iteration] [--sizes 1000,5000] [--repeats 3] [--quick]

Every row says the largest relative duality gap of its path: speeds are compared at an accuracy that is certified.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.harness.limits import best_seconds, memory_bandwidth
from benchmarks.harness.measuring import isolated, limit_threads, measured, summarise
from benchmarks.harness.reporting import Report

MIB = 2**20
PAPER_SIZES, MOON_SIZES = (100, 200, 300, 400, 500), (1000, 5000, 20_000, 100_000)
PHI = 2.0
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
WANTED_MOON_SECONDS = {1000: 0.5, 5000: 3.5, 20_000: 17.0, 100_000: 180.0}
WANTED_PAPER_SECONDS = {"sparse": 0.3, "dense": 10.0}
WANTED_BANDWIDTH = 0.5

SOLVERS: dict[str, dict[str, Any]] = {
    "fast AMA": {"solver": "ama"},
    "AMA": {"solver": "ama", "acceleration": False},
    "ADMM": {"solver": "admm"},
}


def moons(n_rows: int) -> np.ndarray:
    """Return two half moons with noise of 0.05."""
    from sklearn.datasets import make_moons

    return make_moons(n_rows, noise=0.05, random_state=0)[0]


def run_path(kind: str, n_rows: int, solver: str, n_threads: int) -> dict[str, Any]:
    """Follow one path; return its costs, its largest relative gap, iterations and last number of clusters."""
    from coterie import ConvexClusterPath

    if kind == "moons":
        X, gammas, tol = moons(n_rows), MOON_GAMMAS, MOON_TOL
        graph: dict[str, Any] = {"n_neighbors": 15}
    else:
        X, gammas, tol = np.random.default_rng(0).standard_normal((n_rows, 2)), PAPER_GAMMAS, PAPER_TOL
        graph = {"weights": "dense"} if kind == "dense" else {"n_neighbors": n_rows // 4}
    model = ConvexClusterPath(
        gammas, phi=PHI, tol=tol, n_threads=n_threads, max_iter=50_000, **graph, **SOLVERS[solver]
    )
    with measured() as cost:
        model.fit(X)
    return {
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "other_seconds": cost.other_seconds,
        "peak_bytes": cost.peak_bytes,
        "gap": float(np.max(model.dual_gaps_ / model.objectives_)),
        "iterations": model.n_iter_,
        "edges": len(model.edges_),
        "clusters": int(model.n_clusters_path_[-1]),
    }


def run_iteration(n_rows: int, n_columns: int, n_threads: int) -> dict[str, Any]:
    """Measure accelerated iterations on 15 neighbours; columns after the second are noise."""
    from coterie import ConvexClustering
    from coterie.convex.edges import weight_graph

    X = moons(n_rows)
    graph = weight_graph(X, kind="knn", n_neighbors=15, phi=PHI, connect=False, n_threads=n_threads)
    if n_columns > 2:
        X = np.column_stack([X, 0.05 * np.random.default_rng(0).standard_normal((n_rows, n_columns - 2))])
    model = ConvexClustering(weights="precomputed", n_threads=n_threads)
    setting = model._setting(X, graph)
    solver = setting.solver
    solver.start(1.0)
    for _ in range(20):
        solver.iterate()
    seconds = best_seconds(solver.iterate, 30)
    n_edges, p = solver.problem.dual_shape
    # What has to move: duals read twice (the present and the former) and written, ends, weights and steps of the edges;
    # rows and two kinds of points read, two written.
    moved = n_edges * (3 * 8 * p + 4 + 4 + 8 + 8) + n_rows * 5 * 8 * p
    return {"seconds": seconds, "edges": n_edges, "rate": 1e-9 * moved / seconds}


class ConvexBenchmark:
    """One run."""

    def __init__(self, options: argparse.Namespace, report: Report) -> None:
        self.options, self.report = options, report
        self._verdicts: list[list[str]] = []

    def paper(self, kind: str) -> None:
        """Tables 2 (dense) and 3 (sparse) of the paper: n standard normal rows of two columns."""
        cells = []
        for solver in SOLVERS:
            key = (kind, "admm" if solver == "ADMM" else "ama")
            for n_rows, theirs in zip(PAPER_SIZES, PAPER_SECONDS[key]):
                if n_rows not in (PAPER_SIZES if not self.options.quick else PAPER_SIZES[:1]):
                    continue
                result = self._path(kind, n_rows, solver)
                cells.append(
                    [solver, f"{n_rows}", *self._cells(result), "-" if theirs is None else f"{theirs:g}"]
                )
                if solver == "fast AMA" and n_rows == PAPER_SIZES[-1]:
                    self._judge(
                        f"{kind}, n = {n_rows}, seconds", WANTED_PAPER_SECONDS[kind], result["seconds"]
                    )
        title = f"{kind} weights, phi = 2, 50 gammas from 0.01 to 10, relative gap {PAPER_TOL:g}"
        headers = ["solver", "n", *self._headers(), "paper's s"]
        self.report.table(title, headers, cells)

    def moons(self, kind: str) -> None:
        """The scale runs: two moons, 15 neighbours."""
        cells = []
        for n_rows in self.options.sizes:
            result = self._path(kind, n_rows, "fast AMA")
            theirs = CCMMR_SECONDS.get(n_rows)
            cells.append([f"{n_rows:,}", *self._cells(result), "-" if theirs is None else f"{theirs:g}"])
            if n_rows in WANTED_MOON_SECONDS:
                self._judge(f"moons, n = {n_rows:,}, seconds", WANTED_MOON_SECONDS[n_rows], result["seconds"])
        title = f"two moons, 15 neighbours, phi = 2, 50 gammas from 0.01 to 100, relative gap {MOON_TOL:g}"
        self.report.table(title, ["n", *self._headers(), "CCMMR's s"], cells)

    def iteration(self, _kind: str) -> None:
        """One accelerated iteration against the memory."""
        limit = isolated(memory_bandwidth, self.options.threads)["read"]
        cells = []
        for n_columns in (2, 50):
            n_rows = 100_000 if not self.options.quick else 5000
            result = isolated(run_iteration, n_rows, n_columns, self.options.threads)
            share = result["rate"] / limit
            cells.append([
                f"{n_rows:,} x {n_columns}", f"{result['edges']:,}", f"{1e3 * result['seconds']:.2f}",
                f"{result['rate']:.1f}", f"{share:.0%}",
            ])  # fmt: skip
            self._judge(f"iteration, p = {n_columns}, share of bandwidth", -WANTED_BANDWIDTH, -share)
        title = f"an accelerated iteration; the memory reads {limit:.0f} GB/s"
        self.report.table(title, ["rows", "edges", "ms", "GB/s", "of memory"], cells)

    def finish(self) -> None:
        """Print what was wanted and what was measured."""
        self.report.table("Targets", ["what", "wanted", "measured", ""], self._verdicts)
        self.report.say("", f"Written to {self.report.save().name}")

    def _path(self, kind: str, n_rows: int, solver: str) -> dict[str, Any]:
        repeats = self.options.repeats if n_rows <= 5000 and solver == "fast AMA" else 1
        runs = [isolated(run_path, kind, n_rows, solver, self.options.threads) for _ in range(repeats)]
        self.report.data.setdefault("runs", []).append(
            {"kind": kind, "n": n_rows, "solver": solver, "runs": runs}
        )
        return summarise(runs)

    def _headers(self) -> list[str]:
        return ["edges", "seconds", "CPU s", "others' CPU s", "iterations", "largest gap", "clusters", "MiB"]

    def _cells(self, result: dict[str, Any]) -> list[str]:
        return [
            f"{result['edges']:,.0f}", f"{result['seconds']:.3g}", f"{result['cpu_seconds']:.3g}",
            f"{result['other_seconds']:.2g}", f"{result['iterations']:,.0f}", f"{result['gap']:.1e}",
            f"{result['clusters']:.0f}", f"{result['peak_bytes'] / MIB:.0f}",
        ]  # fmt: skip

    def _judge(self, what: str, wanted: float, measured_: float) -> None:
        self._verdicts.append(
            [what, f"{abs(wanted):g}", f"{abs(measured_):.3g}", "yes" if measured_ <= wanted else "NO"]
        )


STEPS: dict[str, Callable[[ConvexBenchmark, str], None]] = {
    "sparse": ConvexBenchmark.paper,
    "dense": ConvexBenchmark.paper,
    "moons": ConvexBenchmark.moons,
    "iteration": ConvexBenchmark.iteration,
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.convex", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(STEPS), help="rows to run (default: all)")
    parser.add_argument("--sizes", default=",".join(map(str, MOON_SIZES)), help="rows of the two moons")
    parser.add_argument("--repeats", type=int, default=3, help="runs of the faster paths (default: 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default: 2)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    options = parser.parse_args(arguments)
    options.rows = [key.strip() for key in options.rows.split(",")]
    options.sizes = [int(size) for size in options.sizes.split(",")] if not options.quick else [500]
    unknown = [key for key in options.rows if key not in STEPS]
    if unknown or options.repeats < 1 or options.threads < 1:
        parser.error(f"rows are {', '.join(STEPS)}; repeats and threads are at least 1")
    return options


def main() -> None:
    """Run the rows that were asked for."""
    options = parse()
    limit_threads(options.threads)
    benchmark = ConvexBenchmark(
        options, Report("convex", shlex.join(["python", "-m", "benchmarks.convex", *sys.argv[1:]]))
    )
    for key in options.rows:
        STEPS[key](benchmark, key)
    benchmark.finish()


if __name__ == "__main__":
    main()
