"""`open_rows`: a local or remote file, a directory of shards or a glob of them, as a `RowSource`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from coterie.limits.files import check_regular_file
from coterie.rows.columns import Columns
from coterie.rows.formats import Format, format_of, formats, known_extensions
from coterie.rows.remote import RemoteFile, is_address, protocol_of
from coterie.rows.source import RowSource, ShardedSource


def open_rows(
    path: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    exclude: Columns | None = None,
    header: bool | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    n_columns: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> RowSource:
    """Open a file of rows of any size, local or remote.

    Parameters
    ----------
    path : str or path-like
        A file (.npy, .npz, .csv, .tsv, .jsonl, .ndjson, .parquet, .feather, .arrow, .zarr, .h5, .hdf5, .h5ad, .svm,
        .libsvm; text files also with .gz or .zst appended), a directory of such files, or a glob. ``file.h5::dataset``
        chooses an array of a .npz, .h5, .h5ad or .zarr file that has several. Shards are of one format and have the
        same columns; their rows follow each other in the natural order of the file names (``part-2`` before
        ``part-10``). Files of other formats in a directory are ignored, and so are those whose names begin with ``.``
        or ``_``. Other formats are added by `coterie.rows.register_format`.

        Or an address that `fsspec` supports (``s3://bucket/vectors.parquet``, ``gs://``, ``az://``, ``hf://``,
        ``https://``), of a file or folder or with a pattern, as a str. Of remote .parquet, .feather, .arrow, .npy and
        .zarr files only the necessary bytes are fetched, in each pass. Broken connections are retried; a file that
        changes between or during passes is an error.
    columns : list of str or int, optional
        Columns of a table to cluster, in this order. Each is a name; a position from 0; a range, by names with
        both ends (``"e0:e255"``) or by positions without the end, as in Python (``"2:258"``); or a pattern of
        names (``"e*"``). Columns hold numbers, or vectors: lists of numbers, all of the same length. By default
        a table with one column of vectors is clustered by that column (with a warning if it also has numbers), any
        other by all columns, which must be numbers.
    exclude : list of str or int, optional
        Columns of a table to leave out, written in the same ways.
    header : bool, optional
        Whether the first line of a .csv or .tsv file names its columns; by default it does if it is text above numbers.
    sep : str, optional
        Separator of the fields of a .csv or .tsv file; by default tab, ``;``, ``|`` or ``,``, by the first lines, and
        tab for .tsv.
    decimal : {".", ","}, optional
        The decimal sign of such a file; by default a comma if all decimal numbers of its first lines have one.
    n_columns : int, optional
        Number of columns of .svm files, which do not contain it; by default their largest index.
    storage_options : dict, optional
        For an address: options of its file system, such as ``{"key": ..., "secret": ..., "endpoint_url": ...}`` of
        `s3fs`. Other options come from the environment and the configuration of fsspec. They are pickled with the rows,
        and never shown in an error.

    Returns
    -------
    RowSource
        The rows. Files are read in blocks; only .svm and sparse .npz files are held in memory. Its
        `metadata_columns` reads the columns of a table that are not clustered.

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
        Damage after the beginning of a file, vectors of other lengths and files that have changed since are found when
        rows are read.

    Examples
    --------
    >>> import coterie
    >>> rows = coterie.open_rows("vectors.parquet", columns=["embedding"])  # doctest: +SKIP
    >>> labels = coterie.KMeans(n_clusters=8).fit_predict(rows)  # doctest: +SKIP
    """
    base, key = _split_key(os.fspath(path))
    paths, is_shards = _places(base, storage_options)
    for found in paths:
        if isinstance(found, Path):
            check_regular_file(found, may_be_folder=_may_be_folder(found.name))
    table = {"columns": columns, "exclude": exclude, "n_columns": n_columns}
    options = {"key": key, "header": header, "sep": sep, "decimal": decimal, **table}
    parts = _common_format(paths).open_all(paths, options)
    rows = parts[0]
    if is_shards:
        count = f"{len(parts)} shard{'s' * (len(parts) > 1)}"
        rows = ShardedSource(parts, [str(path) for path in paths], f"{parts[0].description}, {count}")
    if columns is not None or exclude is not None:
        rows.preparation = (*rows.preparation, ("columns", list(rows.chosen or [])))
    return rows


def _split_key(path: str) -> tuple[str, str | None]:
    """Split ``file::dataset``; an existing path has no dataset."""
    base, separator, key = path.rpartition("::")
    # The two colons may also be those of an IPv6 address, or of addresses that are chained.
    if not separator or "]" in key or "://" in key or os.path.exists(path):
        return path, None
    return base, key or None


def _places(path: str, storage_options: Mapping[str, Any] | None) -> tuple[list[Path | RemoteFile], bool]:
    """Return the files of a path or address in natural order, and whether it names several."""
    if protocol_of(path) in ("file", "local"):
        from urllib.request import url2pathname  # imports all of HTTP

        path = url2pathname(urlsplit(path).path)
    found: Sequence[Path | RemoteFile]
    if is_address(path):
        found, is_shards = _remote_shards(RemoteFile(path, storage_options))
    elif storage_options is not None:
        raise ValueError(f"storage_options has no meaning for {path}, which is on this machine.")
    else:
        found, is_shards = _shards(path)
    # Numbers inside names are sorted by value.
    parts = {place: re.findall(r"(\d+)|(\D+)", str(place)) for place in found}
    return sorted(
        found, key=lambda place: [(int(digits or 0), text) for digits, text in parts[place]]
    ), is_shards


def _remote_shards(address: RemoteFile) -> tuple[list[RemoteFile], bool]:
    if _may_be_folder(address.name):
        return [address], False
    if address.is_pattern:
        found = address.files()
        if not found:  # unless it is the name of a file
            with suppress(FileNotFoundError):
                if address.info()["type"] == "file":
                    return [address], False
            raise FileNotFoundError(f"No file matches {address}")
        return found, True
    if address.info()["type"] != "directory":
        return [address], False
    found = [file for file in address.files() if file.name[:1] not in "._" and format_of(file.name)]
    if not found:
        raise ValueError(f"{address} has no files of rows. {known_extensions()}")
    return found, True


def _shards(path: str) -> tuple[list[Path], bool]:
    if os.path.isdir(path) and not _may_be_folder(path):
        found = [os.path.join(path, name) for name in os.listdir(path) if name[0] not in "._"]
        found = [name for name in found if format_of(name)]
        if not found:
            raise ValueError(f"{path} has no files of rows. {known_extensions()}")
    elif os.path.exists(path):
        return [Path(path)], False
    elif glob.has_magic(path):
        found = glob.glob(path, recursive=True)
        if not found:
            raise FileNotFoundError(f"No file matches {path}")
    else:
        was_address = re.match(r"[a-z0-9]{2,}:/[^/]", path)
        hint = ". An address must be a str, since a Path drops one of its slashes" if was_address else ""
        raise FileNotFoundError(f"There is no file {path or repr(path)}{hint}")
    return [Path(name) for name in found], True


def _may_be_folder(path: str) -> bool:
    known = format_of(path)
    return known is not None and known.is_folder


def _common_format(paths: Sequence[Path | RemoteFile]) -> Format:
    found: dict[Format, Path | RemoteFile] = {}
    for path in paths:
        known = format_of(path.name)
        if known is None:
            raise ValueError(f"Cannot tell the format of {path}. {known_extensions()}")
        found.setdefault(known, path)
    if len(found) > 1:
        raise ValueError(f"Shards must be of one format, found {', '.join(map(str, found.values()))}.")
    known, path = next(iter(found.items()))
    if isinstance(path, RemoteFile) and not known.elsewhere:
        able = ", ".join(
            extension for format in formats() if format.elsewhere for extension in format.extensions
        )
        raise ValueError(
            f"Cannot read {path}: {path.suffix} files cannot be read in ranges. Copy it to this machine first; "
            f"formats that can be read remotely: {able}."
        )
    return known
