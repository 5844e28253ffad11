"""`prepare_rows`: a table as people have it, made ready to be clustered."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from coterie.rows.adapt import as_rows
from coterie.rows.arrow import arrow_kind
from coterie.rows.categories import CATEGORY_LIMIT, HandleUnknown, OneHotRows, learned_categories
from coterie.rows.columns import NO_COLUMNS, Columns, NotATableError, column_positions
from coterie.rows.files import open_rows
from coterie.rows.normalized import NormalizedRows
from coterie.rows.roles import TableRoles, roles_of
from coterie.rows.source import RowSource, ShardedSource
from coterie.rows.statistics import Impute, Scale, learned_scale, learned_values
from coterie.rows.transformed import ImputedRows, ScaledRows

__all__ = ["LEARNED", "STEPS", "prepare_rows", "table_roles"]

# What makes rows anew from others and what a step of `RowSource.preparation` holds.
STEPS: dict[str, Callable[..., RowSource]] = {
    "impute": ImputedRows,
    "scale": ScaledRows,
    "one_hot": OneHotRows,
    "normalize": NormalizedRows,
}

# Of these, what depends on the rows of the fit.
LEARNED = ("impute", "scale", "one_hot")

_WORDS = {
    "impute": ("mean", "median"),
    "scale": ("standard", "robust", "none"),
    "handle_unknown": ("error", "ignore"),
}


def prepare_rows(
    X: Any,
    columns: Columns | None = "auto",
    *,
    exclude: Columns | None = None,
    impute: Impute | None = None,
    scale: Scale | Literal["none"] | None = None,
    one_hot: Columns | None = None,
    category_limit: int = CATEGORY_LIMIT,
    handle_unknown: HandleUnknown = "error",
    normalize: bool = False,
    **reading: Any,
) -> RowSource:
    """Make a table ready to be clustered: fill in what is missing, scale columns, encode categories.

    It is what scikit-learn's `SimpleImputer`, `StandardScaler` or `RobustScaler` and `OneHotEncoder` do in a
    `ColumnTransformer`, learned in passes over blocks and applied as rows are read. A model that is fitted to the rows
    stores what was learned, in its file, too, and does the same to other rows: pass these as they are, or prepared by
    this function; then what the model learned takes the place of what they would teach.

    Parameters
    ----------
    X : path, array-like, table, Dask array or RowSource
        What `open_rows` or `as_rows` takes.
    columns, exclude : list of str or int, or "auto", optional
        Columns of a table to cluster, and columns to leave out, see `open_rows`. "auto" takes those that `table_roles`
        calls features: a column of vectors, or else numbers and booleans, without ids, dates and constants. None takes
        all columns, which must be numbers.
    impute : {"mean", "median"}, optional
        What is put in the place of missing numbers, by column. By default these are an error.
    scale : {"standard", "robust", "none"}, optional
        Whether columns of numbers are scaled: less their mean and divided by their standard deviation, or less their
        median and divided by the distance of their quartiles. Constant columns become 0. By default they are not.
    one_hot : list of str or int, or "auto", optional
        Columns of categories: texts, integers, booleans. Each value, and None for missing ones, becomes a column of
        zeros and ones behind the numbers, called like ``place_Rome``, which is neither imputed nor scaled. "auto" takes
        all columns that are no numbers. By default such columns are an error.
    category_limit : int
        The most values that a column of `one_hot` may have.
    handle_unknown : {"error", "ignore"}
        What a value means that is not in the rows of the fit: an error, or zeros in all its columns.
    normalize : bool
        Whether each row is scaled to length 1 when all else is done.
    reading
        Other options of `open_rows`.

    Returns
    -------
    RowSource
        The rows; `preparation` says what is done to them.

    Raises
    ------
    ValueError
        If an option makes no sense for these rows, a column has no value or too many categories, or a number that is
        not imputed is missing.

    Notes
    -----
    Means and variances take one pass each. Medians and quartiles are exact where the rows take at most 1 GiB as
    float64; of larger tables they are those of rows in equal distances, and a warning says so. The order of steps is:
    columns, impute, scale, one_hot, normalize; ``metric="cosine"`` of a model comes after them.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie import KMeans, prepare_rows
    >>> table = pyarrow.table({"age": [20, 30, None, 70], "place": ["Rome", "Oslo", "Rome", "Oslo"]})
    >>> rows = prepare_rows(table, impute="median", scale="standard", one_hot=["place"])
    >>> rows.column_names
    ['age', 'place_Oslo', 'place_Rome']
    >>> model = KMeans(n_clusters=2, random_state=0).fit(rows)
    >>> new = pyarrow.table({"place": ["Oslo"], "age": [75], "name": ["Ole"]})
    >>> int(model.predict(new)[0]) == int(model.labels_[3])
    True
    """
    _check_word("impute", impute)
    _check_word("scale", scale)
    _check_word("handle_unknown", handle_unknown)
    if isinstance(X, (str, os.PathLike)):
        opened: Callable[..., RowSource] = partial(open_rows, X, **reading)
    else:
        opened = partial(as_rows, X, **reading)
    encoded: list[str] = []
    if isinstance(columns, str) and columns == "auto":
        columns, one_hot = _automatic_columns(X, opened, exclude, one_hot)
    if one_hot is None:
        rows = opened(columns=columns, exclude=exclude)
    else:
        rows, encoded = _numbers_and_categories(X, opened, columns, exclude, one_hot)
    has_numbers = rows.chosen is None or len(rows.chosen) > 0
    scale = None if scale == "none" else scale
    if rows.is_sparse and (impute or scale):
        raise ValueError("impute and scale are for dense rows: they would fill the zeros of sparse ones.")
    if impute is not None and has_numbers:
        rows = ImputedRows(rows, impute, learned_values(rows, impute))
    if scale is not None and has_numbers:
        rows = ScaledRows(rows, scale, *learned_scale(rows, scale))
    if encoded:
        rows = OneHotRows(rows, learned_categories(rows, encoded, category_limit), handle_unknown)
    return NormalizedRows(rows) if normalize else rows


def table_roles(
    X: Any, *, exclude: Columns | None = None, categories: Columns | None = None, **reading: Any
) -> TableRoles | None:
    """Return which columns of a table are features, and why the others are not.

    Parameters
    ----------
    X : path or table
        What `open_rows` or `as_rows` takes.
    exclude, categories : list of str or int, optional
        Columns to leave out, and columns to encode ("auto": all of few distinct values).
    reading
        Other options of `open_rows`.

    Returns
    -------
    TableRoles or None
        None where X is not a table, or a lazy one. The rules are those of `coterie.rows.roles.roles_of`.

    Raises
    ------
    ValueError
        If the table has nothing to cluster, several columns of vectors, or text most of which is numbers.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie.rows import table_roles
    >>> print(table_roles(pyarrow.table({"id": [7, 3, 9], "age": [20.5, 30, 70], "name": ["Al", "Bo", "Cy"]})))
    Used: 1 column (age). Left out: id (id); name (text).
    """
    opened = (
        partial(open_rows, X, **reading)
        if isinstance(X, (str, os.PathLike))
        else partial(as_rows, X, **reading)
    )
    if isinstance(X, RowSource):
        return None
    try:
        table = opened(columns=NO_COLUMNS)
    except NotATableError:
        return None
    if table.carried is None:  # of a lazy table
        return None
    ragged = table.ragged_columns if isinstance(table, ShardedSource) else []
    if ragged:
        raise ValueError(
            f"Some files lack the columns {', '.join(ragged)}. Choose columns that all have: columns=[...] (--columns)."
        )
    names = table.carried.names
    left = [] if exclude is None else column_positions(names, exclude)
    if categories is None or (categories == "auto" and "auto" not in names):
        encoded: Sequence[str | int] = [] if categories is None else ["auto"]
    else:
        _check_not_left_out(names, categories, left)
        encoded = column_positions(names, categories)
    return roles_of(table, exclude=left, categories=encoded)


def _automatic_columns(
    X: Any, opened: Callable[..., RowSource], exclude: Columns | None, one_hot: Columns | None
) -> tuple[Columns | None, Columns | None]:
    """Return `columns` and `one_hot` for the columns that `table_roles` chooses."""
    roles = table_roles(X, exclude=exclude, categories=one_hot, **getattr(opened, "keywords", {}))
    if roles is None:
        return None, one_hot
    return [*roles.features, *roles.categories], list(roles.categories) or None


def _check_word(option: str, word: Any) -> None:
    if word is not None and word not in _WORDS[option]:
        raise ValueError(f"{option} must be one of {', '.join(_WORDS[option])}, got {word!r}.")


def _numbers_and_categories(
    X: Any,
    opened: Callable[..., RowSource],
    columns: Columns | None,
    exclude: Columns | None,
    one_hot: Columns,
) -> tuple[RowSource, list[str]]:
    """Return the rows of the columns of numbers, which carry the others, and the names of the columns to encode."""
    try:
        table = X if isinstance(X, RowSource) else opened(columns=NO_COLUMNS)
    except ValueError as error:  # of what is no table
        raise ValueError(str(error).replace("columns has no meaning", "one_hot has no meaning")) from error
    names: list[str] = [] if table.carried is None else table.carried.names
    left_out = [] if exclude is None else column_positions(names, exclude)
    if one_hot == "auto" and "auto" not in names:
        among = range(len(names)) if columns is None else column_positions(names, columns)
        encoded = [i for i in _texts(table) if i in among and i not in left_out]
    else:
        _check_not_left_out(names, one_hot, left_out)
        encoded = [i for i in column_positions(names, one_hot) if i not in left_out]
    if isinstance(X, RowSource):
        return X, [names[i] for i in encoded]
    if not encoded:
        return opened(columns=columns, exclude=exclude), []
    gone = {*left_out, *encoded}
    kept = [
        i
        for i in (range(len(names)) if columns is None else column_positions(names, columns))
        if i not in gone
    ]
    rows = opened(columns=columns, exclude=sorted(gone)) if kept else table
    return rows, [names[i] for i in encoded]


def _check_not_left_out(names: Sequence[str], one_hot: Columns, left_out: Sequence[int]) -> None:
    """Raise where `exclude` leaves nothing of what a word of `one_hot` stands for."""
    for word in [one_hot] if isinstance(one_hot, (str, int)) else one_hot:
        if set(column_positions(names, [word])) <= set(left_out):
            raise ValueError(f"one_hot and exclude both name {word!r}: it is either encoded or left out.")


def _texts(table: RowSource) -> Sequence[int]:
    """Return the columns of what is carried that are neither numbers nor vectors."""
    if table.carried is None:
        return []
    batch = next(iter(table.carried.batches()))
    return [i for i, field in enumerate(batch.schema) if arrow_kind(field.type) == "other"]
