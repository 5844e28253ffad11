"""`prepare_rows`: impute, scale and encode the columns of tables.

The work is scikit-learn's: `MappedRows` applies a fitted transformer to rows as they are read, and `fitted_transformer`
fits one block by block.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat, tee
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, IndexArray
from coterie.rows.adapt import as_rows
from coterie.rows.arrow import arrow_kind
from coterie.rows.checks import BadRowError, NotATableError, NotNumbersError, check_finite
from coterie.rows.columns import NO_COLUMNS, Columns, column_positions, has_id_name
from coterie.rows.derived import NormalizedRows, complete_rows
from coterie.rows.files import open_rows
from coterie.rows.roles import CATEGORY_LIMIT, TableRoles, check_cells, roles_of
from coterie.rows.source import (
    DerivedRows,
    RowSource,
    ShardedSource,
    joined_batches,
    selected_rows,
    sparse_block,
)

Missing: TypeAlias = Literal["error", "drop", "mean", "median"]
Scale: TypeAlias = Literal["standard", "robust", "none"]
Unknown: TypeAlias = Literal["error", "ignore"]

# Reads all rows: yields the number of each block's first row, and the block.
_Reader: TypeAlias = Callable[[], Iterator[tuple[int, Any]]]

# Maximum size of the rows for a transformer without `partial_fit`; of more, evenly spaced rows are taken. With 500
# columns these are 250,000 rows, whose median has an error of 0.3% of a standard deviation.
_HELD_BYTES = 1 << 30

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

    def __init__(self, rows: RowSource, transformer: Any, cells: Sequence[str] | None = None) -> None:
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
        self.is_parsed = True
        self._transformer = transformer
        self._cells = cells
        self._n_kept = n_kept

    def changed(self, piece: Any, rows: int | IndexArray) -> Any:
        if self.is_sparse:
            return sparse_block(self._transformer.transform(piece)).astype(self.dtype, copy=False)
        numbers = np.asarray(piece, dtype=np.float64)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return _dense(self._transformer.transform(numbers))
        except ValueError:
            # scikit-learn's error lacks the row.
            refused = np.where(np.isnan(numbers), 0, numbers) if _takes_nan(self._transformer) else numbers
            self.source._check_finite(refused, rows)
            raise

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        if self._cells is None:
            yield from super().pieces(start, stop, rows)
            return
        if self._n_kept:
            pieces, again = tee(self.source.pieces(start, stop, rows))
            tables = _tables(self.source, self._cells, start, map(len, again))
        else:
            pieces = repeat(None)
            tables = _tables(self.source, self._cells, start, _sizes(start, stop, rows))
        for piece, table in zip(pieces, tables):
            added = self._encoded(table, start)
            yield added if piece is None else np.hstack([piece, added])
            start += len(added)

    def take_rows(self, indices: IndexArray) -> Any:
        if self._cells is None:
            return super().take_rows(indices)
        import pyarrow

        batches = _metadata_with(self.source, self._cells).batches(self._cells)
        taken = [batch.take(pyarrow.array(some)) for batch, some in selected_rows(batches, indices)]
        added = self._encoded(joined_batches(taken), indices)
        return np.hstack([self.source.take_rows(indices), added]) if self._n_kept else added

    def unit_starts(self) -> IndexArray:
        # Cells are read from the beginning of the table, by one thread.
        return super().unit_starts() if self._cells is None else np.zeros(1, dtype=np.intp)

    def _encoded(self, table: Any, rows: int | IndexArray) -> Array:
        cells = _cells_of(table, self._transformer)
        try:
            return _dense(self._transformer.transform(cells))
        except ValueError:
            _check_known(cells, self._transformer, table.column_names, rows)
            raise


def fitted_transformer(transformer: Any, read: _Reader, n_rows: int) -> Any:
    """Return a fitted copy of a transformer; a fitted one is returned unchanged.

    `read` yields all rows in order, as the number of the first row and a block (an array or a pandas.DataFrame). With
    `partial_fit` the fit is one pass over blocks. `SimpleImputer` is fitted to means that are computed in one pass or
    to medians, `OneHotEncoder` and `OrdinalEncoder` to the distinct values of each column, the steps of `Pipeline` and
    `ColumnTransformer` separately. Others, and medians, are fitted to all rows in memory up to 1 GiB, else to evenly
    spaced rows with a warning.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if isinstance(transformer, str) or transformer is None or _is_fitted(transformer):
        return transformer
    if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
        raise TypeError(f"transformer must have the methods fit and transform, got {transformer!r}.")
    fitted = clone(transformer)
    if isinstance(transformer, Pipeline):
        fitted.steps = []
        for name, step in transformer.steps:
            done = fitted_transformer(step, read, n_rows)
            fitted.steps.append((name, done))
            if done not in (None, "passthrough"):
                read = partial(_mapped_blocks, read, done)
        return fitted
    if isinstance(transformer, ColumnTransformer):
        return _fitted_columns(fitted, read, n_rows)
    statistics = _statistics(transformer, read, n_rows)
    if statistics is not None:
        return fitted.fit(statistics)
    if not hasattr(fitted, "partial_fit"):
        return fitted.fit(_sample(read, n_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value so far
        for _, block in read():
            fitted.partial_fit(block)
    return fitted


def prepare_rows(
    X: Any,
    transformer: Any = None,
    *,
    columns: Columns | None = "auto",
    exclude: Columns | None = None,
    missing: Missing = "error",
    scale: Scale | None = None,
    categories: Columns | None = None,
    category_limit: int = CATEGORY_LIMIT,
    handle_unknown: Unknown = "error",
    normalize: bool = False,
    **reading: Any,
) -> RowSource:
    """Prepare a table for clustering: impute missing values, scale columns, encode categories.

    The options select `SimpleImputer`, `StandardScaler` or `RobustScaler`, and `OneHotEncoder` of scikit-learn; any
    other transformer can be given instead. It is fitted in passes over blocks and applied while rows are read. A model
    that is fitted to the rows stores the transformer, also in its file, and applies it to other rows. If these were
    prepared by this function too, the transformer of the model replaces theirs.

    Parameters
    ----------
    X : path, array-like, table, Dask array or RowSource
        Input of `open_rows` or `as_rows`.
    transformer : transformer, optional
        A transformer of scikit-learn or with its interface, fitted or not. It gets the columns of numbers as an array
        of float64. A `ColumnTransformer`, a transformer that was fitted to a data frame, and any if `columns` has
        columns that are not numbers, gets a pandas.DataFrame of the table instead. Its output for a row must not depend
        on other rows.
    columns, exclude : list of str or int, or "auto", optional
        Columns of a table to cluster, and columns to leave out, see `open_rows`. "auto": the features according to
        `table_roles`: a column of vectors, or else numbers and booleans, without ids, dates and constants. None: all
        columns, which must be numbers.
    missing : {"error", "drop", "mean", "median"}
        Treatment of missing numbers: raise a ValueError, leave out their rows, or replace them by the mean or the
        median of the column.
    scale : {"standard", "robust", "none"}, optional
        Scaling of columns of numbers: subtract the mean and divide by the standard deviation, or subtract the median
        and divide by the interquartile range. Constant columns become 0.
    categories : list of str or int, or "auto", optional
        Columns of texts, integers or booleans to encode. Each value, and None for missing ones, becomes a column of
        zeros and ones after the numbers, with a name such as ``place_Rome``, which is not scaled. "auto" takes the text
        columns of few distinct values (with ``columns=None`` or a list, all columns that are not numbers).
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
    RowSource
        The rows; `preparation` lists the steps.

    Raises
    ------
    ValueError
        If an option does not apply to these rows, a column has no value or too many categories, or a number is missing.
    TypeError
        If `transformer` is not a transformer.

    Notes
    -----
    Means and variances take one pass each. Medians and quartiles are exact for rows of up to 1 GiB as float64; of
    larger tables they are computed from evenly spaced rows, with a warning. The order of steps is columns, missing,
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
    opened = _opener(X, reading)
    if transformer is not None:
        if missing in ("mean", "median") or scale != "none" or categories is not None:
            raise ValueError(
                "transformer takes the place of missing, scale and categories: give one or the others."
            )
        rows = _mapped_by(X, transformer, opened, columns, exclude, drop=missing == "drop")
        return NormalizedRows(rows) if normalize else rows
    if isinstance(columns, str) and columns == "auto":
        roles = table_roles(X, exclude=exclude, categories=categories, **reading)
        columns = None
        if roles is not None:
            columns, categories = [*roles.features, *roles.categories], list(roles.categories) or None
    encoded: list[str] = []
    if categories is None:
        try:
            rows = opened(columns=columns, exclude=exclude)
        except NotNumbersError as error:
            table = _opener(X if error.table is None else error.table, reading)(columns=NO_COLUMNS)
            check_cells(table, _chosen(_names_of(table), columns, exclude))
            raise
    else:
        rows, encoded = _numbers_and_categories(X, opened, columns, exclude, categories)
    rows = _imputed_and_scaled(rows, missing, scale)
    if encoded:
        found = learned_categories(rows, encoded, category_limit)
        rows = MappedRows(rows, _encoder(found, handle_unknown), encoded)
    return NormalizedRows(rows) if normalize else rows


def _chosen(names: Sequence[str], columns: Columns | None, exclude: Columns | None) -> list[int]:
    """Return the positions of columns, by default of all, that are not left out."""
    left = () if exclude is None else column_positions(names, exclude)
    return [
        i
        for i in (range(len(names)) if columns is None else column_positions(names, columns))
        if i not in left
    ]


def rows_to_fit(X: Any, warn: Callable[[str], None]) -> RowSource:
    """Return the rows of X for a fit: all columns, or the features of a table with other columns than numbers.

    `warn` is called with a sentence that names the columns that are left out.
    """
    try:
        rows = as_rows(X)
        names = () if isinstance(X, RowSource) or not rows.is_table else rows.column_names or ()
        ids = [name for name in names if has_id_name(name)]
        if ids and len(ids) < len(names):
            warn(
                f"Clustered by {', '.join(map(repr, ids))} too, as if ids were numbers. "
                "prepare_rows(X, columns='auto') leaves ids out."
            )
        return rows
    except NotNumbersError as error:
        opened = _opener(X if error.table is None else error.table, {})
        roles = roles_of(opened(columns=NO_COLUMNS))
        warn(f"{roles} Choose columns by prepare_rows(X, columns=[...]).")
        return opened(columns=list(roles.features))


def table_roles(
    X: Any, *, exclude: Columns | None = None, categories: Columns | None = None, **reading: Any
) -> TableRoles | None:
    """Return the features of a table, and the reasons why other columns are none.

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
        None if X is not a table. The rules are those of `coterie.rows.roles.roles_of`.

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
    if isinstance(X, RowSource):
        return None
    try:
        table = _opener(X, reading)(columns=NO_COLUMNS)
    except NotATableError:
        return None
    ragged = table.ragged_columns if isinstance(table, ShardedSource) else []
    if ragged:
        raise ValueError(
            f"Some files lack the columns {', '.join(ragged)}. Choose columns that all have: columns=[...] (--columns)."
        )
    names = _names_of(table)
    left = [] if exclude is None else column_positions(names, exclude)
    if categories is None or (categories == "auto" and "auto" not in names):
        encoded: Sequence[str | int] = [] if categories is None else ["auto"]
    else:
        _check_not_left_out(names, categories, left)
        encoded = column_positions(names, categories)
    return roles_of(table, exclude=left, categories=encoded)


# --- numbers ---------------------------------------------------------------------------------------------------------


def _opener(X: Any, reading: dict[str, Any]) -> Callable[..., RowSource]:
    if isinstance(X, (str, os.PathLike)):
        return partial(open_rows, X, **reading)
    return partial(as_rows, X, **reading)


def _names_of(table: RowSource) -> list[str]:
    """Return the names of the metadata columns: all columns of a table that was opened without a column to cluster."""
    return [] if table.metadata_columns is None else table.metadata_columns.names


def _imputed_and_scaled(rows: RowSource, missing: Missing, scale: Scale) -> RowSource:
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
    steps: list[Any] = [SimpleImputer(strategy=missing)] if is_filled else []
    steps += {"standard": [StandardScaler()], "robust": [RobustScaler()], "none": []}[scale]
    if not steps:
        return rows
    read = partial(_blocks, rows, takes_nan=is_filled)
    fitted = fitted_transformer(make_pipeline(*steps) if len(steps) > 1 else steps[0], read, rows.shape[0])
    if is_filled:
        statistics = getattr(fitted, "steps", [(None, fitted)])[0][1].statistics_
        names = [(rows.column_names or range(rows.shape[1]))[i] for i in np.flatnonzero(np.isnan(statistics))]
        if names:
            raise ValueError(
                f"Columns without any value cannot be filled in: {', '.join(map(repr, names[:8]))}"
                f"{', ...' * (len(names) > 8)}. Leave them out: exclude={names[:8]!r} (--exclude)."
            )
    return MappedRows(rows, fitted)


def _without_missing(rows: RowSource) -> RowSource:
    complete = complete_rows(rows)
    n_left = rows.shape[0] - complete.shape[0]
    if n_left:
        warnings.warn(
            f"Left out {n_left:,} of {rows.shape[0]:,} rows, which have missing numbers.", stacklevel=4
        )
    return complete


def _mapped_by(
    X: Any, transformer: Any, opened: Callable[..., RowSource], columns: Columns | None, exclude: Columns | None, *,
    drop: bool,
) -> RowSource:  # fmt: skip
    """Return the rows of X, transformed by the user's transformer."""
    from sklearn.compose import ColumnTransformer

    is_auto = isinstance(columns, str) and columns == "auto"
    table = None
    if not isinstance(X, RowSource):
        with suppress(NotATableError):
            table = opened(columns=NO_COLUMNS)
    if is_auto and table is None:
        columns = None
    wants_frame = table is not None and (
        isinstance(transformer, ColumnTransformer) or hasattr(transformer, "feature_names_in_")
    )
    if not wants_frame:
        if is_auto and table is not None:
            left = [] if exclude is None else column_positions(_names_of(table), exclude)
            columns, exclude = list(roles_of(table, exclude=left).features), None
        try:
            rows = opened(columns=columns, exclude=exclude)
        except NotNumbersError:
            if table is None or columns is None:
                raise
        else:
            rows = _without_missing(rows) if drop else rows
            read = partial(_blocks, rows, takes_nan=_takes_nan(transformer))
            return MappedRows(rows, fitted_transformer(transformer, read, rows.shape[0]))
    assert table is not None
    if drop:
        raise ValueError(
            "missing='drop' is for transformers of numbers: impute missing values by the transformer."
        )
    names = _names_of(table)
    chosen = [names[i] for i in _chosen(names, None if is_auto else columns, exclude)]
    cells = list(getattr(transformer, "feature_names_in_", chosen))
    _metadata_with(table, cells)
    return MappedRows(
        table, fitted_transformer(transformer, partial(_frames, table, cells), table.shape[0]), cells
    )


def _blocks(rows: RowSource, *, takes_nan: bool) -> Iterator[tuple[int, Any]]:
    """Yield all rows in float64; infinities are an error, and so is NaN unless it is allowed."""
    for start, block in rows.unchecked_blocks() if takes_nan else rows.blocks():
        if rows.is_sparse:
            yield start, block
            continue
        if takes_nan and np.isinf(block).any():
            check_finite(np.where(np.isnan(block), 0, block), start, rows.place_of)
        yield start, np.asarray(block, dtype=np.float64)


def _mapped_blocks(read: _Reader, transformer: Any) -> Iterator[tuple[int, Any]]:
    for start, block in read():
        yield start, transformer.transform(block)


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


def _fitted_columns(fitted: Any, read: _Reader, n_rows: int) -> Any:
    """Return a copy of a ColumnTransformer whose transformers are fitted block by block."""
    from sklearn.base import BaseEstimator
    from sklearn.frozen import FrozenEstimator
    from sklearn.utils import _safe_indexing

    first = next(iter(read()))[1]
    same = clone(fitted).set_params(remainder="passthrough")
    same.transformers = [(name, "passthrough", columns) for name, _, columns in fitted.transformers]
    found = {
        name: columns for name, _, columns in same.fit(first).transformers_
    }  # callables and masks resolved

    def frozen(name: str, transformer: Any) -> Any:
        if not isinstance(transformer, BaseEstimator) or not len(found.get(name, ())):
            return transformer

        def some() -> Iterator[tuple[int, Any]]:
            for start, block in read():
                yield start, _safe_indexing(block, found[name], axis=1)

        return FrozenEstimator(fitted_transformer(transformer, some, n_rows))

    fitted.transformers = [(name, frozen(name, one), columns) for name, one, columns in fitted.transformers]
    fitted.remainder = frozen("remainder", fitted.remainder)
    return fitted.fit(first)


def _statistics(transformer: Any, read: _Reader, n_rows: int) -> Any:
    """Return few rows that are equivalent for the fit of a transformer; None if there are none."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    if (
        isinstance(transformer, SimpleImputer)
        and transformer.missing_values is np.nan
        and not transformer.add_indicator
    ):
        if transformer.strategy == "mean":
            scaler = fitted_transformer(StandardScaler(), read, n_rows)
            return _like_first(read, np.where(scaler.n_samples_seen_ > 0, scaler.mean_, np.nan)[None])
        if transformer.strategy == "median":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a value
                sample = np.asarray(_sample(read, n_rows), dtype=np.float64)
                return _like_first(read, np.array([[np.nanmedian(column) for column in sample.T]]))
    counts = any(getattr(transformer, name, None) is not None for name in ("min_frequency", "max_categories"))
    if isinstance(transformer, (OneHotEncoder, OrdinalEncoder)) and not counts:
        return _distinct_rows(read)
    return None


def _like_first(read: _Reader, numbers: Array) -> Any:
    """Return numbers as a data frame if the rows are data frames."""
    first = next(iter(read()))[1]
    return type(first)(numbers, columns=first.columns) if hasattr(first, "columns") else numbers


def _distinct_rows(read: _Reader) -> Any:
    """Return rows with each value of each column."""
    import pandas

    found: dict[int, Any] = {}
    for _, block in read():
        frame = pandas.DataFrame(block)
        for i in range(frame.shape[1]):
            parts = [found[i], frame.iloc[:, i]] if i in found else [frame.iloc[:, i]]
            found[i] = pandas.concat(
                [part.drop_duplicates() for part in parts], ignore_index=True
            ).drop_duplicates()
    last = np.arange(max(map(len, found.values())))
    filled = [
        column.iloc[np.minimum(last, len(column) - 1)].reset_index(drop=True) for column in found.values()
    ]
    rows = pandas.concat(filled, axis=1)
    return rows if hasattr(block, "columns") else rows.to_numpy()


def _sample(read: _Reader, n_rows: int) -> Any:
    """Return all rows, or evenly spaced ones of too many."""
    first = next(iter(read()))[1]
    step = -(-n_rows * first.shape[1] * 8 // _HELD_BYTES)
    if step > 1:
        warnings.warn(
            f"Medians and quartiles are computed from every {step}th row: all {n_rows:,} would take more "
            f"than {_HELD_BYTES >> 30} GiB.",
            stacklevel=2,
        )
    blocks = (block[-start % step :: step] for start, block in read())
    if sp.issparse(first):
        return sp.csr_array(sp.vstack(list(blocks), format="csr"))
    if type(first) is not np.ndarray:
        import pandas

        return pandas.concat(list(blocks), ignore_index=True)
    sample, done = np.empty((-(-n_rows // step), first.shape[1]), order="F"), 0  # contiguous columns
    for block in blocks:
        sample[done : done + len(block)] = block
        done += len(block)
    return sample


# --- cells of tables -------------------------------------------------------------------------------------------------


def _tables(rows: RowSource, names: Sequence[str], start: int, sizes: Iterable[int]) -> Iterator[Any]:
    """Yield metadata columns of consecutive rows from `start` on, as a `pyarrow.Table` of each of these sizes."""
    batches = _metadata_with(rows, names).batches(list(names))
    left, skipped = None, start
    for n_rows in sizes:
        parts = []
        while n_rows:
            while left is None or not left.num_rows:
                batch = next(batches, None)
                if batch is None:
                    raise ValueError(
                        f"The {rows.description} has fewer rows than the {rows.shape[0]} stated."
                    )
                left = batch.slice(min(skipped, batch.num_rows))
                skipped -= batch.num_rows - left.num_rows
            parts.append(left.slice(0, n_rows))
            left = left.slice(n_rows)
            n_rows -= parts[-1].num_rows
        yield joined_batches(parts)


def _sizes(start: int, stop: int, rows: int) -> Iterator[int]:
    return (min(rows, stop - low) for low in range(start, stop, rows))


def _frames(rows: RowSource, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
    tables = _tables(rows, names, 0, _sizes(0, rows.shape[0], _FRAME_ROWS))
    for number, table in enumerate(tables):
        yield number * _FRAME_ROWS, table.to_pandas()


def _metadata_with(rows: RowSource, names: Sequence[str]) -> Any:
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
                "Leave such rows out, or fit with handle_unknown='ignore' (--handle-unknown ignore), which gives them "
                "zeros."
            )


def _encoder(categories: Sequence[Sequence[Any]], handle_unknown: str) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    cells = np.empty((max(map(len, categories)), len(categories)), dtype=object)
    for i, values in enumerate(categories):
        cells[:, i] = [values[min(row, len(values) - 1)] for row in range(len(cells))]
    return OneHotEncoder(handle_unknown=handle_unknown, sparse_output=False).fit(cells)


def learned_categories(rows: RowSource, names: Sequence[str], limit: int) -> list[list[Any]]:
    """Return the distinct values of metadata columns, None for missing ones; a ValueError for too many, or none."""
    from pyarrow import compute

    found: dict[str, set[Any]] = {name: set() for name in names}
    for batch in _metadata_with(rows, names).batches(list(names)):
        for name, column in zip(names, batch.columns):
            found[name].update(compute.unique(_plain_cells(column, name)).to_pylist())
            if len(found[name]) > limit:
                raise ValueError(
                    f"The column {name!r} has more than {limit} different values, each of which would become a column. "
                    f"Leave it out: exclude=[{name!r}] (--exclude), or raise category_limit (--category-limit)."
                )
    empty = [name for name, values in found.items() if values <= {None}]
    if empty:
        raise ValueError(
            f"Columns of categories have no value at all: {', '.join(map(repr, empty))}. "
            f"Leave them out: exclude={empty!r} (--exclude)."
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
        raise ValueError(
            f"The column {name!r} ({kind}) has no categories. Leave it out: exclude=[{name!r}] (--exclude)."
        )
    column = column.cast(pyarrow.string())
    return compute.if_else(compute.equal(column, ""), None, column)


def _numbers_and_categories(
    X: Any,
    opened: Callable[..., RowSource],
    columns: Columns | None,
    exclude: Columns | None,
    categories: Columns,
) -> tuple[RowSource, list[str]]:
    """Return the rows of the columns of numbers, with the others as metadata, and the columns to encode."""
    try:
        table = X if isinstance(X, RowSource) else opened(columns=NO_COLUMNS)
    except NotATableError:
        raise ValueError("categories has no meaning for X: only a table has columns to encode.") from None
    names = _names_of(table)
    left_out = [] if exclude is None else column_positions(names, exclude)
    if categories == "auto" and "auto" not in names:
        among = range(len(names)) if columns is None else column_positions(names, columns)
        schema = (
            next(iter(table.metadata_columns.batches())).schema if table.metadata_columns is not None else ()
        )
        texts = [i for i, field in enumerate(schema) if arrow_kind(field.type) == "other"]
        encoded = [i for i in texts if i in among and i not in left_out]
    else:
        _check_not_left_out(names, categories, left_out)
        encoded = _chosen(names, categories, exclude)
    if isinstance(X, RowSource):
        return X, [names[i] for i in encoded]
    if not encoded:
        return opened(columns=columns, exclude=exclude), []
    gone = {*left_out, *encoded}
    kept = [i for i in _chosen(names, columns, exclude) if i not in gone]
    rows = opened(columns=columns, exclude=sorted(gone)) if kept else table
    return rows, [names[i] for i in encoded]


def _check_not_left_out(names: Sequence[str], categories: Columns, left_out: Sequence[int]) -> None:
    """Raise an error if `exclude` removes all columns that a word of `categories` selects."""
    for word in [categories] if isinstance(categories, (str, int)) else categories:
        if set(column_positions(names, [word])) <= set(left_out):
            raise ValueError(f"categories and exclude both name {word!r}: encode the column or leave it out.")
