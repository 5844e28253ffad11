"""The record of Laplacian K-modes."""

from __future__ import annotations

from coterie.estimators.method import MembershipMeasure, Method, Objective, Progress
from coterie.estimators.on_graph import own_memberships
from coterie.laplacian_kmodes.estimator import LaplacianKModes

LAPLACIAN_KMODES = Method(
    name="laplacian-kmodes",
    estimator=LaplacianKModes,
    summary="clusters of any shape, each around a row",
    objective=Objective("objective_", "objective"),
    progress=Progress(name="relaxed objective"),
    membership=MembershipMeasure("membership", own_memberships),
    page="docs/development/decisions.md",
)
