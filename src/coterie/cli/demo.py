"""`coterie demo`: several methods on data sets that are always available, handwritten digits and mammals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from coterie import ConvexClusterPath, LaplacianKModes, TotalVariationClustering
from coterie.cli.fit import Job, candidates, fit_file, fit_lines
from coterie.cli.output import file_lines, show_page, tell
from coterie.cli.runs import MODEL, REPORT, SUMMARY, run_folder, write_summary
from coterie.datasets import load_digits, load_mammals
from coterie.methods import load
from coterie.metrics import clustering_accuracy
from coterie.plotting import plot_cluster_images, plot_modes, require_matplotlib
from coterie.reports import report, require_report
from coterie_command.progress import Progress

INPUT = "digits.npy"


def run_demo(out: Path, *, show: bool, force: bool, json: bool, quiet: bool) -> int:
    """Fit, write the results, print them, and return the exit code."""
    require_matplotlib()
    require_report()
    X, y = load_digits()
    job = Job(str(out / INPUT), k=10, out=out, parameters=["n_init=10"], force=force)
    with Progress(quiet) as screen, run_folder(out, "fit", job.file, force=force) as outputs:
        screen.begin("fitting k-means")
        with outputs.writing(INPUT) as place, open(place, "wb") as file:
            np.save(file, X.astype(np.uint8))
        facts = fit_file(outputs, job, str(outputs.staged(INPUT)), job.file, candidates(job), screen)
        model = load(outputs.staged(MODEL))
        page = report(model, X, known=y, image_shape=(8, 8), summary=facts).page
        outputs.write(page.files(REPORT))
        screen.begin("fitting laplacian-kmodes")
        modes = LaplacianKModes(10, graph_weight=2.0, metric="cosine", random_state=0).fit(X)
        known = np.full(len(y), -1)
        for digit in range(10):
            known[np.flatnonzero(y == digit)[:2]] = digit
        screen.begin("fitting total-variation")
        cut = TotalVariationClustering(10, random_state=0).fit(X, known)
        screen.begin("drawing pictures")
        mammals = load_mammals()
        tree = ConvexClusterPath(n_gammas=60, distance_decay=0.5).fit(mammals.data)
        pictures = {
            "centroids": plot_cluster_images(model.cluster_centers_, (8, 8), np.bincount(model.labels_)),
            "modes": plot_modes(X, modes, (8, 8)),
            "mammals_path": tree.plot().figure,
            "mammals_tree": tree.plot_dendrogram(names=mammals.row_names).figure,
        }
        for name, figure in pictures.items():
            with outputs.writing(f"{name}.png") as place:
                figure.savefig(place)
        facts["accuracy"] = {
            "k-means": clustering_accuracy(y, model.labels_),
            "laplacian-kmodes": clustering_accuracy(y, modes.labels_),
            "total-variation, 2 labels of each digit": float(np.mean(cut.labels_ == y)),
        }
        files = {"input": job.file, **facts["files"], **{name: str(out / f"{name}.png") for name in pictures}}
        facts["files"] = {**files, "report": str(out / REPORT)}
        outputs.staged(SUMMARY).unlink()
        write_summary(outputs, facts)
    tell({**facts, "command": "demo"}, _lines, json=json, quiet=quiet)
    if show:
        show_page(out / REPORT)
    return 0


def _lines(facts: Mapping[str, Any]) -> list[str]:
    accuracy = [f"accuracy {value:.3f} ({name})" for name, value in facts["accuracy"].items()]
    return [
        *fit_lines({**facts, "files": {**facts["files"]}})[: -len(file_lines(facts))],
        *accuracy,
        *file_lines(facts),
    ]
