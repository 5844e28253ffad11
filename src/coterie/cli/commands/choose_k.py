"""`coterie choose-k`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coterie.cli.arguments import (
    File,
    Quiet,
    Seconds,
    Seed,
    Switch,
    Threads,
    WholeNumber,
)
from coterie.cli.options import with_memory
from coterie.cli.output import report as tell
from coterie.cli.run_file import with_run_file
from coterie.cli.table_options import with_table_options

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_run_file(with_memory(with_table_options(choose_k, without=["handle_unknown"])))


def choose_k(
    file: File,
    /,
    *,
    k: str = "2:50",
    sample: WholeNumber = 5_000,
    max_time: Seconds = None,
    seed: Seed = 0,
    n_threads: Threads = None,
    tables: Mapping[str, Any],
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
    tables
        What the options of tables say.
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
        **tables,
        report=report,
    )
    tell(choose(job), choice_lines, json, quiet)
