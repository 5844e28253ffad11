"""Laplacian K-modes, what the paper compares with, and the paper's figures and tables (`benchmarks.papers`)."""
