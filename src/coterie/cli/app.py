"""The command line: what `coterie --help` shows, and which command the arguments name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from cyclopts import App, CycloptsError
except ImportError as error:
    raise ImportError("The command line needs cyclopts and rich: pip install 'coterie[cli]'") from error

from coterie import __version__
from coterie.cli import UsageError
from coterie.cli.commands import COMMANDS
from coterie.cli.output import recorded_warnings, tell_warnings
from coterie.cli.run_file import RunFile, asked_config
from coterie.cli.standard_input import DASH, STANDARD_INPUT
from coterie.cli.versions import installation_lines
from coterie.estimators import register_installed_methods

__all__ = ["build_app", "run"]


def run(arguments: list[str]) -> None:
    """Parse the arguments and run the command that they name.

    Raises
    ------
    UsageError
        If the arguments are wrong.
    """
    with recorded_warnings() as warned:
        register_installed_methods()
    tell_warnings(warned)
    # The parser would take a lone dash for an option.
    words = [STANDARD_INPUT if word == DASH else word for word in arguments]
    if sorted(words) == ["--verbose", "--version"]:
        print("\n".join(installation_lines()))
        return
    app = build_app()
    file = asked_config(words)
    app.config = () if file is None else (RunFile(file),)
    try:
        command, bound, *_ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(str(error).strip()) from error
    options = {name: _dashed(value) for name, value in bound.kwargs.items()}
    command(*map(_dashed, bound.args), **options)


def _dashed(value: Any) -> Any:
    return type(value)(DASH) if isinstance(value, str | Path) and str(value) == STANDARD_INPUT else value


def build_app() -> App:
    """Return the command line with the options of all methods that are known by now."""
    app = App(
        name="coterie",
        version=f"coterie {__version__}",
        help="Fast, exact and reproducible clustering of files of vectors.",
        help_format="markdown",
    )
    for command in COMMANDS:
        app.command(command())
    app.register_install_completion_command()
    return app
