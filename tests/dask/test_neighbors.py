"""Nearest rows and graphs of rows on workers: bit-identical to those of one machine."""

import contextlib

import numpy as np
import pytest

import coterie
from coterie.graphs import knn_graph, nearest_neighbors
from tests.dask.clusters import in_threads

da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.pool import WorkerPool, traffic_of  # noqa: E402
from coterie.dask.tasks import SESSIONS  # noqa: E402
from coterie.graphs.worker_neighbors import Nearest, group_cells  # noqa: E402


@pytest.fixture(autouse=True)
def few_queries(monkeypatch):
    """Several blocks of queries, which end within chunks, in several calls each."""
    monkeypatch.setattr("coterie.graphs.worker_neighbors._QUERY_BYTES", 4096)
    monkeypatch.setattr("coterie.graphs.worker_neighbors._CALL_MULTIPLY_ADDS", 1e4)


def rows(n_rows, n_columns, dtype=np.float32):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_columns)).astype(dtype)
    X[:: max(1, n_rows // 20)] = X[0]  # more equal rows than neighbors, in several chunks
    return X


def neighbors_on_workers(source, n_neighbors, **options):
    return nearest_neighbors(coterie.dask.rows(source), n_neighbors, **options)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.square_distances, expected.square_distances)
    assert found.square_distances.dtype == expected.square_distances.dtype
    assert (found.method, found.recall) == ("exact", 1.0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_equal_those_of_one_machine(client, dtype, metric):
    X = rows(500, 7, dtype)
    found = neighbors_on_workers(da.from_array(X, chunks=(90, 7)), 6, metric=metric)  # "auto": few rows
    assert_same(found, nearest_neighbors(X, 6, metric=metric, method="exact"))


@pytest.mark.parametrize(
    ("shape", "chunks", "n_neighbors"),
    [((41, 1), 10, 40), ((9, 3), 1, 2), ((30, 2), (29, 1), 5), ((2, 1), 2, 1)],
)
def test_chunks_of_fewer_rows_than_neighbors(client, shape, chunks, n_neighbors):
    X = rows(*shape)
    found = neighbors_on_workers(da.from_array(X, chunks=(chunks, shape[1])), n_neighbors)
    assert_same(found, nearest_neighbors(X, n_neighbors, method="exact"))


def test_rows_far_from_the_middle(client):
    X = rows(300, 3)
    X[200:] += 3000  # where products are rounded, and differences tell
    found = neighbors_on_workers(da.from_array(X, chunks=(70, 3)), 4)
    assert_same(found, nearest_neighbors(X, 4, method="exact"))


def test_neighbors_do_not_depend_on_workers(tmp_path):
    X = rows(400, 5)
    for number in range(2):
        np.save(tmp_path / f"part-{number}.npy", X[200 * number : 200 * (number + 1)])
    with contextlib.ExitStack() as stack:
        in_threads(stack, 3)
        found = neighbors_on_workers(str(tmp_path / "part-*.npy"), 3)
    assert_same(found, nearest_neighbors(X, 3, method="exact"))


def blobs(n_rows, dtype=np.float64):
    random = np.random.default_rng(3)
    X = (random.normal(size=(20, 6)) * 3)[random.integers(20, size=n_rows)]
    return (X + random.normal(size=X.shape)).astype(dtype)


def recall_of(found, expected):
    return np.mean([len(np.intersect1d(*pair)) for pair in zip(found.ids, expected.ids)]) / found.ids.shape[1]


@pytest.mark.parametrize(("recall", "least"), [(0.7, 0.65), (0.95, 0.9)])
def test_approximate_neighbors_reach_the_recall(client, recall, least):
    X = blobs(3000)
    options = {"method": "approximate", "recall": recall, "random_state": 0}
    found = neighbors_on_workers(da.from_array(X, chunks=(700, 6)), 5, **options)
    expected = nearest_neighbors(X, 5, method="exact")
    assert least < recall_of(found, expected) < 1
    assert found.method == "approximate"
    assert found.recall == pytest.approx(recall_of(found, expected), abs=0.05)
    assert not np.any(found.ids == np.arange(3000)[:, None])
    for i in (0, 1500, 2999):  # what is found is measured as by the exact method
        squares = np.sum((X[found.ids[i]] - X[i]) ** 2, axis=1)
        np.testing.assert_allclose(found.square_distances[i], squares)
        assert len(set(found.ids[i])) == 5


def test_cells_of_any_number_of_workers(client):
    X = blobs(1500, np.float32)
    options = {"method": "approximate", "recall": 0.8, "random_state": 0}
    chunks = da.from_array(X, chunks=((400, 37, 563, 500), 6))
    found = neighbors_on_workers(chunks, 5, **options)
    for n_workers in (1, 3):
        with contextlib.ExitStack() as stack:
            in_threads(stack, n_workers)
            again = neighbors_on_workers(chunks, 5, **options)
        np.testing.assert_array_equal(again.ids, found.ids)
        np.testing.assert_array_equal(again.square_distances, found.square_distances)
        assert again.recall == found.recall


def test_few_directions_of_many_columns(client, monkeypatch):
    random = np.random.default_rng(5)
    X = (random.normal(size=(1500, 8)) @ random.normal(size=(8, 70)) + 40).astype(np.float32)
    X += random.normal(size=X.shape).astype(np.float32) / 20
    names, run = [], WorkerPool.run
    monkeypatch.setattr(
        WorkerPool,
        "run",
        lambda pool, *args, **more: names.append(args[0].__name__) or run(pool, *args, **more),
    )
    options = {"method": "approximate", "recall": 0.9, "random_state": 0}
    found = neighbors_on_workers(da.from_array(X, chunks=(400, 70)), 5, **options)
    assert names.count("_try_directions") == 1
    expected = nearest_neighbors(X, 5, method="exact")
    assert recall_of(found, expected) > 0.85
    are_same = found.ids == expected.ids
    np.testing.assert_array_equal(found.square_distances[are_same], expected.square_distances[are_same])
    names.clear()
    noise = random.normal(size=(900, 70)).astype(np.float32)  # no few directions tell near rows from far ones
    found = neighbors_on_workers(da.from_array(noise, chunks=(400, 70)), 5, **options)
    assert recall_of(found, nearest_neighbors(noise, 5, method="exact")) > 0.85


def test_cells_of_workers_that_lose_their_chunks(client, monkeypatch):
    """Those that fail while others ask them for rows are asked again, and what they have lost is opened again."""
    X = blobs(1000, np.float32)
    options = {"method": "approximate", "recall": 0.8, "random_state": 0}
    chunks = da.from_array(X, chunks=(200, 6))
    found = neighbors_on_workers(chunks, 5, **options)
    run, names = WorkerPool.run, []

    def losing(pool, task, *arguments, **more):
        name = task.__name__
        if name == "_search_group" and name not in names:
            (address, _), session = max((key, held) for key, held in SESSIONS.items() if held.chunks)
            lost = [number for number, home in pool.homes.items() if home == address]
            del session.chunks[lost[0]]
        names.append(name)
        return run(pool, task, *arguments, **more)

    monkeypatch.setattr(WorkerPool, "run", losing)
    again = neighbors_on_workers(chunks, 5, **options)
    np.testing.assert_array_equal(again.ids, found.ids)
    np.testing.assert_array_equal(again.square_distances, found.square_distances)
    assert "no_task" in names


@pytest.mark.parametrize("rows_of", [lambda: np.ones((300, 2)), lambda: rows(40, 3), lambda: rows(5, 1)])
def test_cells_of_few_or_equal_rows(client, rows_of):
    X = rows_of()
    chunks = da.from_array(X, chunks=(len(X) // 2, X.shape[1]))
    found = neighbors_on_workers(chunks, 3, method="approximate", random_state=0)
    expected = nearest_neighbors(X, 3, method="exact")
    assert np.all(found.square_distances >= expected.square_distances - 1e-6)
    assert found.ids.max() < len(X)
    assert all(len(set(ids)) == 3 and i not in ids for i, ids in enumerate(found.ids.tolist()))


def test_rows_travel_to_the_workers_of_their_cells_alone(client, monkeypatch):
    X, pools = blobs(4000, np.float32), []
    run = WorkerPool.run
    monkeypatch.setattr(
        WorkerPool, "run", lambda pool, *args, **more: pools.append(pool) or run(pool, *args, **more)
    )
    options = {"method": "approximate", "recall": 0.8, "random_state": 0}
    neighbors_on_workers(da.from_array(X, chunks=(1000, 6)), 5, **options)
    passes = {each.name: each for each in traffic_of(pools[0].passes)}
    one_copy = X.nbytes + (4 + 4 + 8 + 16) * len(
        X
    )  # with their numbers, and those of the cells that they visit
    assert 0 < passes["search_group"].n_exchanged < one_copy
    assert passes["search_group"].n_received < 2 * len(X) * (4 + 5 * 8)
    assert sum(passes[name].n_sent for name in ("assign_cells", "search_group")) < X.nbytes


def test_groups_of_cells_have_about_as_many_rows():
    random = np.random.default_rng(4)
    centers, counts = random.normal(size=(200, 3)), random.integers(10, size=200).astype(float)
    for n_groups in (1, 2, 3, 7, 16):
        groups = group_cells(centers, counts, n_groups)
        sizes = np.bincount(groups, weights=counts, minlength=n_groups)
        assert len(sizes) == n_groups
        assert np.all(np.abs(sizes - counts.sum() / n_groups) < 40)
    far = group_cells(np.array([[9.0, 0], [0, 0], [8, 0], [1, 0]]), np.ones(4), 2)
    assert far[0] == far[2] != far[1] == far[3]
    np.testing.assert_array_equal(np.bincount(group_cells(centers[:2], np.zeros(2), 5), minlength=5).sum(), 2)


def test_laplacian_k_modes_of_a_graph_of_a_cluster(client):
    random = np.random.default_rng(1)
    y = random.integers(3, size=300)
    X = random.normal(size=(300, 4)) + 8 * y[:, None]
    options = {"weights": "gaussian", "include_self": True}
    graph = knn_graph(coterie.dask.rows(da.from_array(X, chunks=(64, 4))), 8, **options)
    here = knn_graph(X, 8, method="exact", **options)
    assert (graph != here).nnz == 0
    np.testing.assert_array_equal(graph.data, here.data)
    model = coterie.LaplacianKModes(3, affinity="precomputed", random_state=0).fit(graph)
    assert coterie.metrics.clustering_accuracy(y, model.labels_) == 1


def test_merging_order_does_not_change_neighbors():
    random = np.random.default_rng(2)
    squares = random.integers(4, size=(5, 12)).astype(np.float32)  # many equally near ones
    ids = np.tile(np.arange(12, dtype=np.int32), (5, 1))
    order = np.lexsort((ids, squares), axis=1)[:, :4]
    for cut in (1, 5, 11):
        parts = []
        for columns in (slice(cut, None), slice(cut)):
            part = Nearest(5, 4, np.float32)
            part.add(slice(None), ids[:, columns], squares[:, columns])
            parts.append(part)
        parts[0].merge(parts[1])
        np.testing.assert_array_equal(parts[0].ids, order)
        np.testing.assert_array_equal(parts[0].squares, np.take_along_axis(squares, order, axis=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 30}, "n_neighbors must be less than the number of rows, got 30 of 30 rows."),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer"),
        ({"n_neighbors": 2, "metric": "manhattan"}, "metric must be one of"),
        ({"n_neighbors": 2, "method": "cells"}, "method must be one of"),
        ({"n_neighbors": 2, "recall": 1.0}, "recall must be a number above 0 and below 1"),
    ],
)
def test_wrong_arguments(client, options, message):
    with pytest.raises(ValueError, match=message):
        neighbors_on_workers(da.from_array(rows(30, 2), chunks=(10, 2)), **options)


def test_non_finite_row_is_named(client):
    X = rows(30, 2)
    X[17, 1] = np.nan
    with pytest.raises(ValueError, match=r"(?s)17.*chunk 1 of X"):
        knn_graph(coterie.dask.rows(da.from_array(X, chunks=(10, 2))), 3)
