"""Weights are repetitions of rows, also zero ones, for every estimator that takes weights.

Draws depend on the places of rows, so that the rows here have one solution that every start finds.

Source: https://github.com/scikit-learn/scikit-learn/issues/30750 (weights and repetitions give other centers).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from coterie import (
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    NestedMiniBatchKMeans,
    SizeConstrainedKMeans,
    TruncatedGaussianMixture,
)
from tests.support.estimators import CASES

MEANS = np.array([[0.0, 0, 0], [30, 0, 0], [0, 50, 0], [0, 0, 80]])
K = len(MEANS)


def center_order(centers: np.ndarray) -> np.ndarray:
    return np.argsort(centers @ [1.0, 2.0, 3.0])


@dataclass(frozen=True)
class Weighted:
    make: Callable[[], Any]
    has_rows_of_mean_weight: bool = False  # some rule counts rows by the mean weight: weights are relative
    method: str = "fit"
    values: tuple[str, ...] = ("cluster_centers_",)
    total: str = "inertia_"


MIXTURE = ("means_", "covariances_", "weights_")
WEIGHTED = {
    "k-means": Weighted(
        lambda: KMeans(K, n_init=3, tol=0, random_state=0), values=("cluster_centers_", "cluster_scales_")
    ),
    "k-means, cosine": Weighted(
        lambda: KMeans(K, metric="cosine", zero_rows="ignore", tol=0, random_state=0)
    ),
    "bisecting": Weighted(lambda: BisectingKMeans(K, tol=0, random_state=0)),
    "mini-batch": Weighted(lambda: MiniBatchKMeans(K, init=MEANS, random_state=0), True, "partial_fit"),
    "nested": Weighted(lambda: NestedMiniBatchKMeans(K, batch_size=40, tol=0, random_state=0)),
    "size-constrained": Weighted(lambda: SizeConstrainedKMeans(K, size_min=0.1, tol=0, random_state=0)),
    **{
        f"mixture, {kind}": Weighted(
            lambda kind=kind: TruncatedGaussianMixture(
                K, init=MEANS, covariance_type=kind, n_factors=1, tol=1e-12, max_iter=500, random_state=0
            ),
            values=MIXTURE,
            total="lower_bound_",
        )
        for kind in ("tied_spherical", "spherical", "diag", "factors")
    },
}


def test_every_estimator_with_weights_is_here():
    here = {type(case.make()) for case in WEIGHTED.values()}
    assert here == {case.estimator for case in CASES if case.takes_weights}


@pytest.mark.parametrize("case", WEIGHTED.values(), ids=WEIGHTED)
def test_weights_are_repetitions(case):
    random = np.random.default_rng(0)
    X = np.repeat(MEANS, [25, 20, 30, 25], axis=0) + random.normal(size=(100, 3))
    counts = random.integers(0, 4, len(X))
    X[counts == 0] *= -100  # would draw a center
    fits = (X, counts), (np.repeat(X, counts, axis=0), None), (X[counts > 0], counts[counts > 0])
    weighted, *others = (getattr(case.make(), case.method)(rows, sample_weight=own) for rows, own in fits)
    for other in others[case.has_rows_of_mean_weight :]:
        for name in case.values:
            first, second = (
                getattr(model, name) if np.ndim(getattr(model, name)) == 0
                else np.asarray(getattr(model, name))[center_order(getattr(model, case.values[0]))]
                for model in (weighted, other)
            )  # fmt: skip
            np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(getattr(weighted, case.total), getattr(other, case.total), rtol=1e-9)


def test_rows_of_weight_zero_are_in_no_nested_sample():
    random = np.random.default_rng(1)
    X, is_kept = random.normal(size=(3000, 2)), random.random(3000) < 0.4
    model = NestedMiniBatchKMeans(8, init=X[is_kept][:8], batch_size=50, tol=0, random_state=0)
    all_rows = clone(model).fit(X, sample_weight=is_kept.astype(float))
    others = clone(model).fit(X[is_kept])
    for name in ("batch_size", "n_changed"):
        np.testing.assert_array_equal(all_rows.history_[name], others.history_[name])
    np.testing.assert_allclose(all_rows.cluster_centers_, others.cluster_centers_, rtol=1e-9)
    assert len(set(others.history_["batch_size"])) > 3
