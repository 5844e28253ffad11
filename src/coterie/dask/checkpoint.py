"""Checkpoints: the results of the passes of a fit, in a file, so that the same fit resumes where it was stopped.

What a fit does depends on the results of its passes alone. So a fit that is made again reads them from its checkpoint,
pass by pass, instead of asking the workers, and continues with these where the file ends: with the bits of a fit that
was never stopped. The file holds numbers and arrays; nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.dask.pool import pickled

_MAGIC = b"coterie checkpoint 1\n"

# Larger results are not stored; their passes are repeated.
_MOST_BYTES = 8 << 20

# Parameters that only change where a fit stops.
_FREE = ("n_threads", "verbose", "callback", "max_time", "max_iter", "copy_x")


def key_of_fit(estimator: Any, rows: Any) -> bytes:
    """Return 32 bytes that identify an estimator, its parameters and its rows; a ValueError without a seed."""
    parameters = estimator.get_params(deep=False)
    if parameters.get("random_state", 0) is None:
        raise ValueError("A fit with a checkpoint needs a random_state: else it cannot be made again.")
    fixed = {name: value for name, value in sorted(parameters.items()) if name not in _FREE}
    return _digest([type(estimator).__qualname__, fixed, rows])


def key_of_pass(name: str, payload: Any, given: Any) -> bytes:
    """Return 32 bytes that identify a pass: a hash of the data sent to the workers."""
    return _digest([name, payload, given])


def _digest(value: Any) -> bytes:
    found = hashlib.blake2b(digest_size=32)
    for part in pickled(value):
        found.update(part)
    return found.digest()


class Checkpoint:
    """The passes of the fit that `key` identifies, in a file; a ValueError if it is of another fit, or no checkpoint.

    `is_known` tells whether the last pass that `next` was asked for is in the file.
    """

    is_known = False

    def __init__(self, path: str | os.PathLike[str], key: bytes) -> None:
        self._file = open(path, "a+b")  # noqa: SIM115
        self._file.seek(0)
        head = self._file.read(len(_MAGIC) + len(key))
        if not head:
            self._file.write(_MAGIC + key)
            self._file.flush()
        elif head != _MAGIC + key:
            self._file.close()
            what = "another fit (other rows, weights, parameters or another estimator)"
            what = what if head.startswith(_MAGIC) else "something else"
            raise ValueError(
                f"The checkpoint {os.fspath(path)} belongs to {what}: give another path or delete it."
            )
        self._is_at_end = False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def next(self, key: bytes) -> tuple[Any, dict[str, Any]] | None:
        """Return results and totals of the next pass; None if it must be made.

        That is where the file ends, does not keep the results (`is_known`), or has another pass, which ends it.
        """
        self.is_known = False
        if self._is_at_end:
            return None
        begin, size = self._file.tell(), 24 + len(key)
        head = self._file.read(size)
        body = self._file.read(int.from_bytes(head[:8], "little"))
        # An entry that was cut off by a kill has another digest.
        self.is_known = len(head) == size and head[24:] == key and head[8:24] == _short(body)
        if not self.is_known:
            self._file.truncate(begin)
            self._is_at_end = True
            return None
        found: tuple[Any, dict[str, Any]] | None = _decoded(body)
        return found

    def append(self, key: bytes, results: Any, totals: dict[str, Any]) -> None:
        """Append a pass; only its key if its results are large or not numbers and arrays."""
        try:
            body = _encoded((results, totals), most=_MOST_BYTES + sum(map(_nbytes, totals.values())))
        except TypeError:
            body = _encoded(None)
        self._file.write(len(body).to_bytes(8, "little") + _short(body) + key + body)
        self._file.flush()


def _short(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _nbytes(arrays: tuple[Array, ...]) -> int:
    return sum(array.nbytes for array in arrays)


def _encoded(value: Any, most: float = np.inf) -> bytes:
    """Return nested lists, tuples and dictionaries of numbers, texts and arrays as bytes; a TypeError for others."""
    arrays: list[Array] = []
    head = json.dumps(_tree(value, arrays)).encode()
    if sum(array.nbytes for array in arrays) > most:
        raise TypeError
    out = io.BytesIO()
    out.write(len(head).to_bytes(8, "little") + head)
    for array in arrays:
        np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def _tree(value: Any, arrays: list[Array]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1, "is_scalar": isinstance(value, np.generic)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_tree(item, arrays) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _tree(item, arrays) for key, item in value.items()}}
    raise TypeError


def _decoded(body: bytes) -> Any:
    source = io.BytesIO(body)
    head = json.loads(source.read(int.from_bytes(source.read(8), "little")))
    arrays: list[Array] = []
    while source.tell() < len(body):
        arrays.append(np.lib.format.read_array(source, allow_pickle=False))
    return _untree(head, arrays)


def _untree(tree: Any, arrays: list[Array]) -> Any:
    if type(tree) is not dict:
        return tree
    if "array" in tree:
        array = arrays[tree["array"]]
        return array[()] if tree["is_scalar"] else array
    ((kind, items),) = tree.items()
    if kind == "dict":
        return {key: _untree(item, arrays) for key, item in items.items()}
    found = [_untree(item, arrays) for item in items]
    return tuple(found) if kind == "tuple" else found
