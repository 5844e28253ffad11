"""`coterie verify`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coterie.cli.arguments import FileIfAny, Quiet, Switch, Threads
from coterie.cli.lines import verify_lines
from coterie.cli.options import with_memory
from coterie.cli.output import report

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return with_memory(verify)


def verify(
    folder: Path,
    file: FileIfAny = None,
    /,
    *,
    n_threads: Threads = None,
    json: Switch = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the fit that wrote a folder, and say whether the bits are the same: exit code 0 if so, else 1.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input, piped in as before.
    n_threads
        Threads; they change no bit.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.verify import verify as run_verify

    report(run_verify(folder, file, threads=n_threads, quiet=quiet), verify_lines, json, quiet)
