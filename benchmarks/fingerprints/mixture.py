"""Cases of truncated Gaussian mixtures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.fingerprints.data import (
    as_bytes,
    blobs,
    drawn_rows,
    integer_weights,
    overlapping_windows,
)
from benchmarks.fingerprints.runs import Cases, fit, fit_on_threads, fitted, watch
from benchmarks.fingerprints.storages import from_file
from coterie import TruncatedGaussianMixture

KINDS = "tied_spherical", "spherical", "diag"
USES = "predict", "responsibilities", "predict_proba", "score_samples", "score", "bic", "aic"

# Enough that rows look for their components in cells.
MANY = 1_100


def mixture_cases() -> Cases:
    """Kinds of variances, coresets, starts, many components."""
    X, others = blobs(8_000, 6, 60), blobs(400, 6, 60, seed=1)
    weights = integer_weights(8_000)
    mixture = partial(TruncatedGaussianMixture, 60)
    many = partial(TruncatedGaussianMixture, MANY, max_iter=6)

    def with_coreset(kind: str) -> Any:
        model = mixture(covariance_type=kind, coreset_size=3_000)
        return fitted(model, X.astype(np.float32), others, *USES, sample_weight=weights)

    def from_mixture() -> Any:
        start = TruncatedGaussianMixture(60, covariance_type="diag", random_state=1, max_iter=3)
        return fitted(mixture(covariance_type="diag", init=start.fit(X)), X, others, *USES)

    def sampled() -> list[Any]:
        return [fitted(mixture(covariance_type=kind), X, 500, "sample") for kind in KINDS]

    return {
        **{kind: fit(mixture(covariance_type=kind), X, others, *USES) for kind in KINDS},
        **{f"{kind}, float32, coreset, weights": partial(with_coreset, kind) for kind in KINDS},
        **{
            f"{MANY} components, {kind}": fit(many(covariance_type=kind), X, others, *USES[:2])
            for kind in KINDS
        },
        f"{MANY} components, exact": fit(many(assignment="exact"), X, others, *USES[:2]),
        "factors": fit(mixture(covariance_type="factors", n_factors=3), X, others, *USES, "denoise"),
        "truncated labels": fit(mixture(assignment="truncated"), X, others, *USES[:2]),
        "weights": fit(mixture(covariance_type="spherical"), X, sample_weight=weights),
        "random candidate": fit(mixture(random_candidate=True), X),
        "other truncation": fit(mixture(n_candidates=3, n_neighbors=9, tol=1e-6), X, others, *USES),
        "few components": fit(TruncatedGaussianMixture(2, covariance_type="spherical"), X, others, *USES),
        "k-means++, no labels": fit(mixture(init="k-means++", compute_labels=False), X),
        "random": fit(mixture(init="random", max_iter=5), X),
        "given means": fit(mixture(init=X[:60]), X),
        "given mixture": from_mixture,
        "function": fit(mixture(init=drawn_rows, coreset_size=1_000), X),
        "dropped components": fit(
            TruncatedGaussianMixture(50, covariance_type="diag"), np.repeat(X[:30], 5, axis=0), others, *USES
        ),
        "bytes": fit(mixture(reg_covar=0.01), as_bytes(X), as_bytes(others), *USES),
        "several blocks": fit(
            TruncatedGaussianMixture(5, max_iter=1, compute_labels=False), overlapping_windows(140_000)
        ),
        "samples": sampled,
        "file": partial(from_file, "parquet", X, lambda rows: fitted(mixture(), rows, rows, "predict")),
        "callback": watch(mixture(), X),
        "threads": fit_on_threads(
            mixture(covariance_type="diag", random_candidate=True), X, others, *USES, sample_weight=weights
        ),
        "threads, coreset": fit_on_threads(mixture(coreset_size=2_000), X, others, *USES),
    }
