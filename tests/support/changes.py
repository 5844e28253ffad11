"""Changes of rows with a known effect on a clustering."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Change:
    """Rows that are measured, placed or written in another way."""

    apply: Callable[[np.ndarray], np.ndarray]
    # Which of the other rows each of the first rows is, of their number.
    back: Callable[[int], np.ndarray] = field(default=np.arange)
    length: float = 1.0  # by what lengths are multiplied
    times: int = 1  # how often each row is there


def _order(number: int) -> np.ndarray:
    return np.random.default_rng(7).permutation(number)


def _rotation(number: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(8).normal(size=(number, number)))[0]


CHANGES: Mapping[str, Change] = {
    "a millionth": Change(lambda X: X * 1e-6, length=1e-6),
    "a million times": Change(lambda X: X * 1e6, length=1e6),
    "elsewhere": Change(lambda X: X + 1e4),
    "rotated": Change(lambda X: X @ _rotation(X.shape[1])),
    "other order of rows": Change(lambda X: X[_order(len(X))], back=lambda n: np.argsort(_order(n))),
    "other order of columns": Change(lambda X: X[:, _order(X.shape[1])]),
    "each row twice": Change(lambda X: np.repeat(X, 2, axis=0), back=lambda n: 2 * np.arange(n), times=2),
}


def same_partition(found: Any, expected: Any) -> None:
    """Assert that labels are equal up to their names."""
    pairs = np.unique(np.column_stack([found, expected]), axis=0)
    assert len(pairs) == len(np.unique(found)) == len(np.unique(expected))
