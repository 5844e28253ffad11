"""`coterie choose-k`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coterie.cli.arguments import (
    File,
    Impute,
    Quiet,
    Scale,
    Seconds,
    Seed,
    Switch,
    Threads,
    WholeNumber,
    column_names,
    preparing_of,
    separator_of,
)
from coterie.cli.options import with_memory
from coterie.cli.output import report as tell
from coterie.cli.run_file import with_run_file

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_run_file(with_memory(choose_k))


def choose_k(
    file: File,
    /,
    *,
    k: str = "2:50",
    sample: WholeNumber = 5_000,
    max_time: Seconds = None,
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
    out: Path = Path("coterie-choose-k"),
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Say how many clusters the rows of a file have, or that they show no natural number; write the curves behind it.

    Parameters
    ----------
    file
        Any file that `coterie fit` reads.
    k
        The least and the largest number that may be the answer.
    sample
        Rows that decide; of a larger file a sample is drawn.
    max_time
        Seconds after which no further curve is begun or ended; the answer itself is always found.
    seed
        Same seed, same answer.
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
        Also write a page for people, choose-k.html.
    out
        Folder for curves.csv, choose-k.png, run.toml and summary.json.
    json
        Print one JSON object on the standard output.
    quiet
        No report; errors only.
    """
    from coterie.cli.choose_k import ChooseJob, choice_lines, choose

    job = ChooseJob(
        file=file,
        out=out,
        k=k,
        sample=sample,
        max_time=max_time,
        seed=seed,
        n_threads=n_threads,
        columns=column_names(columns, "--columns"),
        exclude=column_names(exclude, "--exclude"),
        sep=separator_of(sep),
        decimal=decimal,
        report=report,
        preparing=preparing_of(impute, scale, one_hot, category_limit, normalize=normalize),
    )
    tell(choose(job), choice_lines, json, quiet)
