"""`open_rows`: a file, a directory of shards or a glob of them as a `RowSource`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie.rows.checks import reading
from coterie.rows.formats import csv as table_files
from coterie.rows.formats import npz as array_files
from coterie.rows.source import RowSource, ShardedSource

__all__ = ["open_rows"]

_FORMATS = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".zarr": "zarr",
    ".h5": "h5",
    ".hdf5": "h5",
    ".svm": "svm",
    ".libsvm": "svm",
}
_TABLES = {"csv", "tsv", "parquet", "arrow"}
_CONTAINERS = {"npz", "h5", "zarr"}


@dataclass(frozen=True, slots=True)
class _Options:
    key: str | None
    columns: Sequence[str | int] | None
    header: bool | None
    n_columns: int | None


def open_rows(
    path: str | os.PathLike[str],
    columns: Sequence[str | int] | None = None,
    *,
    header: bool | None = None,
    n_columns: int | None = None,
) -> RowSource:
    """Open a file of rows, larger than memory or not.

    Parameters
    ----------
    path : str or path-like
        A file (.npy, .npz, .csv, .tsv, .parquet, .feather, .arrow, .zarr, .h5, .hdf5, .svm, .libsvm), a
        directory of such files, or a glob. ``file.h5::dataset`` chooses an array of a .npz, .h5 or .zarr
        file that has several. Shards are of one format and have the same columns; their rows follow each
        other in the natural order of the file names (``part-2`` before ``part-10``). Files of other
        formats in a directory are ignored, and so are those whose names begin with ``.`` or ``_``.
    columns : sequence of str or int, optional
        Columns of a table to read, by name or position, in this order; all by default.
    header : bool, optional
        Whether the first line of a .csv or .tsv file names its columns; by default it does where it is
        text above numbers.
    n_columns : int, optional
        Number of columns of .svm files, which do not state it; by default their largest index.

    Returns
    -------
    RowSource
        The rows. Files are read in blocks; only .svm and sparse .npz files are held in memory.

    Raises
    ------
    FileNotFoundError
        Where nothing has this path.
    ImportError
        Where the format needs an extra that is not installed.
    ValueError
        Where the format is unknown, the file is damaged or not a table of numbers, or shards differ. Damage
        behind a file's beginning is found when it is read.

    Examples
    --------
    >>> import coterie
    >>> rows = coterie.open_rows("vectors.parquet", columns=["x", "y"])  # doctest: +SKIP
    >>> labels = coterie.KMeans(n_clusters=8).fit_predict(rows)  # doctest: +SKIP
    """
    base, key = _split_key(os.fspath(path))
    options = _Options(key, columns, header, n_columns)
    paths, is_shards = _shards(base)
    kind = _common_format(paths)
    _check_options(kind, options, paths[0])
    parts = _open_all(kind, paths, options)
    if not is_shards:
        return parts[0]
    count = f"{len(parts)} shard{'s' * (len(parts) > 1)}"
    return ShardedSource(parts, [str(path) for path in paths], f"{parts[0].description}, {count}")


def _split_key(path: str) -> tuple[str, str | None]:
    """Split ``file::dataset``; a path that exists as it stands has no dataset."""
    base, separator, key = path.rpartition("::")
    if not separator or os.path.exists(path):
        return path, None
    return base, key or None


def _shards(path: str) -> tuple[list[Path], bool]:
    """Return the files that `path` stands for in natural order, and whether it stands for several."""
    if os.path.isdir(path) and _format(path) != "zarr":
        found = [os.path.join(path, name) for name in os.listdir(path) if name[0] not in "._"]
        found = [name for name in found if _format(name)]
        if not found:
            raise ValueError(f"{path} has no files of rows. Known extensions are {_extensions()}.")
    elif os.path.exists(path):
        return [Path(path)], False
    elif glob.has_magic(path):
        found = glob.glob(path, recursive=True)
        if not found:
            raise FileNotFoundError(f"No file matches {path}")
    else:
        raise FileNotFoundError(f"There is no file {path}")
    return [Path(name) for name in sorted(found, key=_natural)], True


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort numbers inside names by value."""
    return [(int(digits or 0), text) for digits, text in re.findall(r"(\d+)|(\D+)", name)]


def _format(path: str | Path) -> str | None:
    return _FORMATS.get(os.path.splitext(path)[1].lower())


def _extensions() -> str:
    return ", ".join(_FORMATS)


def _common_format(paths: list[Path]) -> str:
    kinds: dict[str, Path] = {}
    for path in paths:
        kind = _format(path)
        if kind is None:
            raise ValueError(f"Cannot tell the format of {path}. Known extensions are {_extensions()}.")
        kinds.setdefault(kind, path)
    if len(kinds) > 1:
        raise ValueError(f"Shards must be of one format, found {', '.join(map(str, kinds.values()))}.")
    return next(iter(kinds))


def _check_options(kind: str, options: _Options, path: Path) -> None:
    misplaced = {
        f"::{options.key}": options.key is not None and kind not in _CONTAINERS,
        "columns": options.columns is not None and kind not in _TABLES,
        "header": options.header is not None and kind not in ("csv", "tsv"),
        "n_columns": options.n_columns is not None and kind != "svm",
    }
    for option, is_misplaced in misplaced.items():
        if is_misplaced:
            raise ValueError(f"{option} has no meaning for {path}.")
    if options.columns is not None and (isinstance(options.columns, str) or not len(options.columns)):
        raise ValueError(f"columns must be a list of names or positions, got {options.columns!r}.")


def _open_all(kind: str, paths: list[Path], options: _Options) -> list[RowSource]:
    if kind == "svm":
        return array_files.open_svmlight(paths, options.n_columns)
    return [_open(kind, path, options) for path in paths]


def _open(kind: str, path: Path, options: _Options) -> RowSource:
    with reading(path):
        match kind:
            case "npy":
                return array_files.open_npy(path)
            case "npz":
                return array_files.open_npz(path, options.key)
            case "h5":
                return array_files.open_h5(path, options.key)
            case "zarr":
                return array_files.open_zarr(path, options.key)
            case "parquet":
                return table_files.ParquetSource(path, options.columns)
            case "arrow":
                return table_files.ArrowFileSource(path, options.columns)
            case _:
                return table_files.CsvSource(path, options.columns, options.header)
