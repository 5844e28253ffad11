"""The same bits under stress: any number of threads, beside a load, in children, pinned, beside another OpenMP.

``python -m benchmarks.fingerprints --stress`` fits a small model of each kind in every setting, and says which differ
from one thread on its own.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.fingerprints.data import blobs, integer_weights, moons, sparse_blobs
from benchmarks.fingerprints.results import fingerprint
from benchmarks.fingerprints.runs import fitted
from coterie import (
    ConvexClustering,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    NestedMiniBatchKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)

Hashes = Mapping[str, str]

MOST_THREADS = 16
LOAD = 8


def hashes(n_threads: int) -> Hashes:
    """Return the fingerprint of a fit of each kind."""
    X, words = blobs(3_000, 12), sparse_blobs()
    models = {
        "k-means": (KMeans(20, max_iter=8), X, {"sample_weight": integer_weights(3_000)}),
        "k-means, bounds": (KMeans(40, max_iter=8, algorithm="elkan"), X.astype(np.float32), {}),
        "k-means, sparse": (KMeans(10, max_iter=4), words, {}),
        "nested": (NestedMiniBatchKMeans(20, batch_size=300), X, {}),
        "mini-batch": (MiniBatchKMeans(20, batch_size=200, max_iter=2), X, {}),
        "mixture": (TruncatedGaussianMixture(20, max_iter=6), X, {}),
        "laplacian": (LaplacianKModes(4, max_iter=6), X[:900], {}),
        "total variation": (TotalVariationClustering(2, max_iter=30), moons(600), {}),
        "convex": (ConvexClustering(gamma=0.1, max_iter=60), X[:80], {}),
    }
    return {
        name: fingerprint(fitted(model.set_params(n_threads=n_threads), rows, **given))
        for name, (model, rows, given) in models.items()
    }


def stressed(most_threads: int = MOST_THREADS, load: int = LOAD) -> Iterator[tuple[str, Hashes]]:
    """Yield each setting and the fingerprints of all fits in it, beside so many busy processes."""
    with busy_processes(load):
        for n_threads in range(1, most_threads + 1):
            yield f"{n_threads} threads", hashes(n_threads)
        for kind in ("fork", "spawn"):
            for number, found in enumerate(in_children(kind, n_children=2, n_threads=3)):
                yield f"child {number} by {kind}", found
        yield "on one processor", pinned()
        with ThreadPoolExecutor(3) as pool:
            for number, found in enumerate(pool.map(hashes, (1, 2, 3))):
                yield f"Python thread {number} of 3", found
        with beside_scikit_learn():
            yield "beside scikit-learn's OpenMP", hashes(4)
        for number, found in enumerate(in_children("fork", n_children=2, n_threads=3)):
            yield f"child {number} by fork after OpenMP", found


def differences_under_stress(settings: Callable[[], Iterator[tuple[str, Hashes]]] = stressed) -> list[str]:
    """Return a line for each fit that differs from one thread on its own; print each setting."""
    wanted = hashes(1)
    wrong = []
    for setting, found in settings():
        different = [name for name in wanted if found[name] != wanted[name]]
        print(f"{setting}: {len(found) - len(different)} of {len(found)} fits have the same bits", flush=True)
        wrong += [f"{setting}: {name} differs" for name in different]
    return wrong


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep processors busy meanwhile."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def in_children(kind: str, n_children: int, n_threads: int) -> list[Hashes]:
    """Fit in children at the same time, which are made in one of the ways of `multiprocessing`."""
    with multiprocessing.get_context(kind).Pool(n_children) as pool:
        return pool.map(hashes, [n_threads] * n_children, chunksize=1)


def pinned() -> Hashes:
    """Fit with 4 threads on the first processor of this process alone."""
    if not hasattr(os, "sched_setaffinity"):
        return hashes(4)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        return hashes(4)
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def beside_scikit_learn() -> Iterator[None]:
    """Let scikit-learn fit meanwhile, whose threads are those of OpenMP."""
    from sklearn import cluster

    done = threading.Event()
    fit = partial(cluster.KMeans(20, n_init=1, max_iter=20, random_state=0).fit, blobs(3_000, 12))

    def repeat() -> Any:
        while not done.is_set():
            fit()

    fit()
    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
