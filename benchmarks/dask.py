"""Fits on a Dask cluster against one machine and other libraries' clusters.

    python -m benchmarks.dask [--rows k-means,mixture] [--n-rows 4000000] [--clusters 1000] [--folder FOLDER] [--quick]

All workers run on this machine, with one thread each.
"""

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import coterie
import coterie.dask
from benchmarks.harness.benchmark import Benchmark, Result, run_steps
from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import TIMES, number

N_SHARDS = 8
# Rows of 64 float32 that are a chunk of about 64 MiB.
CHUNK_ROWS = 250_000


def make_rows(folder: Path, n_rows: int, n_columns: int, k: int) -> Path:
    """Write blobs to shards; return their folder."""
    shards = folder / "shards"
    if shards.exists():
        return shards
    shards.mkdir()
    centers = np.random.default_rng(0).normal(size=(k, n_columns)).astype(np.float32) * 2
    for at, size in enumerate(np.diff(np.linspace(0, n_rows, N_SHARDS + 1).astype(int))):
        draw = np.random.default_rng(1 + at)
        part = centers[draw.integers(k, size=size)]
        part += draw.standard_normal(part.shape, dtype=np.float32)
        np.save(shards / f"part-{at}.npy", part)
    return shards


# --- contenders: fits of a folder of shards; those with workers have them and their modules before the clock starts


def _in_memory(folder: Path) -> Any:
    return coterie.as_rows(coterie.open_rows(folder).read())


def _one_thread(folder: Path, seeds: np.ndarray, n_iterations: int) -> dict[str, Any]:
    model = coterie.KMeans(len(seeds), init=seeds, max_iter=n_iterations, tol=0, n_threads=1)
    rows = _in_memory(folder)
    with measured() as cost:
        model.fit(rows)
    return vars(cost) | {"objective": float(model.inertia_)}


def _k_means(
    folder: Path, seeds: np.ndarray, n_iterations: int, *, n_workers: int, from_files: bool = False
) -> dict[str, Any]:
    model = coterie.KMeans(len(seeds), init=seeds, max_iter=n_iterations, tol=0)
    with ExitStack() as stack:
        client = _client(stack, n_workers)
        rows = coterie.dask.rows(str(folder) if from_files else _on_workers(client, folder))
        before = sum(client.run(time.process_time).values())
        with measured() as cost:
            model.fit(rows)
        cpu = sum(client.run(time.process_time).values()) - before
        return vars(cost) | {"cpu_seconds": cpu, "objective": float(model.inertia_)}


def _mixture(
    folder: Path, seeds: np.ndarray, n_iterations: int, *, n_workers: int, coreset_size: int | None = 65_536
) -> dict[str, Any]:
    """Fit a mixture to a coreset of files, or to all rows in memory: here with one thread, or on so many workers."""
    options: dict[str, Any] = {"coreset_size": coreset_size, "max_iter": n_iterations, "tol": 0}
    options |= {"random_state": 0} if coreset_size else {"init": seeds}
    model = coterie.TruncatedGaussianMixture(len(seeds), n_threads=1, **options)
    with ExitStack() as stack:
        client = _client(stack, n_workers) if n_workers else None
        held = _on_workers(client, folder) if client and not coreset_size else str(folder)
        rows = coterie.dask.rows(held) if client else _in_memory(folder)
        with measured() as cost:
            model.fit(rows)
    return vars(cost) | {"objective": float(model.lower_bound_)}


def _dask_ml(folder: Path, seeds: np.ndarray, n_iterations: int) -> dict[str, Any]:
    from dask_ml.cluster import KMeans

    with ExitStack() as stack:
        X = _on_workers(_client(stack, 2), folder)
        with measured() as cost:
            model = KMeans(len(seeds), init=seeds, max_iter=n_iterations, tol=0).fit(X)
    # Its inertia_ is a sum of distances, not of their squares.
    return vars(cost) | {"objective": _inertia_of(np.asarray(model.cluster_centers_), folder)}


def _on(call: Any, n_workers: int, **options: Any) -> Contender:
    return Contender("distributed", partial(call, n_workers=n_workers, **options))


CONTENDERS: dict[str, dict[str, Contender]] = {
    "k-means": {
        "coterie, 1 thread": Contender("coterie", _one_thread),
        "coterie.dask, 1 worker": _on(_k_means, 1),
        "coterie.dask, 2 workers": _on(_k_means, 2),
        "coterie.dask from files, 1 worker": _on(_k_means, 1, from_files=True),
        "coterie.dask from files, 2 workers": _on(_k_means, 2, from_files=True),
        "dask_ml, 2 workers": Contender("dask_ml", _dask_ml),
    },
    "mixture": {
        "coterie, 1 thread": Contender("coterie", partial(_mixture, n_workers=0)),
        "coterie.dask, 1 worker of files": _on(_mixture, 1),
        "coterie.dask, 2 workers of files": _on(_mixture, 2),
    },
    "mixture of all rows": {
        "coterie, 1 thread": Contender("coterie", partial(_mixture, n_workers=0, coreset_size=None)),
        "coterie.dask, 1 worker": _on(_mixture, 1, coreset_size=None),
        "coterie.dask, 2 workers": _on(_mixture, 2, coreset_size=None),
    },
}


def _client(stack: ExitStack, n_workers: int) -> Any:
    """Return a client of workers that have imported what a fit needs, as this process has."""
    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)
    client = stack.enter_context(Client(stack.enter_context(cluster)))
    rows = da.random.default_rng(0).normal(size=(100 * n_workers, 2), chunks=(100, 2))
    on_workers = coterie.dask.rows(rows.astype(np.float32))
    coterie.KMeans(2, init="random", random_state=0, max_iter=2).fit(on_workers)
    return client


def _on_workers(client: Any, folder: Path) -> Any:
    """Return the rows as a Dask array whose chunks the workers hold."""
    shards = [np.load(path, mmap_mode="r") for path in sorted(folder.glob("*.npy"))]
    chunks = [da.from_array(shard, chunks=(CHUNK_ROWS, shard.shape[1])) for shard in shards]
    X = client.persist(da.concatenate(chunks))
    X.sum().compute()
    return X


def _inertia_of(centers: np.ndarray, folder: Path) -> float:
    """Return the inertia of all rows with centroids of any library, measured in one way."""
    start = centers.astype(np.float32)
    model = coterie.KMeans(len(start), init=start, max_iter=1, tol=0).fit(coterie.open_rows(folder))
    return float(model.history_.objective[0])


def run_fit(
    name: str, kind: str, folder: Path, k: int, n_iterations: int, _seed: int, _n_threads: int
) -> Result:
    """Fit one contender; initial centers are rows from all shards."""
    rows = coterie.open_rows(folder)
    seeds = rows.take(np.linspace(0, rows.shape[0] - 1, k).astype(int))
    return CONTENDERS[kind][name].call(folder, seeds, n_iterations)


N_ITERATIONS = 10


def compare(benchmark: Benchmark, key: str) -> None:
    """Fit all contenders of a kind, in turns."""
    n_rows = benchmark.options.n_rows
    n_columns, n_blobs = (16, 50) if benchmark.quick else (64, 1000)
    folder = benchmark.isolated(make_rows, benchmark.folder, n_rows, n_columns, n_blobs)
    n_clusters = n_blobs * (4 if key == "mixture" else 1)
    title = f"{key}. {n_rows:,} x {n_columns}, k = {n_clusters:,}, {N_ITERATIONS} iterations"

    run = benchmark.each(run_fit, key, folder, n_clusters, N_ITERATIONS)
    summaries = benchmark.measure(title, benchmark.select(CONTENDERS[key]), run)
    quality = {"inertia, or free energy per row": number("objective", ".6g")}
    benchmark.table(title, TIMES | quality, summaries)


if __name__ == "__main__":
    parser = SystemParser("dask", __doc__, list(CONTENDERS))
    parser.add("--n-rows", default=4_000_000, quick=20_000, help="rows")
    run_steps("dask", parser.read(), dict.fromkeys(CONTENDERS, compare))
