"""The record of multilevel graph clustering."""

from __future__ import annotations

from coterie.estimators.method import MembershipMeasure, Method, Objective, Progress
from coterie.estimators.on_graph import own_memberships
from coterie.multilevel.estimator import MultilevelGraphClustering

MULTILEVEL = Method(
    name="multilevel",
    estimator=MultilevelGraphClustering,
    summary="communities of a neighbor graph, in a given number",
    objective=Objective("objective_", "edge information", "nats", higher_is_better=True),
    progress=Progress(limit=None),
    membership=MembershipMeasure("membership", own_memberships),
    page="docs/guide/multilevel.md",
)
