"""The record of truncated mixtures of Gaussians."""

from __future__ import annotations

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.estimators.method import MembershipMeasure, Method, Objective
from coterie.mixture.estimator import TruncatedGaussianMixture
from coterie.rows import RowSource


def _own_posteriors(model: TruncatedGaussianMixture, rows: RowSource, labels: IntArray) -> FloatArray:
    """Return the (truncated) posterior probability of each row's component."""
    found = model.responsibilities(rows)
    return np.asarray(found[np.arange(len(labels)), labels], dtype=np.float64).ravel()


GMM = Method(
    name="gmm",
    estimator=TruncatedGaussianMixture,
    summary="a mixture of Gaussians, for up to tens of thousands of clusters",
    objective=Objective("lower_bound_", "free energy", "per row", higher_is_better=True),
    clusters="n_components",
    drops_clusters=True,
    membership=MembershipMeasure("posterior", _own_posteriors),
    page="docs/development/decisions.md",
)
