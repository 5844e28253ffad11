"""What a set must look like, and whether a file does."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Hexadecimal digits of a SHA-256 that are kept.
DIGITS = 16


@dataclass(frozen=True)
class Facts:
    """What is known of a set."""

    arrays: Mapping[str, tuple[str, tuple[int | None, ...]]]  # types and shapes; None: any length
    content: str = ""  # `content_hash`; empty where nobody can have the same
    rows: str = ""  # `rows_hash`


@dataclass(frozen=True)
class Verdict:
    """What a check found: whether the file can be used, and what is to be said of it."""

    usable: bool
    text: str


def check(path: Path, facts: Facts) -> Verdict:
    """Compare a file with what is known of its set."""
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [key for key in facts.arrays if key not in file.files]
            if missing:
                return Verdict(False, f"has no {', '.join(missing)}")
            arrays = {key: file[key] for key in facts.arrays}
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return Verdict(False, f"cannot be read: {error}")
    for key, (dtype, shape) in facts.arrays.items():
        found = arrays[key]
        fits = len(found.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape))
        if found.dtype.str != np.dtype(dtype).str or not fits:
            return Verdict(False, f"{key} is {found.dtype} {found.shape}, not {np.dtype(dtype)} {shape}")
    return _judge_content(arrays, facts)


def _judge_content(arrays: dict[str, np.ndarray], facts: Facts) -> Verdict:
    if not facts.content:
        return Verdict(True, "shapes and types are right; the content cannot be compared")
    if content_hash(arrays) == facts.content:
        return Verdict(True, "the same content, number by number, as the one that was measured with")
    if facts.rows and rows_hash(arrays) == facts.rows:
        return Verdict(True, "the same rows as those that were measured with, in another order")
    return Verdict(True, "shapes and types are right, but OTHER NUMBERS than those that were measured with")


def content_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of names, types, shapes and numbers."""
    total = hashlib.sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        total.update(f"{key} {array.dtype.str} {array.shape} ".encode())
        total.update(array.data if array.size else b"")
    return total.hexdigest()[:DIGITS]


def rows_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of the rows, the labels belonging to them, that does not depend on their order."""
    digests = sorted(hashlib.sha256(row).digest() for row in _rows(arrays))
    return hashlib.sha256(b"".join(digests)).hexdigest()[:DIGITS]


def _rows(arrays: Mapping[str, np.ndarray]) -> list[bytes]:
    of_csr = ("data", "indices", "indptr", "shape")
    dense = [np.ascontiguousarray(arrays[key]) for key in sorted(arrays) if key not in of_csr]
    parts = [[row.tobytes() for row in array] for array in dense]
    if "indptr" in arrays:
        parts.append(_sparse_rows(arrays))
    return [b"".join(row) for row in zip(*parts)]


def _sparse_rows(arrays: Mapping[str, np.ndarray]) -> list[bytes]:
    bounds = list(zip(arrays["indptr"][:-1].tolist(), arrays["indptr"][1:].tolist()))
    columns, values = arrays["indices"], arrays["data"]
    return [columns[low:high].tobytes() + values[low:high].tobytes() for low, high in bounds]
