"""Nearest rows and graphs of rows on a cluster: those of one machine, bit by bit."""

import contextlib

import numpy as np
import pytest

import coterie
from coterie.graphs import knn_graph, nearest_neighbors
from tests.dask.clusters import in_threads

da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.neighbors import Nearest  # noqa: E402


@pytest.fixture(autouse=True)
def few_queries(monkeypatch):
    """Several blocks of queries, which end within chunks, in several calls each."""
    monkeypatch.setattr("coterie.dask.neighbors._QUERY_BYTES", 4096)
    monkeypatch.setattr("coterie.dask.neighbors._CALL_MULTIPLY_ADDS", 1e4)


def rows(n_rows, n_columns, dtype=np.float32):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_columns)).astype(dtype)
    X[:: max(1, n_rows // 20)] = X[0]  # more equal rows than neighbours, in several chunks
    return X


def assert_same(found, expected):
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.square_distances, expected.square_distances)
    assert found.square_distances.dtype == expected.square_distances.dtype
    assert (found.method, found.recall) == ("exact", 1.0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_are_those_of_one_machine(client, dtype, metric):
    X = rows(500, 7, dtype)
    found = coterie.dask.nearest_neighbors(
        da.from_array(X, chunks=(90, 7)), 6, metric=metric
    )  # "auto": few rows
    assert_same(found, nearest_neighbors(X, 6, metric=metric, method="exact"))


@pytest.mark.parametrize(
    ("shape", "chunks", "n_neighbors"),
    [((41, 1), 10, 40), ((9, 3), 1, 2), ((30, 2), (29, 1), 5), ((2, 1), 2, 1)],
)
def test_chunks_of_fewer_rows_than_neighbours(client, shape, chunks, n_neighbors):
    X = rows(*shape)
    found = coterie.dask.nearest_neighbors(da.from_array(X, chunks=(chunks, shape[1])), n_neighbors)
    assert_same(found, nearest_neighbors(X, n_neighbors, method="exact"))


def test_rows_far_from_the_middle(client):
    X = rows(300, 3)
    X[200:] += 3000  # where products are rounded, and differences tell
    found = coterie.dask.nearest_neighbors(da.from_array(X, chunks=(70, 3)), 4)
    assert_same(found, nearest_neighbors(X, 4, method="exact"))


def test_workers_do_not_change_them(tmp_path):
    X = rows(400, 5)
    for number in range(2):
        np.save(tmp_path / f"part-{number}.npy", X[200 * number : 200 * (number + 1)])
    with contextlib.ExitStack() as stack:
        in_threads(stack, 3)
        found = coterie.dask.nearest_neighbors(str(tmp_path / "part-*.npy"), 3)
    assert_same(found, nearest_neighbors(X, 3, method="exact"))


def test_most_of_them_by_cells(client, monkeypatch):
    monkeypatch.setattr("coterie.dask.neighbors._QUERY_BYTES_OF_CELLS", 40_000)
    random = np.random.default_rng(3)
    X = (random.normal(size=(20, 6)) * 3)[random.integers(20, size=3000)] + random.normal(size=(3000, 6))
    chunks, options = da.from_array(X, chunks=(700, 6)), {"method": "approximate", "recall": 0.95}
    found = coterie.dask.nearest_neighbors(chunks, 5, random_state=0, **options)
    expected = nearest_neighbors(X, 5, method="exact")
    are_found = [len(np.intersect1d(*pair)) for pair in zip(found.ids, expected.ids)]
    assert 0.9 < np.sum(are_found) / expected.ids.size < 1
    assert found.method == "approximate"
    assert 0.9 < found.recall < 1
    assert not np.any(found.ids == np.arange(3000)[:, None])
    with contextlib.ExitStack() as stack:
        in_threads(stack, 1)
        again = coterie.dask.nearest_neighbors(chunks, 5, random_state=0, **options)
    np.testing.assert_array_equal(again.ids, found.ids)
    np.testing.assert_array_equal(again.square_distances, found.square_distances)


def test_laplacian_k_modes_of_a_graph_of_a_cluster(client):
    random = np.random.default_rng(1)
    y = random.integers(3, size=300)
    X = random.normal(size=(300, 4)) + 8 * y[:, None]
    options = {"weights": "gaussian", "include_self": True}
    graph = coterie.dask.knn_graph(da.from_array(X, chunks=(64, 4)), 8, **options)
    here = knn_graph(X, 8, method="exact", **options)
    assert (graph != here).nnz == 0
    np.testing.assert_array_equal(graph.data, here.data)
    model = coterie.LaplacianKModes(3, affinity="precomputed", random_state=0).fit(graph)
    assert coterie.metrics.clustering_accuracy(y, model.labels_) == 1


def test_merged_in_any_order_they_are_the_same():
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
        parts[0].take_in(parts[1])
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
        coterie.dask.nearest_neighbors(da.from_array(rows(30, 2), chunks=(10, 2)), **options)


def test_a_row_that_is_no_number(client):
    X = rows(30, 2)
    X[17, 1] = np.nan
    with pytest.raises(ValueError, match=r"(?s)17.*chunk 1 of X"):
        coterie.dask.knn_graph(da.from_array(X, chunks=(10, 2)), 3)
