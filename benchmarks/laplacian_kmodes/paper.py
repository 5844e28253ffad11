"""The figures and tables of Ziko, Granger and Ben Ayed (2018)."""

from benchmarks.harness.papers import Item, PaperRun
from benchmarks.laplacian_kmodes.criteria import LAMBDAS, LEGEND, mean_lines, runs_of_sets
from benchmarks.laplacian_kmodes.paper_modes import make_figure_1
from benchmarks.laplacian_kmodes.paper_objectives import make_figure_2, make_table_3
from benchmarks.laplacian_kmodes.paper_tables import make_table_1, make_table_2


def make_selection(run: PaperRun) -> None:
    """Section 4.2: what can take the place of a validation set."""
    # Stability compares seeds.
    n_seeds = 3 if run.quick else max(2, len(run.seeds(10)))
    found = runs_of_sets(run, "lambda", n_seeds)
    lambdas = ", ".join(f"{lam:g}" for lam in LAMBDAS)
    run.report.say("", f"Means over the data sets. {LEGEND} Lambda: {lambdas}. Seeds: {n_seeds}.")
    headers = [
        "criterion",
        *(f"{column}, {name.split()[-1]}" for column in ("correlation", "NMI") for name in found),
    ]
    run.report.table("Criteria without labels", headers, mean_lines(found))


_MNIST, _DIGITS = ("mnist.npz",), "scikit-learn's digits stand in"
_SETS = ("mnist.npz", "shuttle.npz")

ITEMS = {
    "figure-1": Item(make_figure_1, _MNIST, _DIGITS),
    "figure-2": Item(make_figure_2, _MNIST, _DIGITS),
    "table-1": Item(make_table_1, _SETS, "those at hand"),
    "selection": Item(make_selection),
    "table-2": Item(make_table_2, _SETS, _DIGITS),
    "table-3": Item(make_table_3, _MNIST, _DIGITS),
}
