"""`prepare_rows`: impute, scale and encode the columns of tables by transformers of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from coterie.arrays import Array
from coterie.limits.memory import check_allocation
from coterie.rows.adapt import adapted
from coterie.rows.checks import BadRowError, leave_out
from coterie.rows.columns import Columns, column_positions
from coterie.rows.derived import complete_rows, derived, landed
from coterie.rows.files import read_rows
from coterie.rows.roles import CATEGORY_LIMIT, TableRoles
from coterie.rows.source import Rows, SparseRows

Missing: TypeAlias = Literal["error", "drop", "mean", "median"]
Scale: TypeAlias = Literal["standard", "robust", "none"]
Unknown: TypeAlias = Literal["error", "ignore"]

# Rows of a table that are encoded at a time, for any storage.
_TABLE_ROWS = 1 << 16


def prepare_rows(
    X: Any,
    transformer: Any = None,
    *,
    columns: Columns | None = None,
    exclude: Columns | None = None,
    missing: Missing = "error",
    scale: Scale = "none",
    categories: Columns | None = None,
    handle_unknown: Unknown = "error",
    **reading: Any,
) -> Rows:
    """Prepare a table for clustering: impute missing values, scale columns, encode categories.

    The options select `SimpleImputer`, `StandardScaler` or `RobustScaler`, and `OneHotEncoder` of scikit-learn; any
    other transformer can be given instead. A model that is fitted to the rows stores the transformer, also in its file,
    and applies it to other rows. If these were prepared by this function too, the transformer of the model replaces
    theirs.

    Parameters
    ----------
    X : path, array-like, table, Dask array or Rows
        Input of `open_rows` or `as_rows`.
    transformer : transformer, optional
        A transformer of scikit-learn or with its interface, fitted or not, whose output for a row does not depend on
        other rows. It gets the numbers as an array of float64.
    columns, exclude : list of str or int, optional
        Columns of a table to cluster, and columns to leave out, see `open_rows`. By default the features: a column of
        vectors, or else numbers and booleans, without ids, dates and constants.
    missing : {"error", "drop", "mean", "median"}
        Treatment of missing and infinite numbers and missing vectors: raise a ValueError, leave out their rows, or
        replace them by the mean or the median of the column.
    scale : {"standard", "robust", "none"}
        Scaling of columns of numbers: subtract the mean and divide by the standard deviation, or subtract the median
        and divide by the interquartile range. Constant columns become 0.
    categories : list of str or int, or "auto", optional
        Columns of texts, integers or booleans to encode. Each value, and None for missing ones, becomes a column of
        zeros and ones after the numbers, with a name such as ``place_Rome``, which is not scaled. "auto" takes the
        columns of few distinct values (among `columns`, if they are given, all that are not numbers). More than 100
        values are an error.
    handle_unknown : {"error", "ignore"}
        Treatment of values that are not in the rows of the fit: an error, or zeros in all columns of the category.
    reading
        Other options of `open_rows`.

    Returns
    -------
    Rows
        The rows; `preparation` lists the steps.

    Raises
    ------
    ValueError
        If an option does not apply to these rows, a column has no value or too many categories, or a number is missing.
    TypeError
        If `transformer` is not a transformer.

    Notes
    -----
    A transformer without `partial_fit` gets all rows in memory. The order of steps is columns, missing, scale,
    categories; ``metric="cosine"`` of a model is applied after them.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie import KMeans, prepare_rows
    >>> table = pyarrow.table({"age": [20, 30, None, 70], "place": ["Rome", "Oslo", "Rome", "Oslo"]})
    >>> rows = prepare_rows(table, missing="median", scale="standard", categories=["place"])
    >>> rows.column_names
    ['age', 'place_Oslo', 'place_Rome']
    >>> model = KMeans(n_clusters=2, random_state=0).fit(rows)
    >>> new = pyarrow.table({"place": ["Oslo"], "age": [75], "name": ["Ole"]})
    >>> int(model.predict(new)[0]) == int(model.labels_[3])
    True
    """
    for name, word, choices in (
        ("missing", missing, Missing), ("scale", scale, Scale), ("handle_unknown", handle_unknown, Unknown),
    ):  # fmt: skip
        if word not in get_args(choices):
            raise ValueError(f"{name} must be one of {', '.join(get_args(choices))}, got {word!r}.")
    steps = _steps(missing, scale)
    if transformer is not None:
        if steps or categories is not None:
            raise ValueError(
                "transformer takes the place of missing, scale and categories: give one or the others."
            )
        if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
            raise TypeError(f"transformer must have the methods fit and transform, got {transformer!r}.")
    rows = opened(X, {"columns": columns, "exclude": exclude, "categories": categories, **reading})
    encoded = rows.encoded
    if isinstance(X, Rows) and categories is not None:
        names = [] if X.metadata_columns is None else X.metadata_columns.column_names
        encoded = [names[i] for i in column_positions(names, categories)]
    if rows.is_sparse and (steps or encoded):
        raise ValueError(
            "missing, scale and categories are for dense rows: they would fill the zeros of sparse ones."
        )
    if _has_numbers(rows) and not rows.is_sparse and missing == "drop":
        n_rows, rows = rows.shape[0], complete_rows(rows)
        if n_left := n_rows - rows.shape[0]:
            told = f"Left out {n_left:,} of {n_rows:,} rows, which have missing numbers."
            warnings.warn(told, stacklevel=2)
    if hasattr(transformer, "n_features_in_"):  # fitted already
        rows = transformed(rows, transformer)
    elif _has_numbers(rows) and (steps or transformer is not None):
        rows = transformed(rows, _fitted(steps or [transformer], rows))
    if encoded:
        rows = transformed(rows, _encoder(rows, encoded, handle_unknown), encoded)
    return rows


def table_roles(X: Any, **options: Any) -> TableRoles | None:
    """Return the features of a table, and the reasons why other columns are none: `roles` of its rows.

    Parameters
    ----------
    X : path or table
        Input of `open_rows` or `as_rows`.
    options
        Other arguments of `prepare_rows`, such as `exclude` and `categories`.

    Returns
    -------
    TableRoles or None
        None if X is not a table, or the features are given.

    Raises
    ------
    ValueError
        If the table cannot be read or has no features.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie.rows import table_roles
    >>> print(table_roles(pyarrow.table({"id": [7, 3, 9], "age": [20.5, 30, 70], "name": ["Al", "Bo", "Cy"]})))
    Used: 1 column (age). Left out: id (id); name (text).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prepare_rows(X, missing="drop", **options).roles


def rows_to_fit(X: Any, warn: Callable[[str], None]) -> Rows:
    """Return the rows of X for a fit, of a table its features; `warn` is called with the columns that are left out."""
    rows = opened(X, {})
    if rows.roles is not None and not isinstance(X, Rows) and (rows.roles.noted or rows.roles.remarks):
        warn(f"{rows.roles} Choose columns by prepare_rows(X, columns=[...]).")
    return rows


def opened(X: Any, options: dict[str, Any]) -> Rows:
    """Return the rows of data or of a path with the options of `open_rows`, "categories", and "fitted" columns."""
    if isinstance(X, (str, os.PathLike)):
        return read_rows(X, options)
    if isinstance(X, Rows):
        options = {name: value for name, value in options.items() if name != "categories"}
    return adapted(X, options)


def _has_numbers(rows: Rows) -> bool:
    return rows.chosen is None or len(rows.chosen) > 0


def transformed(rows: Rows, transformer: Any, cells: Sequence[str] | None = None) -> Rows:
    """Return what a fitted transformer makes of the numbers in float64, or of the metadata columns `cells`, which then
    follows the numbers."""
    names = rows.column_names if _has_numbers(rows) else []
    if rows.is_sparse:
        found: Rows = SparseRows(sp.csr_array(transformer.transform(rows.read())).astype(rows.dtype))
    else:
        parts = _of_numbers(rows, transformer) if cells is None else _of_cells(rows, transformer, cells)
        found = landed(parts, rows.dtype, rows.shape[0])
    chosen = rows.chosen if cells is None else [*(rows.chosen or names or ()), *cells]
    try:
        made = transformer.get_feature_names_out(names if cells is None else cells)
        column_names = None if names is None else [*(names if cells else ()), *map(str, made)]
    except (AttributeError, ValueError):
        column_names = None
    step = "transform", transformer, names, None if cells is None else list(cells)
    return derived(found, rows, *step, column_names=column_names, chosen=chosen)


# --- numbers ---------------------------------------------------------------------------------------------------------


def _steps(missing: Missing, scale: Scale) -> list[Any]:
    """Return the transformers of these options."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import RobustScaler, StandardScaler

    scalers = {"none": [], "standard": [StandardScaler()], "robust": [RobustScaler()]}
    return [SimpleImputer(strategy=missing)] * (missing in ("mean", "median")) + scalers[scale]


def _fitted(steps: Sequence[Any], rows: Rows) -> Any:
    """Return transformers that are fitted to the rows one after the other, block by block where they can, as one."""
    from sklearn.pipeline import make_pipeline

    if rows.is_sparse:
        return clone(steps[0]).fit(rows.read())
    done: list[Any] = []

    def numbers(size: int | None = None) -> Iterator[Array]:
        for block in _numbers(rows, steps[0], size):
            for one in done:
                block = one.transform(block)
            yield block

    for step in map(clone, steps):
        if hasattr(step, "partial_fit"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value so far
                for block in numbers():
                    step.partial_fit(block)
        elif isinstance(step, BaseEstimator) and not get_tags(step).requires_fit:
            step.fit(next(numbers()))
        else:
            n_bytes, what = 16.0 * rows.shape[0] * rows.shape[1], f"rows for {type(step).__name__}"
            check_allocation(n_bytes, what, "fit it to a sample of the rows before")
            step.fit(next(numbers(rows.shape[0])))
        empty = np.flatnonzero(np.isnan(getattr(step, "statistics_", 0.0)))
        if len(empty):
            names = [(rows.column_names or range(rows.shape[1]))[i] for i in empty[:8]]
            raise leave_out("Columns without any value cannot be filled in.", names)
        done.append(step)
    return make_pipeline(*done) if len(done) > 1 else done[0]


def _of_numbers(rows: Rows, transformer: Any) -> Iterator[Any]:
    for numbers in _numbers(rows, transformer):
        with np.errstate(over="ignore", invalid="ignore"):
            yield transformer.transform(numbers)


def _numbers(rows: Rows, transformer: Any, size: int | None = None) -> Iterator[Array]:
    """Yield all rows in float64. NaN and infinities are missing for a transformer that takes NaN, else an error."""
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    takes_nan = isinstance(transformer, BaseEstimator) and get_tags(transformer).input_tags.allow_nan
    for start, block in rows.unchecked_blocks(size):
        if not takes_nan:
            rows._check_finite(block, start)
        numbers = np.asarray(block, dtype=np.float64)
        yield np.where(np.isinf(numbers), np.nan, numbers) if takes_nan else numbers


# --- categories ------------------------------------------------------------------------------------------------------


def _encoder(rows: Rows, names: Sequence[str], handle_unknown: Unknown) -> Any:
    """Return a `OneHotEncoder` of the distinct values of metadata columns as texts, None for missing ones."""
    from pyarrow import compute
    from sklearn.preprocessing import OneHotEncoder

    known = []
    for name in names:
        values = compute.unique(_cells(rows, name))
        texts = _texts(values.take(compute.sort_indices(values))).unique().to_pylist()
        if len(texts) > CATEGORY_LIMIT:
            problem = f"The column {name!r} has more than {CATEGORY_LIMIT} different values."
            raise leave_out(problem, [name])
        if texts in ([], [None]):
            raise leave_out(f"The column of categories {name!r} has no value at all.", [name])
        known.append(sorted(texts, key=lambda text: text is None))
    encoder = OneHotEncoder(categories=known, handle_unknown=handle_unknown, sparse_output=False)
    return encoder.fit([[texts[0] for texts in known]])


def _of_cells(rows: Rows, encoder: Any, names: Sequence[str]) -> Iterator[Array]:
    """Yield the numbers with a column of zeros and ones for each known category."""
    columns = [_cells(rows, name) for name in names]
    for low in range(0, rows.shape[0], _TABLE_ROWS):
        parts = (_texts(column.slice(low, _TABLE_ROWS)).to_pylist() for column in columns)
        cells = [np.array(part, dtype=object) for part in parts]
        for name, column, known in zip(names, cells, encoder.categories_):
            is_known = np.isin(column, known)
            if encoder.handle_unknown == "error" and not is_known.all():
                row = int(is_known.argmin())
                problem = f"The column {name!r} has a category that the fit did not see: {column[row]!r}."
                raise BadRowError.of(problem, low + row, None).advised(
                    "Leave such rows out, or fit with handle_unknown='ignore', which gives them zeros."
                )
        found = encoder.transform(np.column_stack(cells))
        yield np.hstack([rows.block(low, low + len(found)), found]) if _has_numbers(rows) else found


def _cells(rows: Rows, name: str) -> Any:
    """Return a metadata column whose values can be categories, without a dictionary."""
    from pyarrow import types

    table = rows.metadata_columns
    if table is None or name not in table.column_names:
        raise ValueError(f"X has no column {name!r}, which is encoded: pass a table that has it.")
    column = table.column(name)
    if types.is_nested(column.type) or types.is_binary(column.type) or types.is_large_binary(column.type):
        raise leave_out(f"The column {name!r} ({column.type}) has no categories.", [name])
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _texts(cells: Any) -> Any:
    """Return cells as texts, so that files of all kinds have the same; NaN and empty texts are missing."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_boolean(cells.type):
        return compute.if_else(cells, "True", "False")
    if types.is_floating(cells.type):
        cells = cells.cast(pyarrow.float64())
        cells = compute.if_else(compute.is_nan(cells), None, cells)
    texts = cells.cast(pyarrow.string())
    return compute.if_else(compute.equal(texts, ""), None, texts)
