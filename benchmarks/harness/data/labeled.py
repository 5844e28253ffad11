"""Rows whose classes are known, in several scalings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness.data.files import arrays_of, real_file

LABELED = ("mnist", "shuttle", "optdigits", "pendigits", "digits")


def has_labeled(name: str) -> bool:
    """Tell whether a data set of `LABELED` is here."""
    return name == "digits" or real_file(f"{name}.npz") is not None


def labeled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (float32) and the classes of a data set of `LABELED`; digits are scikit-learn's."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y
    return arrays_of(f"{name}.npz")


def _divided(rows: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows / np.where(divisors == 0, 1, divisors), dtype=np.float32)


SCALINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as they are": np.ascontiguousarray,
    "rows of length 1": lambda X: _divided(X, np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)),
    "standardized columns": lambda X: _divided(
        X - X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    ),
    "columns in 0..1": lambda X: _divided(X - X.min(axis=0), np.ptp(X, axis=0)),
}


def save_labeled(name: str, scaling: str, n_rows: int | None, folder: Path) -> Path:
    """Write the first rows of a data set of `LABELED` in a scaling of `SCALINGS` as .npz, with X and y."""
    path = folder / f"{name}-{scaling.replace(' ', '-')}.npz"
    if not path.exists():
        X, y = labeled(name)
        np.savez(path, X=SCALINGS[scaling](X[:n_rows]), y=y[:n_rows])
    return path
