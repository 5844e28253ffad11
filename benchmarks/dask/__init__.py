"""Fits on a Dask cluster against one machine and other libraries' clusters, and a forecast for many machines.

    python -m benchmarks.dask [--rows k-means,mixture] [--n-rows 4000000] [--clusters 1000] [--folder FOLDER] [--quick]

All workers run on this machine, with one thread each. The forecast of row k-means is calculated from the throughput of
one worker in its first pass, which leaves no distance out.
"""
