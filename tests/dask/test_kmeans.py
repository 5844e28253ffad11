"""k-means on a cluster: the clusters of one machine, the same bits for any workers, and errors on the client."""

import contextlib

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import coterie
from tests.dask.clusters import in_threads, lost_in

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from coterie.dask import KMeans  # noqa: E402
from coterie.dask.worker import SESSIONS  # noqa: E402

K = 6


def rows(dtype=np.float32, n=900, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(K, 5)) * 3
    return (centers[random.integers(K, size=n)] + random.normal(size=(n, 5))).astype(dtype)


def in_chunks(X, size=250):
    return da.from_array(X, chunks=(size, X.shape[1]))


def same(model, other):
    return all(
        np.array_equal(getattr(model, name), getattr(other, name))
        for name in ("labels_", "cluster_centers_", "inertia_", "n_iter_")
    )


class TestOfOneMachine:
    """What `coterie.KMeans` finds, it finds too."""

    @pytest.mark.parametrize("algorithm", ["lloyd", "yinyang"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_labels_and_centroids(self, client, dtype, algorithm):
        X = rows(dtype)
        here = coterie.KMeans(K, init=X[:K], algorithm=algorithm).fit(X)
        there = KMeans(K, init=X[:K], algorithm=algorithm).fit(in_chunks(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-6)
        if dtype == np.float32:  # to which sums in float64 are rounded
            np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)
        assert there.n_iter_ == here.n_iter_
        np.testing.assert_allclose(there.history_.objective, here.history_.objective, rtol=1e-9)
        np.testing.assert_array_equal(there.history_.n_changed, here.history_.n_changed)

    def test_weights_and_empty_clusters(self, client):
        X, weights = rows(np.float64), np.random.default_rng(1).integers(0, 3, size=900).astype(float)
        init = np.concatenate([X[: K - 2], np.full((2, 5), 500.0)])
        here = coterie.KMeans(K, init=init).fit(X, sample_weight=weights)
        there = KMeans(K, init=init).fit(in_chunks(X), sample_weight=weights)
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.inertia_, here.inertia_, rtol=1e-12)

    def test_rows_by_angle(self, client):
        X = rows()
        here = coterie.KMeans(K, init=X[:K], metric="cosine").fit(X)
        there = KMeans(K, init=X[:K], metric="cosine").fit(in_chunks(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)

    def test_rows_where_rounding_decides(self, client):
        X = rows(np.float64)
        X[:400] += 1e9
        here = coterie.KMeans(K, init=X[398 : 398 + K]).fit(X)
        there = KMeans(K, init=X[398 : 398 + K]).fit(in_chunks(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)

    @pytest.mark.parametrize("init", ["k-means++", "afk-mc2", "random"])
    def test_seeds(self, client, init):
        X = rows()
        here = coterie.KMeans(K, init=init, random_state=3, n_init=1, max_iter=2).fit(X)
        there = KMeans(K, init=init, random_state=3, n_init=1, max_iter=2).fit(in_chunks(X))
        np.testing.assert_array_equal(there.labels_, here.labels_)

    def test_files(self, client, tmp_path, monkeypatch):
        monkeypatch.setattr("coterie.dask.chunks._CHUNK_BYTES", 4000)
        X = rows()
        for number, part in enumerate(np.split(X, 3)):
            np.save(tmp_path / f"part-{number}.npy", part)
        there = KMeans(K, init=X[:K]).fit(str(tmp_path / "part-*.npy"))
        np.testing.assert_array_equal(there.labels_, coterie.KMeans(K, init=X[:K]).fit(X).labels_)
        np.testing.assert_array_equal(there.predict(str(tmp_path / "part-*.npy")).compute(), there.labels_)

    def test_a_file_of_the_same_name_is_read_anew(self, client, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for seed in (0, 1):
            X = rows(seed=seed)
            np.save("rows.npy", X)
            there = KMeans(K, init=X[:K]).fit("rows.npy")
            np.testing.assert_array_equal(there.labels_, coterie.KMeans(K, init=X[:K]).fit(X).labels_)

    def test_frames_with_an_embedding(self, client):
        pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        X = rows()
        frame = pandas.DataFrame({"id": range(len(X)), "embedding": list(X)})
        with dask.config.set({"dataframe.convert-string": False}):  # or lists become their texts
            frames = dd.from_pandas(frame, npartitions=3)
            there = KMeans(K, init=X[:K], open_options={"columns": ["embedding"]}).fit(frames)
        np.testing.assert_array_equal(there.labels_, coterie.KMeans(K, init=X[:K]).fit(X).labels_)


class TestBits:
    def test_workers_do_not_change_them(self):
        X = rows(np.float64)
        found = []
        for n_workers in (1, 3):
            with contextlib.ExitStack() as stack:
                in_threads(stack, n_workers)
                found.append(KMeans(K, random_state=0, algorithm="yinyang").fit(in_chunks(X, 130)))
        assert same(*found)

    def test_a_fit_goes_on_from_a_checkpoint(self, client, tmp_path):
        X, path = rows(np.float64), tmp_path / "model.coterie"
        options = dict(tol=0, checkpoint=path)
        whole = KMeans(K, init=X[:K], **options).fit(in_chunks(X))
        assert whole.n_iter_ > 4
        KMeans(K, init=X[:K], max_iter=3, **options).fit(in_chunks(X))
        rest = KMeans(K, init=coterie.load(path), **options).fit(in_chunks(X))
        assert rest.n_iter_ == whole.n_iter_ - 3
        np.testing.assert_array_equal(rest.cluster_centers_, whole.cluster_centers_)
        np.testing.assert_array_equal(rest.labels_, whole.labels_)

    def test_seeding_in_rounds(self, client):
        X = rows(n=4000)
        models = [KMeans(K, init="k-means||", random_state=1).fit(in_chunks(X, 700)) for _ in range(2)]
        assert same(*models)
        best = coterie.KMeans(K, random_state=0, n_init=5).fit(X).inertia_
        assert models[0].inertia_ < 1.3 * best


class TestFitted:
    def test_what_it_says_of_other_rows(self, client):
        X = rows()
        model = KMeans(K, random_state=0).fit(in_chunks(X))
        local = model.to_local()
        assert type(local) is coterie.KMeans
        lazy = model.predict(in_chunks(X, 400))
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), model.labels_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.transform(in_chunks(X)).compute(), local.transform(X))
        np.testing.assert_allclose(model.score(in_chunks(X)), -model.inertia_, rtol=1e-9)
        np.testing.assert_array_equal(model.outlier_scores_, local.outlier_scores_)

    def test_saved_as_that_of_one_machine(self, client, tmp_path):
        model = KMeans(K, init="k-means||", random_state=0).fit(in_chunks(rows()))
        model.save(tmp_path / "model.coterie")
        loaded = coterie.load(tmp_path / "model.coterie")
        np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)

    def test_labels_of_many_rows_stay_where_the_rows_are(self, client, monkeypatch):
        X = rows()
        gathered = KMeans(K, init=X[:K]).fit(in_chunks(X))
        monkeypatch.setattr("coterie.dask.worker_rows.GATHERED_ROWS", 100)
        model = KMeans(K, init=X[:K]).fit(in_chunks(X))
        assert isinstance(model.labels_, da.Array)
        np.testing.assert_array_equal(model.labels_.compute(), gathered.labels_)
        np.testing.assert_allclose(model.inertia_, gathered.inertia_, rtol=1e-12)

    def test_by_a_coreset(self, client):
        X = rows(n=3000)
        models = [KMeans(K, coreset_size=500, random_state=0).fit(in_chunks(X, 700)) for _ in range(2)]
        assert same(*models)
        np.testing.assert_array_equal(models[0].predict(in_chunks(X)).compute(), models[0].labels_)
        assert models[0].inertia_ < 1.2 * coterie.KMeans(K, random_state=0, n_init=3).fit(X).inertia_

    def test_what_travels(self, client):
        X = rows()
        model = KMeans(K, init=X[:K], tol=0).fit(in_chunks(X, 90))
        passes = model.traffic_[model.traffic_.name == "assign"]
        of_sums = 2 * 8 * K * (X.shape[1] + 1)
        assert np.all(passes.n_tasks == 2)
        assert np.all(passes.n_received <= 2 * of_sums + 8 * 10)
        assert np.all(passes.n_sent <= 2 * (X[:K].nbytes + 64))
        assert model.traffic_.n_opened.sum() == 10

    def test_tasks_have_names(self, client):
        names = set()
        KMeans(K, random_state=0, max_iter=3, callback=lambda _: names.update(client.futures)).fit(
            in_chunks(rows())
        )
        assert any(str(name).startswith("coterie-assign-") for name in names)

    def test_nothing_is_left_on_the_workers(self, client):
        KMeans(K, random_state=0, max_iter=2).fit(in_chunks(rows()))
        with pytest.raises(ZeroDivisionError):
            KMeans(K, random_state=0, callback=lambda progress: 1 / 0).fit(in_chunks(rows()))
        assert not SESSIONS


class TestErrors:
    """One sentence on the client."""

    @pytest.mark.parametrize("n_init", [1, 2])
    def test_the_last_centroids_are_kept_where_time_is_limited(self, client, monkeypatch, n_init):
        X = in_chunks(rows())
        options = {"init": "random", "random_state": 0, "n_init": n_init, "tol": 0}
        expected = KMeans(K, **options | {"max_iter": 3, "n_init": 1}).fit(X)
        begun = lost_in(monkeypatch, "assign", 4)
        with pytest.raises(ConnectionError, match="is lost"):
            KMeans(K, **options).fit(X)
        begun.clear()
        with pytest.warns(ConvergenceWarning, match="is lost. What is left is the model of iteration 3"):
            model = KMeans(K, max_time=60, **options).fit(X)
        assert not hasattr(model, "labels_")
        assert model.inertia_ == expected.history_.objective[-1]
        monkeypatch.undo()
        assert model.predict(X).compute().shape == (900,)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_row_that_is_no_number(self, client, bad, tmp_path, monkeypatch):
        monkeypatch.setattr("coterie.dask.chunks._CHUNK_BYTES", 4000)
        X = rows()
        X[700, 2] = bad
        with pytest.raises(ValueError, match=r"First bad row: 700\. It is row 200 of chunk 2 of X"):
            KMeans(K).fit(in_chunks(X))
        for number, part in enumerate(np.split(X, 3)):
            np.save(tmp_path / f"part-{number}.npy", part)
        with pytest.raises(ValueError, match=r"First bad row: 700\. It is row 100 of .*part-2.npy"):
            KMeans(K).fit(str(tmp_path / "part-*.npy"))

    def test_a_chunk_that_cannot_be_computed(self, client):
        def broken(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 2:
                raise OSError("no such shard")
            return block

        X = in_chunks(rows()).map_blocks(broken, dtype=np.float32, meta=np.empty((0, 0), np.float32))
        with pytest.raises(ValueError, match="Chunk 2 of X cannot be read: OSError: no such shard"):
            KMeans(K).fit(X)

    @pytest.mark.parametrize(
        ("options", "X", "message"),
        [
            ({"init": "best"}, in_chunks(rows()), r"init must be one of k-means\+\+, k-means\|\|"),
            ({"coreset_size": 5}, in_chunks(rows()), "coreset_size=5 should be >= n_clusters=6"),
            (
                {"coreset_size": 50, "checkpoint": "c"},
                in_chunks(rows()),
                "checkpoint is for fits of all rows",
            ),
            ({"zero_rows": "ignore", "metric": "cosine"}, in_chunks(rows()), "zero_rows='ignore' is for"),
            ({"metric": "cosine"}, da.zeros((9, 2), chunks=(3, 2)), "rows of zeros.*First bad row: 0"),
            ({}, in_chunks(rows(n=4)), "n_samples=4 should be >= n_clusters=6"),
            ({}, da.zeros((5,)), "Expected 2D array, got 1D array"),
        ],
    )
    def test_wrong_arguments(self, client, options, X, message):
        with pytest.raises(ValueError, match=message):
            KMeans(K, **options).fit(X)

    def test_rows_so_far_out_that_others_are_lost(self, client):
        X = rows()
        X[450] = 1e18
        with pytest.raises(
            ValueError, match=r"so far away from the others \(2.24e\+18\) that these are lost"
        ):
            KMeans(K, init=X[:K]).fit(in_chunks(X))

    def test_rows_of_this_process(self, client):
        with pytest.raises(TypeError, match="neither a Dask array, a Dask DataFrame nor a path"):
            KMeans(K).fit(rows())
