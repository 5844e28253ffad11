"""What a fit remembers of its rows, so that other rows get the same columns in the same order, and the same steps.

Columns are matched by name wherever the rows of the fit and the others both have names. scikit-learn refuses columns in
another order; here they are put right.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _get_feature_names

from coterie.estimators.declared import Declared, Numbers, Sizes
from coterie.fitting.warn import warn
from coterie.rows import RowSource, as_rows
from coterie.rows.categories import names_of_categories
from coterie.rows.columns import NO_COLUMNS
from coterie.rows.prepare import LEARNED, STEPS
from coterie.rows.selected import SelectedColumns

__all__ = ["Preparation", "columns_of", "prepared_rows", "remember_preparation"]

_MOST_LISTED = 12


@dataclass(frozen=True)
class Preparation(Declared):
    """What was done to the rows of a fit: a tuple of steps, each a tuple of its name and what it has learned."""

    n_columns: str

    def problem(self, value: Any, sizes: Sizes, name: str) -> str | None:
        if type(value) is not tuple or not all(type(step) is tuple and step for step in value):
            return "must be a tuple of steps"
        names = [step[0] for step in value]
        known = ["columns", *STEPS]
        if not all(isinstance(step, str) for step in names) or len(set(names)) < len(names):
            return "must have steps of different names"
        if [step for step in known if step in names] != [step for step in names if step in known]:
            return f"has its steps in another order than {', '.join(known)}"
        width = sizes.of(self.n_columns)
        learned = {step[0]: step[1:] for step in value}
        n_numbers = None if width is None else width[0] - _n_added(learned.get("one_hot", ()))
        for step, held in learned.items():
            wrong = _problem_of_step(step, held, n_numbers)
            if wrong:
                return f"has a step {step!r} that {wrong}"
        return None


def _n_added(one_hot: tuple[Any, ...]) -> int:
    """Return how many columns the categories of a step make; 0 where they are none."""
    categories = one_hot[0] if one_hot else None
    lists = categories.values() if isinstance(categories, dict) else ()
    return sum(len(values) for values in lists if isinstance(values, list))


def _problem_of_step(name: str, held: tuple[Any, ...], n_numbers: int | None) -> str | None:
    """Return what is wrong with what a step holds, or None; steps of other packages hold what they like."""
    lengths = {"columns": 1, "impute": 2, "scale": 3, "one_hot": 2, "normalize": 0}
    if name not in lengths:
        return None
    if len(held) != lengths[name]:
        return f"holds {len(held)} things instead of {lengths[name]}"
    if name == "columns":
        are_names = type(held[0]) is list and all(type(column) in (str, int) for column in held[0])
        return None if are_names else "does not list names and positions"
    if name == "one_hot":
        return _problem_of_categories(*held)
    if held and not isinstance(held[0], str):
        return "does not say of which kind it is"
    for numbers in held[1:]:
        wrong = Numbers(("m",) if n_numbers is None else (n_numbers,)).problem(numbers, Sizes(), name)
        if wrong:
            return wrong
    return "divides by 0" if name == "scale" and not np.all(held[2]) else None


def _problem_of_categories(categories: Any, handle_unknown: Any) -> str | None:
    if handle_unknown not in ("error", "ignore"):
        return "does not say what an unknown category means"
    are_lists = isinstance(categories, dict) and all(
        type(name) is str and type(values) is list and values for name, values in categories.items()
    )
    if not are_lists or not categories:
        return "does not list the categories of columns"
    values = [value for column in categories.values() for value in column]
    if not all(value is None or isinstance(value, str | int | float | bool) for value in values):
        return "has categories that are neither texts nor numbers"
    return None


def columns_of(X: Any, rows: RowSource) -> dict[str, Any]:
    """Return the fitted attributes that tell of the columns of some rows.

    Parameters
    ----------
    X : array-like, table or RowSource
        What was given to `fit`.
    rows : RowSource
        The same.

    Returns
    -------
    dict
        `n_features_in_`; `feature_names_in_` and `preparation_` where there are names and a preparation.
    """
    names = _names_of(X, rows)
    found: dict[str, Any] = {"n_features_in_": rows.shape[1]}
    if names is not None:
        found["feature_names_in_"] = np.asarray(names, dtype=object)
    if rows.preparation:
        found["preparation_"] = rows.preparation
    return found


def remember_preparation(model: Any, X: Any, rows: RowSource) -> None:
    """Set the attributes of `columns_of`, and remove those of an earlier fit."""
    for name in ("feature_names_in_", "preparation_"):
        model.__dict__.pop(name, None)
    model.__dict__.update(columns_of(X, rows))


def prepared_rows(model: Any, X: Any) -> RowSource:
    """Return rows in the columns of a fit, prepared as its rows were; what was done to them already is not repeated.

    What was learned of other rows, such as their means, does not hold here: the numbers of the fit take its place.

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
    preparation = getattr(model, "preparation_", ())
    steps = {step[0]: step for step in preparation}
    unknown = steps.keys() - {"columns", *STEPS}
    if unknown:
        raise ValueError(
            f"The rows of the fit were prepared by {', '.join(sorted(unknown))}, which is unknown here."
        )
    chosen = steps["columns"][1] if "columns" in steps else None
    # The other columns of a data frame need not be numbers.
    rows = as_rows(X, columns=chosen or NO_COLUMNS) if chosen is not None and _is_frame(X) else as_rows(X)
    rows = _with_numbers_of(steps, rows)
    done = {step[0] for step in rows.preparation}
    if "columns" in done:
        chosen = None
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None and "one_hot" in steps and "one_hot" not in done:
        wanted = wanted[: -len(names_of_categories(steps["one_hot"][1]))]
    if not _has_columns_of(steps, rows):
        positions = _positions(model, rows, wanted, _names_of(X, rows), chosen)
        if positions is not None:
            if len(positions) < rows.shape[1] and "normalize" in done:
                raise ValueError(
                    "X was normalized with columns that the model does not have: choose these first."
                )
            rows = SelectedColumns(rows, positions)
    for name, *learned in preparation:
        if name != "columns" and name not in done:
            _check_order(name, done)
            rows = STEPS[name](rows, *learned)
    return rows


def _with_numbers_of(steps: Mapping[str, tuple[Any, ...]], rows: RowSource) -> RowSource:
    """Return rows as they were before something was done to them by other numbers than those of the fit."""
    while any(not _is_same(step, steps.get(step[0])) for step in rows.preparation if step[0] in LEARNED):
        if not any(name in steps for name in LEARNED) or not hasattr(rows, "source"):
            names = ", ".join(step[0] for step in rows.preparation if step[0] in LEARNED)
            raise ValueError(
                f"X was prepared by {names}, and the rows of the fit were not, or by other numbers: pass X as it was "
                "before, and the model does what was done to its own rows."
            )
        rows = rows.source
    return rows


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two steps hold the same values."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return _is_same(list(one.items()), list(other.items()))  # in their order, which is that of columns
    return bool(one == other)


def _check_order(name: str, done: Collection[str]) -> None:
    late = [later for later in list(STEPS)[list(STEPS).index(name) + 1 :] if later in done]
    if late:
        raise ValueError(
            f"The rows of the fit were prepared by {name} before {late[0]}: pass X as it was before {late[0]}."
        )


def _has_columns_of(steps: Mapping[str, tuple[Any, ...]], rows: RowSource) -> bool:
    """Tell whether these are the columns chosen for the fit, which have no other names: vectors, or no numbers."""
    chosen = steps["columns"][1] if "columns" in steps else None
    return "one_hot" in steps and rows.chosen is not None and list(rows.chosen) == chosen


def _names_of(X: Any, rows: RowSource) -> list[str] | None:
    """Return the names of all columns, None where they have none of their own."""
    names = rows.column_names
    if not isinstance(X, RowSource) and type(X) is not np.ndarray:
        # scikit-learn refuses some names, and knows those of sparse frames. To ask it takes longer than a small pass.
        theirs = _get_feature_names(X)
        names = theirs if names is None else names
    # The numbers of one column of vectors have names that nobody gave them.
    is_encoded = any(step[0] == "one_hot" for step in rows.preparation)
    is_one = rows.chosen is not None and len(rows.chosen) == 1 and not is_encoded
    is_vector = is_one and list(rows.chosen or []) != rows.column_names
    return None if names is None or is_vector or len(names) != rows.shape[1] else list(names)


def _is_frame(X: Any) -> bool:
    tables = (
        ("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("dask.dataframe", "DataFrame"),
    )  # fmt: skip
    loaded = [getattr(sys.modules[library], name) for library, name in tables if library in sys.modules]
    return isinstance(X, tuple(loaded)) or hasattr(X, "__arrow_c_stream__")


def _positions(
    model: Any, rows: RowSource, wanted: Any, names: list[str] | None, chosen: Sequence[str | int] | None
) -> list[int] | None:
    """Return which columns of the rows are those of the fit, or None if they are these already.

    Columns beside the chosen ones are left out; others must not be there.
    """
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
        warn(f"X has feature names, but {estimator} was fitted without feature names")
    elif wanted is not None:
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
