"""Chunks of a worker that leaves are opened by others, which find again what belonged to their rows: the same bits."""

import contextlib

import numpy as np
import pytest

from tests.dask.clusters import in_threads

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie import KMeans, NestedMiniBatchKMeans, TruncatedGaussianMixture  # noqa: E402
from coterie.dask.passes import HeldChunk  # noqa: E402

pytestmark = pytest.mark.slow

K = 6


def rows(far=False):
    random = np.random.default_rng(0)
    centers = random.normal(size=(K, 4)) * 2
    X = centers[random.integers(K, size=3000)] + random.normal(size=(3000, 4))
    if far:  # where rounding decides
        X[:1200] += 1e9
    return X


@pytest.mark.parametrize(
    ("model", "far"),
    [
        (KMeans(K, init="random", n_init=1, random_state=0, tol=0, max_iter=8, algorithm="yinyang"), False),
        (KMeans(K, init="random", n_init=1, random_state=0, tol=0, max_iter=8), True),
        (NestedMiniBatchKMeans(K, batch_size=100, random_state=0, bounds="yinyang"), False),
        (NestedMiniBatchKMeans(K, batch_size=100, random_state=0), True),
        (TruncatedGaussianMixture(K, n_candidates=3, random_state=0, tol=0, max_iter=8), False),
        (
            TruncatedGaussianMixture(
                K,
                covariance_type="diag",
                random_candidate=True,
                n_candidates=2,
                random_state=0,
                tol=0,
                max_iter=8,
            ),
            False,
        ),
    ],
    ids=["k-means", "settled", "nested", "settled nested", "mixture", "random candidates"],
)
def test_a_worker_leaves(model, far):
    chunks = da.from_array(rows(far), chunks=(250, 4))
    found = []
    for leaves in (False, True):
        with contextlib.ExitStack() as stack:
            client = in_threads(stack, 2)

            def leave(progress, leaves=leaves, client=client):
                if leaves and progress.iteration == 5:
                    client.retire_workers(sorted(client.nthreads())[:1])

            again = type(model)(**model.get_params() | {"callback": leave})
            found.append(again.fit(coterie.dask.rows(chunks)))
    expected, there = found
    np.testing.assert_array_equal(there.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(there.labels_, expected.labels_)
    np.testing.assert_array_equal(there.history_.objective, expected.history_.objective)


def test_states_of_another_pass_are_made_anew(client):
    """As those of a chunk that a worker has spilled to its disk, or of one that a task was applied to twice."""
    chunks, found = da.from_array(rows(), chunks=(250, 4)), []

    def forget(dask_worker):
        for held in dask_worker.data.values():
            if isinstance(held, HeldChunk):
                held.states.clear()

    for forgets in (False, True):

        def between(progress, forgets=forgets):
            if forgets and progress.iteration == 3:
                client.run(forget)

        model = KMeans(K, init="random", n_init=1, random_state=0, tol=0, max_iter=6, callback=between)
        found.append(model.fit(coterie.dask.rows(chunks)))
    np.testing.assert_array_equal(found[1].cluster_centers_, found[0].cluster_centers_)
    np.testing.assert_array_equal(found[1].history_.n_changed, found[0].history_.n_changed)
