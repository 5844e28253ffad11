"""Density-based clustering with layers (Campello et al. 2015; Bot et al. 2025)."""
