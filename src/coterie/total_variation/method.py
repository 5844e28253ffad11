"""The record of total variation clustering."""

from __future__ import annotations

from typing import Any

from coterie.estimators.method import MembershipMeasure, Method, Objective, Progress
from coterie.estimators.on_graph import own_memberships
from coterie.total_variation.estimator import TotalVariationClustering

__all__ = ["TOTAL_VARIATION"]


def _plot_memberships(model: TotalVariationClustering) -> Any:
    from coterie.total_variation.plots import plot_memberships

    return plot_memberships(model)


TOTAL_VARIATION = Method(
    name="total-variation",
    estimator=TotalVariationClustering,
    summary="clusters with few edges between them, also from a few labels",
    objective=Objective("energy_", "balanced cut"),
    # `max_iter` limits the inner iterations, which are not reported.
    progress=Progress(name="relaxed cut", step="outer step", limit=None),
    takes_labels=True,
    membership=MembershipMeasure("membership", own_memberships),
    pictures={"memberships": _plot_memberships},
    page="docs/development/decisions.md",
)
