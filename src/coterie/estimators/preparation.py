"""Preparation of rows, stored by a fit and applied to new rows: columns, their order, and steps.

Columns are matched by name wherever the rows of the fit and the others both have names. scikit-learn refuses columns in
another order; here they are put in the order of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import _get_feature_names

from coterie.fitting.checks import warn
from coterie.rows import Rows
from coterie.rows.derived import selected_columns
from coterie.rows.prepare import opened, transformed

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


def opened_rows(model: Any, X: Any, **options: Any) -> Rows:
    """Return the rows of data or of a path; of a table with the columns of the fit, by their names."""
    return opened(X, {**options, "fitted": (_chosen(model), _expected(model))})


def prepared_rows(model: Any, X: Any) -> Rows:
    """Return rows in the columns of a fit, prepared by its transformers; missing columns are an error."""
    preparation, chosen = getattr(model, "preparation_", ()), _chosen(model)
    unknown = {step[0] for step in preparation} - {"columns", "transform", "drop_missing"}
    if unknown:
        raise ValueError(
            f"The rows of the fit were prepared by {', '.join(sorted(unknown))}, which is unknown here."
        )
    steps = _transforms(preparation)
    rows = _with_first_steps(steps, opened_rows(model, X))
    done = _transforms(rows.preparation)
    if not done:
        is_chosen = False
        if any(step[0] == "columns" for step in rows.preparation):
            is_chosen, chosen = list(rows.chosen or []) == chosen, None
        # The columns of a step with cells may have no names: vectors, or no numbers.
        if not (is_chosen and any(step[3] is not None for step in steps)):
            positions = _positions(model, rows, _names_of(X, rows), chosen)
            rows = rows if positions is None else selected_columns(rows, positions)
    for _, transformer, _, cells in steps[len(done) :]:
        rows = transformed(rows, transformer, cells)
    return rows


def _chosen(model: Any) -> Sequence[str | int] | None:
    """Return the columns that were chosen for a fit, where they were."""
    return next((step[1] for step in getattr(model, "preparation_", ()) if step[0] == "columns"), None)


def _expected(model: Any) -> Any:
    """Return the names of the columns of a fit before its transformers, None where they have none."""
    steps = _transforms(getattr(model, "preparation_", ()))
    return steps[0][2] if steps else getattr(model, "feature_names_in_", None)


def _transforms(preparation: Sequence[_Step]) -> list[_Step]:
    return [step for step in preparation if step[0] == "transform"]


def _with_first_steps(steps: Sequence[_Step], rows: Rows) -> Rows:
    """Return the rows after the first of these steps only."""
    while len(done := _transforms(rows.preparation)) > len(steps) or not all(map(_is_same, steps, done)):
        if not steps or rows.source is None:
            raise ValueError(
                "X was prepared by other transformers than the rows of the fit: pass X without them, and the model "
                "repeats those of the fit."
            )
        rows = rows.source
    return rows


def _is_same(one: _Step, other: _Step) -> bool:
    """Return whether two steps do the same. A step that was pickled or loaded holds other objects."""
    return one[2:] == other[2:] and (one[1] is other[1] or joblib.hash(one[1]) == joblib.hash(other[1]))


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


def _positions(
    model: Any, rows: Rows, names: list[str] | None, chosen: Sequence[str | int] | None
) -> list[int] | None:
    """Return which columns of the rows are those of the fit, None if they are these already."""
    expected = _expected(model)
    if expected is None or names is None:
        _warn_of_names(model, expected, names)
        return _unnamed_positions(rows, chosen)
    if len(names) == len(expected) and all(mine == its for mine, its in zip(names, expected)):
        return None
    position_of = {name: i for i, name in enumerate(names)}
    missing = [name for name in expected if name not in position_of]
    if missing or len(position_of) < len(names):
        raise ValueError(_mismatch([name for name in names if name not in set(expected)], missing))
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
    for title, names in (("unseen at fit time", new), ("seen at fit time, yet now missing", missing)):
        if names:
            listed = [*sorted(names)[:_MOST_LISTED], *["..."] * (len(names) > _MOST_LISTED)]
            message += f"Feature names {title}:\n" + "".join(f"- {name}\n" for name in listed)
    return message if missing else f"{message}Feature names must be unique.\n"
