"""The figures and tables of Hirschberger, Forster and Lücke (2019, 2022)."""

from benchmarks.harness.papers import Item
from benchmarks.mixture.paper_costs import make_costs, make_figure_s1
from benchmarks.mixture.paper_figures import make_figure_1, make_figure_s2, make_figure_s3
from benchmarks.mixture.paper_images import make_table_2
from benchmarks.mixture.paper_sets import DATA, STANDS_IN
from benchmarks.mixture.paper_tables import (
    make_algorithm,
    make_initial_e_steps,
    make_table_1,
    make_thresholds,
)

ITEMS = {
    "algorithm": Item(make_algorithm, ("mnist.npz", "cod_rna.npz"), STANDS_IN),
    "figure-1": Item(make_figure_1, DATA, STANDS_IN),
    "table-1": Item(make_table_1, DATA, STANDS_IN),
    "table-2": Item(make_table_2),
    "table-s1": Item(make_costs),
    "figure-s1": Item(make_figure_s1),
    "thresholds": Item(make_thresholds, ("mnist.npz",), STANDS_IN),
    "initial-e-steps": Item(make_initial_e_steps, ("cod_rna.npz",), STANDS_IN),
    "figure-s2": Item(make_figure_s2, ("mnist.npz",), STANDS_IN),
    "figure-s3": Item(make_figure_s3, DATA, STANDS_IN),
}
