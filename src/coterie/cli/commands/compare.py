"""`coterie compare`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from coterie.cli.arguments import (
    File,
    Limit,
    Quiet,
    Seed,
    Switch,
    Threads,
    column_names,
)
from coterie.cli.options import NUMBER, with_memory
from coterie.cli.output import report as tell
from coterie.cli.run_file import with_run_file
from coterie.cli.table_options import with_table_options

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_run_file(with_memory(with_table_options(compare, without=["handle_unknown"])))


def compare(
    file: File,
    /,
    *,
    k: Annotated[int, Parameter(name=["-k", "--clusters"]), NUMBER],
    budget: str = "5m",
    methods: str | None = None,
    labels: str | None = None,
    sample: Limit = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    tables: Mapping[str, Any],
    report: Switch = False,
    out: Path = Path("coterie-compare"),
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the rows of a file by every method that suits them, and say which to take, if the data prefer any.

    Parameters
    ----------
    file
        Any file that `coterie fit` reads.
    k
        Number of clusters that each method is asked for.
    budget
        Time for all fits, such as 90s, 5m or 1h.
    methods
        Only these methods, with commas between them; by default those that suit so many rows of this kind.
    labels
        Known classes: a column of the table, a .npy file, or a text file with a line for each row; nothing or -1 where
        a class is not known. Adds accuracy, NMI and ARI. The advice does not use them.
    sample
        Rows to compare on; by default at most 20,000, or with less than five minutes in proportion fewer, at least
        4,000.
    seed
        Same seed, same clusters, where the budget cuts no fit.
    n_threads
        Threads; by default all processors of this process.
    tables
        What the options of tables say.
    report
        Also write a page for people, comparison.html.
    out
        Folder for comparison.csv, comparison.png, run.toml and summary.json.
    json
        Print one JSON object on the standard output.
    quiet
        No report; errors only.
    """
    from coterie.cli.compare import CompareJob, comparison_lines, run_comparison

    job = CompareJob(
        file=file,
        n_clusters=k,
        out=out,
        budget=budget,
        methods=None if methods is None else [str(name) for name in column_names(methods, "--methods") or []],
        labels=labels,
        sample=sample,
        seed=seed,
        n_threads=n_threads,
        **tables,
        report=report,
    )
    tell(run_comparison(job), comparison_lines, json, quiet)
