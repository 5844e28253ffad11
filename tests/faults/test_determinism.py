"""The same bits under stress; `python -m benchmarks.fingerprints --stress` is the longer run."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from coterie import KMeans, NestedMiniBatchKMeans, TruncatedGaussianMixture

stress = pytest.importorskip("benchmarks.fingerprints.stress", reason="benchmarks are in a checkout only")

MODELS = {
    "k-means": KMeans(12, max_iter=4, random_state=0),
    "nested": NestedMiniBatchKMeans(12, batch_size=200, max_iter=6, random_state=0),
    "mixture": TruncatedGaussianMixture(12, max_iter=3, random_state=0),
}


def hashes(n_threads):
    """Return what says of all bits of small fits whether they are the same."""
    X = np.random.default_rng(0).normal(size=(1_500, 9))
    return {
        name: stress.fingerprint(model.set_params(n_threads=n_threads).fit(X))
        for name, model in MODELS.items()
    }


@cache
def alone():
    return hashes(1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_threads", [2, 5, 16])
def test_threads_beside_a_load(n_threads):
    with stress.busy_processes(2):
        assert hashes(n_threads) == alone()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_children(kind):
    with multiprocessing.get_context(kind).Pool(1) as pool:
        assert pool.map(hashes, [3]) == [alone()]


@pytest.mark.filterwarnings("ignore")
def test_threads_of_python():
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(hashes, (1, 2, 3))) == [alone()] * 3


@pytest.mark.filterwarnings("ignore")
def test_beside_the_threads_of_another_package():
    with stress.beside_scikit_learn():
        assert hashes(4) == alone()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(hashes, [2]) == [alone()]
