"""K-means of rows on workers: the clusters of one machine, bit-identical for any workers, and errors on the client."""

import contextlib

import numpy as np
import pytest
from sklearn.base import clone

import coterie
from coterie import KMeans
from tests.dask.clusters import held_by_scheduler, in_threads

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402

K = 6


def rows(dtype=np.float32, n=900, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(K, 5)) * 3
    return (centers[random.integers(K, size=n)] + random.normal(size=(n, 5))).astype(dtype)


def on_workers(X, size=250, **options):
    return coterie.dask.rows(da.from_array(X, chunks=(size, *X.shape[1:])), **options)


def same(model, other):
    return all(
        np.array_equal(getattr(model, name), getattr(other, name))
        for name in ("labels_", "cluster_centers_", "inertia_", "n_iter_")
    )


class TestLikeOneMachine:
    def test_persisted_rows_without_other_references(self, client):
        X = rows()
        lying = coterie.dask.rows(client.persist(da.from_array(X, chunks=(250, 5))), client=client)
        here, there = (KMeans(K, random_state=0, max_iter=3).fit(data) for data in (X, lying))
        assert same(there, here)

    @pytest.mark.parametrize(
        ("dtype", "algorithm"), [(np.float32, "lloyd"), (np.float64, "yinyang"), (np.float32, "elkan")]
    )
    def test_labels_and_centers(self, client, dtype, algorithm):
        X = rows(dtype)
        here = KMeans(K, init=X[:K], algorithm=algorithm).fit(X)
        there = KMeans(K, init=X[:K], algorithm=algorithm).fit(on_workers(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-6)
        if dtype == np.float32:  # to which sums in float64 are rounded
            np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)
        assert there.n_iter_ == here.n_iter_
        np.testing.assert_allclose(there.history_.objective, here.history_.objective, rtol=1e-9)
        for name in ("n_changed", "algorithm"):
            np.testing.assert_array_equal(there.history_[name], here.history_[name])
        np.testing.assert_allclose(there.outlier_scores_, here.outlier_scores_, rtol=1e-5, atol=1e-6)

    def test_weights_and_empty_clusters(self, client):
        X, weights = rows(np.float64), np.random.default_rng(1).integers(0, 3, size=900).astype(float)
        init = np.concatenate([X[: K - 2], np.full((2, 5), 500.0)])
        here = KMeans(K, init=init).fit(X, sample_weight=weights)
        there = KMeans(K, init=init).fit(on_workers(X), sample_weight=weights)
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.inertia_, here.inertia_, rtol=1e-12)

    def test_cosine_metric(self, client):
        X = rows()
        here = KMeans(K, init=X[:K], metric="cosine").fit(X)
        there = KMeans(K, init=X[:K], metric="cosine").fit(on_workers(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_mini_batches(self, client, metric):
        X, weights = rows(np.float64), np.random.default_rng(1).integers(0, 3, size=900).astype(float)
        model = coterie.MiniBatchKMeans(
            K, init=X[:K], batch_size=200, metric=metric, max_iter=2, random_state=0
        )
        here = clone(model).fit(X, sample_weight=weights)
        there, again = (clone(model).fit(on_workers(X), sample_weight=weights) for _ in range(2))
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, atol=1e-9)
        np.testing.assert_array_equal(there.labels_, here.labels_)
        assert same(there, again)
        for one in (here, there):
            one.partial_fit(X[:100] if one is here else on_workers(X[:100], 40))
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, atol=1e-9)

    def test_rows_where_rounding_decides(self, client):
        X = rows(np.float64)
        X[:400] += 1e9
        here = KMeans(K, init=X[398 : 398 + K]).fit(X)
        there = KMeans(K, init=X[398 : 398 + K]).fit(on_workers(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)

    @pytest.mark.parametrize("init", ["k-means++", "split-merge", "afk-mc2", "random"])
    def test_initialization(self, client, init):
        X = rows()
        here = KMeans(K, init=init, random_state=3, n_init=2, max_iter=2).fit(X)
        there = KMeans(K, init=init, random_state=3, n_init=2, max_iter=2).fit(on_workers(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)

    def test_first_pass_without_bounds(self, client):
        X = np.tile(rows(), 20)
        here = KMeans(K, init=X[:K], max_time=600).fit(X)
        there = KMeans(K, init=X[:K], max_time=600).fit(on_workers(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)
        assert len(set(there.history_.algorithm)) == 2

    def test_files(self, client, tmp_path, monkeypatch):
        monkeypatch.setattr("coterie.dask.chunks._CHUNK_BYTES", 4000)
        monkeypatch.chdir(tmp_path)
        for seed in (0, 1):  # the second time, files of the same name hold other rows
            X = rows(seed=seed)
            for number, part in enumerate(np.split(X, 3)):
                np.save(f"part-{number}.npy", part)
            lying = coterie.dask.rows("part-*.npy")
            there = KMeans(K, init=X[:K]).fit(lying)
            np.testing.assert_array_equal(there.labels_, KMeans(K, init=X[:K]).fit(X).labels_)
            np.testing.assert_array_equal(there.predict(lying).compute(), there.labels_)

    def test_chunks_of_unknown_sizes(self, client):
        X = rows()
        lazy = da.from_array(X, chunks=(250, 5))
        lazy = lazy[da.from_array(np.arange(900) >= 250, chunks=250)]
        there = KMeans(K, init=X[:K]).fit(coterie.dask.rows(lazy))
        np.testing.assert_array_equal(there.labels_, KMeans(K, init=X[:K]).fit(X[250:]).labels_)


def test_bits_do_not_depend_on_workers():
    X = rows(np.float64)
    found = []
    for n_workers in (1, 3):
        with contextlib.ExitStack() as stack:
            in_threads(stack, n_workers)
            found.append(KMeans(K, random_state=0, algorithm="yinyang").fit(on_workers(X, 130)))
    assert same(*found)


def test_k_means_parallel(client):
    X = rows(n=4000)
    models = [KMeans(K, init="k-means||", random_state=1).fit(on_workers(X, 700)) for _ in range(2)]
    assert same(*models)
    best = KMeans(K, random_state=0, n_init=5).fit(X).inertia_
    assert models[0].inertia_ < 1.3 * best
    assert KMeans(K, init="k-means||", random_state=1).fit(X).inertia_ < 1.3 * best


def test_coreset(client):
    X = rows(n=3000)
    models = [KMeans(K, coreset_size=500, random_state=0).fit(on_workers(X, 700)) for _ in range(2)]
    assert same(*models)
    np.testing.assert_array_equal(models[0].predict(on_workers(X)).compute(), models[0].labels_)
    assert models[0].inertia_ < 1.2 * KMeans(K, random_state=0, n_init=3).fit(X).inertia_


class TestTasks:
    def test_nothing_is_left_on_the_workers(self, client):
        KMeans(K, random_state=0, max_iter=2).fit(on_workers(rows()))
        with pytest.raises(ZeroDivisionError):
            KMeans(K, random_state=0, callback=lambda progress: 1 / 0).fit(on_workers(rows()))
        assert held_by_scheduler(client, 20) == []


class TestErrors:
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_non_finite_values(self, client, bad, tmp_path, monkeypatch):
        monkeypatch.setattr("coterie.dask.chunks._CHUNK_BYTES", 4000)
        X = rows()
        X[700, 2] = bad
        with pytest.raises(ValueError, match=r"First bad row: 700, row 200 of chunk 2 of X"):
            KMeans(K).fit(on_workers(X))
        for number, part in enumerate(np.split(X, 3)):
            np.save(tmp_path / f"part-{number}.npy", part)
        with pytest.raises(ValueError, match=r"First bad row: 700, row 100 of .*part-2.npy"):
            KMeans(K).fit(coterie.dask.rows(str(tmp_path / "part-*.npy")))

    def test_a_chunk_that_cannot_be_computed(self, client):
        def broken(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 2:
                raise OSError("no such shard")
            return block

        X = da.from_array(rows(), chunks=(250, 5))
        X = X.map_blocks(broken, dtype=np.float32, meta=np.empty((0, 0), np.float32))
        with pytest.raises(ValueError, match="Chunk 2 of X cannot be read: OSError: no such shard"):
            KMeans(K).fit(coterie.dask.rows(X))

    @pytest.mark.parametrize("scale", [1.0, 2.0**-20])
    def test_extreme_rows_that_hide_others_are_an_error(self, client, scale):
        X = rows()
        X[450] = 1e18
        X *= scale
        for model in (KMeans(K, init=X[:K]), coterie.NestedMiniBatchKMeans(K, init=X[:K])):
            with pytest.raises(ValueError, match=r"so far away .* that sums on a cluster lose the digits"):
                model.fit(on_workers(X))
