"""`coterie path`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coterie.cli import UsageError
from coterie.cli.arguments import (
    File,
    Graph,
    Limit,
    Quiet,
    Seconds,
    Seed,
    Switch,
    Threads,
)  # fmt: skip
from coterie.cli.lines import path_lines
from coterie.cli.models import path_method
from coterie.cli.options import given, method_options, with_memory, with_options
from coterie.cli.output import report as tell
from coterie.cli.run_file import with_run_file
from coterie.cli.table_options import with_table_options

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command with the options of convex clustering."""
    whole = with_options(path, method_options([path_method()]), after="file")
    return with_run_file(with_memory(with_table_options(whole, without=["normalize", "handle_unknown"])))


def path(
    file: File,
    /,
    *,
    clusters: Limit = None,
    max_iter: Limit = None,
    max_time: Seconds = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    graph: Graph = None,
    tables: Mapping[str, Any],
    report: Switch = False,
    out: Path = Path("coterie-path"),
    force: Switch = False,
    json: Switch = False,
    quiet: Quiet = False,
    parameters: Mapping[str, Any],
) -> None:
    """Follow convex clustering from every row by itself to one cluster; write the path and two pictures.

    Parameters
    ----------
    file
        The rows; any file of dense rows that `coterie fit` reads.
    clusters
        Colour the pictures by the first clusters that are at most so many; by default the number that lasts longest.
    max_iter
        Iterations for each gamma, at most.
    max_time
        End the path after this many seconds.
    seed
        Of the search for neighbours, where the exact one would take too long.
    n_threads
        Threads; by default all processors of this process.
    graph
        A file of the symmetric weights of a graph of the rows, such as a sparse matrix in a .npz file, or of the arrays
        `ids` and `distances` (.npz) of neighbours that others have found; stands for --weights precomputed.
    tables
        What the options of tables say.
    report
        Write report.html, too: a page with a map that has a slider along the path, and a card for each cluster.
    out
        Folder for path.npz, labels.csv (labels.parquet for a table; a column for each gamma), path.png, dendrogram.png,
        run.toml, summary.json and report.html.
    force
        Replace the results of another command, or of other rows, in the folder.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    parameters
        Options of the method.
    """
    from coterie.cli.path import PathJob, follow
    from coterie.cli.report import ReportOptions

    limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
    job = PathJob(
        file=file,
        out=out,
        parameters=_counted_gammas(given({**limits, **parameters})),
        seed=seed,
        graph=graph,
        n_clusters=clusters,
        **tables,
        quiet=quiet,
        force=force,
        report=ReportOptions() if report else None,
    )
    tell(follow(job), path_lines, json, quiet)


def _counted_gammas(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with a whole number of --gammas as how many they are, which it has always been."""
    gammas = str(parameters.get("gammas"))
    if not gammas.isdecimal():
        return parameters
    if len(gammas) > 18:
        raise UsageError(
            "--gammas must be how many, or the gammas with commas between them, not one huge number."
        )
    others = {name: value for name, value in parameters.items() if name != "gammas"}
    return {**others, "n_gammas": int(gammas)}
