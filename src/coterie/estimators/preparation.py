"""What a fit remembers of its rows, so that other rows get the same columns in the same order, and the same steps.

Columns are matched by name wherever the rows of the fit and the others both have names. scikit-learn refuses columns in
another order; here they are put right.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _get_feature_names

from coterie.rows import RowSource, as_rows
from coterie.rows.normalized import NormalizedRows
from coterie.rows.selected import SelectedColumns

__all__ = ["prepared_rows", "remember_preparation"]

_MOST_LISTED = 12


def remember_preparation(model: Any, X: Any, rows: RowSource) -> None:
    """Note the names of the columns and the preparation of the rows of a fit, where they have any.

    Parameters
    ----------
    model : estimator
        Gets `feature_names_in_` and `preparation_`, or loses those of an earlier fit.
    X : array-like, table or RowSource
        What was given to `fit`.
    rows : RowSource
        The same.
    """
    names = _names_of(X, rows)
    _set(model, "feature_names_in_", None if names is None else np.asarray(names, dtype=object))
    _set(model, "preparation_", rows.preparation or None)


def prepared_rows(model: Any, X: Any) -> RowSource:
    """Return rows in the columns of a fit, prepared as its rows were; what was done to them already is not repeated.

    Parameters
    ----------
    model : estimator
        A fitted one. Its `feature_names_in_` and `preparation_` say what is wanted; it may have neither.
    X : array-like, table or RowSource
        Other rows.

    Raises
    ------
    ValueError
        If columns are missing or new, or a step comes too late.
    """
    steps = {step[0]: step for step in getattr(model, "preparation_", ())}
    unknown = steps.keys() - {"columns", "normalize"}
    if unknown:
        raise ValueError(
            f"The rows of the fit were prepared by {', '.join(sorted(unknown))}, which is unknown here."
        )
    chosen = steps["columns"][1] if "columns" in steps else None
    # The other columns of a data frame need not be numbers.
    rows = as_rows(X, columns=chosen) if chosen is not None and _is_frame(X) else as_rows(X)
    done = {step[0] for step in rows.preparation}
    if "columns" in done:
        chosen = None
    positions = _positions(model, rows, _names_of(X, rows), chosen)
    if positions is not None:
        if len(positions) < rows.shape[1] and "normalize" in done:
            raise ValueError(
                "X was normalized with columns that the model does not have: choose these first."
            )
        rows = SelectedColumns(rows, positions)
    return NormalizedRows(rows) if "normalize" in steps and "normalize" not in done else rows


def _names_of(X: Any, rows: RowSource) -> list[str] | None:
    """Return the names of all columns, None where they have none of their own."""
    names = rows.column_names
    if not isinstance(X, RowSource):
        # scikit-learn refuses some names, and knows those of sparse frames.
        theirs = _get_feature_names(X)
        names = theirs if names is None else names
    # The numbers of one column of vectors have names that nobody gave them.
    is_vector = rows.chosen is not None and len(rows.chosen) == 1 and list(rows.chosen) != rows.column_names
    return None if names is None or is_vector or len(names) != rows.shape[1] else list(names)


def _is_frame(X: Any) -> bool:
    tables = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"))
    loaded = [getattr(sys.modules[library], name) for library, name in tables if library in sys.modules]
    return isinstance(X, tuple(loaded)) or hasattr(X, "__arrow_c_stream__")


def _set(model: Any, name: str, value: Any) -> None:
    if value is not None:
        setattr(model, name, value)
    elif hasattr(model, name):
        delattr(model, name)


def _positions(
    model: Any, rows: RowSource, names: list[str] | None, chosen: Sequence[str | int] | None
) -> list[int] | None:
    """Return which columns of the rows are those of the fit, or None if they are these already.

    Columns beside the chosen ones are left out; others must not be there.
    """
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None or names is None:
        _warn_of_names(model, wanted, names)
        return _unnamed_positions(rows, chosen)
    if len(names) == len(wanted) and all(mine == its for mine, its in zip(names, wanted)):
        return None
    position_of = {name: i for i, name in enumerate(names)}
    missing = [name for name in wanted if name not in position_of]
    known = set(wanted)
    new = [name for name in names if name not in known] if chosen is None else []
    if missing or new or len(position_of) < len(names):
        raise ValueError(_mismatch(new, missing))
    return [position_of[name] for name in wanted]


def _unnamed_positions(rows: RowSource, chosen: Sequence[str | int] | None) -> list[int] | None:
    """Return the positions that the fit chose, where these rows are a table that has them."""
    if chosen is None or not all(isinstance(column, int) for column in chosen):
        return None
    positions = [int(column) for column in chosen]
    # An array of as many columns has those that were chosen.
    is_chosen = rows.shape[1] == len(positions) and not rows.is_table
    return None if is_chosen or max(positions) >= rows.shape[1] else positions


def _warn_of_names(model: Any, wanted: Any, names: list[str] | None) -> None:
    """Warn, as scikit-learn does, where only one side has names."""
    estimator = type(model).__name__
    if names is not None:
        warnings.warn(f"X has feature names, but {estimator} was fitted without feature names", stacklevel=5)
    elif wanted is not None:
        warnings.warn(
            f"X does not have valid feature names, but {estimator} was fitted with feature names",
            stacklevel=5,
        )


def _mismatch(new: list[str], missing: list[str]) -> str:
    """Say in scikit-learn's words which columns are not those of the fit."""
    message = "The feature names should match those that were passed during fit.\n"
    for title, names in (
        ("Feature names unseen at fit time", new),
        ("Feature names seen at fit time, yet now missing", missing),
    ):
        if names:
            listed = [*sorted(names)[:_MOST_LISTED], *(["..."] if len(names) > _MOST_LISTED else [])]
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in listed)
    return message if new or missing else f"{message}Feature names must be unique.\n"
