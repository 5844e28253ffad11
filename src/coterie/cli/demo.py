"""`coterie demo`: several methods on data sets that are always available, handwritten digits and mammals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from coterie import ConvexClusterPath, LaplacianKModes, TotalVariationClustering
from coterie.cli.fit import fit_into, fit_lines
from coterie.cli.models import FitJob, fit_model
from coterie.cli.options import Force, Json, Out, Quiet
from coterie.cli.output import tell
from coterie.cli.runs import run_folder, write_summary
from coterie.datasets import load_digits, load_mammals
from coterie.metrics import clustering_accuracy
from coterie.outputs import OutputFolder
from coterie.plotting import (
    cluster_map,
    plot_cluster_images,
    plot_memberships,
    plot_modes,
    require_matplotlib,
)
from coterie.reports import require_report
from coterie.rows import as_rows

INPUT = "digits.npy"
PICTURES = ("modes", "mammals_path", "mammals_tree", "memberships", "centroids", "clusters")


def demo(
    *, out: Out = Path("coterie-demo"), force: Force = False, json: Json = False, quiet: Quiet = False
) -> None:
    """Cluster handwritten digits by several methods, and draw a tree of mammals.

    Parameters
    ----------
    out
        Folder for the digits, the model, the labels, the summary, a report and six pictures.
    """
    require_matplotlib()
    require_report()
    with run_folder(out, "fit", str(out / INPUT), force=force) as outputs:
        outputs.check(INPUT, *(f"{name}.png" for name in PICTURES))
        summary = _run(outputs, out, quiet=quiet)
    tell(summary, _lines, json, quiet)


def _run(outputs: OutputFolder, out: Path, *, quiet: bool) -> dict[str, Any]:
    """Write all files; return the summary of the fit with the accuracy of each method."""
    X, y = load_digits()
    with outputs.writing(INPUT) as path, open(path, "wb") as file:
        np.save(file, X.astype(np.uint8))
    job = FitJob(
        file=str(out / INPUT),
        n_clusters=10,
        out=out,
        parameters={"n_init": 10},
        quiet=quiet,
        report={"known": y, "image_shape": (8, 8)},
    )
    model, summary = fit_into(outputs, job, str(outputs.staged(INPUT)))

    modes = LaplacianKModes(10, graph_weight=2.0, metric="cosine", random_state=0)
    fit_model(modes, as_rows(X), quiet=quiet)
    known = np.full(len(y), -1)
    for digit in range(10):
        known[np.flatnonzero(y == digit)[:2]] = digit
    cut = TotalVariationClustering(10, random_state=0).fit(X, known)
    mammals = load_mammals()
    tree = ConvexClusterPath(n_gammas=60, distance_decay=0.5).fit(mammals.data)
    pictures = {
        "modes": plot_modes(X, modes, (8, 8)),
        "mammals_path": tree.plot().figure,
        "mammals_tree": tree.plot_dendrogram(names=mammals.row_names).figure,
        "memberships": plot_memberships(cut).figure,
        "centroids": plot_cluster_images(model.cluster_centers_, (8, 8), np.bincount(model.labels_)),
        "clusters": cluster_map(model, X).figure,
    }
    for name in PICTURES:
        with outputs.writing(f"{name}.png") as path:
            pictures[name].savefig(path)

    files = {"input": job.file, **summary["files"], **{name: str(out / f"{name}.png") for name in PICTURES}}
    files["report"] = files.pop("report")  # named last: the page to open
    accuracy = {
        "k-means": clustering_accuracy(y, model.labels_),
        "laplacian-kmodes": clustering_accuracy(y, modes.labels_),
        "total-variation, 2 labels of each digit": float(np.mean(cut.labels_ == y)),
    }
    summary = {**summary, "accuracy": accuracy, "files": files}
    write_summary(outputs, summary)
    return {**summary, "command": "demo"}


def _lines(facts: dict[str, Any]) -> list[str]:
    accuracy = [f"accuracy {value:.3f} ({name})" for name, value in facts["accuracy"].items()]
    lines = fit_lines(facts)
    at = lines.index("wrote")
    return [*lines[:at], *accuracy, *lines[at:]]
