"""Outlier scores: laws that hold whatever the method is."""

import numpy as np
import pytest

from coterie import MultilevelGraphClustering, TotalVariationClustering
from coterie.rows import as_rows
from tests.support.bits import same_bits
from tests.support.counting import CountingSource
from tests.support.estimators import every_case, every_estimator
from tests.support.storages import stored

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:X has feature names:UserWarning"
)


def has_scores(case):
    return hasattr(case.estimator, "cluster_scales_")


def labels_others(case):
    return has_scores(case) and hasattr(case.estimator, "predict")


OF_GRAPHS = MultilevelGraphClustering, TotalVariationClustering


def knows_centers(case):
    """Others measure rows of the fit by their neighbors, and are their own neighbors in `predict`."""
    return labels_others(case) and case.predicts_labels and case.estimator not in OF_GRAPHS


def of(model):
    return model.outlier_scores_, model.cluster_scales_


@every_case(has_scores)
def test_a_score_for_each_row(case):
    X, model = case.rows(), case.fitted
    scores, scales = of(model)
    assert scores.shape == (len(X),)
    assert scores.dtype == np.float32
    assert np.all(scores >= 0)
    assert np.all(scales > 0)
    # Half of the rows of a cluster with a scale are within it.
    for cluster in np.unique(model.labels_):
        own = scores[model.labels_ == cluster]
        assert np.median(own) <= 1.5 or len(own) < 3
    same_bits(model.outlier_scores_, scores)
    same_bits(model.outlier_scores(X, model.labels_), scores)


@every_estimator(labels_others)
def test_other_rows(case):
    X = case.rows()
    model = case.make().fit(X[:500])
    labels, distances = model.predict(X[500:], return_distance=True)
    same_bits(labels, model.predict(X[500:]))
    scores = model.outlier_scores(X[500:])
    same_bits(model.outlier_scores(X[500:], labels), scores)
    np.testing.assert_allclose(scores, distances / model.cluster_scales_[labels], rtol=1e-6)
    assert model.outlier_scores(X[500:] + 1e3).min() > scores.max()


@every_case(knows_centers)
def test_rows_of_the_fit(case):
    X = case.rows().astype(np.float32)
    for rows, model in ((case.rows(), case.fitted), (X, case.make().fit(X))):
        same_bits(model.outlier_scores(rows), model.outlier_scores_)


def rotation(d):
    return np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]


@every_estimator(lambda case: labels_others(case) and "diag" not in case.name)
@pytest.mark.parametrize("change", ["scale", "translation", "rotation"])
def test_scores_do_not_depend_on_scale_shift_and_rotation(case, change):
    """Where rounding decides otherwise, for the clusters that both fits have."""
    X, model = case.rows(), case.fitted
    changes = {
        "scale": lambda rows: rows * 1e3,
        "translation": lambda rows: rows + 50,
        "rotation": lambda rows: rows @ rotation(X.shape[1]),
    }
    other = case.make().fit(changes[change](X))
    pairs, sizes = np.unique([model.labels_, other.labels_], axis=1, return_counts=True)
    own, others = (np.bincount(one.labels_ + 1)[labels + 1] for one, labels in zip((model, other), pairs))
    same = pairs[0][(sizes == own) & (sizes == others)]
    kept = np.isin(model.labels_, same)
    assert kept.mean() > 0.5
    # Mean shifts end where a step is below a thousandth of the bandwidth, not at a point.
    atol = 2e-3 if "mean_shift" in case.name else 1e-4
    np.testing.assert_allclose(other.outlier_scores_[kept], model.outlier_scores_[kept], rtol=1e-3, atol=atol)


@every_estimator(has_scores)
def test_planted_rows_are_found(case):
    X = case.rows().copy()
    planted = np.random.default_rng(0).choice(len(X), 3, replace=False)
    spread = np.ptp(X, axis=0).max()
    X[planted] += np.random.default_rng(1).choice([-1.0, 1.0], (3, X.shape[1])) * spread * 0.35
    model = case.make().fit(X)
    crowds = np.bincount(model.labels_)[model.labels_[planted]] > 5  # the others are clusters of their own
    scores = model.outlier_scores_[planted[crowds]]
    assert np.all(scores > np.quantile(model.outlier_scores_, 0.97))


@every_estimator(lambda case: has_scores(case) and case.reads_blocks and case.predicts_labels)
def test_files_that_are_read_in_blocks(case, kept_bytes, tmp_path):
    X = case.rows()
    kept_bytes(0)
    reference = case.make().fit(np.asarray(X))
    rows = CountingSource(as_rows(stored(X, "npy", tmp_path)))
    model = case.make().fit(rows)
    n_passes = rows.n_passes
    scores, scales = of(model)
    assert rows.n_passes == n_passes  # they cost no look at the rows
    found = model.outlier_scores(rows)
    # Down the tree of halves, and once more to measure.
    assert rows.n_passes == n_passes + (2 if case.name == "bisecting" else 1)
    same_bits(found, scores)
    assert len(scales) == len(model.cluster_centers_)
    assert scores.shape == reference.outlier_scores_.shape
