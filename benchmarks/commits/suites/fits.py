"""Fits of every method: small enough for a minute in all, large enough that the kernels decide."""

import time

import numpy as np

import coterie

# CPU seconds of all threads, which other work on the machine changes less; asv looks for this name.
timer = time.process_time


def _blobs(n_rows: int, n_columns: int, dtype: str = "float32") -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(32, n_columns)) * 3
    return (centers[rng.integers(32, size=n_rows)] + rng.normal(size=(n_rows, n_columns))).astype(dtype)


class KMeans:
    """The variants of exact k-means, which all give the same clusters, and what leaves rows or distances out."""

    params = ("lloyd", "elkan", "yinyang", "hamerly", "auto")
    param_names = ("algorithm",)

    def setup(self, algorithm: str) -> None:
        self.rows = _blobs(20_000, 64)
        self.model = coterie.KMeans(
            100, init="random", algorithm=algorithm, max_iter=10, tol=0, random_state=0
        )

    def time_fit(self, algorithm: str) -> None:
        self.model.fit(self.rows)

    def peakmem_fit(self, algorithm: str) -> None:
        self.model.fit(self.rows)


class Seeding:
    """Starts."""

    def setup(self) -> None:
        self.rows = _blobs(20_000, 64)

    def time_k_means_plus_plus(self) -> None:
        coterie.KMeans(100, init="k-means++", max_iter=1, random_state=0).fit(self.rows)

    def time_afk_mc2(self) -> None:
        coterie.KMeans(100, init="afk-mc2", max_iter=1, random_state=0).fit(self.rows)


class Others:
    """One fit of each other method, and what comes after a fit."""

    def setup(self) -> None:
        self.rows = _blobs(20_000, 64)
        self.few = _blobs(2_000, 8, "float64")
        self.model = coterie.KMeans(100, init="random", max_iter=2, random_state=0).fit(self.rows)

    def time_nested(self) -> None:
        coterie.NestedMiniBatchKMeans(100, init="random", random_state=0).fit(self.rows)

    def time_mini_batch(self) -> None:
        coterie.MiniBatchKMeans(100, init="random", random_state=0).fit(self.rows)

    def time_mixture(self) -> None:
        coterie.TruncatedGaussianMixture(100, init="random", random_state=0).fit(self.rows)

    def time_laplacian_kmodes(self) -> None:
        coterie.LaplacianKModes(8, random_state=0).fit(self.few)

    def time_total_variation(self) -> None:
        coterie.TotalVariationClustering(8, n_init=1, random_state=0).fit(self.few)

    def time_convex_path(self) -> None:
        coterie.ConvexClusterPath(n_gammas=10).fit(self.few[:200])

    def time_exact_neighbors(self) -> None:
        coterie.graphs.nearest_neighbors(self.rows, 15, method="exact")

    def time_predict(self) -> None:
        self.model.predict(self.rows)

    def time_predict_one_row(self) -> None:
        self.model.predict(self.rows[:1])


def timeraw_import() -> str:
    """Time the import of the core, in a process of its own."""
    return "import coterie"


timeraw_import.number = 1
