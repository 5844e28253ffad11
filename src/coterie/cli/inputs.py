"""The files that commands read: rows, prepared as a model wants them, and known classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import IntArray
from coterie.cli.output import recorded_warnings
from coterie.cli.suspects import column_warnings
from coterie.estimators.preparation import prepared_rows
from coterie.rows import RowSource, open_rows
from coterie.rows.addresses import without_secrets
from coterie.rows.normalized import NormalizedRows

__all__ = ["input_facts", "open_for_model", "open_prepared", "read_known_labels"]


def open_prepared(
    file: str,
    *,
    columns: list[str | int] | None,
    normalize: bool,
    warned: list[str] | None = None,
    **options: Any,
) -> RowSource:
    """Open the rows of a file: some of its columns or all, each row scaled to length 1 or not.

    Parameters
    ----------
    file : str
        What to open.
    columns : list of str or int or None
        Columns of a table.
    normalize : bool
        Whether to scale rows.
    warned : list of str, optional
        Where warnings go, also of columns that should perhaps not be clustered; by default nowhere.
    options
        Other options of `open_rows`; None says nothing.
    """
    with recorded_warnings() as told:
        rows = open_rows(file, columns, **options)
    if warned is not None:
        warned += [*told, *column_warnings(rows)]
    return NormalizedRows(rows) if normalize else rows


def open_for_model(model: Any, file: str, **options: Any) -> RowSource:
    """Open the rows of a file in the columns of the fit, prepared as its rows were.

    Parameters
    ----------
    model : estimator
        A fitted one.
    file : str
        What to open.
    options
        Other options of `open_rows`.
    """
    chosen = next((step[1] for step in getattr(model, "preparation_", ()) if step[0] == "columns"), None)
    rows = open_rows(file, chosen, **options)
    try:
        return prepared_rows(model, rows)
    except ValueError as error:
        known = set(getattr(model, "feature_names_in_", []))
        is_new = any(name not in known for name in rows.column_names or [])
        way_out = " --keep NAME leaves a column to the results." if is_new else ""
        raise ValueError(f"{file}: {error}{way_out}") from error


def input_facts(file: str, rows: RowSource) -> dict[str, Any]:
    """Return facts about a file of rows, for reports."""
    return {
        "file": without_secrets(file),
        "rows": rows.shape[0],
        "columns": rows.shape[1],
        "dtype": rows.dtype.name,
        "sparse": rows.is_sparse,
        "source": rows.description,
    }


def read_known_labels(file: str, n_rows: int, n_clusters: int) -> IntArray:
    """Read the classes of the rows, -1 where they are not known.

    Raises
    ------
    ValueError
        If they are not as many integers as rows, from -1 to n_clusters - 1.
    """
    try:
        labels = np.load(file) if file.endswith(".npy") else np.loadtxt(file, delimiter=",", ndmin=1)
    except ValueError as error:
        raise ValueError(
            f"{file} must have one integer on each line, -1 where a class is not known."
        ) from error
    if labels.shape != (n_rows,):
        raise ValueError(f"{file} must have {n_rows} labels, one for each row, got shape {labels.shape}.")
    if np.any(labels != np.floor(labels)) or labels.min() < -1 or labels.max() >= n_clusters:
        raise ValueError(
            f"{file} must hold classes from 0 to {n_clusters - 1}, and -1 where they are not known."
        )
    return labels.astype(np.int32)
