"""Measure how long fits take with `max_time=2` on rows that would take far longer.

    python -m benchmarks.max_time

Rows are normal (300,000 x 64, float32). Each model must have labels for all rows, and predict where its method can.
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
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(300_000, 64)).astype(np.float32)
    for model in MODELS:
        begin = time.perf_counter()
        model.set_params(max_time=2.0, random_state=0).fit(X)
        seconds = time.perf_counter() - begin
        labels = model.labels_path_[-1] if hasattr(model, "labels_path_") else model.labels_
        is_whole = len(labels) == len(X)
        is_whole &= not hasattr(model, "predict") or len(model.predict(X[:1000])) == 1000
        missing = "" if is_whole else "  labels are missing"
        print(f"{type(model).__name__:28} {seconds:5.2f} s{missing}", flush=True)


if __name__ == "__main__":
    main()
