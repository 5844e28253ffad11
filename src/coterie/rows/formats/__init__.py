"""File formats: a module for each, and the registry of all.

Each module declares a `Format`. `tabular` has functions that several readers share.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path

from coterie.rows.formats.arrow import ARROW
from coterie.rows.formats.csv import CSV, TSV
from coterie.rows.formats.format import COMPRESSIONS, Format, plain_suffix
from coterie.rows.formats.hdf5 import H5AD, HDF5
from coterie.rows.formats.jsonl import JSONL
from coterie.rows.formats.npy import NPY
from coterie.rows.formats.npz import NPZ
from coterie.rows.formats.parquet import PARQUET
from coterie.rows.formats.svmlight import SVMLIGHT
from coterie.rows.formats.zarr import ZARR

__all__ = ["Format", "format_of", "formats", "known_extensions", "register_format"]

_ENTRY_POINTS = "coterie.formats"

_by_extension: dict[str, Format] = {}


def register_format(format: Format) -> None:
    """Register a file format for `open_rows`, the command line and all other functions that open files.

    Installed packages need no call: their formats are found by entry points in the group
    "coterie.formats", such as ``toy = "toy_rows:TOY"`` under ``[project.entry-points."coterie.formats"]``, when an
    unknown extension occurs.

    Parameters
    ----------
    format : Format
        The format. Registering the same one again has no effect.

    Raises
    ------
    TypeError
        If it is not a `Format`.
    ValueError
        If another format has one of its extensions.

    Examples
    --------
    >>> from coterie.rows import Format, register_format
    >>> register_format(Format("toy", (".toy",), open=ToySource))  # doctest: +SKIP
    """
    if not isinstance(format, Format):
        raise TypeError(f"A format must be a coterie.rows.Format, got {format!r}.")
    for extension in format.extensions:
        other = _by_extension.get(extension, format)
        if other != format:
            raise ValueError(f"The extension {extension} of {format.name} belongs to {other.name}.")
    _by_extension.update(dict.fromkeys(format.extensions, format))


def formats() -> list[Format]:
    """Return all formats, including those of installed packages."""
    _load_entry_points()
    return list(dict.fromkeys(_by_extension.values()))


def format_of(path: str | Path) -> Format | None:
    """Return the format of the extension of a path, None if it is unknown."""
    extension = plain_suffix(str(path))
    if extension and extension not in _by_extension:
        _load_entry_points()
    found = _by_extension.get(extension)
    is_compressed = Path(path).suffix.lower() in COMPRESSIONS
    return None if found is not None and is_compressed and not found.compressed else found


def known_extensions() -> str:
    """Describe the known extensions, and formats of other packages that failed to load."""
    failures = _load_entry_points()
    compressed = [extension for extension, format in _by_extension.items() if format.compressed]
    endings = f"{', '.join(compressed)} may be followed by {' or '.join(COMPRESSIONS)}."
    return " ".join([f"Known extensions are {', '.join(_by_extension)}; {endings}", *failures])


@cache
def _load_entry_points() -> list[str]:
    """Register the formats of installed packages, once; return a sentence for each failure.

    A broken package must not affect other formats, so failures are reported only with an unknown extension.
    """
    failures = []
    for entry in metadata.entry_points(group=_ENTRY_POINTS):
        try:
            register_format(entry.load())
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            package = entry.dist.name if entry.dist else entry.module
            failures.append(f"The format {entry.name} of {package} did not load: {reason}")
    return failures


# Error messages list extensions in this order.
for _known in (NPY, NPZ, CSV, TSV, JSONL, PARQUET, ARROW, ZARR, HDF5, H5AD, SVMLIGHT):
    register_format(_known)
