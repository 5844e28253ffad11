"""Tables in files: opening of texts, and cutting of what pyarrow reads."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from coterie.rows.formats.format import COMPRESSIONS

__all__ = ["check_unique", "cut_batches", "is_compressed", "open_bytes", "open_text"]


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
