"""Sums of squares that overflow, although each square is finite: an error, with and without a time limit.

Source: https://github.com/zilliztech/knowhere/issues/575 (k-means++ never ends where distances are infinite).
"""

import numpy as np
import pytest

import coterie
from coterie import seeding
from coterie.coresets import lightweight_coreset
from tests.support.errors import tried

RANDOM = np.random.default_rng(0)
ROWS = np.repeat(RANDOM.normal(size=(5, 6)) * 10, 60, axis=0) + RANDOM.normal(size=(300, 6))
TOO_LARGE = {
    "rows": (np.ldexp(ROWS, 505), None),
    "weights": (ROWS, np.full(300, 1e304)),
    "sum of weights": (ROWS, np.full(300, 1e306)),
}
FITS = {
    **{
        f"{init}, {limit}": lambda X, w, init=init, limit=limit: coterie.KMeans(
            5, init=init, max_time=limit, random_state=0
        ).fit(X, sample_weight=w)
        for init in ("split-merge", "k-means++", "afk-mc2")
        for limit in (None, 60.0)
    },
    **{
        kind.__name__: lambda X, w, kind=kind: kind(5, random_state=0).fit(X, sample_weight=w)
        for kind in (
            coterie.MiniBatchKMeans, coterie.NestedMiniBatchKMeans, coterie.BisectingKMeans,
            coterie.SizeConstrainedKMeans, coterie.TruncatedGaussianMixture,
        )
    },
    "k_means_plus_plus": lambda X, w: seeding.k_means_plus_plus(X, 5, sample_weight=w, random_state=0),
    "afk_mc2": lambda X, w: seeding.afk_mc2(X, 5, sample_weight=w, random_state=0),
    "coreset": lambda X, w: lightweight_coreset(X, 50, sample_weight=w, random_state=0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("kind", TOO_LARGE)
def test_sums_of_squares_that_overflow(fit, kind):
    model, said = tried(fit, *TOO_LARGE[kind])
    assert "overflow" in said or not said
    if not said:  # the inertia does not overflow, and no sum of squares was needed for the start
        assert np.isfinite(model.inertia_)
        assert np.all(np.isfinite(model.cluster_centers_))
        assert len(np.unique(model.labels_)) == 5


def test_tiny_weights_give_the_same_coreset_and_mixture():
    one, tiny = (
        coterie.TruncatedGaussianMixture(5, coreset_size=100, random_state=0).fit(
            ROWS, sample_weight=np.full(300, weight)
        )
        for weight in (1.0, 2.0**-1000)
    )
    np.testing.assert_allclose(tiny.means_, one.means_)
