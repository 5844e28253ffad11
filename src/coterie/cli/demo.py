"""`coterie demo`: the main commands on a data set that is always available, handwritten digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie import (
    ConvexClusterPath,
    KMeans,
    LaplacianKModes,
    NestedMiniBatchKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from coterie.cli.fit import fit_into, fit_lines
from coterie.cli.job import FitJob
from coterie.cli.models import fit_model
from coterie.cli.options import Force, Json, Out, Quiet
from coterie.cli.output import tell
from coterie.cli.progress import FitCallback, display
from coterie.cli.report import ReportOptions
from coterie.cli.runs import run_folder, write_summary
from coterie.datasets import load_digits, load_mammals, make_moved_digits
from coterie.estimators import method_of
from coterie.fitting.report import FitProgress
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score, purity, quantization_error
from coterie.outputs import OutputFolder
from coterie.plotting import (
    plot_cluster_images,
    plot_clusters,
    plot_curves,
    plot_memberships,
    plot_modes,
    require_matplotlib,
)
from coterie.reports import require_report
from coterie.rows import as_rows

__all__ = ["demo", "run_demo"]

INPUT = "digits.npy"
PICTURES = (
    "modes", "speed", "mixture", "mammals_path", "mammals_tree", "memberships", "centroids", "clusters",
)  # fmt: skip
NESTED_ROWS, NESTED_CLUSTERS = 100_000, 50
MIXTURE_ROWS, MIXTURE_CLUSTERS = 40_000, 1000
LABELS_EACH = 2
Curve = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """Unfitted estimators to compare on the same generated digits."""

    n_rows: int
    n_clusters: int
    models: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.n_rows:,} moved digits in {self.n_clusters:,} clusters"


def demo(
    *, out: Out = Path("coterie-demo"), force: Force = False, json: Json = False, quiet: Quiet = False
) -> None:
    """Cluster handwritten digits by several methods, compare their speed, and draw a tree of mammals.

    Parameters
    ----------
    out
        Folder for the digits, the model, the labels, the summary and eight pictures.
    """
    tell(run_demo(out, quiet=quiet, force=force), fit_lines, json, quiet)


def run_demo(out: Path, *, quiet: bool = False, force: bool = False) -> dict[str, Any]:
    """Write the digits to a file, cluster that file as `coterie fit` does, and draw the result.

    Then a cut of their graph from a few labels, three comparisons, and the convex clustering of mammals by their teeth.

    Parameters
    ----------
    out : Path
        Folder for all files.
    quiet : bool, default=False
        Show no progress.
    force : bool, default=False
        Replace the results of another command there.

    Returns
    -------
    dict
        The summary of the fit with `scores` against the true digits, the results of the comparisons (`comparisons`)
        and the paths of all files.
    """
    require_matplotlib()
    require_report()
    with run_folder(out, "fit", str(out / INPUT), force=force) as outputs:
        outputs.check(INPUT, *(f"{name}.png" for name in PICTURES))
        return _run_into(outputs, out, quiet=quiet)


def _run_into(outputs: OutputFolder, out: Path, *, quiet: bool) -> dict[str, Any]:
    X, y = load_digits()
    with outputs.writing(INPUT) as path, open(path, "wb") as file:
        np.save(file, X.astype(np.uint8))

    cut = from_labels(X, y)
    job = FitJob(
        file=str(out / INPUT),
        n_clusters=10,
        out=out,
        parameters={"n_init": 10},
        quiet=quiet,
        evaluate=lambda labels: {
            **scores(y, labels),
            f"accuracy_with_{LABELS_EACH}_labels_a_class": float(np.mean(cut.labels_ == y)),
        },
        report=ReportOptions(known=y, image_shape=(8, 8)),
    )
    model, summary = fit_into(outputs, job, str(outputs.staged(INPUT)))
    modes, found = compare_modes(X, y, quiet=quiet)
    results = {f"{len(X):,} digits in 10 clusters": found}
    pictures = {"modes": modes}
    for name, comparison in {"speed": nested_comparison(), "mixture": mixture_comparison()}.items():
        pictures[name], results[str(comparison)] = draw_comparison(comparison, quiet=quiet)
    pictures.update(draw_mammals())
    pictures["memberships"] = plot_memberships(cut).figure
    pictures["centroids"] = plot_cluster_images(model.cluster_centers_, (8, 8), np.bincount(model.labels_))
    pictures["clusters"] = plot_clusters(X, model).figure
    for name in PICTURES:
        with outputs.writing(f"{name}.png") as path:
            pictures[name].savefig(path)
    drawn = {name: str(out / f"{name}.png") for name in PICTURES}
    files = {"input": job.file, **summary["files"], **drawn}
    files["report"] = files.pop("report")  # named last: the page to open
    write_summary(outputs, {**summary, "files": files})
    return {**summary, "command": "demo", "comparisons": results, "files": files}


def draw_comparison(
    comparison: SpeedComparison, *, quiet: bool = False
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Run a comparison; return the figure and the results."""
    curves, results = run_comparison(comparison, quiet=quiet)
    ax = plot_curves(
        curves, xlabel="seconds", ylabel="held-out energy above the best, %", title=str(comparison)
    )
    ax.set_ylim(bottom=0.05)
    return ax.figure, results


def draw_mammals() -> dict[str, Any]:
    """Follow the convex clustering of mammals by their teeth; return two figures."""
    mammals = load_mammals()
    path = ConvexClusterPath(n_gammas=60, distance_decay=0.5).fit(mammals.data)
    return {
        "mammals_path": path.plot().figure,
        "mammals_tree": path.plot_dendrogram(names=mammals.row_names).figure,
    }


def scores(y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the agreement of labels with the true ones."""
    return {
        "normalized_mutual_information": float(normalized_mutual_info_score(y, labels)),
        "accuracy": clustering_accuracy(y, labels),
    }


def compare_modes(X: np.ndarray, y: np.ndarray, *, quiet: bool = False) -> tuple[Any, dict[str, Any]]:
    """Modes on a graph of nearest neighbors against k-means, ten runs each.

    Returns
    -------
    figure : matplotlib Figure
        The modes of SLK-BO.
    results : dict of str to dict
        For each method its seconds and the agreement with the true digits.
    """
    options: dict[str, Any] = {"graph_weight": 2.0, "metric": "cosine", "random_state": 0}
    models = {
        "k-means": KMeans(10, n_init=10, random_state=0),
        "laplacian-kmodes, SLK-BO": LaplacianKModes(10, **options),
        "laplacian-kmodes, SLK-MS": LaplacianKModes(10, mode_update="mean_shift", **options),
    }
    results = {}
    for name, model in models.items():
        seconds, _ = fit_model(model, as_rows(X), quiet=quiet)
        results[name] = {"seconds": round(seconds, 3), **scores(y, model.labels_)}
    return plot_modes(X, models["laplacian-kmodes, SLK-BO"], (8, 8)), results


def from_labels(X: np.ndarray, y: np.ndarray) -> TotalVariationClustering:
    """Cut the graph of the digits, of which the first few of each kind are known."""
    known = np.full(len(y), -1)
    for digit in range(10):
        rows = np.flatnonzero(y == digit)[:LABELS_EACH]
        known[rows] = digit
    return TotalVariationClustering(10, random_state=0).fit(X, known)


def nested_comparison() -> SpeedComparison:
    """Nested mini-batches against exact k-means."""
    models = {
        "k-means": KMeans(NESTED_CLUSTERS, random_state=0),
        "nested": NestedMiniBatchKMeans(NESTED_CLUSTERS, random_state=0),
    }
    return SpeedComparison(NESTED_ROWS, NESTED_CLUSTERS, models)


def mixture_comparison() -> SpeedComparison:
    """A mixture of Gaussians, of all rows and of a coreset, against exact k-means with the same seeding."""
    coreset_size = MIXTURE_ROWS // 2
    models = {
        "k-means": KMeans(MIXTURE_CLUSTERS, init="afk-mc2", random_state=0),
        "gmm": TruncatedGaussianMixture(MIXTURE_CLUSTERS, random_state=0),
        f"gmm, coreset of {coreset_size:,}": TruncatedGaussianMixture(
            MIXTURE_CLUSTERS, coreset_size=coreset_size, random_state=0
        ),
    }
    return SpeedComparison(MIXTURE_ROWS, MIXTURE_CLUSTERS, models)


def run_comparison(
    comparison: SpeedComparison, *, quiet: bool = False
) -> tuple[dict[str, Curve], dict[str, dict[str, Any]]]:
    """Fit the estimators of a comparison.

    Parameters
    ----------
    comparison : SpeedComparison
        Data and estimators.
    quiet : bool, default=False
        Show no progress.

    Returns
    -------
    curves : dict of str to (seconds, excess)
        For each method the seconds of its fit, and by how much the energy of held-out digits was above the lowest
        of all by then, in percent.
    results : dict of str to dict
        For each method the seconds until its energy was within 1% of the lowest (None if it never was) and those of
        all iterations, and at the end the mean energy of held-out digits and the purity of the clusters.
    """
    X, digits = make_moved_digits(comparison.n_rows, random_state=0)
    held_out, _ = make_moved_digits(comparison.n_rows // 10, random_state=1)
    energies: dict[str, Curve] = {}
    for name, model in comparison.models.items():
        seen = _fit_and_follow(model, X, quiet=quiet)
        shown = seen[:: max(1, len(seen) // 50)] + seen[-1:]
        seconds, centers = zip(*shown)
        energies[name] = np.array(seconds), np.array([quantization_error(held_out, c) for c in centers])
    best = min(energy.min() for _, energy in energies.values())
    curves = {name: (seconds, 100 * (energy / best - 1)) for name, (seconds, energy) in energies.items()}
    results = {
        name: {
            "seconds_to_1%": _seconds_to(curves[name], 1.0),
            "seconds": round(float(seconds[-1]), 3),
            "energy": float(energy[-1]),
            "purity": purity(digits, comparison.models[name].labels_),
        }
        for name, (seconds, energy) in energies.items()
    }
    return curves, results


def _fit_and_follow(model: Any, X: np.ndarray, *, quiet: bool) -> list[tuple[float, np.ndarray]]:
    """Fit a model; return the seconds and the centers of each iteration."""
    seen: list[tuple[float, np.ndarray]] = []
    with display(quiet) as screen:
        show = FitCallback(screen, method_of(model), model.get_params())

        def watch(progress: FitProgress) -> None:
            seen.append((progress.seconds, progress.centers.copy()))
            show(progress)

        model.set_params(callback=watch).fit(X)
    return seen


def _seconds_to(curve: Curve, excess: float) -> float | None:
    reached = np.flatnonzero(curve[1] <= excess)
    return round(float(curve[0][reached[0]]), 3) if len(reached) else None
