"""Tables in files: cutting of what pyarrow reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["check_unique", "cut_batches"]


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
