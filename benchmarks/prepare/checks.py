"""Compare a file with what is known of its set."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Facts:
    """What is known of a set."""

    arrays: Mapping[str, tuple[str, tuple[int | None, ...]]]  # types and shapes; None: any length
    content: str = ""  # `content_hash`; empty where nobody can have the same
    rows: str = ""  # `rows_hash`


def check(path: Path, facts: Facts) -> str:
    """Return what is to be said of a file; a ValueError says why it cannot be used."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in facts.arrays if key in file.files}
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"cannot be read: {error}") from error
    if missing := facts.arrays.keys() - arrays:
        raise ValueError(f"has no {', '.join(sorted(missing))}")
    for key, (dtype, shape) in facts.arrays.items():
        found = arrays[key]
        fits = len(found.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape))
        if found.dtype.str != np.dtype(dtype).str or not fits:
            raise ValueError(f"{key} is {found.dtype} {found.shape}, not {np.dtype(dtype)} {shape}")
    if not facts.content:
        return "shapes and types are right; the content cannot be compared"
    if content_hash(arrays) == facts.content:
        return "the same content, number by number, as the one that was measured with"
    if facts.rows and rows_hash(arrays) == facts.rows:
        return "the same rows as those that were measured with, in another order"
    return "shapes and types are right, but OTHER NUMBERS than those that were measured with"


def _short(total: hashlib._Hash) -> str:
    return total.hexdigest()[:16]


def content_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of names, types, shapes and numbers."""
    total = hashlib.sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        total.update(f"{key} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return _short(total)


def rows_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of the rows with their labels that does not depend on their order."""
    of_csr = ("data", "indices", "indptr", "shape")
    parts = [[row.tobytes() for row in arrays[key]] for key in sorted(arrays) if key not in of_csr]
    if "indptr" in arrays:
        bounds = zip(arrays["indptr"][:-1], arrays["indptr"][1:])
        columns, values = arrays["indices"], arrays["data"]
        parts.append([columns[low:high].tobytes() + values[low:high].tobytes() for low, high in bounds])
    digests = sorted(hashlib.sha256(b"".join(row)).digest() for row in zip(*parts))
    return _short(hashlib.sha256(b"".join(digests)))
