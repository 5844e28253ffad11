"""The options of the command lines: one parser, to which a system adds what it alone has."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


class SystemParser(argparse.ArgumentParser):
    """Options that every system has; `add` takes those of one system.

    Of `rows` those in `usual` are run unless --rows (or `rows_option`) says otherwise, with --quick those in `quick`.
    `rounds` is the option that says how often everything is measured, and its default; None: there is none.
    """

    def __init__(
        self,
        system: str,
        doc: str | None,
        rows: Sequence[str],
        *,
        usual: Sequence[str] | None = None,
        quick: Sequence[str] | None = None,
        rows_option: str = "--rows",
        rounds: tuple[str, int] | None = ("--repeats", 3),
    ) -> None:
        super().__init__(prog=f"python -m benchmarks.{system}", description=(doc or "").splitlines()[0])
        self._defaults: dict[str, tuple[Any, Any]] = {}
        usual = list(rows if usual is None else usual)
        names = dict.fromkeys(["--rows", rows_option])
        self.add(
            *names,
            dest="rows",
            default=usual,
            quick=usual if quick is None else list(quick),
            type=_names(rows),
            help=f"what to run, of {', '.join(rows)}",
        )
        if rounds is not None:
            option, number = rounds
            self.add(
                option,
                dest="repeats",
                default=number,
                quick=1,
                type=at_least(1),
                help="fits of each, in turns",
            )
        self.add("--threads", default=2, type=at_least(1), help="threads of every contender")
        self.add_argument(
            "--only", default=[], type=words, help="only contenders whose name has one of these words"
        )
        self.add_argument(
            "--skip", default=[], type=words, help="no contenders whose name has one of these words"
        )
        self.add_argument(
            "--folder",
            type=Path,
            help="where data are written meanwhile (default: the system's temporary folder)",
        )
        self.add_argument(
            "--quick",
            action="store_true",
            help="small sizes, once, all in one process: to see that everything runs",
        )

    def add(self, *flags: str, default: Any, quick: Any = None, help: str, **others: Any) -> None:
        """Add an option with a default, and with another one for --quick (None: the same)."""
        others.setdefault("metavar", flags[-1].lstrip("-").upper())
        shown = _shown(default)
        if quick is not None and quick != default:
            shown += f"; quick: {_shown(quick)}"
        action = self.add_argument(*flags, default=None, help=f"{help} (default: {shown})", **others)
        self._defaults[action.dest] = default, default if quick is None else quick

    def read(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        """Read the command line."""
        return self.complete(self.parse_args(arguments))

    def complete(self, options: argparse.Namespace) -> argparse.Namespace:
        """Fill in the defaults of what was not given."""
        for name, choices in self._defaults.items():
            if getattr(options, name) is None:
                setattr(options, name, choices[options.quick])
        return options


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def words(text: str) -> list[str]:
    """Read words with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str) -> list[float]:
    """Read numbers with commas between them."""
    return [float(word) for word in words(text)]


def whole_numbers(text: str) -> list[int]:
    """Read whole numbers with commas between them."""
    return [int(word) for word in words(text)]


def _names(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = words(text)
        unknown = [name for name in names if name not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(allowed)}")
        return names

    return read


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number that is large enough."""

    def read(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is less than {least}")
        return number

    read.__name__ = "whole number"
    return read


def above_zero(text: str) -> float:
    """Read a number above 0."""
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number
