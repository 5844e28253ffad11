"""scikit-learn's own checks, and what it expects of an estimator beside them."""

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie import (
    BisectingKMeans,
    ConvexClustering,
    ConvexClusterPath,
    DensityClustering,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    MultilevelGraphClustering,
    NestedMiniBatchKMeans,
    SizeConstrainedKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from tests.support.bits import same_fits
from tests.support.estimators import EXPECTED_FAILURES, every_case, every_estimator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks(
    [
        KMeans(),
        MiniBatchKMeans(),
        BisectingKMeans(),
        SizeConstrainedKMeans(),
        NestedMiniBatchKMeans(),
        TruncatedGaussianMixture(),
        ConvexClustering(n_neighbors=3, max_iter=2000),
        ConvexClusterPath(n_gammas=5, n_neighbors=3, max_iter=2000),
        LaplacianKModes(2, n_neighbors=3, n_init=2),
        TotalVariationClustering(n_init=1, max_iter=50),
        MultilevelGraphClustering(),
        DensityClustering(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator), {}),
)
def test_every_check(estimator, check):
    check(estimator)


@every_estimator()
def test_names_of_features(case):
    frame = pytest.importorskip("pandas").DataFrame(case.rows()).rename(columns="x{}".format)
    model = case.make().fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == frame.shape[1]
    if hasattr(model, "predict"):
        model.predict(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame.rename(columns=str.upper))
    model.fit(frame.to_numpy())
    assert not hasattr(model, "feature_names_in_")


@every_case(lambda case: case.reads_blocks)  # others may find the same optimum
def test_other_seeds_give_other_fits(case):
    """That a fit has the bits of another one with its seed is among the laws of threads."""
    with pytest.raises(AssertionError):
        same_fits(case.make(random_state=1).fit(case.rows()), case.fitted)


@every_estimator()
def test_tags_say_whether_sparse_rows_are_taken(case):
    assert get_tags(case.make()).input_tags.sparse == case.takes_sparse
