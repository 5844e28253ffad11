"""Preparation of rows, stored by a fit and applied to new rows: columns, their order, and steps.

Columns are matched by name wherever the rows of the fit and the others both have names. scikit-learn refuses columns in
another order; here they are put in the order of the fit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import _get_feature_names

from coterie.fitting.checks import warn
from coterie.rows import Rows, as_rows
from coterie.rows.checks import NotNumbersError
from coterie.rows.columns import ALL_COLUMNS, NO_COLUMNS
from coterie.rows.derived import normalized, selected_columns
from coterie.rows.prepare import transformed

_MOST_LISTED = 12

_Step = tuple[Any, ...]


def columns_of(X: Any, rows: Rows) -> dict[str, Any]:
    """Return the fitted attributes that describe the columns of `rows`, which are those of X."""
    names = _names_of(X, rows)
    found: dict[str, Any] = {"n_features_in_": rows.shape[1]}
    if names is not None:
        found["feature_names_in_"] = np.asarray(names, dtype=object)
    if rows.preparation:
        found["preparation_"] = rows.preparation
    return found


def prepared_rows(model: Any, X: Any) -> Rows:
    """Return rows in the columns of a fit, prepared by its transformers; other columns are an error."""
    preparation = getattr(model, "preparation_", ())
    unknown = {step[0] for step in preparation} - {"columns", "transform", "normalize", "drop_missing"}
    if unknown:
        raise ValueError(
            f"The rows of the fit were prepared by {', '.join(sorted(unknown))}, which is unknown here."
        )
    chosen: Sequence[str | int] | None = next((step[1] for step in preparation if step[0] == "columns"), None)
    steps = [step for step in preparation if step[0] in ("transform", "normalize")]
    # The other columns of a data frame need not be numbers.
    if not _is_frame(X):
        rows = as_rows(X)
    elif chosen is not None:
        rows = as_rows(X, columns=chosen or NO_COLUMNS)
    else:  # the roles of other columns than numbers decide, not those of numbers that happen to be alike in a few rows
        try:
            rows = as_rows(X, columns=ALL_COLUMNS)
        except NotNumbersError:
            rows = as_rows(X)
    rows = _with_first_steps(steps, rows)
    done = _steps_of(rows)
    if any(step[0] == "columns" for step in rows.preparation):
        is_chosen, chosen = list(rows.chosen or []) == chosen, None
    else:
        is_chosen = False
    if not any(step[0] == "transform" for step in done):
        first = next((step for step in steps if step[0] == "transform"), None)
        # The names of the columns before any step.
        expected = getattr(model, "feature_names_in_", None) if first is None else first[2]
        has_cells = any(step[0] == "transform" and step[3] is not None for step in steps)
        # The columns of a step with cells may have no names: vectors, or no numbers.
        positions = (
            None if has_cells and is_chosen else _positions(model, rows, expected, _names_of(X, rows), chosen)
        )
        if positions is not None:
            if len(positions) < rows.shape[1] and done:
                raise ValueError(
                    "X was normalized with columns that the model does not have: choose these first."
                )
            rows = selected_columns(rows, positions)
    for name, *held in steps[len(done) :] if steps else ():
        rows = normalized(rows) if name == "normalize" else transformed(rows, held[0], held[2])
    return rows


def _steps_of(rows: Rows) -> list[_Step]:
    return [step for step in rows.preparation if step[0] in ("transform", "normalize")]


def _with_first_steps(steps: Sequence[_Step], rows: Rows) -> Rows:
    """Return the rows after the first of these steps only."""
    given, is_learned = rows, any(step[0] == "transform" for step in steps)
    while len(done := _steps_of(rows)) > len(steps) or not all(map(_is_same, steps, done)):
        if not is_learned and not any(step[0] == "transform" for step in done):
            return rows  # of length 1, as the user wanted them
        if not is_learned or rows.source is None:
            names = ", ".join(step[0] for step in _steps_of(given))
            raise ValueError(
                f"X was prepared by other steps ({names}) than the rows of the fit: pass X without "
                "these steps, which the model repeats."
            )
        rows = rows.source
    return rows


def _is_same(one: _Step, other: _Step) -> bool:
    """Return whether two steps do the same. A step that was pickled or loaded holds other objects."""
    if len(one) != len(other) or one[0] != other[0] or one[2:] != other[2:]:
        return False
    return one[1:2] == other[1:2] or joblib.hash(one[1:2]) == joblib.hash(other[1:2])


def _names_of(X: Any, rows: Rows) -> list[str] | None:
    """Return the names of all columns, None where they have none of their own."""
    names = rows.column_names
    if not isinstance(X, Rows) and type(X) is not np.ndarray:
        # scikit-learn checks names, and reads those of sparse frames. This takes longer than a small pass.
        theirs = _get_feature_names(X)
        names = theirs if names is None else names
    # The names of the numbers of a column of vectors are generated.
    is_mapped = any(step[0] == "transform" for step in rows.preparation)
    is_one = rows.chosen is not None and len(rows.chosen) == 1 and not is_mapped
    is_vector = is_one and list(rows.chosen or []) != rows.column_names
    return None if names is None or is_vector or len(names) != rows.shape[1] else list(names)


def _is_frame(X: Any) -> bool:
    tables = (
        ("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("dask.dataframe", "DataFrame"),
    )  # fmt: skip
    loaded = [getattr(sys.modules[library], name) for library, name in tables if library in sys.modules]
    return isinstance(X, tuple(loaded)) or hasattr(X, "__arrow_c_stream__")


def _positions(
    model: Any, rows: Rows, expected: Any, names: list[str] | None, chosen: Sequence[str | int] | None
) -> list[int] | None:
    """Return which columns of the rows are those of the fit, or None if they are these already. Other columns are left
    out if columns were `chosen`, else they are an error.
    """
    if expected is None or names is None:
        _warn_of_names(model, expected, names)
        return _unnamed_positions(rows, chosen)
    if len(names) == len(expected) and all(mine == its for mine, its in zip(names, expected)):
        return None
    position_of = {name: i for i, name in enumerate(names)}
    missing = [name for name in expected if name not in position_of]
    known = set(expected)
    new = [name for name in names if name not in known] if chosen is None else []
    if missing or new or len(position_of) < len(names):
        raise ValueError(_mismatch(new, missing))
    return [position_of[name] for name in expected]


def _unnamed_positions(rows: Rows, chosen: Sequence[str | int] | None) -> list[int] | None:
    """Return the positions that the fit chose, where these rows are a table that has them."""
    if chosen is None or not all(isinstance(column, int) for column in chosen):
        return None
    positions = [int(column) for column in chosen]
    # An array of as many columns has those that were chosen.
    is_chosen = rows.shape[1] == len(positions) and not rows.is_table
    return None if is_chosen or max(positions) >= rows.shape[1] else positions


def _warn_of_names(model: Any, expected: Any, names: list[str] | None) -> None:
    """Warn, as scikit-learn does, where only one side has names."""
    estimator = type(model).__name__
    if names is not None:
        warn(f"X has feature names, but {estimator} was fitted without feature names")
    elif expected is not None:
        warn(f"X does not have valid feature names, but {estimator} was fitted with feature names")


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
