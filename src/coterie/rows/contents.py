"""`hint_at_contents`: what a file that could not be read is by its first bytes, for a message."""

from __future__ import annotations

from pathlib import Path

__all__ = ["hint_at_contents"]

# What files begin with, what they then are, and what their names should end in.
_SIGNATURES = (
    (b"PAR1", "a Parquet file", (".parquet",)),
    (b"ARROW1", "an Arrow file", (".arrow", ".feather")),
    (b"\x93NUMPY", "an array of NumPy", (".npy",)),
    (b"\x89HDF", "an HDF5 file", (".h5", ".hdf5", ".h5ad")),
    (b"PK\x03\x04", "a zip archive", (".npz",)),
    (b"\x1f\x8b", "compressed by gzip", (".gz",)),
    (b"BZh", "compressed by bzip2", ()),
    (b"\xfd7zXZ", "compressed by xz", ()),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", (".zst",)),
    (b"\x80\x04\x95", "a pickle, which is not read because it runs code", ()),
    (b"SQLite format 3", "an SQLite database", ()),
)
_TEXTS = (".csv", ".tsv")
_LOOKED_AT = 4096


def hint_at_contents(path: Path) -> str:
    """Return a sentence that says what to do with a file that could not be read; empty where nothing is known."""
    try:
        with open(path, "rb") as file:
            begin = file.read(_LOOKED_AT)
    except OSError:
        return ""
    ending = path.suffix.lower()
    # Of a format from elsewhere nobody knows how its files begin.
    if ending not in _TEXTS and not any(ending in endings for _, _, endings in _SIGNATURES):
        return ""
    for signature, kind, endings in _SIGNATURES:
        if begin.startswith(signature):
            if ending in endings:
                return "The file is damaged or was cut short: copy or write it again."
            way = f"give it a name that ends in {endings[0]}" if endings else "unpack or convert it first"
            return f"It is {kind}: {way}."
    if ending in _TEXTS or not begin:
        return "" if begin else "The file is empty: write it again."
    if _is_text(begin):
        return "It is a text file: a table of numbers needs a name that ends in .csv."
    return "The file is damaged, or of another kind than its name says."


def _is_text(begin: bytes) -> bool:
    try:
        text = begin[: begin.rfind(b"\n") + 1 or None].decode()
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\t\r\n" for character in text)
