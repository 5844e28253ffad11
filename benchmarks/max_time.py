"""Measure how long fits take with `max_time=2` on rows that would take far longer.

    python -m benchmarks.max_time [NAME ...] [--rows 300000] [--max-time 2]

Rows are noise (float32, 64 columns), the hardest there are for graphs. Each model must have labels for all rows,
and predict where its method can.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import coterie

__all__ = ["MODELS", "main"]

# How much later than asked for a fit may end.
_WANTED = 1.25

MODELS: dict[str, Any] = {
    "KMeans(1500)": coterie.KMeans(1500),
    "NestedMiniBatchKMeans(1500)": coterie.NestedMiniBatchKMeans(1500),
    "MiniBatchKMeans(1500)": coterie.MiniBatchKMeans(1500),
    "BisectingKMeans(1500)": coterie.BisectingKMeans(1500),
    "TruncatedGaussianMixture(1500)": coterie.TruncatedGaussianMixture(1500),
    "TruncatedGaussianMixture(50)": coterie.TruncatedGaussianMixture(50),
    'TruncatedGaussianMixture(1500, "factors")': coterie.TruncatedGaussianMixture(
        1500, covariance_type="factors"
    ),
    'TruncatedGaussianMixture(50, "factors")': coterie.TruncatedGaussianMixture(
        50, covariance_type="factors"
    ),
    "LaplacianKModes(50)": coterie.LaplacianKModes(50),
    'LaplacianKModes(50, mode_update="mean_shift")': coterie.LaplacianKModes(50, mode_update="mean_shift"),
    'LaplacianKModes(50, mode_update="densest")': coterie.LaplacianKModes(50, mode_update="densest"),
    "TotalVariationClustering(50)": coterie.TotalVariationClustering(50),
    "ConvexClusterPath()": coterie.ConvexClusterPath(),
    "ConvexClustering(1.0)": coterie.ConvexClustering(1.0),
}


def measure(estimator: Any, X: np.ndarray, max_time: float) -> tuple[float, str]:
    """Return the seconds of a fit, and what it says that it did less."""
    model = clone(estimator).set_params(max_time=max_time, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        begin = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - begin
    labels = model.labels_path_[-1] if hasattr(model, "labels_path_") else model.labels_
    if labels.shape != (len(X),) or (hasattr(model, "predict") and model.predict(X[:1000]).shape != (1000,)):
        raise RuntimeError(f"{model} is no whole model")
    lines = [str(warning.message) for warning in told if issubclass(warning.category, ConvergenceWarning)]
    return seconds, " | ".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.max_time", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of models; by default all")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--max-time", type=float, default=2.0)
    asked = parser.parse_args(arguments)
    X = np.random.default_rng(0).normal(size=(asked.rows, 64)).astype(np.float32)
    print(f"{asked.rows:,} x 64, max_time={asked.max_time:g}; wanted <= {_WANTED * asked.max_time:g} s")
    for name, estimator in MODELS.items():
        if asked.names and not any(part in name for part in asked.names):
            continue
        seconds, told = measure(estimator, X, asked.max_time)
        print(f"{name:45} {seconds:5.2f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
