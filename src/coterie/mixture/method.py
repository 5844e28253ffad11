"""The record of truncated mixtures of Gaussians."""

from __future__ import annotations

from coterie.backend import lie_elsewhere
from coterie.blocks.kernel_rows import KEPT_BYTES
from coterie.estimators.belonging import own_posteriors
from coterie.estimators.memory import bytes_of_rows, copy_of_rows, labels_and_centers
from coterie.estimators.method import Belonging, Method, Need, Objective
from coterie.mixture.estimator import TruncatedGaussianMixture
from coterie.rows import RowSource

__all__ = ["GMM"]


def _memory(model: TruncatedGaussianMixture, rows: RowSource) -> list[Need]:
    n_rows = rows.shape[0]
    n_components, itemsize = min(model.n_components, n_rows), rows.dtype.itemsize
    n_candidates = min(model.n_candidates, n_components)
    needs = [labels_and_centers(rows, n_components)]
    if lie_elsewhere(rows):
        return needs
    if model.coreset_size is None:
        needs += [
            copy_of_rows(rows),
            Need(min(bytes_of_rows(rows), KEPT_BYTES), "the rows, sorted by component"),
        ]
    else:
        n_rows = model.coreset_size
        way_out = "take a smaller coreset_size (--coreset)"
        needs.append(Need(3.0 * n_rows * rows.row_bytes(), "the coreset", way_out))
    if model.covariance_type == "factors":
        # Factors and their sums in float64, twice with temporary arrays, and their directions.
        of_factors = n_components * (model.n_factors + 2.0) * rows.shape[1] * (32 + itemsize)
        needs.append(Need(of_factors, "the factors of the components", "take fewer components or factors"))
    per_row = n_candidates * (12.0 + 3 * itemsize)
    if model.search_group_size == 1:
        per_row += n_candidates * model.n_neighbors * (4.0 + itemsize)
    way_out = "take a coreset (coreset_size, --coreset), or fewer candidates"
    needs.append(Need(n_rows * per_row, f"the {n_candidates} candidates of each row", way_out))
    return needs


GMM = Method(
    name="gmm",
    estimator=TruncatedGaussianMixture,
    summary="a mixture of Gaussians, for up to tens of thousands of clusters",
    objective=Objective("lower_bound_", "free energy", "per row", higher_is_better=True),
    clusters="n_components",
    drops_clusters=True,
    belonging=Belonging("posterior", own_posteriors),
    memory=_memory,
    page="docs/development/decisions/mixture.md",
)
