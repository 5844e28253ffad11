"""Convex clustering for one strength of the penalty, or the whole path."""

from coterie.convex.estimator import ConvexClustering, ConvexClusterPath
from coterie.convex.norms import NormObject

__all__ = ["ConvexClusterPath", "ConvexClustering", "NormObject"]
