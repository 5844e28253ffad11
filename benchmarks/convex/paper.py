"""The figures and tables of Chi and Lange (2015)."""

from benchmarks.convex.paper_paths import (
    make_figure_1,
    make_figure_2,
    make_figure_3,
    make_iris,
    make_mammals,
    make_senate,
)
from benchmarks.convex.paper_steps import make_solvers, make_table_1, make_warm_starts
from benchmarks.convex.paper_times import make_table_2, make_table_3
from benchmarks.harness.papers import Item

ITEMS = {
    "figure-1": Item(make_figure_1),
    "figure-2": Item(make_figure_2),
    "table-1": Item(make_table_1),
    "algorithms-2-3": Item(make_solvers),
    "figure-3": Item(make_figure_3),
    "figure-4a": Item(make_iris),
    "figure-4b": Item(make_senate),
    "figure-4c": Item(make_mammals),
    "table-2": Item(make_table_2),
    "table-3": Item(make_table_3),
    "dense-warm-starts": Item(make_warm_starts),
}
