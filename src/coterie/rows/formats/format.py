"""`Format`: the declaration of a file format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from coterie.rows.checks import FileError

COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""What the names of compressed files end in."""

# Options of `open_rows` about a file; the key is the part after `::`.
OPTIONS = ("key", "header", "sep", "skip_lines", "n_columns")


def plain_suffix(name: str) -> str:
    """Return the extension of a file in lower case, without that of its compression: .csv of ``x.CSV.gz``."""
    suffix = PurePath(name).suffix.lower()
    return PurePath(PurePath(name).stem).suffix.lower() if suffix in COMPRESSIONS else suffix


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its extensions and its reader.

    ``read(path, **options)`` gets each of `options`, None for those that were not given. It returns a `Table`, a
    `Matrix`, or an iterable as in `register_format`. `library` is the module that it needs, `install` what to install
    for it. A folder may be one file if `is_folder`; files may have one of `COMPRESSIONS` behind their extension if
    `compressed`.
    """

    name: str
    extensions: tuple[str, ...]
    read: Callable[..., Any]
    options: tuple[str, ...] = ()
    library: str | None = None
    install: str | None = None
    is_folder: bool = False
    compressed: bool = False

    def check(self, given: Mapping[str, Any], path: str) -> None:
        """Raise an error for options that the format does not have, or if its library is missing."""
        for name in OPTIONS:
            if given.get(name) is not None and name not in self.options:
                raise FileError(f"{f'::{given[name]}' if name == 'key' else name} has no meaning for {path}.")
        if self.library is None:
            return
        top = self.library.partition(".")[0]
        try:
            importlib.import_module(top)
            importlib.import_module(self.library)
        except ImportError as error:
            raise ImportError(
                f"Reading {plain_suffix(path)} files needs {top}: pip install '{self.install or top}'"
            ) from error
