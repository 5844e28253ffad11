"""Cluster embedding-like vectors that live in a file, without reading it whole, and watch the fit.

Run: python examples/cluster_embeddings.py
"""

import tempfile
from pathlib import Path

import numpy as np

import coterie


def main() -> None:
    """Write 20,000 unit vectors to a file, cluster them from there, save the model and use it."""
    random = np.random.default_rng(0)
    topics = random.normal(size=(40, 128))
    vectors = topics[random.integers(40, size=20_000)] + 0.8 * random.normal(size=(20_000, 128))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "vectors.npy"), vectors.astype(np.float32))
        rows = coterie.open_rows(Path(folder, "vectors.npy"))

        model = coterie.KMeans(40, random_state=0, max_time=60)
        model.set_params(
            callback=lambda progress: print(f"{progress.iteration:3d}  {progress.objective:.2f}")
        )
        model.fit(rows)

        model.set_params(callback=None).save(Path(folder, "model.coterie"))
        again = coterie.load(Path(folder, "model.coterie"))
        print("same labels after loading:", np.array_equal(again.predict(rows), model.labels_))
        print(
            "mean squared distance to the centroids:",
            coterie.metrics.quantization_error(rows, again.cluster_centers_),
        )


if __name__ == "__main__":
    main()
