"""The record of truncated mixtures of Gaussians."""

from __future__ import annotations

from dataclasses import replace

from coterie.estimators.belonging import own_posteriors
from coterie.estimators.method import Belonging, Method, Objective, Option
from coterie.estimators.options import CORESET, INIT, OBJECTIVE_TOLERANCE
from coterie.mixture.estimator import ASSIGNMENTS, COVARIANCE_TYPES, TruncatedGaussianMixture

__all__ = ["GMM"]

_COVARIANCES = ("one for all clusters", "one per cluster", "one per cluster and column")
_LABELLINGS = (
    "exact for up to 1,000 clusters",
    "compared with all clusters",
    "compared with those near by",
)

GMM = Method(
    name="gmm",
    estimator=TruncatedGaussianMixture,
    summary="a mixture of Gaussians, for up to tens of thousands of clusters",
    objective=Objective("lower_bound_", "free energy", "per row", higher_is_better=True),
    clusters="n_components",
    options=(
        INIT,
        replace(CORESET, help=f"{CORESET.help}, and report its free energy"),
        Option(
            "covariance_type",
            "--covariance",
            "variances",
            choices=dict(zip(COVARIANCE_TYPES, _COVARIANCES, strict=True)),
        ),
        Option("n_candidates", "--candidates", "clusters that each row is shared among", type=int),
        Option(
            "n_neighbors",
            "--neighbors",
            "size of the neighbourhoods of clusters in which rows look for better ones",
            type=int,
        ),
        Option(
            "rows_per_tile",
            "--rows-per-tile",
            "rows that look among each other's clusters; 1: each alone, as in the papers",
            type=int,
        ),
        Option(
            "search_every",
            "--search-every",
            "from the fifth step on, one in so many looks for better clusters; 1: each, as in the papers",
            type=int,
        ),
        Option(
            "initial_e_steps",
            "--initial-e-steps",
            "how often rows look for better clusters before these change for the first time",
            type=int,
        ),
        Option(
            "assignment",
            "--assignment",
            "how rows are labelled",
            choices=dict(zip(ASSIGNMENTS, _LABELLINGS, strict=True)),
        ),
        OBJECTIVE_TOLERANCE,
    ),
    drops_clusters=True,
    belonging=Belonging("posterior", own_posteriors),
    page="docs/decisions/mixture.md",
)
