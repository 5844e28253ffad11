"""What the texts of options mean: numbers, times, columns, shapes of images, files of arrays, models."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from coterie import persistence
from coterie.cli.errors import UsageError, listed
from coterie.cli.runs import MODEL
from coterie.estimators.parameters import Parameter
from coterie.limits.files import check_regular_file
from coterie.outputs import recovered
from coterie.rows import open_rows

__all__ = [
    "DASH", "STANDARD_INPUT", "column_names", "find_model", "image_shape_of", "number_of", "seconds_of",
    "separator_of", "value_of",
]  # fmt: skip

DASH = "-"
"""The standard input where a command reads a file, the standard output where it writes one."""

STANDARD_INPUT = "standard input"
"""What reports call it."""

# What --sep may say for a tab, which is hard to type.
_TABS = {"tab": "\t", "\\t": "\t"}

_UNITS = {"": 1, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}

_READS = {
    "numbers": "numbers with commas between them",
    "array": "a file of rows",
    "model": "a model or the folder of a run",
    "groups": "groups of columns such as '0,1;2:5'",
}


def number_of(text: str) -> int | float | None:
    """Return the finite number that a text is, None if it is none; 3.0 is 3."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError, OverflowError):
        value = float(text)
        if math.isfinite(value):
            return (
                int(value)
                if value == int(value) and abs(value) < 2**53 and "e" not in text.lower()
                else value
            )
    return None


def seconds_of(text: str, flag: str) -> float:
    """Return the seconds of a time such as 10, 90s, 5m or 1h."""
    parts = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|)", text.strip())
    if parts is None or not 0 < float(parts[1]) < math.inf:
        raise UsageError(f"{flag} must be a time above 0 such as 10, 90s, 5m or 1h, got {text!r}.")
    return float(parts[1]) * _UNITS[parts[2]]


def column_names(columns: str | None, flag: str) -> list[str | int] | None:
    """Return the names and positions between the commas of --columns and its like."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"{flag} must be names or positions with commas between them, got {columns!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


def separator_of(sep: str | None) -> str | None:
    """Return the separator that --sep names, of a tab in words, too."""
    return _TABS.get(str(sep), sep)


def image_shape_of(image: str | None) -> tuple[int, ...] | None:
    """Return the height, width and colors between the crosses of --image."""
    if image is None:
        return None
    parts = image.lower().split("x")
    is_color = parts[2:] in (["3"], ["4"])
    if not all(part.isdecimal() and int(part) for part in parts) or not (len(parts) == 2 or is_color):
        raise UsageError(f"--image must be like 28x28 or, for color images, 32x32x3, got {image!r}.")
    return tuple(map(int, parts))


def find_model(path: str) -> str:
    """Return the file of a model that is named by it or by the folder of the run that wrote it.

    Raises
    ------
    ValueError
        If the folder has none.
    """
    if not Path(recovered(path)).is_dir():
        return path
    file = Path(path, MODEL)
    if not Path(recovered(file)).exists():
        raise ValueError(f"{path} is a folder without a {MODEL}: name a model, or the folder of coterie fit.")
    return str(file)


def value_of(parameter: Parameter, text: str) -> Any:
    """Return what the text of an option means for a parameter of an estimator.

    Raises
    ------
    UsageError
        If the parameter cannot have this value.
    ValueError
        If a file does not hold what the parameter needs.
    """
    reads = parameter.param.reads
    if text == "none" and parameter.takes_none:
        return None
    if text in parameter.choices:
        return text
    if "numbers" in reads and not Path(text).exists():
        return _numbers(parameter, text)
    if "groups" in reads:
        return [_columns(parameter, group) for group in text.split(";")]
    if "model" in reads and (text.endswith(".coterie") or Path(text, MODEL).exists()):
        return persistence.load(find_model(text))
    if "array" in reads and ("." in text or Path(text).exists()):
        return _array(text)
    number = number_of(text) if {int, float} & set(parameter.types) else None
    value: Any = text if number is None else number
    if parameter.problem(value) is not None or reads:
        raise UsageError(_wrong(parameter, text))
    return value


def _wrong(parameter: Parameter, text: str) -> str:
    """Return the message of a text that is no value of a parameter."""
    kinds = [*parameter.choices, *(_READS[kind] for kind in parameter.param.reads)]
    kinds += [parameter.expected_number] if {int, float} & set(parameter.types) else []
    kinds += ["none"] if parameter.takes_none and parameter.default is not None else []
    return f"{parameter.flags[0]} must be {listed(kinds, 'or')}, got {text!r}."


def _numbers(parameter: Parameter, text: str) -> list[float] | list[int]:
    """Return the numbers between the commas; whole ones if all are."""
    numbers = [number_of(word) for word in text.removesuffix(",").split(",")]
    if any(number is None for number in numbers):
        raise UsageError(_wrong(parameter, text))
    return [number for number in numbers if number is not None]


def _columns(parameter: Parameter, group: str) -> list[int]:
    """Return the positions of a group of columns, such as "0,1" or "2:5"."""
    columns: list[int] = []
    for part in group.split(","):
        first, colon, last = part.strip().partition(":")
        if not first.isdecimal() or (colon and not last.isdecimal()) or len(first + last) > 9:
            raise UsageError(_wrong(parameter, group))
        columns += range(int(first), int(last)) if colon else [int(first)]
    return columns


def _array(file: str) -> Any:
    """Return the numbers of a file: an array of any shape in a .npy file, else rows."""
    from coterie.cli.inputs import about

    if not file.endswith(".npy"):
        with about(file):
            return open_rows(file).read()
    path = str(recovered(file))
    check_regular_file(path)
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{file} is no array of numbers, or it is damaged.") from error
