"""The figures and tables of Bresson, Laurent, Uminsky and von Brecht (2013), and what the paper lets one choose."""

from benchmarks.harness.papers import Item, Paper
from benchmarks.total_variation.graphs import FILES
from benchmarks.total_variation.paper_figures import make_figure_1, make_figure_2
from benchmarks.total_variation.paper_tables import DATA, make_few_labels, make_table_1, make_table_2

__all__ = ["PAPER"]

_GRAPHS = tuple(FILES.get(name, f"graphs/{name}.npz") for name in DATA)
_STANDS_IN = "what is missing is left out; scikit-learn's digits where nothing is there"

_TABLE_1_REMARK = """The graphs of 20news (the authors' file), optdigits and pendigits (10 nearest neighbors) are
those of the paper. 4moons is a new sample with more noise, webkb4 is computed from term counts, and MNIST has the 10
nearest neighbors of the plain images. On this MNIST graph the smallest cut has a purity of 87.45, where the paper
reports 97.60: it joins fours and nines and splits the ones. By default another trial is kept (`select_by`), which
finds the ten digits. `mnist-upright` is a graph of digits that are sheared upright; the paper has no such graph.
The NMF methods of the paper are the best of 31 runs, selected by the labels."""

_TABLE_2_REMARK = """As in the paper: ten draws of labels, and the purity of the draw with the lowest (P); also
means and ranges. Our steps find lower energies than those of the paper, but not always higher purity: with 1 to 5%
of the labels on pendigits and 2.5 to 10% on 20news it is lower. With one label per class it is higher: pendigits
88.7 against 86.2, 20news 50.4 against 45.1, MNIST 96.6 against 92.9 with the steps of the paper. The paper's
seconds were measured with MATLAB in 2013."""

_FEW_REMARK = """Accuracy on the rows without a label: 100 draws for `coterie` with one label per
class, ten or more draws otherwise, and six for PoissonMBO on MNIST, which takes five minutes per draw. Methods
with the true sizes use more information. `coterie` assumes clusters of about equal size, which webkb4 does not
have: with five and ten labels per class Poisson and PoissonMBO are better there. On pendigits with ten labels per
class VolumeMBO (94.4), the steps of the paper (93.9) and the Laplacian (92.8) are better than `coterie` (90.7).
LabelPropagation is as good or better with many labels: from 2.5% on pendigits and from 5% on webkb4 and 20news."""

PAPER = Paper(
    key="total_variation",
    title="Multiclass Total Variation Clustering",
    authors="Bresson, Laurent, Uminsky and von Brecht (2013)",
    introduction=(
        "Clusters are a balanced cut of a graph; the relaxation is a sum of ratios of total variations and "
        "asymmetric distances from a median. Labels of some rows may be known. All methods use the same "
        "graphs. (P) is "
        "the energy of the paper with each edge counted once and lambda = R - 1; the authors' code prints R - 1 "
        "times that. "
        "`steps of the paper` is Algorithm 1 as published."
    ),
    items=(
        Item(
            "lambda",
            "Section 2, (P)",
            "The parameter lambda of the balanced cut, which determines the sizes of clusters.",
            remark=(
                "`TotalVariationClustering(balance_weight=...)`, `balanced_cut(..., balance_weight=...)`, "
                "`--balance-weight`; None is R - 1. Tested against the definition and the oracle for other "
                "values (`tests/total_variation/test_descent.py`, "
                "`tests/total_variation/test_estimator.py: TestAsymmetry`)."
            ),
        ),
        Item(
            "theorem-1",
            "Theorem 1",
            "For indicators the relaxed energy equals that of the cut.",
            remark=(
                "A property test over random graphs and lambda from 0.05 to 20 "
                "(`tests/total_variation/test_descent.py: TestTheorems`). Without the factor 2: each edge "
                "counts once."
            ),
        ),
        Item(
            "figure-1",
            "Figure 1",
            "A path of 20 vertices: total variation gives the indicator of the middle cut, the spectral "
            "relaxation a ramp.",
            make_figure_1,
            published="the total variation solution is the indicator of the first ten vertices.",
            remark=(
                "Functions are scaled to 0..1: neither energy depends on height or offset. The spectral "
                "panel minimizes (P-rlx2), whose solution for two clusters solves a linear system for the "
                "signs of f - med(f)."
            ),
        ),
        Item(
            "figure-2",
            "Figure 2",
            "Memberships of the fours and nines of optdigits in the cluster of the fours: a sharp step, "
            "and a smooth one by matrix factorization.",
            make_figure_2,
            data=("graphs/optdigits.npz",),
            stands_in="scikit-learn's digits",
            remark=(
                "LSD is our small implementation (`benchmarks/total_variation/left_stochastic.py`): "
                "projected gradients on ||W - c F F'||, from a normalized cut plus 0.2 as in the paper; "
                "its purity is below that of the authors' LSD code (97.94, the best of 31 starts)."
            ),
        ),
        Item(
            "transductive",
            "Section 3.2, (P-trans)",
            "Known labels are a hard constraint.",
            remark=(
                "`fit(X, y)` with -1 for unlabeled rows "
                "(`tests/total_variation/test_estimator.py: TestLabels`)."
            ),
        ),
        Item(
            "theorems-2-3",
            "Theorems 2 and 3",
            "The subgradient of the balance term; the decrease of the energies in an outer step.",
            remark="Property tests for both kinds of steps (`tests/total_variation/test_descent.py: TestTheorems`).",
        ),
        Item(
            "algorithm-1",
            "Algorithm 1",
            "The proximal splitting as published: its step sizes, its test (16) after every inner iteration.",
            remark=(
                '`steps="paper"`, `--steps paper`; line by line against '
                "`tests/reference/total_variation.py: algorithm_1`. `eps` is that of (16). Delta^k is the "
                "largest B, the paper's only choice. The default uses preconditioned steps (Pock and Chambolle "
                "2011), which decrease more slowly, see "
                "[decisions](../development/decisions/total_variation.md)."
            ),
        ),
        Item(
            "starts",
            "Section 5, starts (a) and (b)",
            "The normalized cut itself, and vertices drawn from it and diffused.",
            remark=(
                'With `steps="paper"` the first of `n_init` runs is (a), the others (b); otherwise (a) is '
                "the second. The clusters of (a) in the paper come from another group and are not published; "
                "ours are the normalized cut of Ng, Jordan and Weiss. `init` takes any memberships."
            ),
        ),
        Item(
            "table-1",
            "Section 5, first table",
            "Purity without labels on six data sets.",
            make_table_1,
            data=_GRAPHS,
            stands_in=_STANDS_IN,
            remark=_TABLE_1_REMARK,
            reproduced="in part",
        ),
        Item(
            "table-2",
            "Section 5, second table",
            "Purity and seconds with one label per class and with 1 to 10% of the labels.",
            make_table_2,
            data=_GRAPHS,
            stands_in=_STANDS_IN,
            remark=_TABLE_2_REMARK,
            reproduced="in part",
        ),
        Item(
            "few-labels",
            "Not in the paper",
            "1, 2, 5 and 10 labels per class, compared with label propagation, Poisson learning and MBO "
            "schemes.",
            make_few_labels,
            data=_GRAPHS,
            stands_in=_STANDS_IN,
            remark=_FEW_REMARK,
            reproduced="-",
        ),
    ),
)
