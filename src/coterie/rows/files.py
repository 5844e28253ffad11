"""`open_rows`: a local or remote file, a directory of shards or a glob of them, read once."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import DamagedFileError, check_regular_file
from coterie.rows.arrow import ArrowColumns, rows_of_tables, text_options
from coterie.rows.checks import NotATableError, TableError, check_shape, compute_dtype, reading
from coterie.rows.columns import NO_COLUMNS, Columns
from coterie.rows.formats import Format, format_of, known_extensions
from coterie.rows.formats.format import Matrix, Table
from coterie.rows.formats.svmlight import SVMLIGHT
from coterie.rows.formats.tabular import slices
from coterie.rows.landing import LandingArray
from coterie.rows.remote import Remote, copies, is_address, protocol_of
from coterie.rows.roles import ColumnProfile
from coterie.rows.source import DenseRows, MetadataColumns, Rows, SparseRows


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
        Separator of the fields of such a file, a blank for any number of blanks; by default the one with which all
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
        opened = _opened(stack, os.fspath(path), options)
        if isinstance(opened.found[0], Table):
            description = opened.description(opened.found[0].description)
            return rows_of_tables(opened.found, opened.names, description, _columns_of(opened, options))
        for name in ("columns", "exclude", "categories", "decimal", "thousands", "missing_words"):
            if options.get(name) is not None:
                raise NotATableError(f"{name} has no meaning for {opened.names[0]}.", name)
        return _rows_of_arrays(opened)


def columns_of_file(path: str | os.PathLike[str], options: Mapping[str, Any]) -> ArrowColumns | None:
    """Return the choice of the columns of a table, which is not read but for its first rows; None for other files."""
    with ExitStack() as stack:
        opened = _opened(stack, os.fspath(path), options)
        return _columns_of(opened, options)[0] if isinstance(opened.found[0], Table) else None


def open_table(path: str | os.PathLike[str], **options: Any) -> MetadataColumns | None:
    """Return all columns of a table, which are read on demand; None if the file is not a table."""
    stack = ExitStack()  # copies of remote files are kept as long as the columns
    opened = _opened(stack, os.fspath(path), options)
    if not isinstance(opened.found[0], Table):
        stack.close()
        return None
    text = text_options(options)
    for table in opened.found:
        with suppress(TableError):  # cells that are not read as numbers stay as they are written
            ArrowColumns(table, NO_COLUMNS, text=text).find_formats(None)
    names = [table.schema.names for table in opened.found]
    common = [name for name in names[0] if all(name in others for others in names)]

    def batches(positions: list[int], _: ExitStack = stack) -> Iterator[Any]:
        for table, name in zip(opened.found, opened.names):
            # Names may be there more than once in a single file.
            mine = positions if len(names) == 1 else [table.schema.names.index(common[i]) for i in positions]
            with reading(name):
                yield from table.batches((), mine)

    return MetadataColumns(common, batches)


def profile_table(path: str, **options: Any) -> tuple[int, list[ColumnProfile]] | None:
    """Return the number of rows of a table in a file and the profiles of its columns; None if it is not a table."""
    with ExitStack() as stack:
        opened = _opened(stack, os.fspath(path), options)
        if not isinstance(opened.found[0], Table):
            return None
        n_rows = 0
        for table, name in zip(opened.found, opened.names):
            with reading(name):
                batches = table.batches((), [0]) if table.n_rows is None else ()
                n_rows += table.n_rows or sum(batch.num_rows for batch in batches)
        columns = _columns_of(opened, {**options, "columns": NO_COLUMNS})
        with reading(opened.names[0]):
            return n_rows, columns[0].profiles()


def _columns_of(opened: Opened, options: Mapping[str, Any]) -> list[ArrowColumns]:
    """Return the choice of columns of each table: the first one decides."""
    text = text_options(options)
    found: list[ArrowColumns] = []
    for table, name in zip(opened.found, opened.names):
        with reading(name):
            if not isinstance(table, Table):
                raise ValueError("it is no table, and the first file is one.")
            if not found:
                chosen = {one: options.get(one) for one in ("columns", "exclude", "categories")}
            elif found[0].roles is not None or options.get("columns") is not NO_COLUMNS:
                chosen = {
                    "columns": found[0].chosen_keys or NO_COLUMNS,
                    "categories": found[0].encoded_names or None,
                }
            found.append(ArrowColumns(table, **chosen, text=text))
    return found


@dataclass
class Opened:
    """Files of one format that were opened: their names for errors, and what their reader returned for each."""

    names: list[str]
    found: list[Any]
    is_shards: bool

    def description(self, name: str) -> str:
        """Return the description of all files, by that of the first."""
        n_shards = len(self.found)
        return f"{name}, {n_shards} shard{'s' * (n_shards > 1)}" if self.is_shards else name


def _opened(stack: ExitStack, path: str, options: Mapping[str, Any]) -> Opened:
    """Open the files of a path or address; copies of remote files go with the stack."""
    storage_options = options.get("storage_options")
    base, key = _split_key(path)
    if protocol_of(base) in ("file", "local"):
        from urllib.request import url2pathname  # imports all of HTTP

        base = url2pathname(urlsplit(base).path)
    if is_address(base):
        address = Remote(base, storage_options)
        names, is_shards = _remote_files(address)
        known = _common_format(
            list(map(address.shown, names)) if is_shards else [str(address).removesuffix("?...")]
        )
        folder = stack.enter_context(copies())
        paths = []
        for number, name in enumerate(names):
            (folder / str(number)).mkdir()
            of_one = name if is_shards else None
            paths.append(address.copy(folder / str(number), of_one, is_folder=known.is_folder))
        shown = [address.shown(name) for name in names] if is_shards else [str(address)]
    elif storage_options is not None:
        raise ValueError(f"storage_options has no meaning for {base}, which is on this machine.")
    else:
        names, is_shards = _shards(base)
        for name in names:
            check_regular_file(name, may_be_folder=_may_be_folder(name))
        known = _common_format(names)
        paths, shown = list(map(Path, names)), names
    given = {**options, "key": key}
    found = []
    for local, name in zip(paths, shown):
        known.check(given, name)
        with reading(local, name):
            found.append(_known_kind(known.read(local, **{one: given.get(one) for one in known.options})))
    return Opened(shown, found, is_shards)


def _known_kind(found: Any) -> Any:
    """Return what a reader returned: a table, an array, a sparse matrix, or pieces of one, by the first of them."""
    if isinstance(found, (Table, Matrix, np.ndarray)):
        return found
    pieces = iter(found)
    first = next(pieces, None)
    if first is None:
        raise ValueError("it has no rows.")
    if hasattr(first, "schema"):
        batches = list(chain([first], pieces))  # columns are chosen before they are read again

        def select(features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
            return (batch.select([*features, *others]) for batch in batches)

        return Table(first.schema, select, "table")
    is_sparse = sp.issparse(first)
    first = first if is_sparse else np.asarray(first)
    pieces = chain([first], pieces)
    return Matrix(first.shape, first.dtype, pieces, "rows", is_sparse=is_sparse, is_open=True)


# --- arrays and sparse matrices --------------------------------------------------------------------------------------


def _rows_of_arrays(opened: Opened) -> Rows:
    """Return the rows of arrays or sparse matrices of equal columns, one file after the other."""
    first = opened.found[0]
    if len(opened.found) > 1 and format_of(opened.names[0]) is SVMLIGHT:
        raise ValueError(
            f"{opened.names[0]} and others: .svm files do not tell the number of their columns, so that several cannot "
            "be read as one. Join them to one file, such as by cat."
        )
    with reading(opened.names[0]):
        if len(opened.found) == 1 and isinstance(first, np.ndarray):
            rows: Rows = DenseRows(first, opened.description("npy"))
        else:
            rows = _landed(opened, list(map(_as_matrix, opened.found)))
    starts = np.cumsum([0, *(_n_rows(found) for found in opened.found[:-1])])
    rows.files = tuple(zip(map(int, starts), opened.names))
    return rows


def _as_matrix(found: Any) -> Any:
    return Matrix(found.shape, found.dtype, slices(found), "npy") if isinstance(found, np.ndarray) else found


def _landed(opened: Opened, parts: list[Any]) -> Rows:
    first = parts[0]
    for part, name in zip(parts, opened.names):
        with reading(name):
            if isinstance(part, Table):
                raise ValueError("it is a table, and the first file is not.")
            check_shape(part.shape)
            compute_dtype(part.dtype)
            if part.shape[1] != first.shape[1] or part.column_names != first.column_names:
                raise ValueError(f"its columns are not those of {opened.names[0]}.")
            if part.is_sparse != first.is_sparse:
                raise ValueError(
                    f"shards must be all dense or all sparse, and {opened.names[0]} is the other."
                )
    dtype = np.result_type(*(compute_dtype(part.dtype) for part in parts))
    n_rows = sum(part.shape[0] for part in parts)
    landing, held = LandingArray(first.shape[1], dtype, None if first.is_open else n_rows), []
    for part, name in zip(parts, opened.names):
        with reading(name):
            n_read = 0
            for piece in part.pieces:
                piece = piece if sp.issparse(piece) else np.asarray(piece)
                if piece.ndim != 2 or piece.shape[1] != first.shape[1]:
                    raise ValueError(
                        f"it has pieces of shape {piece.shape} instead of {first.shape[1]} columns."
                    )
                n_read += piece.shape[0]
                if first.is_sparse:
                    held.append(piece)
                else:
                    compute_dtype(piece.dtype)
                    landing.add(piece)
            if not part.is_open and n_read != part.shape[0]:
                raise DamagedFileError(
                    f"the file is damaged: it declares {part.shape[0]} rows, and {n_read} are there"
                )
            part.shape = (n_read, first.shape[1])
    options = {
        "column_names": first.column_names,
        "is_table": first.is_table,
        "metadata_columns": first.metadata_columns if len(parts) == 1 else None,
    }
    description = opened.description(first.description)
    if not first.is_sparse:
        return DenseRows(landing.array(), description, **options)
    matrix = held[0] if len(held) == 1 else sp.vstack(held, format="csr", dtype=dtype)
    return SparseRows(matrix, description, **options)


def _n_rows(found: Any) -> int:
    return int(found.shape[0])


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
