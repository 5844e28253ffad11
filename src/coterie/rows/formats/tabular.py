"""What readers of formats share: which of several arrays, opening of texts, cutting of batches."""

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

# Libraries give the fill value for what is not there. Some chunks may be missing, since zeros need not be written.
NOTHING_WRITTEN = (
    "the array {!r} says that it has rows, but none of its numbers is there: they were never written, or its chunks "
    "were not copied along. Write or copy it again."
)


def choose_array(shapes: dict[str, tuple[int, ...]], key: str | None, path: object) -> str:
    """Return the array to read: the one asked for, the only one with rows and columns, or X."""
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
    """Open a file to be read from its beginning, unpacked where it is compressed."""
    if not is_compressed(path):
        return open(path, "rb")
    import pyarrow

    return cast(IO[bytes], pyarrow.input_stream(str(path), compression="detect"))


def open_text(path: Path, encoding: str) -> IO[str]:
    """Do the same as text, with the ends of lines as they are."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="")


def cut_batches(batches: Iterator[Any], skipped: int, n_rows: int, rows: int) -> Iterator[Any]:
    """Leave out the first `skipped` rows and all behind the next `n_rows`; no batch has more than `rows`."""
    for batch in batches:
        for low in range(min(skipped, batch.num_rows), batch.num_rows, rows):
            piece = batch.slice(low, min(rows, n_rows))
            n_rows -= piece.num_rows
            yield piece
            if n_rows == 0:
                return
        skipped = max(0, skipped - batch.num_rows)


def check_unique(names: Sequence[str]) -> None:
    """Raise where two columns of a file have the same name, by which they are read."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"its column names are not unique: {twice!r} is there more than once. Rename its columns."
        )
