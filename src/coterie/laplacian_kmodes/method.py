"""The record of Laplacian K-modes."""

from __future__ import annotations

from dataclasses import replace

from coterie.estimators.belonging import own_memberships
from coterie.estimators.method import Belonging, Method, Objective, Option, Progress
from coterie.estimators.options import GRAPH_NEIGHBORS, INIT, N_INIT, OBJECTIVE_TOLERANCE
from coterie.laplacian_kmodes.estimator import MODE_UPDATES, LaplacianKModes

__all__ = ["LAPLACIAN_KMODES"]

_MODES = ("rows", "maxima of the density", "rows where the density is highest, slow for many rows")

LAPLACIAN_KMODES = Method(
    name="laplacian-kmodes",
    estimator=LaplacianKModes,
    summary="clusters of any shape, each around a row",
    objective=Objective("objective_", "objective"),
    progress=Progress(name="relaxed objective"),
    options=(
        replace(
            INIT,
            choices={
                "auto": "k-means and the graph, by turns",
                **INIT.choices,
                "k-means": "of a fit of k-means",
            },
        ),
        N_INIT,
        GRAPH_NEIGHBORS,
        Option(
            "lam",
            "--lam",
            "weight of the graph against the modes, 1 to 4 as a rule",
            type=float,
            choices={"auto": "by the degrees of the graph"},
        ),
        Option(
            "mode_update", "--modes", "what modes are", choices=dict(zip(MODE_UPDATES, _MODES, strict=True))
        ),
        OBJECTIVE_TOLERANCE,
    ),
    belonging=Belonging("membership", own_memberships),
    page="docs/decisions/laplacian_kmodes.md",
)
