"""One fit of the comparison, in a process of its own: `python -m benchmarks.dask.runs NAME FOLDER K ITERATIONS OUT`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import coterie

__all__ = ["RUNS"]

# Rows of 64 float32 that are a chunk of about 64 MiB.
_CHUNK_ROWS = 250_000


def here(folder: Path, seeds: Any, n_iterations: int) -> dict[str, Any]:
    """Fit by `coterie.KMeans` with one thread."""
    rows = coterie.as_rows(coterie.open_rows(folder).read())
    begin, cpu = time.perf_counter(), time.process_time()
    model = coterie.KMeans(len(seeds), init=seeds, max_iter=n_iterations, tol=0, n_threads=1).fit(rows)
    return _found(model, begin) | {"cpu_seconds": time.process_time() - cpu}


def on_cluster(n_workers: int, *, from_files: bool = False) -> Callable[[Path, Any, int], dict[str, Any]]:
    """Return a fit by `coterie.KMeans` on so many workers of one thread: of rows in their memory, or in files."""

    def fit(folder: Path, seeds: Any, n_iterations: int) -> dict[str, Any]:
        import coterie.dask

        with ExitStack() as stack:
            client = _client(stack, n_workers)
            X = coterie.dask.rows(str(folder) if from_files else _on_workers(client, folder))
            before = sum(client.run(time.process_time).values())
            begin = time.perf_counter()
            model = coterie.KMeans(len(seeds), init=seeds, max_iter=n_iterations, tol=0).fit(X)
            found = _found(model, begin)
            found["cpu_seconds"] = sum(client.run(time.process_time).values()) - before
            found["pass_seconds"] = np.diff(model.history_.seconds).tolist()
            passes = X.traffic[X.traffic.name == "assign"]
            found["first_pass"] = float(passes.seconds[0])
            found |= {"sent": int(passes.n_sent.max()), "received": int(passes.n_received.max())}
        return found

    return fit


def dask_ml(folder: Path, seeds: Any, n_iterations: int) -> dict[str, Any]:
    """Fit by `dask_ml.cluster.KMeans` on two workers of one thread, rows in their memory before."""
    from dask_ml.cluster import KMeans

    with ExitStack() as stack:
        client = _client(stack, 2)
        X = _on_workers(client, folder)
        begin = time.perf_counter()
        model = KMeans(len(seeds), init=seeds, max_iter=n_iterations, tol=0).fit(X)
        seconds = time.perf_counter() - begin
        # Its inertia_ is a sum of distances, not of their squares.
        return {"seconds": seconds, "inertia": inertia_of(np.asarray(model.cluster_centers_), folder)}


def spark(folder: Path, seeds: Any, n_iterations: int) -> dict[str, Any]:
    """Fit by Spark MLlib's KMeans on `local[2]`, rows cached before."""
    import pyspark.sql
    from pyspark.mllib.clustering import KMeans, KMeansModel
    from pyspark.mllib.linalg import DenseVector

    builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = session.read.parquet(str(folder.parent / "spark.parquet"))
        rows = frame.rdd.map(lambda row: DenseVector(row.features)).cache()
        rows.count()
        start = KMeansModel([DenseVector(seed) for seed in seeds.tolist()])
        begin = time.perf_counter()
        model = KMeans.train(rows, len(seeds), n_iterations, epsilon=0.0, initialModel=start)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "inertia": inertia_of(np.array(model.centers), folder)}
    finally:
        session.stop()


def inertia_of(centers: Any, folder: Path) -> float:
    """Return the inertia of all rows with centroids of any library, measured in one way."""
    start = centers.astype(np.float32)
    model = coterie.KMeans(len(start), init=start, max_iter=1, tol=0).fit(coterie.open_rows(folder))
    return float(model.history_.objective[0])


def mixture(n_workers: int) -> Callable[[Path, Any, int], dict[str, Any]]:
    """Return a fit of vc-GMM on a coreset of 65,536 rows: here with one thread, or on so many workers."""

    def fit(folder: Path, seeds: Any, n_iterations: int) -> dict[str, Any]:
        options = {"coreset_size": 65_536, "max_iter": n_iterations, "tol": 0, "random_state": 0}
        with ExitStack() as stack:
            if n_workers:
                from coterie.dask import rows as worker_rows

                _client(stack, n_workers)
                rows: Any = worker_rows(str(folder))
            else:
                rows = coterie.as_rows(coterie.open_rows(folder).read())
            begin = time.perf_counter()
            model = coterie.TruncatedGaussianMixture(len(seeds), n_threads=1, **options).fit(rows)
            seconds = time.perf_counter() - begin
        return {"seconds": seconds, "per_iteration": float("nan"), "inertia": float(model.lower_bound_)}

    return fit


def latency(folder: Path, seeds: Any, n_iterations: int) -> dict[str, Any]:
    """Time passes over a few rows on two workers: what remains is how long a pass takes that computes nothing."""
    import dask.array as da

    import coterie.dask

    X = coterie.open_rows(folder).take(np.arange(200))
    with ExitStack() as stack:
        _client(stack, 2)
        begin = time.perf_counter()
        rows = coterie.dask.rows(da.from_array(X, chunks=(100, -1)))
        model = coterie.KMeans(len(X) // 4, init=X[:50], max_iter=200, tol=0, algorithm="lloyd")
        seconds = []
        while len(seconds) < 200:
            seconds += np.diff(model.fit(rows).history_.seconds).tolist()
        return {"seconds": time.perf_counter() - begin, "per_iteration": float(np.median(seconds)), "inertia": 0.0,
                "pass_seconds": seconds}  # fmt: skip


RUNS: dict[str, Callable[[Path, Any, int], dict[str, Any]]] = {
    "coterie, 1 thread": here,
    "coterie.dask, 1 worker": on_cluster(1),
    "coterie.dask, 2 workers": on_cluster(2),
    "coterie.dask from files, 1 worker": on_cluster(1, from_files=True),
    "coterie.dask from files, 2 workers": on_cluster(2, from_files=True),
    "dask_ml, 2 workers": dask_ml,
    "Spark MLlib, local[2]": spark,
    "vc-GMM, coterie, 1 thread": mixture(0),
    "vc-GMM, coterie.dask, 1 worker": mixture(1),
    "vc-GMM, coterie.dask, 2 workers": mixture(2),
    "a pass that computes nothing": latency,
}


def _client(stack: ExitStack, n_workers: int) -> Any:
    """Return a client of workers that have imported what a fit needs, as this process has."""
    import dask.array as da
    from distributed import Client, LocalCluster

    import coterie.dask

    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)
    client = stack.enter_context(Client(stack.enter_context(cluster)))
    rows = da.random.default_rng(0).normal(size=(100 * n_workers, 2), chunks=(100, 2))
    lying = coterie.dask.rows(rows.astype(np.float32))
    coterie.KMeans(2, init="random", random_state=0, max_iter=2).fit(lying)
    return client


def _on_workers(client: Any, folder: Path) -> Any:
    """Return the rows as a Dask array whose chunks the workers hold."""
    import dask
    import dask.array as da

    chunks = []
    for path in sorted(folder.glob("*.npy")):
        n_rows, n_columns = np.load(path, mmap_mode="r").shape
        for start in range(0, n_rows, _CHUNK_ROWS):
            size = min(_CHUNK_ROWS, n_rows - start)
            rows = dask.delayed(_read)(path, start, start + size)
            chunks.append(da.from_delayed(rows, (size, n_columns), dtype=np.float32))
    X = client.persist(da.concatenate(chunks))
    X.sum().compute()
    return X


def _read(path: Path, start: int, stop: int) -> Any:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _found(model: Any, begin: float) -> dict[str, Any]:
    seconds = time.perf_counter() - begin
    steps = model.history_.seconds
    each = float(np.median(np.diff(steps))) if len(steps) > 1 else seconds
    return {"seconds": seconds, "per_iteration": each, "inertia": float(model.inertia_)}


if __name__ == "__main__":
    name, folder, k, n_iterations, out = sys.argv[1:]
    rows = coterie.open_rows(folder)
    seeds = rows.take(np.linspace(0, rows.shape[0] - 1, int(k)).astype(int))
    Path(out).write_text(json.dumps(RUNS[name](Path(folder), seeds, int(n_iterations))))
