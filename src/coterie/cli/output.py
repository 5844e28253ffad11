"""What a command prints: the summary as text or JSON, warnings, tables."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie.outputs import printable
from coterie_command.options import Printed


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Give the warnings of the libraries as lines of text, each once."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield lines
        finally:
            lines.extend(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


def tell(
    facts: Mapping[str, Any], lines: Callable[[Mapping[str, Any]], Sequence[str]], options: Printed
) -> None:
    """Print warnings to standard error, and facts to standard output as text or JSON."""
    if not options.quiet:
        for warning in facts.get("warnings", []):
            print(printable(f"coterie: warning: {warning}"), file=sys.stderr)
    if options.json:
        print(to_json(facts))
    elif not options.quiet:
        print("\n".join(printable(line) for line in lines(facts)))


def to_json(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON text; NaN and infinities are words."""
    return json.dumps(plain(facts), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def file_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line with the files that were written, those of one folder together."""
    folders: dict[str, list[str]] = {}
    for path in map(Path, facts["files"].values()):
        folders.setdefault(str(path.parent), []).append(path.name)
    return [f"wrote {Path(folder, names[0])}" + "".join(f", {name}" for name in names[1:])
            for folder, names in folders.items()]  # fmt: skip


def table_lines(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Return rows of texts in columns of equal width; `align` has < or > for each column, the last for all others."""
    sides = align.ljust(len(rows[0]), align[-1])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths)).rstrip()
        for row in rows
    ]


def show_page(page: Path) -> None:
    """Open a page in a browser."""
    import webbrowser

    webbrowser.open(page.resolve().as_uri())
