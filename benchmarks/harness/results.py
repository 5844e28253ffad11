"""The folder of results: a file a cell, so that a run goes on where the last one was ended."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.reporting import machine_facts

Cell = dict[str, Any]

# The key of a cell that has none of the others: why there is no result.
FAILED = "failed"


class Results:
    """Cells by set, method and seed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str, method: str, seed: int) -> Cell | None:
        """Return a cell, None where there is none yet."""
        path = self._path(name, method, seed)
        return json.loads(path.read_text()) if path.exists() else None

    def keep(self, name: str, method: str, seed: int, cell: Cell) -> None:
        """Write a cell, whole or not at all."""
        path = self._path(name, method, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half")
        half.write_text(json.dumps(cell, indent=1) + "\n")
        half.rename(path)

    def made(self, name: str, method: str, seed: int, run: Callable[[], Cell], again: bool = False) -> Cell:
        """Return a cell; run what makes it unless it is there. The failure of a contender is a result."""
        cell = None if again else self.read(name, method, seed)
        if cell is None:
            try:
                cell = run()
            except Exception as error:
                cell = {FAILED: f"{type(error).__name__}: {error}".splitlines()[0]}
            cell |= {"machine": machine_facts()}
            self.keep(name, method, seed, cell)
            shown = {key: value for key, value in cell.items() if isinstance(value, (int, float, str))}
            print(f"{name}, {method}: {shown}", file=sys.stderr, flush=True)
        return cell

    def _path(self, name: str, method: str, seed: int) -> Path:
        return self.folder / _slug(name) / f"{_slug(method)}-{seed}.json"


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
