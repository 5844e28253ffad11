"""The figures and tables of Newling and Fleuret (2016)."""

from benchmarks.harness.papers import Item
from benchmarks.nested.paper_curves import make_figure_2, make_figure_3
from benchmarks.nested.paper_pass import make_table_1
from benchmarks.nested.paper_samples import make_figure_1, make_revisits

_DIGITS = "enlarged digits of scikit-learn"
_DATA = ("mnist.npz", "cifar10_12k.npz", "rcv1_27k.npz", "kddc98_pva97nk.npz")
_STANDS_IN = f"{_DIGITS} for MNIST; sets whose files are missing are left out"

ITEMS = {
    "figure-1": Item(make_figure_1, ("mnist.npz",), _DIGITS),
    "sm-a": Item(make_revisits),
    "figure-2": Item(make_figure_2, _DATA, _STANDS_IN),
    "figure-3": Item(make_figure_3, _DATA, _STANDS_IN),
    "table-1": Item(make_table_1, ("mnist.npz", "rcv1_27k.npz"), _STANDS_IN),
}
