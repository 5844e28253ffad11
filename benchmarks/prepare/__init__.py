"""Build the folder of real data from files that anybody can download, and check it.

    python -m benchmarks.prepare FOLDER [--downloads DIR] [--only mnist,shuttle] [--check]

FOLDER becomes `COTERIE_DATA`. The original files lie in it too, in folders of it, or in --downloads; what is missing is
named with its address. Sets that are there already are checked, not built again. `benchmarks/README.md` has the table
of all sets.
"""
