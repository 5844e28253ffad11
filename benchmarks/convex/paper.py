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
from benchmarks.harness.papers import Item, Paper

__all__ = ["PAPER"]

INTRODUCTION = (
    "Each row has a centroid, and a penalty on the differences of centroids makes them fuse: one convex "
    "problem for each strength gamma, solved by ADMM (Algorithm 1), AMA (Algorithm 2) and accelerated AMA "
    "(Algorithm 3). Each gamma of a path has a duality gap; the tables show the largest relative one. phi is "
    "`distance_decay`. Disconnected graphs are connected by their shortest edges, so that each path ends with "
    "one cluster."
)

ITEMS = (
    Item(
        "figure-1",
        "Figure 1, Proposition 2.2",
        "A graph with three edges: with a large gamma each of its components is at its mean.",
        make_figure_1,
        published="The figure shows the graph, the proposition the limit.",
    ),
    Item(
        "figure-2",
        "Figure 2",
        "The path of five well separated clusters.",
        make_figure_2,
        published="Five clusters are found; the rows are not given.",
        remark="Ours are five normal clusters on a circle.",
    ),
    Item(
        "table-1",
        "Table 1",
        "The proximal maps of the norms l1, l2, l1,2 and linf.",
        make_table_1,
        published="The formulas.",
        remark="`norm=`, also groups of columns and your own object; line by line in "
        "`tests/convex/test_norms.py`.",
    ),
    Item(
        "algorithm-1",
        "Section 3.3, Algorithm 1",
        "ADMM, stopped by Boyd's primal and dual residuals.",
        published="Any nu > 0; the stopping rule is in a supplement that refers to Boyd et al. (2011).",
        remark='`solver="admm"`, `step_size=nu`, `stopping="residuals"`; `tests/convex/test_paper_options.py` '
        "compares the iterations and residuals with a plain ADMM that stores V. The paper names neither "
        "nu nor the tolerances: ours are 4 over the mean number of edges of a row, and `tol`, relative "
        'and in units of the rows\' spread. `stopping="gap"` is the default. Fully connected graphs use '
        "the formula of line 5, others one sparse factorization (section 6.2).",
    ),
    Item(
        "algorithms-2-3",
        "Sections 3.4, 4.1 and 5, Algorithms 2 and 3",
        "Iterations of the algorithms with the paper's fixed step and with ours.",
        make_solvers,
        published="nu = 1 / n if all rows are connected, else 1 over the bound max d(i) + d(j); numbers of "
        "iterations are not given.",
        remark='`solver="plain-ama"` and `"ama"`, `step_size="paper"`; steps by weight are the default. Our '
        "Algorithm 3 restarts when the dual decreases, and extrapolates by (alpha - 1) / alpha as in Beck and "
        "Teboulle.",
    ),
    Item(
        "stopping",
        "Section 3.4.1",
        "AMA stops if the duality gap is below tau.",
        published="F(U) - D(Lambda) < tau, absolute.",
        remark="`tol` is relative to the objective. `dual_gap_` is the gap of fused centroids, which decreases "
        "with the square of the error, see [decisions](../development/decisions/convex.md).",
    ),
    Item(
        "weights",
        "Section 7.1",
        "Weights of nearest neighbors, times a Gaussian of the distance.",
        remark='`n_neighbors`, `distance_decay`, `weights="knn"` or `"dense"`, or a given graph; '
        "`tests/convex/test_weights.py`.",
    ),
    Item(
        "assignments",
        "Section 7.2",
        "Clusters are the components of the edges with v = 0.",
        remark="`labels_`, with v of Eq. 3.11 as in the paper, `tests/convex/test_solvers.py`; sets with "
        "nearly vanishing edges are fused if that lowers the objective.",
    ),
    Item(
        "figure-3",
        "Figure 3",
        "Two half moons with 10 or 50 neighbors, and with equal or Gaussian weights.",
        make_figure_3,
        published="10 neighbors with phi = 0.5 give the best path; with phi = 0 the tips fuse only in the end; 50 "
        "neighbors fuse late (phi = 0) or assign the tips wrongly (phi = 0.5).",
        remark="As in the paper, the moons are found with 10 neighbors and not with 50. phi has little effect "
        "on moons of radius 1, where exp(-0.5 d^2) is near 1 between neighbors; the paper does not give "
        "the scale of its rows. Ours are scikit-learn's moons with noise of 0.1.",
        reproduced="in part",
    ),
    Item(
        "figure-4a",
        "Figure 4a",
        "Fisher's iris with equal weights for all pairs, and with 5 neighbors and phi = 4.",
        make_iris,
        published="Set B is more sensible, with some separation of versicolor and virginica.",
        remark="With set A rows fuse only near the end of the path, and then setosa is separate from the "
        "others; with set B setosa is separate early, and then some virginica from versicolor, as "
        "published.",
    ),
    Item(
        "figure-4b",
        "Figure 4b",
        "Votes of 29 senators on 15 issues, with equal weights for all pairs, and with 15 neighbors and phi = 0.5.",
        make_senate,
        published="Set B separates the parties clearly; Zell Miller is an outlying Democrat.",
        remark="The paper does not name its 15 issues of the 20 in the table. Without senators who missed a "
        "vote and repeated records, 23 of all 15,504 choices leave the published 15 Democrats, 13 "
        "Republicans and 1 Independent. The figure shows the first of these choices, the table all: "
        "Miller is separate from his party in each.",
    ),
    Item(
        "figure-4c",
        "Figure 4c",
        "Teeth of 27 mammals with equal weights for all pairs, and with 5 neighbors and phi = 0.5.",
        make_mammals,
        published="Set B is superior; the brown bat joins the house bat and the red bat, though on the plane of the"
        " principal components it is closer to the coyote and the oppossum.",
        remark="As published.",
    ),
    Item(
        "table-2",
        "Table 2, Figure 5",
        "Seconds of whole paths with all pairs connected, for 100 to 500 normal rows.",
        make_table_2,
        remark="The paper used R and C on a machine of 2013 and stopped when the objective was below that of "
        "the subgradient method; ours stop at a relative duality gap of 1e-4. Hocking's subgradient "
        "program (an R package) was not run: its row is the published one. phi = -2 in the paper is "
        "taken as 2.",
        reproduced="in part",
    ),
    Item(
        "table-3",
        "Table 3, Figure 6",
        "The same with n / 4 nearest neighbors.",
        make_table_3,
        remark="As for Table 2. The paper's step is then 1 over the bound of section 4.1.",
        reproduced="in part",
    ),
    Item(
        "path-warm-starts",
        "Section 2",
        "Each gamma of a path starts from the solution of the previous one.",
        remark="`ConvexClusterPath`, which also extrapolates the duals of the last two gammas; splits of "
        "clusters are possible, as in the paper, and counted in `n_splits_`.",
    ),
    Item(
        "dense-warm-starts",
        "Section 9",
        "Increasingly dense graphs, each started from the solution of the sparser one.",
        make_warm_starts,
        published="Proposed, not tried.",
        remark="`ConvexClustering(warm_neighbors=[5, 15])`; `tests/convex/test_paper_options.py`. It does not "
        "save time: sparse graphs take more iterations than they save.",
    ),
    Item(
        "approximate-neighbors",
        "Section 9",
        "Approximate nearest neighbors are enough.",
        published="Conjectured.",
        remark="The search is exact for small data and approximate for large ones, see "
        "`coterie.graphs.nearest_neighbors`.",
    ),
    Item(
        "sparse-centroids",
        "Section 9",
        "A penalty that makes the centroids sparse.",
        published="Proposed, not tried.",
        remark="Not implemented: it is another model, with a second strength to choose. Accelerated ADMM "
        "(section 5, not used in the paper) and active sets are not implemented either.",
        reproduced="no",
    ),
)

PAPER = Paper(
    key="convex",
    title="Splitting Methods for Convex Clustering",
    authors="Chi and Lange (2015)",
    introduction=INTRODUCTION,
    items=ITEMS,
)
