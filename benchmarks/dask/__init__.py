"""Fits on a Dask cluster against one machine and other libraries' clusters, and what follows for many machines."""
