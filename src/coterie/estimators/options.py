"""Options that several methods share: said once here, they are told once by the command line."""

from __future__ import annotations

from coterie.estimators.method import Option
from coterie.estimators.seeded import SEEDINGS

__all__ = ["CENTER_TOLERANCE", "CORESET", "GRAPH_NEIGHBORS", "INIT", "N_INIT", "OBJECTIVE_TOLERANCE", "SIZES"]

INIT = Option("init", "--init", "how to start", choices=dict.fromkeys(SEEDINGS, ""))

N_INIT = Option(
    "n_init", "--n-init", "number of starts, of which the best is kept", type=int, choices={"auto": ""}
)

CORESET = Option(
    "coreset_size",
    "--coreset",
    "fit a weighted sample of so many rows that stands for all of them",
    type=int,
    covers_clusters=True,
)

CENTER_TOLERANCE = Option(
    "tol",
    "--tol",
    "stop when the centroids move less than this, relative to the spread of the rows",
    type=float,
)

OBJECTIVE_TOLERANCE = Option(
    "tol", "--tol", "stop when the objective changes by less than this, relative to itself", type=float
)

GRAPH_NEIGHBORS = Option(
    "n_neighbors", "--neighbors", "nearest neighbours of each row in the graph", type=int
)

SIZES = (
    Option(
        "size_min", "--size-min", "least size of a cluster: rows, or below 1 a fraction of all", type=float
    ),
    Option(
        "size_max", "--size-max", "largest size of a cluster: rows, or below 1 a fraction of all", type=float
    ),
)
