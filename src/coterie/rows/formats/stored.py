"""Files of several arrays: which one to read."""

from __future__ import annotations

from collections.abc import Iterable

from coterie.rows.checks import FileError

__all__ = ["NOTHING_WRITTEN", "choose_array", "listed"]

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
