"""Functions shared by readers of formats: choice of an array, opening of text files, cutting of batches."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from coterie.rows.checks import FileError
from coterie.rows.formats.format import COMPRESSIONS

__all__ = [
    "NOTHING_WRITTEN", "check_unique", "choose_array", "cut_batches", "is_compressed", "listed", "open_bytes",
    "open_text",
]  # fmt: skip

# Libraries return the fill value for missing chunks. Some chunks may be missing, since zeros need not be written.
NOTHING_WRITTEN = (
    "the array {!r} says that it has rows, but none of its numbers is there: they were never written, or its chunks "
    "were not copied along. Write or copy it again."
)


def choose_array(shapes: dict[str, tuple[int, ...]], key: str | None, path: object) -> str:
    """Return the array to read: the chosen one, the only one with rows and columns, or X."""
    if key is not None:
        if key in shapes:
            return key
        raise FileError(f"{path} has no array {key!r}. It has {listed(shapes)}.")
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(tables) == 1:
        return tables[0]
    if "X" in tables:
        return "X"
    if not tables:
        raise FileError(f"{path} has no array of numbers with two dimensions. It has {listed(shapes)}.")
    raise FileError(
        f"{path} has several arrays with two dimensions: choose one by {path}::name of {listed(tables)}."
    )


def listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "") or "none"


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.suffix.lower() in COMPRESSIONS


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading from its beginning, decompressed if necessary."""
    if not is_compressed(path):
        return open(path, "rb")
    import pyarrow

    return cast(IO[bytes], pyarrow.input_stream(str(path), compression="detect"))


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file as text, with its original line ends."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="")


def cut_batches(batches: Iterator[Any], skipped: int, n_rows: int, rows: int) -> Iterator[Any]:
    """Yield `n_rows` rows after the first `skipped`, in batches of at most `rows`."""
    for batch in batches:
        for low in range(min(skipped, batch.num_rows), batch.num_rows, rows):
            piece = batch.slice(low, min(rows, n_rows))
            n_rows -= piece.num_rows
            yield piece
            if n_rows == 0:
                return
        skipped = max(0, skipped - batch.num_rows)


def check_unique(names: Sequence[str]) -> None:
    """Raise an error if two columns of a file have the same name, as they are read by name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"its column names are not unique: {twice!r} is there more than once. Rename its columns."
        )
