"""What any fitted model says of rows of a cluster: that of the same rows here."""

import numpy as np
import pytest

import coterie

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

from coterie import dask  # noqa: E402


def rows(n=400):
    random = np.random.default_rng(0)
    return random.normal(size=(n, 3)).astype(np.float32) + 5 * random.integers(3, size=(n, 1)).astype(
        np.float32
    )


@pytest.mark.parametrize(
    "model",
    [
        coterie.KMeans(3, random_state=0),
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
    lazy = dask.predict(model, da.from_array(X, chunks=(90, 3)))
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == np.int32
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))


def test_distances_scores_and_posteriors(client):
    X = rows()
    chunks, k_means = da.from_array(X, chunks=(90, 3)), coterie.KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(dask.transform(k_means, chunks).compute(), k_means.transform(X))
    assert dask.score(k_means, chunks) == pytest.approx(k_means.score(X), rel=1e-9)
    mixture = coterie.TruncatedGaussianMixture(3, random_state=0).fit(X)
    assert dask.score(mixture, chunks) == pytest.approx(mixture.score(X), rel=1e-9)
    assert (dask.responsibilities(mixture, chunks).compute() != mixture.responsibilities(X)).nnz == 0
    for method in ("predict_proba", "score_samples"):
        found = getattr(dask, method)(mixture, chunks)
        np.testing.assert_allclose(found.compute(), getattr(mixture, method)(X), rtol=1e-10, atol=1e-12)


def test_files_and_what_a_model_has_not(client, tmp_path):
    X = rows()
    np.save(tmp_path / "rows.npy", X)
    model = coterie.KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(dask.predict(model, str(tmp_path / "rows.npy")).compute(), model.labels_)
    with pytest.raises(TypeError, match="KMeans has no responsibilities"):
        dask.responsibilities(model, str(tmp_path / "rows.npy"))
