"""Row lambda: what tells good clusters from bad ones over lambdas and starts, when no label is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.readers import sampled
from benchmarks.laplacian_kmodes.contenders import MODE_UPDATES
from benchmarks.laplacian_kmodes.sets import SETS
from benchmarks.laplacian_kmodes.setting import N_NEIGHBORS, SEED

LAMBDAS = (1.0, 1.3, 1.6, 2.0, 3.0, 4.0)
N_ROWS, QUICK_ROWS, QUICK_SETS = 3000, 300, ("iris", "half moons", "digits")

# Of each run, the lower the better.
CRITERIA = {
    "E": "E",
    "E at lambda 1": "E@1",
    "E at lambda 4": "E@4",
    "normalized cut": "ncut",
    "balanced cut": "bcut",
    "modularity": "modularity",
    "stability": "stab",
}
Runs = list[dict[str, float]]


def run_lambdas(name: str, mode_update: str, n_rows: int, n_seeds: int, n_threads: int) -> Runs:
    """Fit each start with each lambda, the largest first, each other one from the modes of the next larger.

    A run has its NMI with the classes, its empty clusters, and what `CRITERIA` names.
    """
    from coterie import LaplacianKModes
    from coterie.fitting.report import Report, Stop
    from coterie.graphs import gaussian_bandwidth, graph_of_neighbors, nearest_neighbors
    from coterie.laplacian_kmodes.memberships import GraphMemberships
    from coterie.laplacian_kmodes.modes import VectorModes
    from coterie.laplacian_kmodes.solver import HISTORY_FIELDS, KModesProblem, bound_optimization
    from coterie.metrics import normalized_mutual_info_score
    from coterie.seeding import k_means_plus_plus

    X, y = sampled(*SETS[name].read(), n_rows)
    n_clusters = len(np.unique(y))
    ids, squares = nearest_neighbors(X, N_NEIGHBORS, random_state=SEED, n_threads=n_threads)
    graph = graph_of_neighbors(ids, squares, symmetrize="none")
    search = VectorModes(X, gaussian_bandwidth(squares), mode_update=mode_update, n_threads=n_threads)
    memberships = GraphMemberships(graph, n_clusters, diagonal_shift="auto", n_threads=n_threads)
    report = Report(LaplacianKModes(n_clusters), HISTORY_FIELDS)
    runs, labels = [], {}
    for seed in range(n_seeds):
        random = np.random.RandomState(seed)
        centers = k_means_plus_plus(X, n_clusters, random_state=random, n_threads=n_threads)[0]
        modes = search.start(centers, random)
        for lam in reversed(LAMBDAS):
            run = bound_optimization(
                KModesProblem(graph, search, n_clusters, lam), modes, memberships, stop=Stop(100, 1e-5),
                membership_tol=1e-6, report=report.start_run(),
            )  # fmt: skip
            modes, labels[seed, lam] = run.modes, run.labels
            nmi = float(normalized_mutual_info_score(y, run.labels))
            facts = {"seed": seed, "lam": lam, "nmi": nmi, "E": run.objective, "n_empty": run.n_empty}
            runs.append(facts | _cuts(graph, run.labels, n_clusters, run.objective, lam))
    for run in runs:
        same = [labels[seed, run["lam"]] for seed in range(n_seeds) if seed != run["seed"]]
        own = labels[run["seed"], run["lam"]]
        run["stab"] = -fmean(normalized_mutual_info_score(own, other) for other in same)
    return runs


def _cuts(graph: Any, labels: np.ndarray, n_clusters: int, objective: float, lam: float) -> dict[str, float]:
    """Return what the graph says of labels; it counts both ways, an edge one way half."""
    from coterie.graphs.cuts import modularity
    from coterie.metrics import balanced_cut

    both = ((graph + graph.T) * 0.5).tocoo()
    heads, tails = labels[both.coords[0]], labels[both.coords[1]]
    volumes = np.bincount(heads, both.data, minlength=n_clusters)
    leaving = np.bincount(heads, both.data * (heads != tails), minlength=n_clusters)
    cut = leaving.sum()
    own = 0.5 * lam * cut - objective
    return {
        **{f"E@{common:g}": 0.5 * common * cut - own for common in (1.0, 4.0)},
        "ncut": float(np.sum(leaving / volumes)) if volumes.all() else float("inf"),
        "bcut": balanced_cut(both, labels, n_clusters),
        "modularity": -modularity(graph, labels),
    }


def judged(runs: Runs) -> dict[str, tuple[float, float]]:
    """Return, for each criterion, its rank correlation with the NMI and the NMI of the run that it takes.

    Runs with the fewest empty clusters count only.
    """
    from scipy.stats import spearmanr

    fewest = min(run["n_empty"] for run in runs)
    whole = [run for run in runs if run["n_empty"] == fewest]
    nmi = np.array([run["nmi"] for run in whole])
    found = {}
    for name, key in CRITERIA.items():
        values = np.array([run[key] for run in whole])
        finite = np.isfinite(values)
        tells = all(len(np.unique(numbers[finite])) > 1 for numbers in (values, nmi))
        agreement = spearmanr(-values[finite], nmi[finite]).statistic if tells else float("nan")
        found[name] = float(agreement), float(nmi[values.argmin()])
    return found


# --- tables


def measure_criteria(benchmark: Benchmark, key: str) -> None:
    """Compare criteria, over as many starts as --seeds says."""
    compare_criteria(benchmark, key, benchmark.options.seeds)


def compare_criteria(benchmark: Benchmark, key: str, n_seeds: int) -> None:
    """Compare criteria on all sets that are here, in a table for each method."""
    for contender, runs in runs_of_sets(benchmark, key, n_seeds).items():
        title = f"{key}. {contender}: {n_seeds} seeds, lambda {', '.join(f'{lam:g}' for lam in LAMBDAS)}"
        benchmark.report.table(title, ["", *CRITERIA, "best"], criteria_lines(runs))
    benchmark.report.say(
        "",
        LEGEND,
        "stability: mean NMI with the clusters of other seeds at the same lambda. best: the highest NMI of all runs. "
        "E at lambda 1: E of the same labels.",
    )
    benchmark.report.save()


LEGEND = (
    "Correlation: rank correlation (Spearman) of the criterion with the NMI over the runs of a set, 1 if both rank the "
    "runs alike. NMI: of the run with the best value of the criterion. Runs with more empty clusters than another one "
    "are not compared."
)


def runs_of_sets(benchmark: Benchmark, key: str, n_seeds: int) -> dict[str, dict[str, Runs]]:
    """Return the runs of each method on all sets that are here."""
    quick = benchmark.options.quick
    names = [name for name in (QUICK_SETS if quick else SETS) if SETS[name].is_here]
    missing = sorted({SETS[name].file for name in SETS if not SETS[name].is_here})
    if missing:
        benchmark.report.say("", f"{key}: without {', '.join(missing)}, not in COTERIE_DATA.")
    n_rows, n_threads = QUICK_ROWS if quick else N_ROWS, benchmark.options.threads
    found = {}
    for contender, mode_update in MODE_UPDATES.items():
        found[contender] = {
            name: benchmark.isolated(run_lambdas, name, mode_update, n_rows, n_seeds, n_threads)
            for name in names
        }
        benchmark.report.data["rows"][f"{key}: {contender}"] = found[contender]
    return found


def mean_lines(found: Mapping[str, Mapping[str, Runs]]) -> list[list[str]]:
    """Return the means over the sets: of each criterion the correlations of all methods, then the NMIs."""
    means = [
        np.nanmean([list(judged(some).values()) for some in runs.values()], axis=0) for runs in found.values()
    ]
    lines = [
        [name, *(f"{mean[at, 0]:+.2f}" for mean in means), *(f"{mean[at, 1]:.3f}" for mean in means)]
        for at, name in enumerate(CRITERIA)
    ]
    best = [fmean(max(run["nmi"] for run in some) for some in runs.values()) for runs in found.values()]
    return [*lines, ["best run", *[""] * len(found), *(f"{nmi:.3f}" for nmi in best)]]


def criteria_lines(runs: Mapping[str, Runs]) -> list[Sequence[str]]:
    """Return the lines of the table, the means over the sets last."""
    found = {name: judged(some) for name, some in runs.items()}
    lines: list[Sequence[str]] = []
    for name, cells in found.items():
        best = max(run["nmi"] for run in runs[name])
        lines.append(
            [
                name,
                *(f"{rho:+.2f} / {nmi:.3f}".replace("+nan", "-") for rho, nmi in cells.values()),
                f"{best:.3f}",
            ]
        )
    means = [np.nanmean([cells[name] for cells in found.values()], axis=0) for name in CRITERIA]
    best = fmean(max(run["nmi"] for run in some) for some in runs.values())
    return [*lines, ["mean", *(f"{rho:+.2f} / {nmi:.3f}" for rho, nmi in means), f"{best:.3f}"]]
