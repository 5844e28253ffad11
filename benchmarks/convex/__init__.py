"""Convex clustering: whole paths, each gamma with its duality gap.

    python -m benchmarks.convex [--rows moons,tree,tree-accuracy] [--quick]

Every row says the largest relative duality gap of its path: speeds are compared at an accuracy that is certified.
"""
