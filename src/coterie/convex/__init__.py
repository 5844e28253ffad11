"""Convex clustering: one strength of the penalty, or the whole path of them."""

from coterie.convex.clustering import ConvexClustering
from coterie.convex.norms import NormObject
from coterie.convex.path import ConvexClusterPath

__all__ = ["ConvexClusterPath", "ConvexClustering", "NormObject"]
