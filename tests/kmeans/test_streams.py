"""Streams: batch after batch into one model, and what begins where another model ended."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

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
def test_threads_do_not_matter_to_a_stream(blobs, estimator):
    one, three = (clone(estimator).set_params(n_threads=n) for n in (1, 3))
    for batch in np.split(blobs, 6):
        same_fits(three.partial_fit(batch), one.partial_fit(batch))
