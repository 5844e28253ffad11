"""Hashes of what goes into a fit and what comes out, by which two runs are compared to the bit."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array
from coterie.cli.models import settings_of
from coterie.cli.output import to_json
from coterie.rows import RowSource

__all__ = ["hash_of_array", "hash_of_parameters", "hash_of_rows"]


def hash_of_rows(rows: RowSource) -> str:
    """Return the SHA-256 of the numbers of all rows, block by block; how they are stored makes no difference."""
    digest = hashlib.sha256(f"{rows.shape} {rows.dtype.name}".encode())
    for _, block in rows.blocks():
        parts = [block] if not sp.issparse(block) else [np.diff(block.indptr), block.indices, block.data]
        for part in parts:
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def hash_of_parameters(model: Any) -> str:
    """Return the SHA-256 of the parameters of an estimator; the number of threads changes no result."""
    settings = {name: _told(value) for name, value in settings_of(model).items() if name != "n_threads"}
    return hashlib.sha256(to_json(dict(sorted(settings.items()))).encode()).hexdigest()


def _told(value: Any) -> Any:
    """Return a parameter as JSON can tell it; a model to begin with by what it begins with."""
    return getattr(value, "cluster_centers_", value)


def hash_of_array(array: Array) -> str:
    """Return the SHA-256 of an array: its type, its shape, its numbers."""
    header = f"{array.dtype.str} {array.shape}".encode()
    return hashlib.sha256(header + np.ascontiguousarray(array).tobytes()).hexdigest()
