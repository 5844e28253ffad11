"""A method from outside the package runs on Dask workers by passes, without naming Dask."""

import contextlib
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from coterie.passes import Begin, open_passes
from coterie.rows import as_rows
from tests.dask.clusters import in_threads

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.exact_sums import ExactSum, Steps  # noqa: E402
from coterie.dask.passes import ClusterLostError, WorkerPasses  # noqa: E402

# The method from outside: clusters in which the label of a row changes only toward a center that is much nearer,
# so that labels depend on those of all passes before.


class Labels:
    def __init__(self, rows):
        self.labels = np.zeros(rows.n_rows, dtype=int)


class Sums(NamedTuple):
    sums: Any
    counts: Any


def assign_with_inertia(rows, centers, state, totals):
    labels, sums = state.labels, np.zeros(centers.shape)
    new = labels.copy()
    for start, block in rows.source.blocks():
        part = slice(start, start + len(block))
        distances = np.linalg.norm(block[:, None] - centers, axis=2)
        nearest = distances.argmin(axis=1)
        own = distances[np.arange(len(block)), labels[part]]
        new[part] = np.where(distances.min(axis=1) < 0.8 * own, nearest, labels[part])
        np.add.at(sums, new[part], block)
    state.labels = new
    totals.sums.add(sums)
    totals.counts.add(np.bincount(new, minlength=len(centers)))
    return int(np.count_nonzero(new != labels))


def labels_of(rows, state, given):
    return given, state.labels


def largest_number(rows):
    return max(float(np.abs(block).max()) for _, block in rows.source.blocks())


def sluggish_clusters(X, n_clusters, after_pass=lambda: None):
    """Return centers, labels and how many labels changed in each pass."""
    with open_passes(as_rows(X)) as passes:
        largest = max(passes.run(largest_number)) * passes.n_rows
        centers, labels = passes.take(np.arange(n_clusters)), passes.state(Labels)
        changed, past = [], []
        passes.keep_begin(labels, lambda: past)
        for _ in range(6):
            totals = Sums(passes.total(centers.shape, largest), passes.total((n_clusters,), passes.n_rows))
            changed.append(sum(passes.run(assign_with_inertia, centers, labels, totals, writes=True)))
            past.append(Begin(assign_with_inertia, centers, labels, totals))
            counts = totals.counts.total()
            means = totals.sums.total() / np.maximum(counts, 1)[:, None]
            centers = np.where(counts[:, None] > 0, means, centers)
            after_pass()
        numbers = list(range(len(passes.firsts) - 1))
        found = passes.run(labels_of, None, labels, given=numbers)
    assert [number for number, _ in found] == numbers
    return centers, np.concatenate([labels for _, labels in found]), changed


def data():
    return np.random.default_rng(0).normal(size=(1000, 3))


def on_workers(n_workers, **options):
    with contextlib.ExitStack() as stack:
        in_threads(stack, n_workers)
        return sluggish_clusters(coterie.dask.rows(da.from_array(data(), chunks=(170, 3))), 5, **options)


def test_method_from_outside_agrees_with_one_machine_and_any_number_of_workers():
    here, one, two, three = sluggish_clusters(data(), 5), on_workers(1), on_workers(2), on_workers(3)
    for other in (two, three):
        for mine, expected in zip(other, one):
            np.testing.assert_array_equal(mine, expected)
    np.testing.assert_array_equal(two[1], here[1])
    assert two[2] == here[2]
    assert sum(changed > 0 for changed in here[2]) > 2
    np.testing.assert_allclose(two[0], here[0], rtol=1e-12)


def test_states_are_made_again_when_a_worker_leaves():
    from distributed import default_client

    passes = []

    def lose_one():
        passes.append(1)
        if len(passes) == 4:
            client = default_client()
            client.retire_workers([min(client.nthreads())], close_workers=True)

    whole, lost = on_workers(2), on_workers(2, after_pass=lose_one)
    for mine, expected in zip(lost, whole):
        np.testing.assert_array_equal(mine, expected)


def test_exact_sum_of_some_rows_and_a_base():
    base = np.arange(6.0).reshape(3, 2)
    total = ExactSum((3, 2), Steps.below(100.0), base.copy())
    for _ in range(3):
        with total.part() as part:
            part[1] += 0.1
    np.testing.assert_allclose(total.total(), base + [[0, 0], [0.3, 0.3], [0, 0]], rtol=1e-15)
    total.clear(np.array([1]))
    np.testing.assert_array_equal(total.total(), [[0, 1], [0, 0], [4, 5]])


def test_rows_on_workers_are_not_read_into_one_process(client):
    rows = coterie.dask.rows(da.from_array(data(), chunks=(170, 3)))
    assert rows.shape == (1000, 3)
    np.testing.assert_array_equal(rows.take([0, 400, 999]), data()[[0, 400, 999]])
    for model in (
        coterie.BisectingKMeans(2), coterie.SizeConstrainedKMeans(2),
        coterie.LaplacianKModes(2), coterie.DensityClustering(), coterie.TotalVariationClustering(2),
        coterie.MultilevelGraphClustering(2),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"rows on Dask workers.*lightweight_coreset"):
            model.fit(rows)


@pytest.mark.parametrize("n_times", [2, 3])
def test_a_task_that_dask_gives_up_runs_twice_again(client, monkeypatch, n_times):
    error = distributed.KilledWorker("task", SimpleNamespace(address="tcp://worker"), 3)
    answer, errors = WorkerPasses._answer, [error] * n_times

    def give_up(passes, future):
        if errors:
            raise errors.pop()
        return answer(passes, future)

    with open_passes(coterie.dask.rows(da.ones((8, 2)), client=client)) as passes:
        monkeypatch.setattr(WorkerPasses, "_answer", give_up)
        with pytest.raises(ClusterLostError) if n_times > 2 else contextlib.nullcontext():
            assert passes.run(largest_number) == [1.0]
