"""`coterie info`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable

from coterie.cli.arguments import File, Switch
from coterie.cli.lines import fact_lines
from coterie.cli.output import report

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return info


def info(file: File, /, *, json: Switch = False) -> None:
    """Say what is in a file of rows, in a saved model, or in the folder of a run.

    Parameters
    ----------
    file
        A file that `coterie fit` reads, a model, or the folder that a run wrote.
    json
        Print one JSON object on the standard output.
    """
    from coterie.cli.info import describe

    report(describe(file), fact_lines, json)
