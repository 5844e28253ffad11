"""Section 4.2: what tells good clusters from bad ones over lambdas and starts, when no label is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness.contenders import model_of
from benchmarks.harness.data.files import Rows, arrays_of, documents_of, sampled, snippets
from benchmarks.harness.data.labeled import SCALINGS, labeled
from benchmarks.harness.data.quality_sets import QualitySet
from benchmarks.harness.data.shapes import half_moons
from benchmarks.harness.papers import PaperRun
from benchmarks.laplacian_kmodes.contenders import MODE_UPDATES, N_NEIGHBORS

LAMBDAS = (1.0, 1.3, 1.6, 2.0, 3.0, 4.0)
N_ROWS, QUICK_ROWS, QUICK_SETS = 3000, 300, ("iris", "half moons", "digits")

# Of each run, the lower the better.
CRITERIA = {
    "E": "E", "E at lambda 1": "E@1", "E at lambda 4": "E@4", "normalized cut": "ncut", "balanced cut": "bcut",
    "modularity": "modularity", "stability": "stab",
}  # fmt: skip
Runs = list[dict[str, float]]


def _scaled(name: str, scaling: str = "rows of length 1") -> Rows:
    rows, classes = labeled(name)
    return SCALINGS[scaling](rows), classes


def _read(read: Callable[..., Rows], file: str) -> QualitySet:
    return QualitySet(partial(read, file), file)


SETS: dict[str, QualitySet] = {
    "iris": QualitySet(partial(model_of, "coterie.datasets.load_iris")),
    "half moons": QualitySet(half_moons),
    "digits": QualitySet(partial(_scaled, "digits")),
    **{
        name: QualitySet(partial(_scaled, name), f"{name}.npz")
        for name in ("optdigits", "pendigits", "mnist")
    },
    "shuttle": QualitySet(partial(_scaled, "shuttle", "columns in 0..1"), "shuttle.npz"),
    "four moons": _read(arrays_of, "four_moons_regen.npz"),
    "webkb4": _read(documents_of, "webkb4.npz"),
    "20news": _read(documents_of, "20news_bydate_counts.npz"),
    "searchsnippets": QualitySet(snippets, "searchsnippets.parquet"),
}


def run_lambdas(name: str, mode_update: str, n_rows: int, n_seeds: int, n_threads: int) -> Runs:
    """Fit each start with each lambda, the largest first, each other one from the modes of the next larger.

    A run has its NMI with the classes, its empty clusters, and what `CRITERIA` names.
    """
    from coterie import LaplacianKModes, select_graph_weight
    from coterie.metrics import normalized_mutual_info_score

    X, y = sampled(*SETS[name].read(), n_rows)
    n_clusters = len(np.unique(y))
    options = {"n_neighbors": N_NEIGHBORS, "mode_update": mode_update, "init": "k-means++", "n_init": 1}
    runs, labels = [], {}
    for seed in range(n_seeds):
        model = LaplacianKModes(n_clusters, random_state=seed, n_threads=n_threads, **options)
        for fitted in select_graph_weight(model, X, LAMBDAS).models:
            lam, labels[seed, fitted.graph_weight] = fitted.graph_weight, fitted.labels_
            nmi = float(normalized_mutual_info_score(y, fitted.labels_))
            n_empty = n_clusters - len(np.unique(fitted.labels_))
            facts = {"seed": seed, "lam": lam, "nmi": nmi, "E": fitted.objective_, "n_empty": n_empty}
            runs.append(
                facts | _cuts(fitted.affinity_matrix_, fitted.labels_, n_clusters, fitted.objective_, lam)
            )
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


def make_selection(run: PaperRun) -> None:
    """Section 4.2: what can take the place of a validation set."""
    # Stability compares seeds.
    n_seeds = 3 if run.quick else max(2, len(run.seeds(10)))
    n_rows, found = QUICK_ROWS if run.quick else N_ROWS, {}
    if missing := sorted({known.file for known in SETS.values() if not known.is_here}):
        run.say(f"Without {', '.join(missing)}, not in COTERIE_DATA.")
    for contender, mode_update in MODE_UPDATES.items():
        found[contender] = {
            name: run.isolated(run_lambdas, name, mode_update, n_rows, n_seeds, run.threads)
            for name in (QUICK_SETS if run.quick else SETS)
            if SETS[name].is_here
        }
    run.report.data["rows"] = found
    lambdas = ", ".join(f"{lam:g}" for lam in LAMBDAS)
    run.say(
        "Means over the data sets. Correlation: rank correlation (Spearman) of the criterion with the NMI over the "
        "runs of a set, 1 if both rank the runs alike. NMI: of the run with the best value of the criterion. Runs with "
        f"more empty clusters than another one are not compared. Lambda: {lambdas}. Seeds: {n_seeds}."
    )
    columns = [f"{column}, {name.split()[-1]}" for column in ("correlation", "NMI") for name in found]
    run.report.table("Criteria without labels", ["criterion", *columns], mean_lines(found))


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
