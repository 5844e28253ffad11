"""`Format`: the declaration of a file format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path, PurePath
from typing import Any

from coterie.rows.checks import FileError, NotATableError, reading
from coterie.rows.memory import SparseSource
from coterie.rows.remote import RemoteFile
from coterie.rows.source import RowSource
from coterie.rows.unchanged import FileRows, SeenFile

COMPRESSIONS = (".gz", ".zst")
"""What the names of compressed files end in."""

# Options of `open_rows` about a file; the key is the part after `::`.
_OPTIONS = ("key", "columns", "exclude", "header", "sep", "decimal", "n_columns")

# Number of remote files that are opened at a time.
_AT_A_TIME = 8


def plain_suffix(name: str) -> str:
    """Return the extension of a file in lower case, without that of its compression: .csv of ``x.CSV.gz``."""
    suffix = PurePath(name).suffix.lower()
    return PurePath(PurePath(name).stem).suffix.lower() if suffix in COMPRESSIONS else suffix


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its extensions and its reader.

    `coterie.rows.register_format` registers it for `open_rows`.

    Parameters
    ----------
    name : str
        Name of the format.
    extensions : tuple of str
        Extensions of its files in lower case, such as ``(".h5", ".hdf5")``; those of files may be in any case.
    open : callable
        ``open(path, **options)`` returns the `RowSource` of one file. It gets each of `options`, None for those that
        were not given. Its errors become a ValueError that names the file. Changes of a local file between and during
        passes are detected outside of the reader.
    options : tuple of {"key", "columns", "exclude", "header", "sep", "decimal", "n_columns"}
        The options of `open_rows` that it supports; "key" is the part after ``::``. Other options are an error.
    library : str, optional
        Module that is required, checked before files are opened.
    install : str, optional
        What to install for the library, such as ``"coterie[io]"``.
    is_folder : bool
        Whether a folder may be one file of this format, rather than a folder of shards.
    open_shards : callable, optional
        ``open_shards(paths, **options)`` returns the sources of several files, if the content of one determines how the
        others are read. Its errors must name the file. By default each file is opened separately.
    elsewhere : bool
        Whether `open` also takes a `RemoteFile`: a remote file that is read in ranges.
    compressed : bool
        Whether `open` takes files that are compressed by gzip or zstd and end in .gz or .zst behind their extension.

    Examples
    --------
    >>> from coterie.rows import Format, as_rows
    >>> def open_words(path):
    ...     return as_rows([[len(line), line.count(" ")] for line in path.read_text().splitlines()])
    >>> Format("words", (".words",), open_words).extensions
    ('.words',)
    """

    name: str
    extensions: tuple[str, ...]
    open: Callable[..., RowSource]
    options: tuple[str, ...] = ()
    library: str | None = None
    install: str | None = None
    is_folder: bool = False
    open_shards: Callable[..., Sequence[RowSource]] | None = None
    elsewhere: bool = False
    compressed: bool = False

    def __post_init__(self) -> None:
        for name in ("extensions", "options"):
            if not isinstance(getattr(self, name), tuple):
                raise TypeError(f"The {name} of {self.name} must be a tuple, got {getattr(self, name)!r}.")
        for extension in self.extensions:
            if not extension.startswith(".") or "." in extension[1:] or extension != extension.lower():
                raise ValueError(
                    f"An extension is a dot and lower-case letters, got {extension!r} for {self.name}."
                )
        unknown = [option for option in self.options if option not in _OPTIONS]
        if unknown:
            raise ValueError(
                f"Unknown option {unknown[0]!r} of {self.name}. Known are {', '.join(_OPTIONS)}."
            )

    def open_all(self, paths: Sequence[Path | RemoteFile], given: Mapping[str, Any]) -> Sequence[RowSource]:
        """Return the rows of each file, with the options that the user gave, None for the others."""
        self._check_options(given, paths[0])
        self._check_library(paths[0])
        options = {name: given.get(name) for name in self.options}
        if self.open_shards is not None and len(paths) > 1:
            seen = [_seen(path) for path in paths]
            return list(map(_watched, self.open_shards(paths, **options), paths, seen))
        if len(paths) > 1 and isinstance(paths[0], RemoteFile):
            # Most of the time is latency.
            with ThreadPoolExecutor(_AT_A_TIME) as pool:
                return list(pool.map(self._open_one, paths, repeat(options)))
        return [self._open_one(path, options) for path in paths]

    def _open_one(self, path: Path | RemoteFile, options: Mapping[str, Any]) -> RowSource:
        seen = _seen(path)
        with reading(path), nullcontext() if seen is None else seen.watched():
            return _watched(self.open(path, **options), path, seen)

    def _check_options(self, given: Mapping[str, Any], path: Path | RemoteFile) -> None:
        for name in _OPTIONS:
            if given.get(name) is not None and name not in self.options:
                shown = f"::{given[name]}" if name == "key" else name
                message = f"{shown} has no meaning for {path}."
                raise NotATableError(message, name) if name in ("columns", "exclude") else FileError(message)

    def _check_library(self, path: Path | RemoteFile) -> None:
        if self.library is None:
            return
        top = self.library.partition(".")[0]
        try:
            importlib.import_module(top)
            importlib.import_module(self.library)
        except ImportError as error:
            raise ImportError(
                f"Reading {plain_suffix(path.name)} files needs {top}: pip install '{self.install or top}'"
            ) from error


def _seen(path: Path | RemoteFile) -> SeenFile | None:
    """Record the state of a local file; readers compare remote files and folders themselves."""
    return None if isinstance(path, RemoteFile) or path.is_dir() else SeenFile(path)


def _watched(rows: RowSource, path: Path | RemoteFile, seen: SeenFile | None) -> FileRows:
    """Return the rows of a file whose state was recorded before it was opened."""
    if seen is not None:
        seen.compare()
    # Sparse rows are in memory, and do not depend on later changes of the file.
    return FileRows(rows, path, None if isinstance(rows, SparseSource) else seen)
