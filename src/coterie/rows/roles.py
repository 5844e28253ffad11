"""Which columns of a table are features: the rules for tables with ids, texts and dates."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.limits.files import shortened
from coterie.rows.checks import MOST_OF_A_NAME
from coterie.rows.columns import column_word
from coterie.rows.profile import ColumnProfile, profile_columns
from coterie.rows.source import RowSource

__all__ = ["TableRoles", "roles_of", "roles_of_columns"]

# Rows that are looked at: enough to tell ids from measurements, and a moment's work.
_SEEN_ROWS = 1 << 16

# Features whose standard deviations differ by more than this should be scaled.
_SCALES = 100.0

# Names that a sentence lists.
_LISTED = 6

_REASONS = {
    "id": "id",
    "date": "date",
    "text": "text",
    "constant": "constant",
    "empty": "empty",
    "category": "category",
    "nested": "nested",
    "number": "beside the vectors",
}


@dataclass(frozen=True)
class TableRoles:
    """The role of each column of a table.

    Attributes
    ----------
    features : tuple of str or int
        Columns to cluster, as `columns` takes them: names, or positions where names repeat.
    categories : tuple of str or int
        Columns of few distinct values that are encoded, likewise.
    left_out : tuple of (str, str)
        Names of the other columns, each with its role: "id", "date", "text", "constant", "empty", "category",
        "nested", or "beside the vectors".
    scales : tuple of (str, str), optional
        The features of the largest and the smallest standard deviation, if they differ by more than 100.
    names : tuple of str
        Names of the features.
    """

    features: tuple[str | int, ...]
    categories: tuple[str | int, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    scales: tuple[str, str] | None = None
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        used = f"{len(self.features)} column{'s' * (len(self.features) != 1)} ({_listed(self.names)})"
        if self.categories:
            used += f", categories {_listed(self.categories)}"
        if not self.left_out:
            return f"Used: {used}."
        by_role: dict[str, list[str]] = {}
        for name, role in self.left_out:
            by_role.setdefault(role, []).append(name)
        return f"Used: {used}. Left out: {'; '.join(f'{_listed(names)} ({role})' for role, names in by_role.items())}."


def roles_of(
    table: RowSource, *, exclude: Collection[str | int] = (), categories: Collection[str | int] | None = None
) -> TableRoles:
    """Return the role of each column, by the first 65,536 rows.

    Parameters
    ----------
    table : RowSource
        Opened without a column to cluster: all its columns are carried.
    exclude : collection of str or int
        Columns that are not looked at.
    categories : collection of str or int, optional
        Columns to encode; all of few distinct values if this contains "auto".

    Returns
    -------
    TableRoles

    Raises
    ------
    ValueError
        If there are several columns of vectors, no column of numbers, or text most of which is numbers.

    Notes
    -----
    A column of vectors is the only feature. Otherwise columns of numbers and booleans are, but for

    - ids: whole numbers or short texts in a column called like an id ("id", "customer_id", "customerId", "uuid");
      unique whole numbers in a column called like a row number ("index", "row"), that count from 0 or 1, or that are
      huge; unique short texts;
    - dates, and seconds since 1970 in a column that is called like a time;
    - constant and empty columns.
    """
    return roles_of_columns(profile_columns(table, _SEEN_ROWS), exclude=exclude, categories=categories)


def roles_of_columns(
    columns: Sequence[ColumnProfile],
    *,
    exclude: Collection[str | int] = (),
    categories: Collection[str | int] | None = None,
) -> TableRoles:
    """Return the roles of columns that were profiled; see `roles_of`."""
    names = [column.name for column in columns]
    words = [column_word(i, name if names.count(name) == 1 else None) for i, name in enumerate(names)]
    keys = [i if name.isdecimal() or names.count(name) > 1 else name for i, name in enumerate(names)]
    looked_at = [i for i in range(len(columns)) if not {i, names[i]} & set(exclude)]
    looks = {i: columns[i].looks_like for i in looked_at}
    wanted = set(categories or ())
    encoded = [
        i for i in looked_at if {i, names[i]} & wanted or ("auto" in wanted and looks[i] == "category")
    ]
    vectors = [i for i in looked_at if looks[i] == "vector" and i not in encoded]
    numbers = [i for i in looked_at if looks[i] == "number" and i not in encoded]
    if len(vectors) > 1:
        raise ValueError(
            f"The table has several columns of vectors: {_listed([names[i] for i in vectors])}. Choose one: "
            f"columns=[{shortened(names[vectors[0]], MOST_OF_A_NAME)!r}] (--columns "
            f"{shlex.quote(shortened(words[vectors[0]], MOST_OF_A_NAME))})."
        )
    invalid = [i for i in looked_at if looks[i] == "invalid numbers" and i not in encoded]
    if invalid and not vectors:
        first, shown = invalid[0], shortened(names[invalid[0]], MOST_OF_A_NAME)
        raise ValueError(
            f"Column {shown!r} has {columns[first].remark}. Correct the cells, or leave the column out: "
            f"exclude=[{shown!r}] (--exclude {shlex.quote(shortened(words[first], MOST_OF_A_NAME))})."
        )
    features = vectors or numbers
    if not features and not encoded:
        raise ValueError(_nothing_to_cluster([columns[i] for i in looked_at]))
    chosen = {*features, *encoded}
    left_out = [(names[i], _REASONS.get(looks[i], looks[i])) for i in looked_at if i not in chosen]
    return TableRoles(
        tuple(keys[i] for i in features),
        tuple(keys[i] for i in encoded),
        tuple(left_out),
        None if vectors else _unlike_scales([columns[i] for i in numbers]),
        tuple(names[i] for i in features),
    )


def _unlike_scales(columns: Sequence[ColumnProfile]) -> tuple[str, str] | None:
    spread = np.sqrt([column.variance or 0.0 for column in columns])
    moving = np.flatnonzero(spread > 0)
    if len(moving) < 2:
        return None
    largest, smallest = moving[spread[moving].argmax()], moving[spread[moving].argmin()]
    is_wide = spread[largest] > _SCALES * spread[smallest]
    return (columns[largest].name, columns[smallest].name) if is_wide else None


def _nothing_to_cluster(columns: Sequence[ColumnProfile]) -> str:
    """Return the error for a table without numbers: what would make some of its columns features."""
    texts = [column.name for column in columns if column.looks_like == "text"]
    categories = [column.name for column in columns if column.looks_like == "category"]
    if texts:
        return (
            f"The table has no columns of numbers, but text in {_listed(texts)}. Make vectors of the text first, for "
            "example in Python with sentence-transformers: numpy.save('vectors.npy', "
            "SentenceTransformer('all-MiniLM-L6-v2').encode(texts)), and cluster these: coterie fit vectors.npy -k 10."
        )
    if categories:
        return (
            f"The table has no columns of numbers. Encode the categories in {_listed(categories)}: one_hot='auto' "
            "(--one-hot auto)."
        )
    return "The table has no columns of numbers or vectors."


def _listed(names: Sequence[str | int]) -> str:
    shown = ", ".join(shortened(str(name), MOST_OF_A_NAME) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"
