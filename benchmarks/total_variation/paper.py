"""The figures and tables of Bresson, Laurent, Uminsky and von Brecht (2013)."""

from benchmarks.harness.papers import Item
from benchmarks.total_variation.graphs import FILES
from benchmarks.total_variation.paper_figures import make_figure_1, make_figure_2
from benchmarks.total_variation.paper_tables import DATA, make_few_labels, make_table_1, make_table_2

_GRAPHS = tuple(FILES.get(name, f"graphs/{name}.npz") for name in DATA)
_STANDS_IN = "what is missing is left out; scikit-learn's digits where nothing is there"

ITEMS = {
    "figure-1": Item(make_figure_1),
    "figure-2": Item(make_figure_2, ("graphs/optdigits.npz",), "scikit-learn's digits"),
    "table-1": Item(make_table_1, _GRAPHS, _STANDS_IN),
    "table-2": Item(make_table_2, _GRAPHS, _STANDS_IN),
    "few-labels": Item(make_few_labels, _GRAPHS, _STANDS_IN),
}
