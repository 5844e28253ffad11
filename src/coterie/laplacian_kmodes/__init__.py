"""Scalable Laplacian K-modes (Ziko, Granger & Ben Ayed 2018)."""
