"""What several commands take: types of their options, and what the words of these mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from coterie.cli import UsageError
from coterie.cli.options import NUMBER, OF_SOME_METHODS

__all__ = [
    "File", "FileIfAny", "Graph", "Limit", "Quiet", "Seconds", "Seed", "Switch", "Threads", "WholeNumber", "beside_of",
    "column_names", "image_shape_of", "separator_of",
]  # fmt: skip


def _as_text(type_: Any, tokens: Sequence[Token]) -> str:
    return tokens[0].value


# A file or an address: a text, for which shells complete names of files.
if TYPE_CHECKING:
    File = str
    FileIfAny = str | None
else:
    File = Annotated[Path, Parameter(converter=_as_text)]
    FileIfAny = Annotated[Path | None, Parameter(converter=_as_text)]

# A switch that is off unless given.
Switch = Annotated[bool, Parameter(negative="")]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]
WholeNumber = Annotated[int, NUMBER]
Limit = Annotated[int | None, NUMBER]
Seconds = Annotated[float | None, NUMBER]
Seed = Annotated[int, Parameter(name=["--seed", "--random-state"]), NUMBER]
Threads = Annotated[int | None, Parameter(name=["--threads", "--n-threads"]), NUMBER]
Graph = Annotated[FileIfAny, Parameter(group=OF_SOME_METHODS)]

# What --sep may say for a tab, which is hard to type.
_TABS = {"tab": "\t", "\\t": "\t"}


def column_names(columns: str | None, flag: str) -> list[str | int] | None:
    """The names and positions between the commas of --columns and its like."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"{flag} must be names or positions with commas between them, got {columns!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


def separator_of(sep: str | None) -> str | None:
    """Return what --sep says, of a tab in words, too."""
    return _TABS.get(str(sep), sep)


def beside_of(id: str | None, keep: str | None) -> Any:
    """The columns of --id and --keep, which are names."""
    from coterie.cli.results import Beside

    names = column_names(keep, "--keep")
    return Beside(id, None if names is None else [str(name) for name in names])


def image_shape_of(image: str | None) -> tuple[int, ...] | None:
    """The height, width and colours between the crosses of --image."""
    if image is None:
        return None
    parts = image.lower().split("x")
    is_colour = parts[2:] in (["3"], ["4"])
    if not all(part.isdecimal() and int(part) for part in parts) or not (len(parts) == 2 or is_colour):
        raise UsageError(f"--image must be like 28x28 or, for colour images, 32x32x3, got {image!r}.")
    return tuple(map(int, parts))
