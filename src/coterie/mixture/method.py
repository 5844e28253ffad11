"""The record of truncated mixtures of Gaussians."""

from __future__ import annotations

from coterie.estimators.belonging import own_posteriors
from coterie.estimators.method import Belonging, Method, Objective
from coterie.mixture.estimator import TruncatedGaussianMixture

__all__ = ["GMM"]


GMM = Method(
    name="gmm",
    estimator=TruncatedGaussianMixture,
    summary="a mixture of Gaussians, for up to tens of thousands of clusters",
    objective=Objective("lower_bound_", "free energy", "per row", higher_is_better=True),
    clusters="n_components",
    drops_clusters=True,
    belonging=Belonging("posterior", own_posteriors),
    page="docs/development/decisions/mixture.md",
)
