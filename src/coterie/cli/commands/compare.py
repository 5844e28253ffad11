"""`coterie compare`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from coterie.cli.arguments import (
    File,
    Impute,
    Limit,
    Quiet,
    Scale,
    Seed,
    Switch,
    Threads,
    WholeNumber,
    column_names,
    preparing_of,
    separator_of,
)
from coterie.cli.options import NUMBER, with_memory
from coterie.cli.output import report as tell

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_memory(compare)


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
    normalize: Switch = False,
    columns: str | None = None,
    exclude: str | None = None,
    impute: Impute = None,
    scale: Scale = "none",
    one_hot: str | None = None,
    category_limit: WholeNumber = 100,
    sep: str | None = None,
    decimal: str | None = None,
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
    normalize
        Scale each row to length 1, as for `coterie fit`.
    columns
        Use only these columns of a table, written as for `coterie fit`.
    exclude
        Leave out these columns of a table.
    impute
        Put the mean or the median of its column in the place of a missing number.
    scale
        Scale each column of numbers, as for `coterie fit`.
    one_hot
        Columns of categories, or auto, as for `coterie fit`.
    category_limit
        The most values that a column of --one-hot may have.
    sep
        What separates the fields of a .csv file; by default as for `coterie fit`.
    decimal
        Its decimal sign, '.' or ','; by default what its first lines have.
    report
        Also write a page for people, comparison.html.
    out
        Folder for comparison.csv, comparison.png and summary.json.
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
        columns=column_names(columns, "--columns"),
        exclude=column_names(exclude, "--exclude"),
        sep=separator_of(sep),
        decimal=decimal,
        report=report,
        preparing=preparing_of(impute, scale, one_hot, category_limit, normalize=normalize),
    )
    tell(run_comparison(job), comparison_lines, json, quiet)
