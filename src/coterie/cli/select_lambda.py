"""`coterie select-lambda`: Laplacian K-modes with several weights of the graph, and the best one kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coterie import select_graph_weight
from coterie.arrays import Array
from coterie.cli import UsageError
from coterie.cli.inputs import read_known_labels
from coterie.cli.output import recorded_warnings
from coterie.cli.progress import display, watch
from coterie.rows import RowSource

__all__ = ["LambdaSearch", "lambdas_of"]


@dataclass(frozen=True, slots=True)
class LambdaSearch:
    """Which lambdas to try for the model of a job; called as `FitJob.search` is.

    Attributes
    ----------
    lambdas : sequence of float
        What to try.
    labels : str, optional
        A file of known classes, which choose among the fits.
    quiet : bool
        Whether to show no progress.
    """

    lambdas: Sequence[float]
    labels: str | None = None
    quiet: bool = False

    def __call__(self, model: Any, rows: RowSource) -> tuple[Any, float, list[str], dict[str, Any]]:
        """Return the best model, the seconds, warnings, and what is known of each lambda."""
        known: Array | None = None
        if self.labels is not None:
            known = read_known_labels(self.labels, rows.shape[0], model.n_clusters)
        started = time.perf_counter()
        with display(self.quiet) as screen, recorded_warnings() as warned, watch(model, screen):
            scan = select_graph_weight(model, rows, self.lambdas, y=known)
        best = scan.best_model.set_params(callback=None)
        columns = {
            "graph_weight": scan.graph_weights,
            "objective": scan.objectives,
            "modularity": scan.modularities,
            "smallest": scan.sizes[:, -1],
            "largest": scan.sizes[:, 0],
            "normalized_mutual_information": scan.normalized_mutual_information,
            "accuracy": scan.accuracy,
        }
        told = {name: values.tolist() for name, values in columns.items() if values is not None}
        table = [dict(zip(told, row)) for row in zip(*told.values())]
        return (
            best,
            time.perf_counter() - started,
            warned,
            {"best_graph_weight": scan.best_graph_weight, "scan": table},
        )


def lambdas_of(text: str) -> list[float]:
    """Return the numbers between the commas of --lambdas.

    Raises
    ------
    UsageError
        If they are not different numbers of at least 0.
    """
    try:
        lambdas = [float(word) for word in text.split(",")]
    except ValueError:
        lambdas = []
    if (
        not lambdas
        or len(set(lambdas)) < len(lambdas)
        or not all(0 <= value < float("inf") for value in lambdas)
    ):
        raise UsageError(f"--lambdas must be different numbers with commas between them, got {text!r}.")
    return lambdas
