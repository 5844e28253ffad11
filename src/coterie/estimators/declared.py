"""Declarations of the fitted attributes of estimators: shapes in symbols, kinds of numbers, ranges.

`load` and `save` hold a model against it, and the end of a fit asks whether its numbers are finite. The sizes that a
shape names, such as "k" and "d", are known from the first attribute that has them; all others must agree.

Examples
--------
>>> import numpy as np
>>> from coterie.estimators.declared import Count, Numbers, problem_of
>>> declared = {"n_features_in_": Count("d"), "cluster_centers_": Numbers(("k", "d"))}
>>> problem_of({"n_features_in_": 4, "cluster_centers_": np.zeros((2, 3))}, declared)
'cluster_centers_ has 3 columns, n_features_in_ is 4'
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

# Shares are sums of many float32 numbers.
_SHARES_OFF = 1e-3

_KINDS = {
    "float": (np.float32, np.float64),
    "double": (np.float64,),
    "integer": (np.int32, np.int64),
    "boolean": (np.bool_,),
}
_AXES = {1: ("entries",), 2: ("rows", "columns")}


class Sizes:
    """Sizes so far, by their symbols, and the attributes that they come from."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str]] = {}

    def problem(self, symbol: str | int, size: int, reason: str) -> str | None:
        """Add a size; return the attribute that has another one, if there is any.

        A symbol is a name such as "n", which may end in "-1", or the size itself; a reason is such as "labels_ has 9
        entries".
        """
        if isinstance(symbol, int):
            return None if size == symbol else f"not {symbol}"
        name, _, less = symbol.partition("-")
        if name not in self._known:
            self._known[name] = size + int(less or 0), reason
            return None
        expected, source = self._known[name]
        return None if size == expected - int(less or 0) else source

    def of(self, symbol: str) -> tuple[int, str] | None:
        """Return a size and the attribute that it comes from; None if it is unknown."""
        return self._known.get(symbol)


@dataclass(frozen=True, kw_only=True)
class FittedAttribute:
    """A fitted attribute: whether every model has it, or all that have the one `beside`, and its numbers are finite."""

    needed: bool = True
    finite: bool = True
    beside: str | None = None

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        """Return the error of a value as the end of a sentence that begins with its name, or None."""
        raise NotImplementedError

    def non_finite(self, value: Any) -> float | None:
        """Return the first non-finite number of a value that must be finite; None if there is none."""
        return None


@dataclass(frozen=True)
class NotStored(FittedAttribute):
    """An attribute that is computed from others and not stored in model files."""

    needed: bool = field(default=False, kw_only=True)

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        return "is no part of a saved model"


@dataclass(frozen=True)
class Scalar(FittedAttribute):
    """A single number, or None where that is allowed."""

    kind: str = "float"
    least: float = -math.inf
    most: float = field(default=math.inf, kw_only=True)
    may_be_none: bool = field(default=False, kw_only=True)

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if value is None and self.may_be_none:
            return None
        types: dict[str, Any] = {
            "float": (float, int, np.floating, np.integer),
            "integer": (int, np.integer),
            "boolean": (bool, np.bool_),
        }
        is_boolean = isinstance(value, bool | np.bool_)
        if not isinstance(value, types[self.kind]) or is_boolean != (self.kind == "boolean"):
            return f"must be one {self.kind} number, not {_kind_of(value)}"
        if isinstance(value, int) and abs(value) >= 1 << 63:
            return "is too large"
        if self.non_finite(value) is not None:
            return f"is {value}, which is not finite"
        if value < self.least:
            return f"is {value}, which is less than {self.least:g}"
        return f"is {value}, which is more than {self.most:g}" if value > self.most else None

    def non_finite(self, value: Any) -> float | None:
        if not self.finite or value is None or math.isfinite(value):
            return None
        return float(value)


@dataclass(frozen=True)
class Count(FittedAttribute):
    """A number of things, which is the size of arrays."""

    symbol: str

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        wrong = Scalar("integer", 1).problem(value, sizes, name)
        if wrong:
            return wrong
        other = sizes.problem(self.symbol, int(value), f"{name} is {value}")
        return None if other is None else f"is {value}, {other}"


@dataclass(frozen=True)
class Numbers(FittedAttribute):
    """An array, whose entries are at least `least`, and less than the size of the symbol `below`.

    The kinds are "float" (float32 and float64), "double", "integer" (int32 and int64) and "boolean". Shares along the
    last axis sum to 1.
    """

    shape: tuple[str | int, ...]
    kind: str = "float"
    least: float = field(default=-math.inf, kw_only=True)
    below: str | None = field(default=None, kw_only=True)
    are_shares: bool = field(default=False, kw_only=True)
    may_be_empty: bool = field(default=False, kw_only=True)

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if type(value) is not np.ndarray:
            return f"must be an array, not {_kind_of(value)}"
        if value.dtype not in _KINDS[self.kind]:
            allowed = " or ".join(np.dtype(known).name for known in _KINDS[self.kind])
            return f"holds {value.dtype} instead of {allowed}"
        if value.size == 0 and not self.may_be_empty:
            return f"is empty: its shape is {value.shape}"
        return _problem_of_shape(value.shape, self.shape, sizes, name) or self._problem_of_entries(
            value, sizes
        )

    def non_finite(self, value: Any) -> float | None:
        if not self.finite or not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return None
        finite = np.isfinite(value)
        return None if finite.all() else float(value[~finite][0])

    def _problem_of_entries(self, value: Any, sizes: Sizes) -> str | None:
        number = self.non_finite(value)
        if number is not None:
            return f"holds {number}, which is not finite"
        if value.size == 0:
            return None
        # NaN, where it may be, is neither too small nor too large.
        if np.any(value < self.least):
            return f"holds {value[value < self.least][0]}, which is less than {self.least:g}"
        size = None if self.below is None else sizes.of(self.below)
        if size is not None and value.max() >= size[0]:
            return f"holds {value.max()}, {size[1]}"
        if self.are_shares and not np.all(np.abs(value.sum(axis=-1, dtype=np.float64) - 1) <= _SHARES_OFF):
            return "holds shares that do not sum to 1"
        return None


@dataclass(frozen=True)
class ArrayTuple(FittedAttribute):
    """A tuple of arrays that are finite if the centroids are."""

    parts: tuple[Numbers, ...]

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if type(value) is not tuple or len(value) != len(self.parts):
            return f"must be a tuple of {len(self.parts)} arrays, not {_kind_of(value)}"
        for number, (part, entry) in enumerate(zip(self.parts, value)):
            wrong = part.problem(entry, sizes, f"{name}[{number}]")
            if wrong:
                return f"{wrong} (in its part {number})"
        return None


@dataclass(frozen=True)
class History(FittedAttribute):
    """The history of a fit: `iteration`, `seconds`, `objective` and fields of the method.

    With `finite`, the objectives are; other columns may say that there is no such number.
    """

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if type(value) is not np.recarray or value.dtype.names is None:
            return f"must be a record array, not {_kind_of(value)}"
        if value.dtype.names[:3] != ("iteration", "seconds", "objective") or value.ndim != 1:
            return "has no columns iteration, seconds and objective"
        if any(value.dtype[column].kind not in "iufb" for column in value.dtype.names):
            return "has columns that are not numbers"
        return "has objectives that are not finite" if self.non_finite(value) is not None else None

    def non_finite(self, value: Any) -> float | None:
        return Numbers(("t",), finite=self.finite).non_finite(np.asarray(value["objective"]))


@dataclass(frozen=True)
class Names(FittedAttribute):
    """Names of columns: an array of texts."""

    symbol: str

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype != object:
            return f"must be an array of texts, not {_kind_of(value)}"
        if not all(type(entry) is str for entry in value.tolist()):
            return "holds names that are not texts"
        other = sizes.problem(self.symbol, len(value), f"{name} has {len(value)} entries")
        return None if other is None else f"has {len(value)} entries, {other}"


@dataclass(frozen=True)
class Graph(FittedAttribute):
    """A square sparse matrix of weights."""

    symbol: str

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        wrong = _problem_of_sparse(value)
        if wrong:
            return wrong
        return _problem_of_shape(value.shape, (self.symbol, self.symbol), sizes, name)

    def non_finite(self, value: Any) -> float | None:
        return Numbers(("e",)).non_finite(value.data)


@dataclass(frozen=True)
class Rows(FittedAttribute):
    """Rows, dense or sparse."""

    n_rows: str
    n_columns: str

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if not sp.issparse(value):
            wrong = Numbers((self.n_rows, self.n_columns)).problem(value, sizes, name)
            return wrong or _problem_of_squares(value)
        wrong = _problem_of_sparse(value)
        wrong = wrong or _problem_of_shape(value.shape, (self.n_rows, self.n_columns), sizes, name)
        return wrong or _problem_of_squares(value.data)

    def non_finite(self, value: Any) -> float | None:
        return Numbers(("e",)).non_finite(value.data if sp.issparse(value) else value)


def _problem_of_squares(numbers: Any) -> str | None:
    """Return that the squares of numbers overflow, if they do: no fit has such rows."""
    most = math.sqrt(np.finfo(numbers.dtype).max)
    too_large = numbers.size > 0 and max(abs(numbers.min()), abs(numbers.max())) > most
    return "holds numbers so large that their squares overflow" if too_large else None


@dataclass(frozen=True)
class RandomNumbers(FittedAttribute):
    """A generator of random numbers, or None."""

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if isinstance(value, np.random.RandomState):
            return None
        return f"must be a generator of random numbers, not {_kind_of(value)}"


def problem_of(values: Mapping[str, Any], declared: Mapping[str, FittedAttribute]) -> str | None:
    """Return the error of the fitted attributes of a model, or None; those that are not declared are not checked."""
    sizes = Sizes()
    for name, expected in declared.items():
        if name not in values:
            if expected.needed or expected.beside in values:
                return f"{name} is missing"
            continue
        wrong = expected.problem(values[name], sizes, name)
        if wrong:
            return f"{name} {wrong}"
    return None


def first_non_finite(
    values: Mapping[str, Any], declared: Mapping[str, FittedAttribute]
) -> tuple[str, float] | None:
    """Return the first attribute with a non-finite number that must be finite, and the number; or None."""
    for name, expected in declared.items():
        value = values.get(name)
        number = None if value is None else expected.non_finite(value)
        if number is not None:
            return name, number
    return None


def _problem_of_sparse(value: Any) -> str | None:
    """Return the error of a sparse matrix of finite numbers, or None."""
    if not sp.issparse(value) or value.format != "csr":
        return f"must be a sparse matrix in CSR format, not {_kind_of(value)}"
    if value.dtype not in _KINDS["float"]:
        return f"holds {value.dtype} instead of float32 or float64"
    try:
        value.check_format(full_check=True)
    except ValueError as error:
        return f"is no valid sparse matrix: {error}"
    if len(value.indices) != value.nnz or len(value.data) != value.nnz:
        return f"has {len(value.data)} numbers in {len(value.indices)} places, and says {value.nnz}"
    number = Numbers(("e",)).non_finite(value.data)
    return None if number is None else f"holds {number}, which is not finite"


def _problem_of_shape(
    shape: tuple[int, ...], symbols: tuple[str | int, ...], sizes: Sizes, name: str
) -> str | None:
    """Return where a shape is not that which is declared, or None."""
    if len(shape) != len(symbols):
        return f"has {len(shape)} dimensions instead of {len(symbols)}"
    names = _AXES.get(len(shape), tuple(f"entries along axis {axis}" for axis in range(len(shape))))
    for symbol, size, axis in zip(symbols, shape, names):
        other = sizes.problem(symbol, size, f"{name} has {size} {axis}")
        if other is not None:
            return f"has {size} {axis}, {other}"
    return None


def _kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return "None" if value is None else f"a {type(value).__name__}"
