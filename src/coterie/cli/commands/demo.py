"""`coterie demo`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coterie.cli.arguments import Quiet, Switch
from coterie.cli.lines import fit_lines
from coterie.cli.output import report

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return demo


def demo(
    *, out: Path = Path("coterie-demo"), force: Switch = False, json: Switch = False, quiet: Quiet = False
) -> None:
    """Cluster handwritten digits in several ways, draw the clusters, let methods race, and draw a tree of mammals.

    Parameters
    ----------
    out
        Folder for the digits, the model, the labels, the summary and eight pictures.
    force
        Replace the results of another command in the folder.
    json
        Print one JSON object on the standard output.
    quiet
        No progress and no report; errors only.
    """
    from coterie.cli.demo import run_demo

    report(run_demo(out, quiet=quiet, force=force), fit_lines, json, quiet)
