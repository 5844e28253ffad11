"""Any result as bytes, and their hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

HASH_DIGITS = 16


def fingerprint(result: Any) -> str:
    """Return a short hash of all bits of a result."""
    return hashlib.sha256(b"|".join(content(result))).hexdigest()[:HASH_DIGITS]


def content(value: Any) -> Iterator[bytes]:
    """Yield the bits of numbers, arrays, sparse matrices, fitted models, and any collection of these."""
    if isinstance(value, BaseEstimator):
        yield from content(_fitted_attributes(value))
    elif is_dataclass(value):
        yield from content(vars(value))
    elif sp.issparse(value):
        yield from content({type(value).__name__: (value.shape, value.data, value.indices, value.indptr)})
    elif isinstance(value, dict):
        for name, part in value.items():
            yield str(name).encode()
            yield from content(part)
    elif isinstance(value, list | tuple):
        yield f"{len(value)} parts".encode()
        for part in value:
            yield from content(part)
    else:
        yield from array_content(np.asarray(value))


def array_content(array: npt.NDArray[Any]) -> Iterator[bytes]:
    """Yield type, shape and bits of an array; of a record array those of all fields that no clock decides."""
    if array.dtype.names:
        fields = [name for name in array.dtype.names if name not in ("seconds", "algorithm")]
        yield from content({name: array[name] for name in fields})
    elif array.dtype.kind == "O":
        yield repr(array.tolist()).encode()
    else:
        yield f"{array.dtype.str} {array.shape}".encode()
        yield array.tobytes()


def _fitted_attributes(model: BaseEstimator) -> dict[str, Any]:
    """Return the public fitted attributes of a model."""
    names = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    # The kept run is in `history_`; older versions know nothing of the others.
    names.discard("runs_")
    if hasattr(model, "cluster_centers_"):
        names.add("cluster_centers_")
    return {name: getattr(model, name) for name in sorted(names)}
