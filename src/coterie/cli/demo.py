"""`coterie demo`: the main job on real data that is always at hand, handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from coterie.cli.jobs import FitJob, fit
from coterie.cli.output import check_writable, staged_files
from coterie.datasets import load_digits
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score
from coterie.persistence import replacing
from coterie.plotting import plot_cluster_images, plot_clusters, require_matplotlib

__all__ = ["run_demo"]

INPUT = "digits.npy"


def run_demo(out: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Write the digits to a file, cluster that file as `coterie fit` does, and draw the result.

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
    pictures: dict[str, Any] = {
        "centroids": plot_cluster_images(model.cluster_centers_, (8, 8), np.bincount(model.labels_)),
        "clusters": plot_clusters(X, model).figure,
    }
    files = {"input": job.file, **summary["files"]}
    for name, figure in pictures.items():
        path = out / f"{name}.png"
        with replacing(path) as temporary:
            figure.savefig(temporary)
        files[name] = str(path)
    return {**summary, "command": "demo", "files": files}
