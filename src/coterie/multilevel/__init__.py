"""Multilevel clustering of graphs into a given number of clusters."""
