"""`coterie demo`: the main jobs on real data that are always at hand, handwritten digits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coterie import KMeans, NestedMiniBatchKMeans
from coterie.cli.jobs import FitJob, fit
from coterie.cli.output import check_writable, staged_files
from coterie.cli.progress import display, fit_callback
from coterie.datasets import load_digits, make_moved_digits
from coterie.fitting import FitProgress
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score, quantization_error
from coterie.persistence import replacing
from coterie.plotting import plot_cluster_images, plot_clusters, plot_curves, require_matplotlib

__all__ = ["run_demo"]

INPUT = "digits.npy"
RACE_ROWS, RACE_CLUSTERS = 100_000, 50
Curve = tuple[np.ndarray, np.ndarray]


def run_demo(out: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Write the digits to a file, cluster that file as `coterie fit` does, and draw the result; then a race.

    Parameters
    ----------
    out : Path
        Folder for all files.
    quiet : bool, default=False
        Show no progress.

    Returns
    -------
    dict
        The summary of the fit with `scores` against the true digits and the paths of all files.
    """
    require_matplotlib()
    check_writable(out)
    X, y = load_digits()
    with staged_files(out, [INPUT]) as paths, open(paths[INPUT], "wb") as file:
        np.save(file, X.astype(np.uint8))

    def evaluate(labels: np.ndarray) -> dict[str, float]:
        return {
            "normalized_mutual_information": float(normalized_mutual_info_score(y, labels)),
            "accuracy": clustering_accuracy(y, labels),
        }

    job = FitJob(
        file=str(out / INPUT),
        n_clusters=10,
        out=out,
        parameters={"n_init": 10, "random_state": 0},
        quiet=quiet,
        evaluate=evaluate,
    )
    model, summary = fit(job)
    curves = race(quiet=quiet)
    drawn = plot_curves(
        curves,
        xlabel="seconds",
        ylabel="held-out energy above the best, %",
        title=f"{RACE_ROWS:,} moved digits in {RACE_CLUSTERS} clusters",
    )
    drawn.set_ylim(bottom=0.05)
    pictures: dict[str, Any] = {
        "race": drawn.figure,
        "centroids": plot_cluster_images(model.cluster_centers_, (8, 8), np.bincount(model.labels_)),
        "clusters": plot_clusters(X, model).figure,
    }
    files = {"input": job.file, **summary["files"]}
    for name, figure in pictures.items():
        path = out / f"{name}.png"
        with replacing(path) as temporary:
            figure.savefig(temporary)
        files[name] = str(path)
    seconds = {f"seconds_to_1%_{name}": round(_seconds_to(curve, 1.0), 3) for name, curve in curves.items()}
    scores = {**summary["scores"], **seconds}
    return {**summary, "command": "demo", "scores": scores, "files": files}


def race(*, quiet: bool = False) -> dict[str, Curve]:
    """Let nested mini-batches and exact k-means cluster the same many digits.

    Parameters
    ----------
    quiet : bool, default=False
        Show no progress.

    Returns
    -------
    dict of str to (seconds, excess)
        For each method the seconds of its fit, and by how much the energy of held-out digits was above the lowest
        of all by then, in percent.
    """
    X, _ = make_moved_digits(RACE_ROWS, random_state=0)
    held_out, _ = make_moved_digits(RACE_ROWS // 10, random_state=1)
    energies: dict[str, Curve] = {}
    for name, estimator in (("nested", NestedMiniBatchKMeans), ("k-means", KMeans)):
        seen: list[tuple[float, np.ndarray]] = []
        with display(quiet) as screen:
            show = fit_callback(screen, None)

            def watch(progress: FitProgress, seen: list = seen, show: Callable[..., None] = show) -> None:
                seen.append((progress.seconds, progress.centers.copy()))
                show(progress)

            estimator(RACE_CLUSTERS, random_state=0, callback=watch).fit(X)
        shown = seen[:: max(1, len(seen) // 100)] + seen[-1:]
        seconds, centers = zip(*shown)
        energies[name] = np.array(seconds), np.array([quantization_error(held_out, c) for c in centers])
    best = min(energy.min() for _, energy in energies.values())
    return {name: (seconds, 100 * (energy / best - 1)) for name, (seconds, energy) in energies.items()}


def _seconds_to(curve: Curve, excess: float) -> float:
    reached = np.flatnonzero(curve[1] <= excess)
    return float(curve[0][reached[0]]) if len(reached) else float("inf")
