"""The options of the command lines: one parser, to which a system adds what it alone has."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


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
        self._quick: dict[str, Any] = {}
        usual = list(rows if usual is None else usual)
        flags = dict.fromkeys(["--rows", rows_option])
        text = f"what to run, of {', '.join(rows)}"
        self.add(*flags, dest="rows", default=usual, quick=quick, type=_names(rows), help=text)
        if rounds is not None:
            option, number = rounds
            self.add(option, dest="repeats", default=number, quick=1, help="fits of each, in turns")
        self.add("--threads", default=2, help="threads of every contender")
        self.add("--only", default=[], type=words, help="only contenders whose name has one of these words")
        self.add("--skip", default=[], type=words, help="no contenders whose name has one of these words")
        self.add("--folder", type=Path, help="where data are written (default: the temporary folder)")
        self.add_argument("--quick", action="store_true", help="small sizes, once, all in one process")

    def add(self, *flags: str, default: Any = None, quick: Any = None, help: str, **others: Any) -> None:
        """Add an option with a default, and with another one for --quick (None: the same)."""
        others.setdefault("type", type(default))
        shown = [",".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v) for v in (default, quick)]
        text = "" if default in (None, []) else f" (default: {shown[0]})"
        if quick is not None and quick != default:
            text = f"{text[:-1]}; quick: {shown[1]})"
        action = self.add_argument(*flags, default=default, help=help + text, **others)
        if quick is not None:
            self._quick[action.dest] = quick

    def read(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        if "--quick" in (sys.argv if arguments is None else arguments):
            self.set_defaults(**self._quick)
        return self.parse_args(arguments)


def _names(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = words(text)
        unknown = [name for name in names if name not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(allowed)}")
        return names

    return read
