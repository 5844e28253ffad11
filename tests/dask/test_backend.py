"""A method from outside the package runs on Dask workers by the passes of a backend, without naming Dask."""

import contextlib

import numpy as np
import pytest

from coterie.backend import open_backend
from coterie.rows import as_rows
from tests.dask.clusters import in_threads

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.exact_sums import ExactSum, Steps  # noqa: E402
from coterie.dask.tasks import SESSIONS  # noqa: E402

# The method from outside: clusters in which the label of a row changes only toward a center that is much nearer,
# so that labels depend on those of all passes before.


def assign_with_inertia(chunk, centers, given, into):
    labels = chunk.state.get("labels", np.zeros(chunk.rows.shape[0], dtype=int))
    sums, counts = np.zeros(centers.shape), np.zeros(len(centers))
    new = labels.copy()
    for start, block, _ in chunk.blocks():
        part = slice(start, start + len(block))
        distances = np.linalg.norm(block[:, None] - centers, axis=2)
        nearest = distances.argmin(axis=1)
        own = distances[np.arange(len(block)), labels[part]]
        new[part] = np.where(distances.min(axis=1) < 0.8 * own, nearest, labels[part])
        np.add.at(sums, new[part], block)
        counts += np.bincount(new[part], minlength=len(centers))
    chunk.state["labels"] = new
    into["sums"].add(sums)
    into["counts"].add(counts)
    return int(np.count_nonzero(new != labels))


def labels_of(chunk, payload, given, into):
    return given, chunk.state["labels"]


def largest_number(chunk, payload, given, into):
    return max(float(np.abs(block).max()) for _, block, _ in chunk.blocks())


def sluggish_clusters(X, n_clusters, after_pass=lambda: None):
    """Return centers, labels and how many labels changed in each pass."""
    with open_backend(as_rows(X)) as backend:
        largest = max(backend.run(largest_number)) * backend.n_rows
        centers = backend.take(np.arange(n_clusters))
        changed = []
        for _ in range(6):
            into = {
                "sums": backend.total(centers.shape, largest),
                "counts": backend.total((n_clusters,), backend.n_rows),
            }
            changed.append(sum(backend.run(assign_with_inertia, centers, into=into, writes="labels")))
            counts = into["counts"].total()
            centers = np.where(
                counts[:, None] > 0, into["sums"].total() / np.maximum(counts, 1)[:, None], centers
            )
            after_pass()
        numbers = list(range(len(backend.firsts) - 1))
        found = backend.run(labels_of, given=numbers)
    assert [number for number, _ in found] == numbers
    return centers, np.concatenate([labels for _, labels in found]), changed


def data():
    return np.random.default_rng(0).normal(size=(1000, 3))


def on_workers(n_workers, **options):
    with contextlib.ExitStack() as stack:
        in_threads(stack, n_workers)
        return sluggish_clusters(coterie.dask.rows(da.from_array(data(), chunks=(170, 3))), 5, **options)


def test_method_from_outside_agrees_with_one_machine_and_any_number_of_workers():
    here, one, two = sluggish_clusters(data(), 5), on_workers(1), on_workers(2)
    for mine, expected in zip(two, one):
        np.testing.assert_array_equal(mine, expected)
    np.testing.assert_array_equal(two[1], here[1])
    assert two[2] == here[2]
    assert sum(changed > 0 for changed in here[2]) > 2
    np.testing.assert_allclose(two[0], here[0], rtol=1e-12)


def test_recorded_passes_are_repeated_when_a_worker_leaves():
    from distributed import default_client

    passes = []

    def lose_one():
        passes.append(1)
        if len(passes) == 4:
            client = default_client()
            gone = min(client.nthreads())
            client.retire_workers([gone], close_workers=True)
            for key in [
                key for key in SESSIONS if key[0] == gone
            ]:  # otherwise they end with the worker's process
                del SESSIONS[key]

    whole, lost = on_workers(2), on_workers(2, after_pass=lose_one)
    for mine, expected in zip(lost, whole):
        np.testing.assert_array_equal(mine, expected)
    assert not SESSIONS


class TestExactSum:
    def test_exact_sum_of_some_rows_and_a_base(self):
        base = np.arange(6.0).reshape(3, 2)
        total = ExactSum((3, 2), Steps.below(100.0), base.copy())
        for _ in range(3):
            with total.part() as part:
                part[1] += 0.1
        np.testing.assert_allclose(total.total(), base + [[0, 0], [0.3, 0.3], [0, 0]], rtol=1e-15)
        total.clear(np.array([1]))
        np.testing.assert_array_equal(total.total(), [[0, 1], [0, 0], [4, 5]])


def test_renewed_records_are_not_repeated(client):
    lazy = da.from_array(data(), chunks=(170, 3))
    with open_backend(coterie.dask.rows(lazy)) as backend:
        centers = backend.take(np.arange(2))
        for renews in (False, False, True):
            into = {"sums": backend.total(centers.shape, 1e5), "counts": backend.total((2,), 1e5)}
            backend.run(assign_with_inertia, centers, into=into, writes="labels", renews=renews)
        assert len(backend.pool.record) == 1


def test_rows_on_workers_are_not_read_into_one_process(client):
    rows = coterie.dask.rows(da.from_array(data(), chunks=(170, 3)))
    assert rows.shape == (1000, 3)
    np.testing.assert_array_equal(rows.take([0, 400, 999]), data()[[0, 400, 999]])
    for model in (coterie.MiniBatchKMeans(2), coterie.BisectingKMeans(2), coterie.SizeConstrainedKMeans(2)):
        with pytest.raises(TypeError, match=r"rows on Dask workers.*lightweight_coreset"):
            model.fit(rows)
