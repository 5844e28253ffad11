"""`coterie select-lambda`: Laplacian K-modes with several weights of the graph, and the best one kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from coterie import select_graph_weight
from coterie.cli.errors import UsageError
from coterie.cli.fit import fit_lines, run_fit
from coterie.cli.inputs import read_known_labels
from coterie.cli.job import FitJob
from coterie.cli.options import (
    Count,
    Counted,
    File,
    FileIfAny,
    Force,
    Json,
    MaxTime,
    Out,
    Quiet,
    RunOptions,
    Seed,
    TableOptions,
    Threads,
    given,
    method_options,
    values_of,
    with_options,
)
from coterie.cli.output import recorded_warnings, table_lines, tell
from coterie.cli.progress import display, watch
from coterie.estimators import find_method
from coterie.rows import RowSource


def command() -> Callable[..., None]:
    """Return the command with the options of Laplacian K-modes but the one that it selects."""
    method = find_method("laplacian-kmodes")

    def select_lambda(
        file: File,
        /,
        *,
        k: Annotated[Count, Parameter(name=["-k", "--clusters", "--n-clusters"])],
        lambdas: str = "1,1.3,1.6,2,3,4",
        labels: FileIfAny = None,
        max_iter: Counted = None,
        max_time: MaxTime = None,
        seed: Seed = 0,
        n_threads: Threads = None,
        out: Out = Path("coterie-lambda"),
        force: Force = False,
        json: Json = False,
        quiet: Quiet = False,
        tables: TableOptions = TableOptions(),
        options: Any,
        run: RunOptions = RunOptions(),
    ) -> None:
        """Fit laplacian-kmodes with several weights of the graph, and keep the best one.

        Parameters
        ----------
        file
            The rows: any file that `coterie fit` reads.
        k
            Number of clusters.
        lambdas
            The weights to try, with commas between them.
        labels
            A file of known classes from 0 to k - 1, -1 where unknown, which select the fit; by default the modularity
            of the clusters on the graph does.
        max_iter
            Maximum number of iterations for each weight.
        out
            Folder for what `coterie fit` writes of the best model; summary.json has all weights.
        """
        limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
        job = FitJob(
            file=file,
            n_clusters=k,
            out=out,
            method=method.name,
            parameters=given({**limits, **values_of(options)}),
            seed=seed,
            tables=tables,
            quiet=quiet,
            force=force,
            command="select-lambda",
            search=partial(_search, _lambdas_of(lambdas), labels, quiet),
        )
        tell(run_fit(job)[1], _lines, json, quiet)

    return with_options(select_lambda, method_options([method], [method.name], without=["graph_weight"]))


def _search(
    lambdas: Sequence[float], labels: str | None, quiet: bool, model: Any, rows: RowSource
) -> tuple[Any, float, list[str], dict[str, Any]]:
    """Return the best model, the seconds, warnings, and what is known of each lambda, as `FitJob.search` does."""
    known = None if labels is None else read_known_labels(labels, rows.shape[0], model.n_clusters)
    started = time.perf_counter()
    with display(quiet) as screen, recorded_warnings() as warned, watch(model, screen):
        scan = select_graph_weight(model, rows, lambdas, y=known)
    seconds = time.perf_counter() - started
    columns = {
        "graph_weight": scan.graph_weights,
        "objective": scan.objectives,
        "modularity": scan.modularities,
        "smallest": scan.sizes[:, -1],
        "largest": scan.sizes[:, 0],
        "normalized_mutual_information": scan.normalized_mutual_information,
        "accuracy": scan.accuracy,
    }
    lists = {name: values.tolist() for name, values in columns.items() if values is not None}
    table = [dict(zip(lists, row)) for row in zip(*lists.values())]
    facts = {"best_graph_weight": scan.best_graph_weight, "scan": table}
    return scan.best_model.set_params(callback=None), seconds, warned, facts


def _lambdas_of(text: str) -> list[float]:
    try:
        lambdas = [float(word) for word in text.split(",")]
    except ValueError:
        lambdas = []
    are_different = 0 < len(lambdas) == len(set(lambdas))
    if not are_different or not all(0 <= value < float("inf") for value in lambdas):
        raise UsageError(f"--lambdas must be different numbers with commas between them, got {text!r}.")
    return lambdas


def _lines(facts: dict[str, Any]) -> list[str]:
    names = [name.replace("_", " ") for name in facts["scan"][0]]
    rows = [
        [f"{value:.4g}" if isinstance(value, float) else f"{value:,}" for value in row.values()]
        for row in facts["scan"]
    ]
    return [
        *table_lines([names, *rows], ">"),
        f"best graph weight {facts['best_graph_weight']:g}",
        *fit_lines(facts),
    ]
