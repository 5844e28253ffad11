"""Checks of rows: compute dtype, shape and finite numbers.

The wording follows scikit-learn's `check_array` where it has one, so that its estimator checks pass and users recognize
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import IndexArray
from coterie.limits.files import shortened

# Maximum length of a message: those of libraries may repeat the text of the file.
_MOST_TOLD = 600

# Maximum number of columns that an error names.
_SHOWN_COLUMNS = 8

MOST_OF_A_NAME = 60
"""Characters of a column's name that a message shows."""

_RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
    "or array.reshape(1, -1) if it contains a single sample."
)


class FileError(ValueError):
    """An error that names a file."""


class NotATableError(ValueError):
    """Columns were chosen, but the data are not a table."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter with a value in the advice of an error, such as ``exclude=['x']``, which the command line words in
    its own way; `function` is what takes it where that is not clear."""

    parameter: str
    value: Any = None
    function: str = ""

    def __str__(self) -> str:
        text = self.parameter if self.value is None else f"{self.parameter}={self.value!r}"
        return f"{self.function}(X, {text})" if self.function else text


class TableError(ValueError):
    """A table that cannot be read as it is: the problem (if empty, a setting is wrong), and advice, a format of
    settings and other values. `parameter` is the first one of the settings.
    """

    def __init__(self, problem: str, advice: str = "", *values: Any) -> None:
        super().__init__(problem + advice.format(*values))
        self.problem, self.advice, self.values = problem, advice, values
        self.settings = [value for value in values if isinstance(value, Setting)]
        self.parameter = self.settings[0].parameter if self.settings else None


def leave_out(problem: str, names: Sequence[str | int]) -> TableError:
    """Return the error for columns that cannot be clustered, whose advice is to leave them out."""
    return TableError(f"{problem} ", "Leave out: {}.", Setting("exclude", list(names)))


class BadRowError(ValueError):
    """A row that cannot be clustered: whether a number is missing, where the first one is, and details on all."""

    is_missing: bool = False
    where: str = ""
    detail: str = ""

    @classmethod
    def of(
        cls, problem: str, row: int, place: tuple[int, str] | None, *, is_missing: bool = False
    ) -> BadRowError:
        """Return the error for a row of a file, if `place` is its number there and the file's name."""
        number, file = place or (row, "")
        where = f"{row}" + f", row {number}" * (number != row) + f" of {file}" * bool(file)
        error = cls(f"{problem} First bad row: {where}.")
        error.is_missing, error.where = is_missing, where
        return error

    def advised(self, advice: str, detail: str = "") -> BadRowError:
        """Return the error with details and advice."""
        self.args, self.detail = (" ".join(filter(None, [str(self), detail, advice])),), detail
        return self


def compute_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the float type of computations: float32 for floats and integers that it holds exactly, else float64."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: X has dtype {dtype}. Take numpy.hstack([X.real, X.imag]), or one of them."
        )
    if dtype.kind not in "fiub":
        times = "(X - X.min()) / numpy.timedelta64(1, 'D') is days"
        way = times if dtype.kind in "mM" else "X.astype('float64') makes numbers of what can be one"
        raise ValueError(f"X must hold numbers, got dtype {dtype}: {way}.")
    small = dtype.kind in "iuf" and dtype.itemsize <= 2
    return np.dtype(np.float32 if small or dtype == np.float32 else np.float64)


def check_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return `shape` as two integers, or raise an error unless it has rows and columns."""
    if len(shape) < 2:
        found = "scalar array" if len(shape) == 0 else "1D array"
        raise ValueError(f"Expected 2D array, got {found} instead: shape {tuple(shape)}.\n{_RESHAPE}")
    if len(shape) > 2:
        raise ValueError(
            f"Found array with dim {len(shape)}, while dim <= 2 is required. X.reshape(len(X), -1) has a row for each "
            "of the first."
        )
    n_rows, n_columns = int(shape[0]), int(shape[1])
    for count, noun in ((n_rows, "sample"), (n_columns, "feature")):
        if count < 0:
            raise ValueError(f"the file is damaged: it declares {count} {noun}s")
        if count == 0:
            raise ValueError(
                f"Found array with 0 {noun}(s) (shape=({n_rows}, {n_columns})) "
                "while a minimum of 1 is required."
            )
    return n_rows, n_columns


def check_finite(
    block: Any, rows: int | IndexArray, place_of: Callable[[int], tuple[int, str] | None] = lambda row: None
) -> None:
    """Raise a ValueError that names the first row of a block with a NaN or an infinity. `rows` is the number of the
    first row, or of each one; `place_of` is that of `Rows`.
    """
    values = block.data if sp.issparse(block) else block
    # A sum is finite only if all its terms are, and needs no temporary array. The opposite does not hold:
    # a sum of finite numbers may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    if sp.issparse(block):
        first = int(np.searchsorted(block.indptr, bad.argmax(), side="right")) - 1
        row_values = block.data[block.indptr[first] : block.indptr[first + 1]]
    else:
        first = int(bad.any(axis=1).argmax())
        row_values = block[first]
    is_missing = bool(np.isnan(row_values).any())
    found = "NaN" if is_missing else f"infinity or a value too large for {block.dtype!r}"
    row = rows + first if isinstance(rows, int) else int(rows[first])
    raise BadRowError.of(f"Input X contains {found}.", row, place_of(row), is_missing=is_missing)


def missing_by_column(pieces: Iterable[Any], names: Sequence[str]) -> tuple[str, str]:
    """Return advice on numbers that are missing or infinite, and a description of their columns."""
    counts, n_rows, n_bad = np.zeros(len(names), dtype=np.int64), 0, 0
    for piece in pieces:
        bad = ~np.isfinite(piece)
        counts += bad.sum(axis=0)
        n_rows, n_bad = n_rows + len(bad), n_bad + int(bad.any(axis=1).sum())
    found = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    shown = [f"{shortened(repr(names[i]), MOST_OF_A_NAME)} in {counts[i]:,}" for i in found[:_SHOWN_COLUMNS]]
    if len(found) > len(shown):
        shown.append(f"and {len(found) - len(shown)} more columns")
    way = (
        "Fill in numbers (missing='median'), drop the rows (missing='drop'), or leave columns out (exclude)."
    )
    return way, f"Of {n_rows:,} rows {n_bad:,} have such values: {', '.join(shown)}."


@contextmanager
def reading(path: object, name: object = None) -> Iterator[None]:
    """Turn an error of a library about a file into a ValueError with its path or `name`; without a path do nothing."""
    before = f"Cannot read {path if name is None else name}: "
    try:
        yield
    except (ImportError, MemoryError, PermissionError, FileError):
        raise
    except (BadRowError, NotATableError, TableError) as error:
        if path and not str(error).startswith(before):
            error.args = (before + str(error),)
            if isinstance(error, TableError) and error.problem:
                error.problem = before + error.problem
        raise
    except Exception as error:
        if not path:
            raise
        message = str(error).removeprefix(before) or type(error).__name__
        raise FileError(before + shortened(message, _MOST_TOLD)) from error
