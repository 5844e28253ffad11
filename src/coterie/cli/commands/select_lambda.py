"""`coterie select-lambda`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from coterie.cli.arguments import (
    File,
    FileIfAny,
    Limit,
    Quiet,
    Seconds,
    Seed,
    Switch,
    Threads,
    WholeNumber,
)
from coterie.cli.lines import scan_lines
from coterie.cli.options import PREFIX, given, method_options, with_memory, with_options
from coterie.cli.output import report
from coterie.cli.run_file import with_run_file
from coterie.cli.table_options import with_table_options
from coterie.estimators import find_method

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command with the options of Laplacian K-modes but the one that it selects."""
    options = method_options([find_method("laplacian-kmodes")])
    others = [option for option in options if option.name != f"{PREFIX}graph_weight"]
    return with_run_file(
        with_memory(with_table_options(with_options(select_lambda, others, after="lambdas")))
    )


def select_lambda(
    file: File,
    /,
    *,
    k: Annotated[WholeNumber, Parameter(name=["-k", "--clusters", "--n-clusters"])],
    lambdas: str = "1,1.3,1.6,2,3,4",
    labels: FileIfAny = None,
    max_iter: Limit = None,
    max_time: Seconds = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    tables: Mapping[str, Any],
    out: Path = Path("coterie-lambda"),
    force: Switch = False,
    json: Switch = False,
    quiet: Quiet = False,
    parameters: Mapping[str, Any],
) -> None:
    """Fit laplacian-kmodes with several weights of the graph, which is made once, and keep the best one.

    Parameters
    ----------
    file
        The rows; any file that `coterie fit` reads.
    k
        Number of clusters.
    lambdas
        The weights to try, with commas between them.
    labels
        A file of known classes from 0 to k - 1, and -1 where they are not known: the fit that agrees best with them is
        kept. By default the one whose clusters are the most modular on the graph.
    max_iter
        Updates of the modes for each lambda, at most.
    max_time
        Seconds for each lambda.
    seed
        Same seed, same clusters.
    n_threads
        Threads; by default all processors of this process.
    tables
        What the options of tables say.
    out
        Folder for what `coterie fit` writes of the best model; summary.json has all lambdas.
    force
        Replace the results of another command, or of other rows, in the folder.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    parameters
        Options of the method.
    """
    from coterie.cli.fit import FitJob, fit
    from coterie.cli.select_lambda import LambdaSearch, lambdas_of

    limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
    job = FitJob(
        file=file,
        n_clusters=k,
        out=out,
        method="laplacian-kmodes",
        parameters=given({**limits, **parameters}),
        seed=seed,
        **tables,
        quiet=quiet,
        force=force,
        command="select-lambda",
        search=LambdaSearch(lambdas_of(lambdas), labels, quiet),
    )
    report(fit(job)[1], scan_lines, json, quiet)
