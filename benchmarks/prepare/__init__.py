"""Build the folder of real data from files that anybody can download, and check it.

    python -m benchmarks.prepare FOLDER [--downloads DIR] [--only mnist,shuttle] [--check]

FOLDER becomes `COTERIE_DATA`. The original files, decompressed, are below it or below --downloads; what is missing is
named. Sets that are there already are checked, not built again. `benchmarks/README.md` has the addresses.
"""
