"""Measure how long fits take with `max_time=2` on rows that would take far longer.

    python -m benchmarks.max_time [--rows 300000] [--max-time 2]

Rows are normal (float32, 64 columns). Each model must have labels for all rows, and predict where its method can.
"""

import argparse
import time
import warnings

import numpy as np

import coterie

MODELS = (
    coterie.KMeans(1500), coterie.NestedMiniBatchKMeans(1500), coterie.MiniBatchKMeans(1500),
    coterie.BisectingKMeans(1500), coterie.TruncatedGaussianMixture(1500),
    coterie.TruncatedGaussianMixture(50, covariance_type="factors"), coterie.LaplacianKModes(50),
    coterie.TotalVariationClustering(50), coterie.ConvexClusterPath(), coterie.ConvexClustering(1.0),
)  # fmt: skip


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.max_time", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--max-time", type=float, default=2.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(options.rows, 64)).astype(np.float32)
    for model in MODELS:
        begin = time.perf_counter()
        model.set_params(max_time=options.max_time, random_state=0).fit(X)
        seconds = time.perf_counter() - begin
        labels = model.labels_path_[-1] if hasattr(model, "labels_path_") else model.labels_
        is_whole = len(labels) == len(X)
        is_whole &= not hasattr(model, "predict") or len(model.predict(X[:1000])) == 1000
        missing = "" if is_whole else "  labels are missing"
        print(f"{type(model).__name__:28} {seconds:5.2f} s{missing}", flush=True)


if __name__ == "__main__":
    main()
