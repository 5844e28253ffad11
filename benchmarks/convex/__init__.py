"""Convex clustering: whole paths against the seconds that others published, each gamma with its duality gap.

    python -m benchmarks.convex [--rows sparse,dense,moons,any,tree,tree-accuracy] [--sizes 1000,5000] [--quick]

Every row says the largest relative duality gap of its path: speeds are compared at an accuracy that is certified.
"""
