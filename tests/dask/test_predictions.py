"""Methods of fitted models on rows of workers: lazy Dask arrays with the results of the same rows here."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import coterie

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402


def rows(n=400):
    random = np.random.default_rng(0)
    shifts = 5 * random.integers(3, size=(n, 1)).astype(np.float32)
    return random.normal(size=(n, 3)).astype(np.float32) + shifts


def on_workers(X):
    return coterie.dask.rows(da.from_array(X, chunks=(90, 3)))


@pytest.mark.parametrize(
    "model",
    [
        coterie.KMeans(3, random_state=0, callback=lambda progress: None),
        coterie.BisectingKMeans(3, random_state=0),
        coterie.MiniBatchKMeans(3, random_state=0),
        coterie.TruncatedGaussianMixture(3, random_state=0),
        coterie.LaplacianKModes(3, random_state=0),
        coterie.TotalVariationClustering(3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_of_every_model(client, model):
    X = rows()
    model.fit(X[:300])
    lazy = model.predict(on_workers(X))
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == np.int32
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))


def test_distances_scores_and_posteriors(client):
    X = rows()
    lying, k_means = on_workers(X), coterie.KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(k_means.transform(lying).compute(), k_means.transform(X))
    assert k_means.score(lying) == pytest.approx(k_means.score(X), rel=1e-9)
    mixture = coterie.TruncatedGaussianMixture(3, random_state=0).fit(X)
    assert mixture.score(lying) == pytest.approx(mixture.score(X), rel=1e-9)
    assert (mixture.responsibilities(lying).compute() != mixture.responsibilities(X)).nnz == 0
    factors = coterie.TruncatedGaussianMixture(3, covariance_type="factors", n_factors=1, random_state=0).fit(
        X
    )
    for model in (mixture, factors):
        lazy = model.denoise(lying)
        assert (lazy.dtype, lazy.shape) == (np.float32, X.shape)
        np.testing.assert_array_equal(lazy.compute(), model.denoise(X))


def test_columns_of_vectors(client):
    pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    import dask

    X = rows()
    frame = pandas.DataFrame({"id": range(len(X)), "embedding": list(X)})
    with dask.config.set({"dataframe.convert-string": False}):  # or lists become their texts
        lying = coterie.dask.rows(dd.from_pandas(frame, npartitions=3), columns=["embedding"])
        model = coterie.KMeans(3, init=X[:3]).fit(lying)
        np.testing.assert_array_equal(model.labels_, coterie.KMeans(3, init=X[:3]).fit(X).labels_)
        np.testing.assert_array_equal(model.predict(lying).compute(), model.labels_)


def test_each_worker_opens_only_the_files_of_its_chunks(client, tmp_path):
    X = rows()
    for number, part in enumerate(np.array_split(X, 4)):
        pd.DataFrame(part, columns=list("abc")).assign(id=number).to_parquet(tmp_path / f"{number}.parquet")
    lying = coterie.dask.rows(str(tmp_path), exclude=["id"])
    assert [Path(chunk.file.path).name for chunk in lying.chunks.chunks] == [f"{i}.parquet" for i in range(4)]
    model = coterie.KMeans(3, random_state=0).fit(lying)
    here = coterie.KMeans(3, random_state=0).fit(coterie.open_rows(tmp_path, exclude=["id"]))
    np.testing.assert_array_equal(model.labels_, here.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, here.cluster_centers_)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_files_of_several_types_and_lengths(client, tmp_path, suffix):
    """The type is that of all files, as on one machine; files are counted by the workers, but the first."""
    X = np.round(100 * rows(300)).astype(np.float64)
    X[250:] += 0.125
    for number, part in enumerate((X[:120].astype(np.float32), X[120:250].astype(np.float32), X[250:])):
        path, frame = tmp_path / f"part-{number}.{suffix}", pd.DataFrame(part, columns=list("abc"))
        if suffix == "npy":
            np.save(path, part)
        else:
            frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    lying, here = coterie.dask.rows(str(tmp_path)), coterie.open_rows(tmp_path)
    assert (lying.shape, lying.dtype) == (here.shape, here.dtype) == ((300, 3), np.float64)
    np.testing.assert_array_equal(lying.take(np.arange(300)), X)
    if suffix != "npy":  # a column that is constant in some files is one of all files
        part = frame.assign(c=1.0)
        part.to_parquet(path) if suffix == "parquet" else part.to_csv(path, index=False)
        assert coterie.dask.rows(str(tmp_path)).take([0, 299])[:, 2].tolist() == [X[0, 2], 1.0]
