"""Table 1 of the paper, and what its algorithms take where they are run as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.convex.paths import PHI, moons
from benchmarks.harness.papers import PaperRun

NORMS: dict[str, tuple[Any, str]] = {
    "l1": ("l1", "soft threshold of each entry"),
    "l2": ("l2", "shrinks the whole vector"),
    "l1,2": ([[0, 1], [2, 3, 4]], "shrinks each group"),
    "linf": ("linf", "v minus its projection on the l1 ball"),
}
SOLVERS: dict[str, dict[str, Any]] = {
    "Algorithm 1, ADMM; gap": {"solver": "admm"},
    "Algorithm 1, ADMM; nu = 1, gap": {"solver": "admm", "step_size": 1.0},
    "Algorithm 1, ADMM; Boyd's residuals": {"solver": "admm", "stopping": "residuals"},
    "Algorithm 2, AMA; the paper's step": {"solver": "plain-ama", "step_size": "paper"},
    "Algorithm 3, fast AMA with restarts; the paper's step": {"step_size": "paper"},
    "AMA; our steps by weight": {"solver": "plain-ama"},
    "fast AMA with restarts; our steps by weight": {},
}
MAX_ITER = 200_000


def make_table_1(run: PaperRun) -> None:
    """Compare the proximal maps with a plain minimization of sigma ||v|| + 1/2 ||u - v||^2.

    With two rows, an edge of weight 1 and gamma, the difference of the centroids is the proximal map of the rows'
    difference with sigma = 2 gamma: so the public estimator shows its maps.
    """
    random = np.random.default_rng(0)
    cells = []
    for name, (norm, comment) in NORMS.items():
        worst = max(_deviation(norm, random) for _ in range(3 if run.quick else 30))
        cells.append([name, comment, f"{worst:.0e}"])
    title = "The proximal map of each norm against a numerical minimum, p = 5"
    run.report.table(title, ["norm", "operation", "largest deviation"], cells, 2)


def _deviation(norm: Any, random: np.random.Generator) -> float:
    """Return how far the two are apart for a random vector and sigma."""
    from coterie import ConvexClustering

    vector, sigma = random.normal(size=5), float(random.uniform(0.1, 1.5))
    rows = np.vstack([vector / 2, -vector / 2])
    model = ConvexClustering(
        sigma / 2, weights="precomputed", norm=norm, solver="admm", tol=1e-15, max_iter=MAX_ITER
    ).fit(rows, graph=np.array([[0.0, 1.0], [1.0, 0.0]]))
    ours = model.centroids_[0] - model.centroids_[1]
    return float(np.abs(ours - _minimum(vector, sigma, norm)).max())


def _minimum(vector: np.ndarray, sigma: float, norm: Any) -> np.ndarray:
    """Minimize sigma ||v|| + 1/2 ||u - v||^2 by a search along lines, on which the minimum lies by symmetry.

    Within a group of an l2 norm that is the line from 0 to u, each entry of l1 being such a group; for linf it is the
    curve of u with its entries cut off at t.
    """
    if norm == "linf":
        return _cut_off(
            vector, _lowest(lambda t: sigma * t + 0.5 * np.sum((vector - _cut_off(vector, t)) ** 2))
        )
    groups = {"l1": [[j] for j in range(5)], "l2": [list(range(5))]}
    found = np.empty_like(vector)
    for group in groups[norm] if isinstance(norm, str) else norm:
        part = vector[group]
        length = float(np.linalg.norm(part))
        found[group] = part / length * _lowest(lambda t, length=length: sigma * t + 0.5 * (length - t) ** 2)
    return found


def _cut_off(vector: np.ndarray, most: float) -> np.ndarray:
    return np.clip(vector, -most, most)


def _lowest(function: Callable[[float], float]) -> float:
    """Return where a convex function of 0 to 10 is lowest."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(function, bounds=(0, 10), method="bounded", options={"xatol": 1e-10})
    return float(found.x)


def make_solvers(run: PaperRun) -> None:
    """Count the iterations of the paper's algorithms, one gamma each; no timings."""
    from coterie import ConvexClustering

    n_rows, tol = (100, 1e-4) if run.quick else (500, 1e-6)
    rows = np.random.default_rng(0).standard_normal((n_rows, 2))
    cells = []
    for weights, graph in {
        "dense": {"weights": "dense"},
        "n / 4 neighbors": {"n_neighbors": n_rows // 4},
    }.items():
        for name, solver in SOLVERS.items():
            model = ConvexClustering(
                0.1, distance_decay=PHI, tol=tol, max_iter=MAX_ITER, n_threads=run.threads, **graph, **solver
            ).fit(rows)
            gap = model.dual_gap_ / model.objective_
            cells.append([weights, name, f"{model.n_iter_:,}", f"{gap:.0e}", f"{model.n_clusters_}"])
    title = f"Iterations until done: {n_rows} normal rows, gamma = 0.1, phi = 2, tol = {tol:g}"
    run.report.table(title, ["weights", "algorithm", "iterations", "relative gap", "clusters"], cells, 2)


def make_warm_starts(run: PaperRun) -> None:
    """Count the iterations of increasingly dense warm starts (section 9); no timings."""
    from coterie import ConvexClustering

    settings = {
        "two moons, 50 neighbors after 5 and 15": (
            moons(300 if run.quick else 2000), {"n_neighbors": 50}, [5, 15], (0.1, 1.0, 10.0)
        ),
        "normal rows, all edges after 10 and 40 neighbors": (
            np.random.default_rng(0).normal(size=(300, 2)), {"weights": "dense"}, [10, 40], (0.05, 0.2, 1.0)
        ),
    }  # fmt: skip
    cells = []
    for name, (rows, graph, numbers, gammas) in settings.items():
        options: dict[str, Any] = {"distance_decay": PHI, "tol": 1e-6, "max_iter": MAX_ITER}
        options |= {"n_threads": run.threads, **graph}
        for gamma in gammas[: 1 if run.quick else None]:
            cold = ConvexClustering(gamma, **options).fit(rows)
            warm = ConvexClustering(gamma, warm_neighbors=numbers, **options).fit(rows)
            before = " + ".join(f"{n_iter:,}" for n_iter in warm.warm_n_iter_)
            cells.append([name, f"{gamma:g}", f"{cold.n_iter_:,}", before, f"{warm.n_iter_:,}"])
    headers = ["rows and edges", "gamma", "from zero", "on the sparser graphs", "then on the graph"]
    run.report.table("Iterations to a relative gap of 1e-6", headers, cells)
