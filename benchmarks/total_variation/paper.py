"""The figures and tables of Bresson, Laurent, Uminsky and von Brecht (2013), and what the paper lets one choose."""

from benchmarks.harness.papers import Item, Paper
from benchmarks.total_variation.graphs import FILES
from benchmarks.total_variation.paper_figures import make_figure_1, make_figure_2
from benchmarks.total_variation.paper_tables import DATA, make_few_labels, make_table_1, make_table_2

__all__ = ["PAPER"]

_GRAPHS = tuple(FILES.get(name, f"graphs/{name}.npz") for name in DATA)
_STANDS_IN = "what is missing is left out; scikit-learn's digits where nothing is there"

_TABLE_1_REMARK = """The graphs of 20news (the authors' file, 4 to 15 documents fewer), optdigits and pendigits
(10 nearest neighbors: the authors' algorithm gives their purities there) are the paper's. Those of 4moons
(points drawn anew, with more noise), webkb4 (made here of term counts) and MNIST (10 nearest neighbors of the
plain images) are not. **On MNIST the lowest (P) of our trials has 87.45, against 97.60 in the paper**: fours and
nines are one cluster there and ones two, at a lower (P) than the ten digits have on this graph. The default keeps
another trial, which finds the ten digits: its cut is 9% lower where edges count for the neighbors that their ends
share (`select_by`). `mnist-upright`
shears the digits until they lean no more, which makes another graph; no figure of the paper belongs to it (and in
the run of 2026-11-22 2% of its edges differed from line to line, for its neighbors were drawn without a seed). The
NMF methods of the paper are reported there at the best purity of 31 runs, chosen by the labels."""

_TABLE_2_REMARK = """As the paper does: ten draws of labels, the purity of the one with the lowest (P); with
means and ranges, for a user has one draw and no labels to choose by. Our steps find lower energies than those of
the paper, and purity does not always follow: with 1 to 5% on pendigits and 2.5 to 10% on 20news it is below the
paper's. The steps of the paper, at larger (P), are purer there (pendigits with 1%, means of ten draws: 94.2 against
91.4), and less pure with one label a class (pendigits 86.2 against 88.7, 20news 45.1 against 50.4,
MNIST 92.9 against 96.6). The seconds of the paper are those of MATLAB in 2013."""

_FEW_REMARK = """Not in the paper. Accuracy on the rows without a label. `coterie` with one label a class: 100
draws, on MNIST also with true sizes. All else: ten draws, and more, up to 100, until the mean is known to a
standard error of 0.1% or 10 s of the processor are spent; no draw begins after 25 minutes, so PoissonMBO has
six on MNIST, of five minutes each. With one label a class on MNIST 28 of 100 draws of ours end in a worse
cut, or with a label in the cluster of another class (the median is 96.6%). Ours assumes clusters of about
equal size, which all but webkb4 have: there Poisson and PoissonMBO are ahead with five and ten labels. On
pendigits with five and ten labels ours is behind: with ten 90.7 beside 94.4 of VolumeMBO, 93.9 by the steps
of the paper and 92.8 of Laplace. Contenders that are told the true sizes know more than the others. Where the
standard deviation of Poisson is above 20, one of ten draws came to nothing (10%); on pendigits with ten
labels it was stopped after 14 minutes of the processor, before ten draws were done. LabelPropagation is as
good or better where there are many labels: on pendigits from 2.5% of them on, on webkb4 and on 20news from 5%
(table 2's shares; `python -m benchmarks.total_variation`)."""

PAPER = Paper(
    key="total_variation",
    title="Multiclass Total Variation Clustering",
    authors="Bresson, Laurent, Uminsky and von Brecht (2013)",
    introduction=(
        "Clusters are a balanced cut of a graph, relaxed to a sum of ratios of total variations and "
        "asymmetric distances from a median; some labels may be known. Each graph is given to all "
        "contenders; (P) is the energy of the paper with each edge counted once and lambda = R - 1, "
        "whichever method found the clusters. The authors' code prints R - 1 times that. Lines named "
        "`steps of the paper` are Algorithm 1 as published; ours otherwise takes preconditioned steps and "
        "ends a trial with its best rounding."
    ),
    items=(
        Item(
            "lambda",
            "Section 2, (P)",
            "The parameter lambda of the balanced cut says how large clusters should be.",
            remark=(
                "`TotalVariationClustering(asymmetry=...)`, `balanced_cut(..., asymmetry=...)`, "
                "`--asymmetry`; None is R - 1. Tested against the definition and the oracle for other "
                "values (`tests/total_variation/test_descent.py`, "
                "`tests/total_variation/test_estimator.py: TestAsymmetry`)."
            ),
        ),
        Item(
            "theorem-1",
            "Theorem 1",
            "On indicators the relaxed energy is that of the cut.",
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
                "LSD is a small solver of our own (`benchmarks/total_variation/left_stochastic.py`): "
                "projected gradients on ||W - c F F'||, from a normalized cut plus 0.2 as in the paper; "
                "its purity is below that of the authors' LSD code (97.94, the best of 31 starts)."
            ),
        ),
        Item(
            "transductive",
            "Section 3.2, (P-trans)",
            "Known labels are a hard constraint.",
            remark=(
                "`fit(X, y)` with -1 where a class is not known "
                "(`tests/total_variation/test_estimator.py: TestLabels`)."
            ),
        ),
        Item(
            "theorems-2-3",
            "Theorems 2 and 3",
            "The subgradient of the balance term; how much the energies fall in an outer step.",
            remark="Property tests for both kinds of steps (`tests/total_variation/test_descent.py: TestTheorems`).",
        ),
        Item(
            "algorithm-1",
            "Algorithm 1",
            "The proximal splitting as published: its step sizes, its test (16) after every inner iteration.",
            remark=(
                '`steps="paper"`, `--steps paper`; line by line against '
                "`tests/reference/total_variation.py: algorithm_1`. `eps` is that of (16). Delta^k is the "
                "largest B, the paper's only choice. The default takes preconditioned steps (Pock and "
                "Chambolle 2011), which fall more slowly: [decisions](../development/decisions/total_variation.md) "
                "says what that gains."
            ),
        ),
        Item(
            "starts",
            "Section 5, starts (a) and (b)",
            "The normalized cut itself, and vertices drawn from it and diffused.",
            remark=(
                'With `steps="paper"` the first of `n_init` runs is (a), the others (b); otherwise (a) is '
                "the second. The data of (a) in the paper are another group's, and not published: ours is "
                "the normalized cut of Ng, Jordan and Weiss. Any memberships can be given by `init`."
            ),
        ),
        Item(
            "table-1",
            "Section 5, first table",
            "Purity without labels on six sets.",
            make_table_1,
            data=_GRAPHS,
            stands_in=_STANDS_IN,
            remark=_TABLE_1_REMARK,
            reproduced="in part",
        ),
        Item(
            "table-2",
            "Section 5, second table",
            "Purity and seconds with one label a class and with 1 to 10% of the labels.",
            make_table_2,
            data=_GRAPHS,
            stands_in=_STANDS_IN,
            remark=_TABLE_2_REMARK,
            reproduced="in part",
        ),
        Item(
            "few-labels",
            "Beside the paper",
            "1, 2, 5 and 10 labels a class, beside label propagation, Poisson learning and MBO schemes.",
            make_few_labels,
            data=_GRAPHS,
            stands_in=_STANDS_IN,
            remark=_FEW_REMARK,
            reproduced="-",
        ),
    ),
)
