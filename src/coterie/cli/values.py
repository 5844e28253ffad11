"""What the texts of parameters' options mean: numbers, groups of columns, files of arrays, models."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from coterie import persistence
from coterie.cli import UsageError
from coterie.cli.inputs import about
from coterie.cli.parameters import ParameterOption
from coterie.limits.files import check_regular_file
from coterie.outputs import newest
from coterie.rows import open_rows

__all__ = ["MODEL", "find_model", "value_of"]

MODEL = "model.coterie"
"""The model in the folder of a run."""

_WORDS = {
    "numbers": "numbers with commas between them",
    "array": "a file of rows",
    "model": "a model or the folder of a run",
    "groups": "groups of columns, such as '0,1;2:5'",
}


def find_model(path: str) -> str:
    """Return the file of a model that is named by it or by the folder of the run that wrote it.

    Raises
    ------
    ValueError
        If the folder has none.
    """
    if not Path(path).is_dir():
        return path
    file = Path(path, MODEL)
    if not Path(newest(file)).exists():
        raise ValueError(f"{path} is a folder without a {MODEL}: name a model, or the folder of coterie fit.")
    return str(file)


def value_of(option: ParameterOption, text: str) -> Any:
    """Return what a text means for a parameter.

    Raises
    ------
    UsageError
        If it is none of the words, and nothing else that the parameter can be.
    ValueError
        If a file does not hold what the parameter needs.
    """
    if text == "none" and "none" in option.reads:
        return None
    if text in option.choices:
        return text
    if "numbers" in option.reads and not Path(text).exists():
        return _numbers(option, text)
    if "groups" in option.reads:
        return [_columns(option, group) for group in text.split(";")]
    if "model" in option.reads and (text.endswith(".coterie") or Path(text, MODEL).exists()):
        return persistence.load(find_model(text))
    if "array" in option.reads and ("." in text or Path(text).exists()):
        return _array(text)
    if option.choices or option.reads:
        raise UsageError(f"{option.flag} must be {_allowed(option)}, got {text!r}.")
    return text


def _allowed(option: ParameterOption) -> str:
    words = ", ".join(option.choices)
    others = [_WORDS[kind] for kind in option.reads if kind in _WORDS]
    return " or ".join([*([f"one of {words}"] if words else []), *others])


def _numbers(option: ParameterOption, text: str) -> list[float] | list[int]:
    """Return the numbers between the commas; whole ones if all are."""
    words = text.removesuffix(",").split(",")
    for kind in (int, float):
        with suppress(ValueError, OverflowError):
            numbers = [kind(word) for word in words]
            if np.all(np.isfinite(np.asarray(numbers, dtype=np.float64))):
                return numbers
    raise UsageError(f"{option.flag} must be {_allowed(option)}, got {text!r}.")


def _columns(option: ParameterOption, group: str) -> list[int]:
    """Return the positions of a group of columns, such as "0,1" or "2:5"."""
    columns: list[int] = []
    for part in group.split(","):
        first, colon, last = part.strip().partition(":")
        if not first.isdecimal() or (colon and not last.isdecimal()) or len(first + last) > 9:
            raise UsageError(f"{option.flag} must be {_allowed(option)}, got {group!r}.")
        columns += range(int(first), int(last)) if colon else [int(first)]
    return columns


def _array(file: str) -> Any:
    """Return the numbers of a file: an array of any shape in a .npy file, else rows."""
    if not file.endswith(".npy"):
        with about(file):
            return open_rows(file).read()
    path = str(newest(file))
    check_regular_file(path)
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{file} is no array of numbers, or it is damaged.") from error
