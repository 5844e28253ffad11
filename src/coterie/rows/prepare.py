"""`prepare_rows`: impute, scale and encode the columns of tables by transformers of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, IndexArray
from coterie.limits.memory import available_memory, check_allocation
from coterie.rows.adapt import adapted, table_of
from coterie.rows.checks import BadRowError, NotATableError, NotNumbersError, TableError, check_finite
from coterie.rows.columns import NO_COLUMNS, Columns, column_positions
from coterie.rows.derived import NormalizedRows, complete_rows
from coterie.rows.files import columns_of_file, read_rows
from coterie.rows.frames import is_frame
from coterie.rows.landing import LandingArray
from coterie.rows.roles import CATEGORY_LIMIT, TableRoles
from coterie.rows.source import Block, DerivedRows, Rows, joined_batches, sparse_block
from coterie.rows.tables import columns_of_tables

Missing: TypeAlias = Literal["error", "drop", "mean", "median"]
Scale: TypeAlias = Literal["standard", "robust", "none"]
Unknown: TypeAlias = Literal["error", "ignore"]

# Columns are read together for their quantiles if they take less.
_HELD_BYTES = 1 << 26

# Rows of a table that are encoded at a time, for any storage.
_FRAME_ROWS = 1 << 16


class MappedRows(DerivedRows):
    """The rows of another source, transformed by a fitted scikit-learn transformer.

    The output for a row must not depend on other rows; it is converted to the type of the rows. The transformer gets
    numbers in float64, or with `cells` the cells of these metadata columns (a pandas.DataFrame if it was fitted to one,
    else an array of objects); then its output is appended to the numbers. Cells are read from the beginning of the
    table, so that reading rows by number takes as long as a pass.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.prepare import MappedRows
    >>> X = np.array([[1.0, 30], [3, 10]])
    >>> MappedRows(as_rows(X), MinMaxScaler().fit(X)).read()
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, rows: Rows, transformer: Any, cells: Sequence[str] | None = None) -> None:
        has_numbers = cells is None or rows.chosen is None or len(rows.chosen) > 0
        names = rows.column_names if has_numbers else []
        found = _output_names(transformer, names if cells is None else list(cells))
        n_kept, chosen = 0, rows.chosen
        if cells is not None:
            cells = list(cells)
            _metadata_with(rows, cells)
            n_kept = rows.shape[1] if has_numbers else 0
            chosen = [*((rows.chosen or names or []) if has_numbers else []), *cells]
        is_named = names is not None and found is not None
        super().__init__(
            rows,
            ("transform", transformer, names, cells),
            shape=(rows.shape[0], n_kept + _output_width(transformer, found)),
            column_names=[*(names or [])[:n_kept], *(found or [])] if is_named else None,
            chosen=chosen,
        )
        if not has_numbers and hasattr(transformer, "feature_names_in_"):
            self.dtype = np.dtype(np.float64)  # a table without columns of numbers has no type
        self._transformer = transformer
        self._is_filled = cells is None and _imputes(transformer)
        self._n_kept = n_kept
        self._cells = None if cells is None else self._encoded(cells)

    def changed(self, block: Block, rows: int | IndexArray) -> Any:
        if self._cells is not None:
            part = slice(rows, rows + block.shape[0]) if isinstance(rows, int) else rows
            return np.hstack([block, self._cells[part]]) if self._n_kept else self._cells[part]
        if self.is_sparse:
            return sparse_block(self._transformer.transform(block)).astype(self.dtype, copy=False)
        numbers = np.asarray(block, dtype=np.float64)
        if self._is_filled:
            numbers = without_infinities(numbers)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return _dense(self._transformer.transform(numbers))
        except ValueError:
            # scikit-learn's error lacks the row.
            refused = np.where(np.isnan(numbers), 0, numbers) if _takes_nan(self._transformer) else numbers
            self.source._check_finite(refused, rows)
            raise

    def _encoded(self, names: Sequence[str]) -> Array:
        """Return what the transformer makes of the cells of all rows."""
        landing = LandingArray(self.shape[1] - self._n_kept, self.dtype, self.shape[0])
        for whole in _metadata_with(self.source, names).batches(list(names)):
            for low in range(0, whole.num_rows, _FRAME_ROWS):
                table = joined_batches([whole.slice(low, _FRAME_ROWS)])
                cells = _cells_of(table, self._transformer)
                try:
                    landing.add(_dense(self._transformer.transform(cells)))
                except ValueError:
                    _check_known(cells, self._transformer, table.column_names, landing.n_rows)
                    raise
        return landing.array()


def fitted_transformer(transformer: Any, rows: Rows, *, takes_nan: bool, is_filled: bool = False) -> Any:
    """Return a copy of a transformer that is fitted to rows; a fitted one is returned unchanged.

    With `partial_fit` the fit is one pass over blocks; others get all rows in memory.
    """
    if _is_fitted(transformer):
        return transformer
    fitted, is_filled = clone(_checked(transformer)), is_filled or _imputes(transformer)
    if not hasattr(fitted, "partial_fit"):
        n_bytes = 8.0 * rows.shape[0] * rows.shape[1]
        check_allocation(
            n_bytes, f"rows for {type(fitted).__name__}", "fit it to a sample of the rows before"
        )
        found = [block for _, block in _blocks(rows, takes_nan=takes_nan, is_filled=is_filled)]
        return fitted.fit(sp.vstack(found, format="csr") if rows.is_sparse else np.concatenate(found))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value so far
        for _, block in _blocks(rows, takes_nan=takes_nan, is_filled=is_filled):
            fitted.partial_fit(block)
    return fitted


def _checked(transformer: Any) -> Any:
    if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
        raise TypeError(f"transformer must have the methods fit and transform, got {transformer!r}.")
    return transformer


def prepare_rows(
    X: Any,
    transformer: Any = None,
    *,
    columns: Columns | None = None,
    exclude: Columns | None = None,
    missing: Missing = "error",
    scale: Scale | None = None,
    categories: Columns | None = None,
    category_limit: int = CATEGORY_LIMIT,
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
        A transformer of scikit-learn or with its interface, fitted or not. It gets the columns of numbers as an array
        of float64. A `ColumnTransformer`, a transformer that was fitted to a data frame, and any if `columns` has
        columns that are not numbers, gets a pandas.DataFrame of the table instead. Its output for a row must not depend
        on other rows.
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
        columns of few distinct values (among `columns`, if they are given, all that are not numbers).
    category_limit : int
        Maximum number of values of a column of `categories`.
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
    Means and variances take one pass each, medians and quartiles one for as many columns as fit in a quarter of the
    free memory. A transformer without `partial_fit` gets all rows in memory. The order of steps is columns, missing,
    scale, categories, normalize; ``metric="cosine"`` of a model is applied after them.

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
    words = (
        ("missing", missing, Missing),
        ("scale", scale, Scale),
        ("handle_unknown", handle_unknown, Unknown),
    )
    for option, word, choices in words:
        if word not in get_args(choices):
            raise ValueError(f"{option} must be one of {', '.join(get_args(choices))}, got {word!r}.")
    table = {"columns": columns, "exclude": exclude}
    if transformer is not None:
        if missing in ("mean", "median") or scale != "none" or categories is not None:
            raise ValueError(
                "transformer takes the place of missing, scale and categories: give one or the others."
            )
        rows = _mapped_by(X, transformer, {**table, **reading}, drop=missing == "drop")
        return NormalizedRows(rows) if normalize else rows
    try:
        rows = _open(X, {**table, "categories": categories, **reading})
    except NotATableError as error:
        if error.option != "categories":
            raise
        raise NotATableError(
            "categories has no meaning for X: only a table has columns to encode.", "categories"
        ) from None
    encoded = rows.encoded
    if isinstance(X, Rows) and categories is not None:
        names = [] if X.metadata_columns is None else X.metadata_columns.names
        encoded = [names[i] for i in column_positions(names, categories)]
    rows = _imputed_and_scaled(rows, missing, scale)
    if encoded:
        found = learned_categories(rows, encoded, category_limit)
        rows = MappedRows(rows, _encoder(found, handle_unknown), encoded)
    return NormalizedRows(rows) if normalize else rows


def rows_to_fit(X: Any, warn: Callable[[str], None]) -> Rows:
    """Return the rows of X for a fit: of a table its features.

    `warn` is called with a sentence that names the columns that are left out.
    """
    rows = _open(X, {})
    if rows.roles is not None and not isinstance(X, Rows) and (rows.roles.noted or rows.roles.remarks):
        warn(f"{rows.roles} Choose columns by prepare_rows(X, columns=[...]).")
    return rows


def table_roles(
    X: Any, *, exclude: Columns | None = None, categories: Columns | None = None, **reading: Any
) -> TableRoles | None:
    """Return the features of a table, and the reasons why other columns are none.

    A column of vectors is the only feature. Otherwise columns of numbers and booleans are features, also of texts that
    are numbers, except for

    - ids: integers or short texts in a column with the name of an id ("id", "customer_id", "customerId", "zip");
      integers that are nearly all distinct in a column with the name of a record number ("EmployeeNumber", "order_no");
      integers from 0 or 1 without gaps, or huge; short texts that are all distinct, and digits that are no numbers
      ("00123", "13e1");
    - dates, also as numbers in a column named so: seconds since 1970, 20210305, days of spreadsheets;
    - constant and empty columns.

    The first rows decide: at most 65,536, and of wide tables a million cells.

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


def _imputed_and_scaled(rows: Rows, missing: Missing, scale: Scale) -> Rows:
    """Return dense rows, imputed and scaled by transformers that are fitted to them."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler, StandardScaler

    is_filled = missing in ("mean", "median")
    if rows.is_sparse and (is_filled or scale != "none"):
        raise ValueError("missing and scale are for dense rows: they would fill the zeros of sparse ones.")
    if rows.is_sparse or (rows.chosen is not None and not rows.chosen):
        return rows
    if missing == "drop":
        rows = _without_missing(rows)
    steps: list[Any] = []
    if is_filled:
        found = _means(rows) if missing == "mean" else _quantiles(rows, [50], takes_nan=True)[0]
        names = [(rows.column_names or range(rows.shape[1]))[i] for i in np.flatnonzero(np.isnan(found))]
        if names:
            raise TableError(
                f"Columns without any value cannot be filled in: {', '.join(map(repr, names[:8]))}"
                f"{', ...' * (len(names) > 8)}. Leave them out: exclude={names[:8]!r}.",
                "exclude",
            )
        steps.append(SimpleImputer(strategy=missing).fit(found[None]))
    filled = MappedRows(rows, steps[0]) if steps else rows
    if scale == "standard":
        steps.append(fitted_transformer(StandardScaler(), filled, takes_nan=False))
    elif scale == "robust":
        low, middle, high = _quantiles(filled, [25, 50, 75], takes_nan=False)
        steps.append(RobustScaler().fit(np.array([low, low, middle, high, high])))
    if not steps:
        return rows
    return MappedRows(rows, make_pipeline(*steps) if len(steps) > 1 else steps[0])


def _means(rows: Rows) -> Array:
    """Return the mean of each column without its missing numbers, NaN if there is none."""
    from sklearn.preprocessing import StandardScaler

    scaler = fitted_transformer(StandardScaler(), rows, takes_nan=True, is_filled=True)
    return np.where(scaler.n_samples_seen_ > 0, scaler.mean_, np.nan)


def _quantiles(rows: Rows, percent: list[float], *, takes_nan: bool) -> Array:
    """Return percentiles of each column without its missing numbers, NaN if there is none.

    As many columns are read at a time as have room.
    """
    n_rows, n_columns = rows.shape
    room = max(_HELD_BYTES, 0.25 * available_memory())
    n_held = max(1, min(n_columns, int(room / (8.0 * n_rows))))
    found = []
    for first in range(0, n_columns, n_held):
        held = np.empty((min(n_held, n_columns - first), n_rows))
        for start, block in _blocks(rows, takes_nan=takes_nan, is_filled=takes_nan):
            held[:, start : start + len(block)] = block[:, first : first + n_held].T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value
            found += [np.nanpercentile(column, percent) for column in held]
    return np.array(found).T


def _without_missing(rows: Rows) -> Rows:
    complete = complete_rows(rows)
    n_left = rows.shape[0] - complete.shape[0]
    if n_left:
        warnings.warn(
            f"Left out {n_left:,} of {rows.shape[0]:,} rows, which have missing numbers.", stacklevel=4
        )
    return complete


def _mapped_by(X: Any, transformer: Any, options: dict[str, Any], *, drop: bool) -> Rows:
    """Return the rows of X, transformed by the user's transformer."""
    from sklearn.compose import ColumnTransformer

    wants_frame = isinstance(transformer, ColumnTransformer) or hasattr(transformer, "feature_names_in_")
    if not wants_frame or not (isinstance(X, (str, os.PathLike)) or is_frame(X)):
        try:
            rows = _open(X, options)
        except NotNumbersError:
            if options["columns"] is None:
                raise
        else:
            rows = _without_missing(rows) if drop else rows
            return MappedRows(rows, fitted_transformer(transformer, rows, takes_nan=_takes_nan(transformer)))
    if drop:
        raise ValueError(
            "missing='drop' is for transformers of numbers: impute missing values by the transformer."
        )
    table = _open(X, {**options, "columns": NO_COLUMNS, "exclude": None})
    names = [] if table.metadata_columns is None else table.metadata_columns.names
    left = [] if options["exclude"] is None else column_positions(names, options["exclude"])
    among = range(len(names)) if options["columns"] is None else column_positions(names, options["columns"])
    cells = list(getattr(transformer, "feature_names_in_", [names[i] for i in among if i not in left]))
    frame = _metadata_with(table, cells).read(cells).to_pandas()
    fitted = transformer if _is_fitted(transformer) else clone(_checked(transformer)).fit(frame)
    return MappedRows(table, fitted, cells)


def _blocks(rows: Rows, *, takes_nan: bool, is_filled: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield all rows in float64; NaN is an error unless it is allowed, infinities unless they are filled in, too."""
    for start, block in rows.unchecked_blocks() if takes_nan else rows.blocks():
        if rows.is_sparse:
            yield start, block
            continue
        numbers = np.asarray(block, dtype=np.float64)
        if takes_nan and np.isinf(numbers).any():
            if not is_filled:
                check_finite(np.where(np.isnan(numbers), 0, numbers), start, rows.place_of)
            numbers = without_infinities(numbers)
        yield start, numbers


def without_infinities(numbers: Array) -> Array:
    """Return numbers with NaN for infinities, which are missing too."""
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def _imputes(transformer: Any) -> bool:
    from sklearn.impute import SimpleImputer

    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    return isinstance(transformer, SimpleImputer) and transformer.missing_values is np.nan


# --- fits of transformers -------------------------------------------------------------------------------------------


def _is_fitted(transformer: Any) -> bool:
    try:
        check_is_fitted(transformer)
    except (NotFittedError, TypeError):
        return False
    return hasattr(transformer, "n_features_in_")


def _takes_nan(transformer: Any) -> bool:
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    return isinstance(transformer, BaseEstimator) and bool(get_tags(transformer).input_tags.allow_nan)


def _dense(numbers: Any) -> Array:
    return numbers.toarray() if sp.issparse(numbers) else np.asarray(numbers)


def _output_names(transformer: Any, names: list[str] | None) -> list[str] | None:
    try:
        return [str(name) for name in transformer.get_feature_names_out(names)]
    except (AttributeError, ValueError):
        return None


def _output_width(transformer: Any, names: list[str] | None) -> int:
    if names is not None:
        return len(names)
    return int(transformer.transform(np.zeros((1, transformer.n_features_in_))).shape[1])


# --- cells of tables -------------------------------------------------------------------------------------------------


def _metadata_with(rows: Rows, names: Sequence[str]) -> Any:
    known = [] if rows.metadata_columns is None else rows.metadata_columns.names
    missing = [name for name in names if name not in known]
    if missing or rows.metadata_columns is None:
        raise ValueError(
            f"X has no column {', '.join(map(repr, missing))}, which is encoded: pass a table that has it."
        )
    return rows.metadata_columns


def _cells_of(table: Any, transformer: Any) -> Any:
    """Return cells as the input of a fitted transformer: a data frame, or texts and numbers as objects."""
    if hasattr(transformer, "feature_names_in_"):
        return table.to_pandas()
    cells = np.empty((table.num_rows, table.num_columns), dtype=object)
    for i, name in enumerate(table.column_names):
        known = next(value for value in transformer.categories_[i] if value is not None)
        column = _as_known(_plain_cells(table.column(i), name), known).combine_chunks().dictionary_encode()
        values = np.array([*column.dictionary.to_pylist(), None], dtype=object)
        cells[:, i] = values[column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)]
    return cells


def _as_known(column: Any, known: Any) -> Any:
    """Return cells in the type of the known categories, for example codes that another file has as texts."""
    import pyarrow

    is_text = pyarrow.types.is_string(column.type)
    if isinstance(known, str) and not is_text:
        return column.cast(pyarrow.string())
    if not isinstance(known, str) and is_text:
        try:
            return column.cast(pyarrow.bool_() if isinstance(known, bool) else pyarrow.float64())
        except pyarrow.ArrowInvalid:  # texts instead of numbers: not one of the categories
            return column
    return column


def _check_known(cells: Any, transformer: Any, names: Sequence[str], rows: int | IndexArray) -> None:
    """Raise an error with the row number if a cell is not a category of an encoder."""
    for i, name in enumerate(names):
        known = getattr(transformer, "categories_", None)
        if known is None or len(known) != len(names) or hasattr(cells, "columns"):
            return
        is_known = np.array([cell in set(known[i].tolist()) for cell in cells[:, i]])
        if not is_known.all():
            first = int(is_known.argmin())
            row = rows + first if isinstance(rows, int) else int(rows[first])
            problem = f"The column {name!r} has a category that the fit did not see: {cells[first, i]!r}."
            raise BadRowError.of(problem, row, None).advised(
                "Leave such rows out, or fit with handle_unknown='ignore', which gives them zeros."
            )


def _encoder(categories: Sequence[Sequence[Any]], handle_unknown: str) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    cells = np.empty((max(map(len, categories)), len(categories)), dtype=object)
    for i, values in enumerate(categories):
        cells[:, i] = [values[min(row, len(values) - 1)] for row in range(len(cells))]
    return OneHotEncoder(handle_unknown=handle_unknown, sparse_output=False).fit(cells)


def learned_categories(rows: Rows, names: Sequence[str], limit: int) -> list[list[Any]]:
    """Return the distinct values of metadata columns, None for missing ones; a ValueError for too many, or none."""
    from pyarrow import compute

    found: dict[str, set[Any]] = {name: set() for name in names}
    for batch in _metadata_with(rows, names).batches(list(names)):
        for name, column in zip(names, batch.columns):
            found[name].update(compute.unique(_plain_cells(column, name)).to_pylist())
            if len(found[name]) > limit:
                raise TableError(
                    f"The column {name!r} has more than {limit} different values, each of which would become a column. "
                    f"Leave it out: exclude=[{name!r}], or raise category_limit.",
                    "category_limit",
                )
    empty = [name for name, values in found.items() if values <= {None}]
    if empty:
        raise TableError(
            f"Columns of categories have no value at all: {', '.join(map(repr, empty))}. "
            f"Leave them out: exclude={empty!r}.",
            "exclude",
        )
    return [list(values) for values in found.values()]


def _plain_cells(column: Any, name: str) -> Any:
    """Return cells as texts, integers, floats or booleans; NaN and empty texts, as in text files, are missing."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_floating(kind):
        column = column.cast(pyarrow.float64())
        return compute.if_else(compute.is_nan(column), None, column)
    if types.is_integer(kind) or types.is_boolean(kind):
        return column.cast(pyarrow.int64()) if types.is_integer(kind) else column
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise TableError(
            f"The column {name!r} ({kind}) has no categories. Leave it out: exclude=[{name!r}].", "exclude"
        )
    column = column.cast(pyarrow.string())
    return compute.if_else(compute.equal(column, ""), None, column)
