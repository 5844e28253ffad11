"""`prepare_rows`: impute, scale and encode the columns of tables by transformers of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from coterie.arrays import Array
from coterie.limits.memory import available_memory, check_allocation
from coterie.rows.adapt import adapted, table_of
from coterie.rows.checks import BadRowError, leave_out
from coterie.rows.columns import Columns, column_positions
from coterie.rows.derived import complete_rows, derived, landed, normalized
from coterie.rows.files import columns_of_file, read_rows
from coterie.rows.roles import CATEGORY_LIMIT, TableRoles
from coterie.rows.source import Rows, SparseRows
from coterie.rows.tables import columns_of_tables

Missing: TypeAlias = Literal["error", "drop", "mean", "median"]
Scale: TypeAlias = Literal["standard", "robust", "none"]
Unknown: TypeAlias = Literal["error", "ignore"]

# Columns are read together for their quantiles if they take less.
_HELD_BYTES = 1 << 26

# Rows of a table that are encoded at a time, for any storage.
_TABLE_ROWS = 1 << 16


def prepare_rows(
    X: Any,
    transformer: Any = None,
    *,
    columns: Columns | None = None,
    exclude: Columns | None = None,
    missing: Missing = "error",
    scale: Scale | None = None,
    categories: Columns | None = None,
    handle_unknown: Unknown = "error",
    normalize: bool = False,
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
        Columns of a table to cluster, and columns to leave out, see `open_rows`. By default the features by
        `table_roles`: a column of vectors, or else numbers and booleans, without ids, dates and constants.
    missing : {"error", "drop", "mean", "median"}
        Treatment of missing and infinite numbers and missing vectors: raise a ValueError, leave out their rows, or
        replace them by the mean or the median of the column.
    scale : {"standard", "robust", "none"}, optional
        Scaling of columns of numbers: subtract the mean and divide by the standard deviation, or subtract the median
        and divide by the interquartile range. Constant columns become 0.
    categories : list of str or int, or "auto", optional
        Columns of texts, integers or booleans to encode. Each value, and None for missing ones, becomes a column of
        zeros and ones after the numbers, with a name such as ``place_Rome``, which is not scaled. "auto" takes the
        columns of few distinct values (among `columns`, if they are given, all that are not numbers). More than 100
        values are an error.
    handle_unknown : {"error", "ignore"}
        Treatment of values that are not in the rows of the fit: an error, or zeros in all columns of the category.
    normalize : bool
        Whether each row is scaled to length 1 at the end.
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
    categories, normalize; ``metric="cosine"`` of a model is applied after them.

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
    scale = scale or "none"
    given = {
        "missing": (missing, Missing),
        "scale": (scale, Scale),
        "handle_unknown": (handle_unknown, Unknown),
    }
    for name, (word, choices) in given.items():
        if word not in get_args(choices):
            raise ValueError(f"{name} must be one of {', '.join(get_args(choices))}, got {word!r}.")
    table = {"columns": columns, "exclude": exclude}
    if transformer is not None:
        if missing in ("mean", "median") or scale != "none" or categories is not None:
            raise ValueError(
                "transformer takes the place of missing, scale and categories: give one or the others."
            )
        rows = _mapped_by(X, transformer, {**table, **reading}, drop=missing == "drop")
        return normalized(rows) if normalize else rows
    rows = _open(X, {**table, "categories": categories, **reading})
    encoded = rows.encoded
    if isinstance(X, Rows) and categories is not None:
        names = [] if X.metadata_columns is None else X.metadata_columns.column_names
        encoded = [names[i] for i in column_positions(names, categories)]
    rows = _imputed_and_scaled(rows, missing, scale)
    if encoded:
        rows = transformed(rows, _encoder(rows, encoded, handle_unknown), encoded)
    return normalized(rows) if normalize else rows


def rows_to_fit(X: Any, warn: Callable[[str], None]) -> Rows:
    """Return the rows of X for a fit, of a table its features; `warn` is called with the columns that are left out."""
    rows = _open(X, {})
    if rows.roles is not None and not isinstance(X, Rows) and (rows.roles.noted or rows.roles.remarks):
        warn(f"{rows.roles} Choose columns by prepare_rows(X, columns=[...]).")
    return rows


def table_roles(
    X: Any, *, exclude: Columns | None = None, categories: Columns | None = None, **reading: Any
) -> TableRoles | None:
    """Return the features of a table, and the reasons why other columns are none.

    A column of vectors is the only feature. Otherwise numbers and booleans are features, also as texts, except for
    ids (named like one, such as "customerId" and "zip"; nearly distinct integers named like a record number, such as
    "order_no"; row numbers and hashes; "00123" and "13e1"), dates (also as numbers, in a column named so), and constant
    and empty columns. The first rows decide: at most 65,536, and of wide tables a million cells.

    Parameters
    ----------
    X : path or table
        Input of `open_rows` or `as_rows`.
    exclude, categories : list of str or int, optional
        Columns to leave out, and columns to encode ("auto": all of few distinct values).
    reading
        Other options of `open_rows`.

    Returns
    -------
    TableRoles or None
        None if X is not a table.

    Raises
    ------
    ValueError
        If the table has no features, several columns of vectors, or a text column of mostly numbers.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie.rows import table_roles
    >>> print(table_roles(pyarrow.table({"id": [7, 3, 9], "age": [20.5, 30, 70], "name": ["Al", "Bo", "Cy"]})))
    Used: 1 column (age). Left out: id (id); name (text).
    """
    if isinstance(X, Rows):
        return X.roles
    options = {"exclude": exclude, "categories": categories, **reading}
    if isinstance(X, (str, os.PathLike)):
        found = columns_of_file(X, options)
        return None if found is None else found[1].roles
    table = table_of(X)
    return None if table is None else columns_of_tables([table], options)[0].roles


def _open(X: Any, options: dict[str, Any]) -> Rows:
    if isinstance(X, (str, os.PathLike)):
        return read_rows(X, options)
    if isinstance(X, Rows):
        options = {name: value for name, value in options.items() if name != "categories"}
    return adapted(X, options)


# --- numbers ---------------------------------------------------------------------------------------------------------


def transformed(rows: Rows, transformer: Any, cells: Sequence[str] | None = None) -> Rows:
    """Return what a fitted transformer makes of the numbers in float64, or of the metadata columns `cells`, which then
    follows the numbers."""
    has_numbers = cells is None or rows.chosen is None or len(rows.chosen) > 0
    names = rows.column_names if has_numbers else []
    kept, chosen = [*(names or ())], rows.chosen
    if cells is None:
        kept, parts = [], _of_numbers(rows, transformer)
    else:
        chosen, parts = [*(chosen or kept), *cells], _of_cells(rows, transformer, cells, has_numbers)
    if rows.is_sparse:
        whole = sp.csr_array(transformer.transform(rows.read())).astype(rows.dtype)
        found: Rows = SparseRows(whole, rows.description)
    else:
        found = landed(parts, rows.dtype, rows.shape[0], rows.description)
    try:
        made = transformer.get_feature_names_out(names if cells is None else cells)
        column_names = None if names is None else [*kept, *map(str, made)]
    except (AttributeError, ValueError):
        column_names = None
    step = "transform", transformer, names, None if cells is None else list(cells)
    changes = {"column_names": column_names, "chosen": chosen}
    return derived(found, rows, *step, **changes)  # type: ignore[no-any-return]


def _of_numbers(rows: Rows, transformer: Any) -> Iterator[Any]:
    for numbers in _numbers(rows, _takes_nan(transformer), _imputes(transformer)):
        with np.errstate(over="ignore", invalid="ignore"):
            yield transformer.transform(numbers)


def _of_cells(rows: Rows, encoder: Any, cells: Sequence[str], has_numbers: bool) -> Iterator[Any]:
    table = _metadata_with(rows, cells)
    for low in range(0, table.num_rows, _TABLE_ROWS):
        part = table.slice(low, _TABLE_ROWS)
        found = _encoded(encoder, cells, part, low)
        yield np.hstack([rows.block(low, low + part.num_rows), found]) if has_numbers else found


def _numbers(rows: Rows, takes_nan: bool, fills: bool) -> Iterator[Any]:
    """Yield all rows in float64. NaN is an error unless it is taken, infinities unless missing values are filled in."""
    for start, block in rows.unchecked_blocks():
        numbers = np.asarray(block, dtype=np.float64)
        if fills:
            numbers = np.where(np.isinf(numbers), np.nan, numbers)
        else:
            rows._check_finite(np.where(np.isnan(block), 0, block) if takes_nan else block, start)
        yield numbers


def _fitted(transformer: Any, rows: Rows, parts: Iterable[Any]) -> Any:
    """Return a copy of a transformer that is fitted to the parts of all rows, block by block with `partial_fit`."""
    fitted = clone(transformer)
    if not hasattr(fitted, "partial_fit"):
        n_bytes, what = 8.0 * rows.shape[0] * rows.shape[1], f"rows for {type(fitted).__name__}"
        check_allocation(n_bytes, what, "fit it to a sample of the rows before")
        return fitted.fit(np.concatenate(list(parts)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value so far
        for part in parts:
            fitted.partial_fit(part)
    return fitted


def _imputed_and_scaled(rows: Rows, missing: Missing, scale: Scale) -> Rows:
    """Return dense rows, imputed and scaled by transformers that are fitted to them."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler, StandardScaler

    fills = missing in ("mean", "median")
    if rows.is_sparse and (fills or scale != "none"):
        raise ValueError("missing and scale are for dense rows: they would fill the zeros of sparse ones.")
    if rows.is_sparse or (rows.chosen is not None and not rows.chosen):
        return rows
    if missing == "drop":
        rows = _without_missing(rows)
    steps: list[Any] = []

    def numbers() -> Iterator[Array]:
        for block in _numbers(rows, fills, fills):
            yield steps[0].transform(block) if steps else block

    if missing == "mean":
        scaler = _fitted(StandardScaler(), rows, numbers())
        found = np.where(scaler.n_samples_seen_ > 0, scaler.mean_, np.nan)
    elif missing == "median":
        found = _quantiles(numbers, rows.shape, [50])[0]
    if fills:
        names = [(rows.column_names or range(rows.shape[1]))[i] for i in np.flatnonzero(np.isnan(found))]
        if names:
            raise leave_out("Columns without any value cannot be filled in.", names[:8])
        steps.append(SimpleImputer(strategy=missing).fit(found[None]))
    if scale == "standard":
        steps.append(_fitted(StandardScaler(), rows, numbers()))
    elif scale == "robust":
        low, middle, high = _quantiles(numbers, rows.shape, [25, 50, 75])
        steps.append(RobustScaler().fit(np.array([low, low, middle, high, high])))
    if not steps:
        return rows
    return transformed(rows, make_pipeline(*steps) if len(steps) > 1 else steps[0])


def _quantiles(
    numbers: Callable[[], Iterator[Array]], shape: tuple[int, int], percent: Sequence[float]
) -> Array:
    """Return percentiles of each column without its NaN; each pass takes the columns that fit into memory."""
    room = max(_HELD_BYTES, 0.25 * available_memory())
    n_held, found = max(1, min(shape[1], int(room / (8.0 * shape[0])))), []
    for first in range(0, shape[1], n_held):
        held = np.concatenate([block[:, first : first + n_held].T for block in numbers()], axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value
            found.append(np.nanpercentile(held, percent, axis=1))
    return np.hstack(found)


def _without_missing(rows: Rows) -> Rows:
    complete = complete_rows(rows)
    n_left = rows.shape[0] - complete.shape[0]
    if n_left:
        warnings.warn(
            f"Left out {n_left:,} of {rows.shape[0]:,} rows, which have missing numbers.", stacklevel=4
        )
    return complete


def _mapped_by(X: Any, transformer: Any, options: dict[str, Any], *, drop: bool) -> Rows:
    """Return the rows of X, transformed by the user's transformer, which is fitted unless it is already."""
    if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
        raise TypeError(f"transformer must have the methods fit and transform, got {transformer!r}.")
    rows = _open(X, options)
    rows = _without_missing(rows) if drop else rows
    if hasattr(transformer, "n_features_in_"):  # fitted already
        return transformed(rows, transformer)
    if rows.is_sparse:
        return transformed(rows, clone(transformer).fit(rows.read()))
    return transformed(
        rows, _fitted(transformer, rows, _numbers(rows, _takes_nan(transformer), _imputes(transformer)))
    )


def _first_step(transformer: Any) -> Any:
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    return transformer


def _imputes(transformer: Any) -> bool:
    from sklearn.impute import SimpleImputer

    first = _first_step(transformer)
    return isinstance(first, SimpleImputer) and first.missing_values is np.nan


def _takes_nan(transformer: Any) -> bool:
    first = _first_step(transformer)
    return isinstance(first, BaseEstimator) and bool(get_tags(first).input_tags.allow_nan)


# --- categories ------------------------------------------------------------------------------------------------------


def _metadata_with(rows: Rows, names: Sequence[str]) -> Any:
    """Return metadata columns as a `pyarrow.Table`."""
    known = [] if rows.metadata_columns is None else rows.metadata_columns.column_names
    missing = [name for name in names if name not in known]
    if missing or rows.metadata_columns is None:
        raise ValueError(
            f"X has no column {', '.join(map(repr, missing))}, which is encoded: pass a table that has it."
        )
    return rows.metadata_columns.select(list(names))


def _encoder(rows: Rows, names: Sequence[str], handle_unknown: Unknown) -> Any:
    """Return a `OneHotEncoder` of the distinct values of metadata columns as texts, None for missing ones."""
    from pyarrow import compute
    from sklearn.preprocessing import OneHotEncoder

    known = []
    for name, column in zip(names, _metadata_with(rows, names).columns):
        values = compute.unique(_plain_cells(name, column))
        texts = _texts(values.take(compute.sort_indices(values))).unique().to_pylist()
        if len(texts) > CATEGORY_LIMIT:
            problem = f"The column {name!r} has more than {CATEGORY_LIMIT} different values."
            raise leave_out(problem, [name])
        if texts in ([], [None]):
            raise leave_out(f"The column of categories {name!r} has no value at all.", [name])
        known.append(sorted(texts, key=lambda text: text is None))
    encoder = OneHotEncoder(categories=known, handle_unknown=handle_unknown, sparse_output=False)
    return encoder.fit([[texts[0] for texts in known]])


def _encoded(encoder: Any, names: Sequence[str], table: Any, first: int) -> Array:
    """Return a column of zeros and ones for each known category; `first` is the number of the first row."""
    cells = [
        np.array(_texts(_plain_cells(*pair)).to_pylist(), dtype=object) for pair in zip(names, table.columns)
    ]
    for name, column, known in zip(names, cells, encoder.categories_):
        if encoder.handle_unknown == "error" and not (is_known := np.isin(column, known)).all():
            row = int(is_known.argmin())
            problem = f"The column {name!r} has a category that the fit did not see: {column[row]!r}."
            raise BadRowError.of(problem, first + row, None).advised(
                "Leave such rows out, or fit with handle_unknown='ignore', which gives them zeros."
            )
    return np.asarray(encoder.transform(np.column_stack(cells)))


def _plain_cells(name: str, column: Any) -> Any:
    """Return cells without a dictionary, if they can be categories."""
    from pyarrow import types

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
