"""`open_rows`: a local or remote file, a directory of shards or a glob of them, read once."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import check_regular_file
from coterie.rows.checks import NotATableError, reading
from coterie.rows.columns import NO_COLUMNS, Columns
from coterie.rows.formats import Format, format_of, known_extensions
from coterie.rows.formats.svmlight import SVMLIGHT
from coterie.rows.landing import Matrix, land_matrices
from coterie.rows.remote import Remote, copies, is_address, protocol_of
from coterie.rows.roles import ColumnProfile
from coterie.rows.source import Rows
from coterie.rows.tables import TABLE_OPTIONS, Table, TableColumns, columns_of_tables, land_tables


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
    n_columns: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Rows:
    """Read a file of rows of any size, local or remote.

    The rows are read once: into memory, or what takes more than a quarter of the free memory into a temporary file in
    TMPDIR or /var/tmp that is mapped and goes with the rows. A local .npy file is mapped itself.

    Parameters
    ----------
    path : str or path-like
        A file (.npy, .npz, .csv, .tsv, .jsonl, .ndjson, .parquet, .feather, .arrow, .xlsx, .zarr, .h5, .hdf5, .h5ad,
        .svm, .libsvm; text files also with .gz, .zst, .bz2, .xz or .zip appended), a folder of such files, or a glob.
        ``file.h5::dataset`` chooses an array of a .npz, .h5, .h5ad or .zarr file that has several, or a sheet of a
        workbook. Shards are of one format and have the
        same columns; their rows follow each other in the natural order of the file names (``part-2`` before
        ``part-10``). Files of other formats in a directory are ignored, and so are those whose names begin with ``.``
        or ``_``. Other formats are added by `coterie.rows.register_format`.

        Or an address that `fsspec` supports (``s3://bucket/vectors.parquet``, ``gs://``, ``az://``, ``hf://``,
        ``https://``), of a file or folder or with a pattern, as a str. Its files are copied to a temporary folder
        first; a server that sends nothing for 30 s is an error.
    columns : list of str or int, optional
        Columns of a table to cluster, in this order. Each is a name; a position from 0; a range, by names with
        both ends (``"e0:e255"``) or by positions without the end, as in Python (``"2:258"``); or a pattern of
        names (``"e*"``). Columns hold numbers, or vectors: lists of numbers, all of the same length. By default
        the features by `table_roles`: a column of vectors, or else numbers, without ids, dates and constants.
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
    n_columns : int, optional
        Number of columns of .svm files, which do not contain it; by default their largest index.
    storage_options : dict, optional
        For an address: options of its file system, such as ``{"key": ..., "secret": ..., "endpoint_url": ...}`` of
        `s3fs`. Other options come from the environment and the configuration of fsspec. They are never shown in an
        error.

    Returns
    -------
    Rows
        The rows. Its `metadata_columns` are the columns of a table that are not clustered.

    Raises
    ------
    FileNotFoundError
        If the path or address does not exist.
    ImportError
        If the format or the address needs an extra that is not installed.
    PermissionError
        If a server refuses access, or there are no credentials.
    ValueError
        If the format is unknown, the file is damaged, a pipe, a socket or a device, or not a table of numbers or
        vectors, or shards differ.
    ConnectionError, TimeoutError
        If a server breaks a connection, or sends nothing.

    Examples
    --------
    >>> import coterie
    >>> rows = coterie.open_rows("vectors.parquet", columns=["embedding"])  # doctest: +SKIP
    >>> labels = coterie.KMeans(n_clusters=8).fit_predict(rows)  # doctest: +SKIP
    """
    chosen = {"columns": columns, "exclude": exclude}
    text = {"decimal": decimal, "thousands": thousands, "missing_words": missing_words}
    options = {"header": header, "sep": sep, "skip_lines": skip_lines, "n_columns": n_columns}
    return read_rows(path, {**chosen, **text, **options, "storage_options": storage_options})


def read_rows(path: str | os.PathLike[str], options: Mapping[str, Any]) -> Rows:
    """Read a file with the options of `open_rows`; "categories" are columns that are not clustered as numbers."""
    with ExitStack() as stack:
        return landed(*_opened(stack, os.fspath(path), options), options)


def landed(found: Sequence[Any], description: str, options: Mapping[str, Any]) -> Rows:
    """Read tables or matrices, one after the other, with the options of tables."""
    first = found[0]
    if isinstance(first, Table):
        return land_tables(found, options, description)
    for name in TABLE_OPTIONS:
        if options.get(name) is not None:
            raise NotATableError(f"{name} has no meaning for {first.name}.", name)
    if len(found) > 1 and format_of(first.name) is SVMLIGHT:
        raise ValueError(
            f"{first.name} and others: .svm files do not tell the number of their columns, so that several cannot be "
            "read as one. Join them to one file, such as by cat."
        )
    return land_matrices(found, description)


def columns_of_file(
    path: str | os.PathLike[str], options: Mapping[str, Any]
) -> tuple[Table, TableColumns] | None:
    """Return a table and the choice of its columns by its first rows, which alone are read; None for other files."""
    with ExitStack() as stack:
        (first, *_), _ = _opened(stack, os.fspath(path), options)
        if not isinstance(first, Table):
            return None
        return first, columns_of_tables([first], options)[0]


def profile_table(path: str, **options: Any) -> tuple[int, int, list[ColumnProfile]] | None:
    """Return the number of rows of a table in a file, the number of the first ones by which its columns are profiled,
    and the profiles; None if it is not a table."""
    with ExitStack() as stack:
        found, _ = _opened(stack, os.fspath(path), options)
        if not isinstance(found[0], Table):
            return None
        columns = columns_of_tables(found[:1], {**options, "columns": NO_COLUMNS})[0]
        with reading(found[0].name):
            profiles = columns.profiles()
        n_rows = 0
        for table in found:
            with reading(table.name):
                n_rows += table.n_rows or sum(batch.num_rows for batch in table.batches({}))
        return n_rows, found[0].head[0].num_rows, profiles


def _opened(stack: ExitStack, path: str, options: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Open the files of a path or address; return what their reader returned, and a description of all.

    Copies of remote files go with the stack.
    """
    storage_options = options.get("storage_options")
    base, key = _split_key(path)
    if protocol_of(base) in ("file", "local"):
        from urllib.request import url2pathname  # imports all of HTTP

        base = url2pathname(urlsplit(base).path)
    if is_address(base):
        address = Remote(base, storage_options)
        names, is_shards = _remote_files(address)
        shown = [address.shown(name) for name in names] if is_shards else [str(address)]
        known = _common_format(shown if is_shards else [shown[0].removesuffix("?...")])
        folder = stack.enter_context(copies())
        paths = []
        for number, name in enumerate(names):
            (folder / str(number)).mkdir()
            of_one = name if is_shards else None
            paths.append(address.copy(folder / str(number), of_one, is_folder=known.is_folder))
    elif storage_options is not None:
        raise ValueError(f"storage_options has no meaning for {base}, which is on this machine.")
    else:
        shown, is_shards = _shards(base)
        for name in shown:
            check_regular_file(name, may_be_folder=_may_be_folder(name))
        known, paths = _common_format(shown), list(map(Path, shown))
    given, found = {**options, "key": key}, []
    for local, name in zip(paths, shown):
        known.check(given, name)
        with reading(local, name):
            one = _known_kind(known.read(local, **{one: given.get(one) for one in known.options}))
            one.name = name
            found.append(one)
    n_shards = len(found)
    shards = f", {n_shards} shard{'s' * (n_shards > 1)}" * is_shards
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
        return Table(first.schema, lambda _: pieces, "table")
    is_sparse = sp.issparse(first)
    first = first if is_sparse else np.asarray(first)
    return Matrix(first.shape, first.dtype, pieces, "rows", is_sparse=is_sparse, is_open=True)


# --- places ----------------------------------------------------------------------------------------------------------


def _split_key(path: str) -> tuple[str, str | None]:
    """Split ``file::dataset``; an existing path has no dataset."""
    base, separator, key = path.rpartition("::")
    # The two colons may also be those of an IPv6 address, or of addresses that are chained.
    if not separator or "]" in key or "://" in key or os.path.exists(path):
        return path, None
    return base, key or None


def _remote_files(address: Remote) -> tuple[list[str], bool]:
    """Return the paths of the files of an address in natural order, and whether it names several."""
    if _may_be_folder(address.name):
        return [address.name], False
    if not address.is_pattern:
        if address.is_file():
            return [address.name], False
        found = [
            name
            for name in address.children()
            if PurePosixPath(name).name[:1] not in "._" and format_of(name)
        ]
        if not found:
            raise ValueError(f"{address} has no files of rows. {known_extensions()}")
        return _in_natural_order(found), True
    found = address.children()
    if not found:
        with suppress(FileNotFoundError):  # unless it is the name of a file
            if address.is_file():
                return [address.name], False
        raise FileNotFoundError(f"No file matches {address}")
    return _in_natural_order(found), True


def _in_natural_order(names: Sequence[str]) -> list[str]:
    """Return names with the numbers inside them sorted by value."""
    parts = {name: re.findall(r"(\d+)|(\D+)", name) for name in names}
    return sorted(names, key=lambda name: [(int(digits or 0), text) for digits, text in parts[name]])


def _shards(path: str) -> tuple[list[str], bool]:
    """Return the files of a path in natural order, and whether it names several."""
    if os.path.isdir(path) and not _may_be_folder(path):
        found = [os.path.join(path, name) for name in os.listdir(path) if name[0] not in "._"]
        found = [name for name in found if format_of(name)]
        if not found:
            raise ValueError(f"{path} has no files of rows. {known_extensions()}")
    elif os.path.exists(path):
        return [path], False
    elif glob.has_magic(path):
        found = glob.glob(path, recursive=True)
        if not found:
            raise FileNotFoundError(f"No file matches {path}")
    else:
        was_address = re.match(r"[a-z0-9]{2,}:/[^/]", path)
        hint = ". An address must be a str, since a Path drops one of its slashes" if was_address else ""
        raise FileNotFoundError(f"There is no file {path or repr(path)}{hint}")
    return _in_natural_order(found), True


def _may_be_folder(path: str) -> bool:
    known = format_of(path)
    return known is not None and known.is_folder


def _common_format(names: Sequence[str]) -> Format:
    found: dict[Format, str] = {}
    for name in names:
        known = format_of(name)
        if known is None:
            raise ValueError(f"Cannot tell the format of {name}. {known_extensions()}")
        found.setdefault(known, name)
    if len(found) > 1:
        raise ValueError(f"Shards must be of one format, found {', '.join(found.values())}.")
    return next(iter(found))
