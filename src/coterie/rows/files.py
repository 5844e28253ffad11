"""`open_rows`: a local or remote file, a directory of shards or a glob of them, read once."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import check_regular_file
from coterie.rows.checks import FileError, NotATableError, reading
from coterie.rows.columns import NO_COLUMNS, Columns
from coterie.rows.formats import format_of, known_extensions
from coterie.rows.formats.text import plain_suffix
from coterie.rows.landing import Matrix, land_matrices
from coterie.rows.remote import addresses_of, copied, files_of_rows, in_natural_order, is_address
from coterie.rows.roles import ColumnProfile
from coterie.rows.source import Rows
from coterie.rows.tables import TABLE_OPTIONS, Table, columns_of_tables, land_tables

# Options about a file; the key is the part after `::`.
_FILE_OPTIONS = ("key", "header", "sep", "skip_lines")


def open_rows(
    path: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    exclude: Columns | None = None,
    header: bool | None = None,
    sep: str | None = None,
    skip_lines: int | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    missing_words: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Rows:
    """Read a file of rows of any size, local or remote.

    The rows are read once: into memory, or what takes more than a quarter of the free memory into a temporary file in
    TMPDIR or /var/tmp that is mapped and goes with the rows. A local .npy file is mapped itself.

    Parameters
    ----------
    path : str or path-like
        A file (.npy, .npz, .csv, .tsv, .txt, .jsonl, .ndjson, .parquet, .feather, .arrow, .xlsx, .zarr, .h5, .hdf5,
        .h5ad, .svm, .libsvm; text also with .gz, .zst, .bz2, .xz or .zip appended), or a folder or pattern of files of
        one format with the same columns, whose rows follow each other in the natural order of the names (``part-2``
        before ``part-10``). ``file.h5::dataset`` chooses one of several arrays, or a sheet of a workbook. Or an address
        that `fsspec` supports (``s3://bucket/vectors.parquet``, ``gs://``, ``hf://``, ``https://``), as a str, whose
        files are copied to a temporary folder first.
    columns : list of str or int, optional
        Columns of a table to cluster, in this order. Each is a name; a position from 0; a range, by names with
        both ends (``"e0:e255"``) or by positions without the end, as in Python (``"2:258"``); or a pattern of
        names (``"e*"``). Columns hold numbers, or vectors: lists of numbers, all of the same length. By default
        the features: a column of vectors, or else numbers, without ids, dates and constants.
    exclude : list of str or int, optional
        Columns of a table to leave out, written in the same ways.
    header : bool, optional
        Whether the first line of a .csv or .tsv file names its columns. By default it does if it is text above numbers,
        or numbers unlike those below; an error if both is possible.
    sep : str, optional
        Separator of the fields of a CSV file, a blank for any number of blanks; by default the one with which all
        lines have the same number of fields.
    skip_lines : int, optional
        Number of lines before the table, such as titles; by default leading comments (``#``).
    decimal : {".", ","}, optional
        The decimal sign of numbers in texts; by default the only one with which all are numbers, an error if both are.
    thousands : {",", ".", " ", "'", ""}, optional
        What separates thousands in texts, found in the same way.
    missing_words : list of str, optional
        Words for missing values besides empty cells, NA, N/A, NaN and NULL, such as ``["?", "-"]``.
    storage_options : dict, optional
        For an address: options of its file system, such as ``{"key": ..., "secret": ..., "endpoint_url": ...}`` of
        `s3fs`, besides those in the environment. They are never shown in an error.

    Returns
    -------
    Rows
        The rows. Its `metadata_columns` are a `pyarrow.Table` of the columns that are not clustered.

    Raises
    ------
    OSError
        If there is no such file, or if a server refuses access, breaks a connection, or sends nothing for 30 s.
    ImportError
        If the format or the address needs an extra that is not installed.
    ValueError
        If the format is unknown, the file is damaged, a pipe, a socket or a device, or not a table of numbers or
        vectors, can be read in two ways, or differs from the other files.

    Examples
    --------
    >>> import coterie
    >>> rows = coterie.open_rows("vectors.parquet", columns=["embedding"])  # doctest: +SKIP
    >>> labels = coterie.KMeans(n_clusters=8).fit_predict(rows)  # doctest: +SKIP
    """
    chosen = {"columns": columns, "exclude": exclude}
    text = {"decimal": decimal, "thousands": thousands, "missing_words": missing_words}
    options = {"header": header, "sep": sep, "skip_lines": skip_lines}
    return read_rows(path, {**chosen, **text, **options, "storage_options": storage_options})


def read_rows(path: str | os.PathLike[str], options: Mapping[str, Any]) -> Rows:
    """Read a file with the options of `open_rows`; "categories" are columns that are not clustered as numbers."""
    with ExitStack() as stack:
        found, description = _opened(stack, os.fspath(path), options)
        first = found[0]
        if isinstance(first, Table):
            return land_tables(found, options, description)
        for name in TABLE_OPTIONS:
            if options.get(name) is not None:
                raise NotATableError(f"{name} has no meaning for {first.name}.")
        if len(found) > 1 and first.description == "svm":
            raise ValueError(
                f"{first.name} and others: join .svm files, which lack the number of columns, to one."
            )
        return land_matrices(found, description)


def table_names(path: str | os.PathLike[str], **options: Any) -> list[str] | None:
    """Return the names of all columns of a table, by its beginning; None for other files."""
    with ExitStack() as stack:
        (first, *_), _ = _opened(stack, os.fspath(path), options)
        return list(first.schema.names) if isinstance(first, Table) else None


def profile_table(
    path: str, n_rows: int | None = None, **options: Any
) -> tuple[int, int, list[ColumnProfile]] | None:
    """Return the number of rows of a table in a file, counted unless it is given, the number of the first ones by which
    its columns are profiled, and the profiles; None if it is not a table.
    """
    with ExitStack() as stack:
        found, _ = _opened(stack, os.fspath(path), options)
        if not isinstance(found[0], Table):
            return None
        columns = columns_of_tables(found[:1], {**options, "columns": NO_COLUMNS})[0]
        with reading(found[0].name):
            profiles = columns.profiles()
        n_seen, counts = found[0].head[0].num_rows, []
        for table in found if n_rows is None else []:
            with reading(table.name):
                counts.append(table.n_rows or sum(batch.num_rows for batch in table.batches()))
        return n_rows or sum(counts), n_seen, profiles


def _opened(stack: ExitStack, path: str, options: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Open the files of a path or address; return what their reader returned, and a description of all."""
    storage_options = options.get("storage_options")
    base, key = _split_key(path)
    if is_address(base):
        paths, shown, is_shards = copied(stack, base, storage_options)
    elif storage_options is not None:
        raise ValueError(f"storage_options has no meaning for {base}, which is on this machine.")
    else:
        shown, is_shards = _shards(base)
        paths = list(map(Path, shown))
        for name in shown:
            check_regular_file(name, may_be_folder=_may_be_folder(name))
    formats = {format_of(path): name for path, name in zip(paths, shown)}
    if None in formats:
        raise ValueError(f"Cannot tell the format of {formats[None]}. {known_extensions()}")
    if len(formats) > 1:
        raise ValueError(f"Shards must be of one format, found {', '.join(formats.values())}.")
    (known,), given = formats, {**options, "key": key}
    assert known is not None
    for name in _FILE_OPTIONS:
        if given.get(name) is not None and name not in known.options:
            raise FileError(f"{f'::{key}' if name == 'key' else name} has no meaning for {shown[0]}.")
    found = []
    for local, name in zip(paths, shown):
        with reading(local, name):
            try:
                one = _known_kind(known.read(local, **{one: given.get(one) for one in known.options}))
            except ModuleNotFoundError as error:
                library = (error.name or "").partition(".")[0]
                raise ImportError(
                    f"Reading {plain_suffix(name)} files needs {library}: pip install 'coterie[io]'"
                ) from error
            one.name = name
            found.append(one)
    shards = f", {len(found)} shard{'s' * (len(found) > 1)}" * is_shards
    return found, found[0].description + shards


def _known_kind(found: Any) -> Table | Matrix:
    """Return what a reader returned: a table or matrix, or an iterable of pieces of one, by the first of them."""
    if isinstance(found, (Table, Matrix)):
        return found
    pieces = iter(found)
    first = next(pieces, None)
    if first is None:
        raise ValueError("it has no rows.")
    pieces = chain([first], pieces)
    if hasattr(first, "schema"):
        return Table(first.schema, pieces, "table")
    is_sparse = sp.issparse(first)
    first = first if is_sparse else np.asarray(first)
    return Matrix(first.shape, first.dtype, pieces, "rows", is_sparse)


# --- places ----------------------------------------------------------------------------------------------------------


def paths_of(path: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Return the files of a path or address in order, each as a path of `open_rows`."""
    base, key = _split_key(path)
    names = addresses_of(base, storage_options) if is_address(base) else _shards(base)[0]
    return [name if key is None else f"{name}::{key}" for name in names]


def _split_key(path: str) -> tuple[str, str | None]:
    """Split ``file::dataset``; an existing path has no dataset."""
    base, separator, key = path.rpartition("::")
    # The two colons may also be those of an IPv6 address, or of addresses that are chained.
    if not separator or "]" in key or "://" in key or os.path.exists(path):
        return path, None
    return base, key or None


def _shards(path: str) -> tuple[list[str], bool]:
    """Return the files of a path in natural order, and whether it names several."""
    if os.path.isdir(path) and not _may_be_folder(path):
        found = files_of_rows(os.path.join(path, name) for name in os.listdir(path))
        if not found:
            raise ValueError(f"{path} has no files of rows. {known_extensions()}")
    elif os.path.exists(path):
        return [path], False
    elif glob.has_magic(path):
        found = glob.glob(path, recursive=True)
        if not found:
            raise FileNotFoundError(f"No file matches {path}")
    else:
        raise FileNotFoundError(f"There is no file {path or repr(path)}")
    return in_natural_order(found), True


def _may_be_folder(path: str) -> bool:
    known = format_of(path)
    return known is not None and known.is_folder
