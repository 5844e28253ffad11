"""Streams: batch after batch into one model, and what begins where another model ended."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import coterie
from coterie import KMeans, MiniBatchKMeans, NestedMiniBatchKMeans
from tests.support.bits import same_fits

ESTIMATORS = [
    KMeans(20, max_iter=3, random_state=0),
    MiniBatchKMeans(20, batch_size=200, max_iter=3, random_state=0),
    NestedMiniBatchKMeans(20, random_state=0),
]
NAMES = ["k-means", "mini-batch", "nested"]


@pytest.mark.parametrize("begin", ESTIMATORS, ids=NAMES)
@pytest.mark.parametrize("end", ESTIMATORS, ids=NAMES)
def test_warm_start(blobs, begin, end):
    begin = clone(begin).fit(blobs[:1000])
    before = begin.cluster_centers_.copy()
    warm = clone(end).set_params(init=begin).fit(blobs)
    same = clone(end).set_params(init=begin.cluster_centers_).fit(blobs)
    np.testing.assert_array_equal(warm.cluster_centers_, same.cluster_centers_)
    np.testing.assert_array_equal(begin.cluster_centers_, before)
    copy = clone(warm)
    assert copy.init is begin
    np.testing.assert_array_equal(copy.fit(blobs).cluster_centers_, warm.cluster_centers_)
    with pytest.raises(NotFittedError):
        clone(end).set_params(init=clone(begin)).fit(blobs)
    with pytest.raises(ValueError, match="does not match the number of clusters 7"):
        clone(end).set_params(init=begin, n_clusters=7).fit(blobs)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=NAMES[1:])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_going_on_after_loading(blobs, tmp_path, estimator, sparse, first):
    X = sp.csr_array(np.maximum(blobs, 0)) if sparse else blobs
    model = clone(estimator)
    getattr(model, first)(X[:1500])
    model.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    same_fits(loaded, model)
    for part in (X[1500:1900], X[1900:]):
        same_fits(loaded.partial_fit(part), model.partial_fit(part))


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=NAMES[1:])
def test_fit_ignores_earlier_batches(blobs, estimator):
    fresh = clone(estimator).fit(blobs)
    same_fits(clone(estimator).partial_fit(blobs[:500]).fit(blobs), fresh)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=NAMES[1:])
def test_batches_must_be_alike(blobs, estimator):
    model = clone(estimator).partial_fit(blobs)
    with pytest.raises(ValueError, match=r"10 features.*expecting 11"):
        model.partial_fit(blobs[:, :10])
    with pytest.raises(ValueError, match="n_samples=5 should be >= n_clusters=20"):
        clone(estimator).partial_fit(blobs[:5])


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=NAMES[1:])
@pytest.mark.parametrize("bad_kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_invalid_batch_changes_nothing(blobs, estimator, kind, bad_kind, tiny_blocks):
    tiny_blocks()  # the bad row is in the last of many
    X = blobs.astype(np.float64)
    bad = X[2000:].copy()
    bad[777, 3] = np.nan
    model, other = (clone(estimator).partial_fit(kind(X[:1000])) for _ in range(2))
    before = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match=r"First bad row: 777\."):
        model.partial_fit(bad_kind(bad))
    np.testing.assert_array_equal(model.cluster_centers_, before)
    np.testing.assert_array_equal(model.counts_, other.counts_)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    for one in (model, other):
        one.partial_fit(kind(X[1000:2000]))
    np.testing.assert_allclose(model.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    np.testing.assert_array_equal(model.counts_, other.counts_)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=NAMES[1:])
def test_threads_do_not_matter_to_a_stream(blobs, estimator):
    one, three = (clone(estimator).set_params(n_threads=n) for n in (1, 3))
    for batch in np.split(blobs, 6):
        same_fits(three.partial_fit(batch), one.partial_fit(batch))
