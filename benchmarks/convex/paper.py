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
    "Each row has a centroid, and a penalty on the differences of the centroids of neighbors makes them equal (fuse) "
    "as its strength gamma grows. For each gamma this is a convex problem. The paper solves it by ADMM (Algorithm 1), "
    "AMA (Algorithm 2) and accelerated AMA (Algorithm 3). The methods are "
    "[`ConvexClusterPath`](../guide/convex.md), for a whole path of gammas, and `ConvexClustering`, for one.\n\n"
    "phi is `distance_decay`: an edge of length d has the weight exp(-phi d^2). The gap is the duality "
    "gap, relative to the objective; tables show the largest of a path. ARI is the adjusted Rand index to the known "
    "classes, and k a number of clusters. The connected components of a graph are joined by their shortest "
    "edges, so that each path ends with one cluster."
)

ITEMS = (
    Item(
        "figure-1",
        "Figure 1, Proposition 2.2",
        "A graph of five nodes with three edges: if gamma is large, each connected component is at its mean.",
        make_figure_1,
        published="the figure shows the graph, the proposition proves the limit.",
    ),
    Item(
        "figure-2",
        "Figure 2",
        "The path of five well separated clusters.",
        make_figure_2,
        published="five clusters are found. The rows are not published.",
        remark="The rows are five normal clusters on a circle. With five clusters the ARI is 1.",
    ),
    Item(
        "table-1",
        "Table 1",
        "The proximal maps of the norms l1, l2, l1,2 and linf.",
        make_table_1,
        published="formulas.",
        remark="The parameter `norm`, which also takes groups of columns and your own object. The maps agree with "
        "numerical minimization, and with the formulas in `tests/convex/test_norms.py`.",
    ),
    Item(
        "algorithm-1",
        "Section 3.3, Algorithm 1",
        "ADMM with the stopping rule of Boyd et al. (2011), by primal and dual residuals.",
        published="any step size nu > 0. The stopping rule is in the supplement; values of nu and tolerances are not "
        "given.",
        remark='`solver="admm"`, `step_size=nu`, `stopping="residuals"`. Iterations and residuals agree with those of '
        "a plain ADMM (`tests/convex/test_paper_options.py`). By default nu is 4 divided by the mean number of edges "
        "per row, and the solver stops by the duality gap. Complete graphs use the formula of line 5, "
        "other graphs a sparse factorization (section 6.2).",
    ),
    Item(
        "algorithms-2-3",
        "Sections 3.4, 4.1 and 5, Algorithms 2 and 3",
        "Iterations of AMA and accelerated AMA, with the fixed step size of the paper and with ours, which depends on "
        "the weights of the edges.",
        make_solvers,
        published="nu = 1 / n for complete graphs, else 1 divided by the largest d(i) + d(j) of an edge; no numbers of "
        "iterations.",
        remark='`solver="plain-ama"` and `"ama"`, `step_size="paper"`. Algorithm 3 is restarted if the dual objective '
        "decreases, and extrapolates by (alpha - 1) / alpha as in Beck and Teboulle.",
    ),
    Item(
        "stopping",
        "Section 3.4.1",
        "AMA stops if the duality gap is below tau.",
        published="F(U) - D(Lambda) < tau, absolute.",
        remark="`tol` is relative to the objective. The gap is computed after nearly equal centroids are fused, and "
        "then decreases with the square of the error ([decision](../development/decisions/convex.md)).",
    ),
    Item(
        "weights",
        "Section 7.1",
        "Weights: nearest neighbors, multiplied by a Gaussian of the distance.",
        remark='`n_neighbors`, `distance_decay`, `weights="knn"` or `"dense"`, or a given graph '
        "(`tests/convex/test_weights.py`).",
    ),
    Item(
        "assignments",
        "Section 7.2",
        "Clusters are the connected components of the edges with v = 0.",
        remark="`labels_`, with v from Eq. 3.11 (`tests/convex/test_solvers.py`). Groups whose edges nearly vanish are "
        "also fused if this lowers the objective.",
    ),
    Item(
        "figure-3",
        "Figure 3",
        "Two half moons with 10 or 50 neighbors, and with equal weights (phi = 0) or Gaussian weights (phi = 0.5).",
        make_figure_3,
        published="10 neighbors with phi = 0.5 give the best path; with phi = 0 the tips of the moons fuse only at the "
        "end. With 50 neighbors rows fuse late (phi = 0), or the tips are assigned to the wrong moon (phi = 0.5).",
        remark="Reproduced: the moons are found with 10 neighbors and not with 50. Not reproduced: with 10 neighbors "
        "phi has little effect. The paper does not give the scale of its rows; in scikit-learn's moons with noise 0.1, "
        "used here, neighbors are so close that exp(-0.5 d^2) is near 1.",
        reproduced="in part",
    ),
    Item(
        "figure-4a",
        "Figure 4a",
        "Fisher's iris with equal weights for all pairs (set A), and with 5 neighbors and phi = 4 (set B).",
        make_iris,
        published="set B is more sensible, with some separation of versicolor and virginica.",
        remark="With set A rows fuse only near the end of the path, and only setosa is separate. With set B setosa is "
        "separate early, and then a part of virginica from versicolor.",
    ),
    Item(
        "figure-4b",
        "Figure 4b",
        "Votes of 29 senators on 15 issues, with equal weights for all pairs (set A), and with 15 neighbors and phi = "
        "0.5 (set B).",
        make_senate,
        published="set B separates the parties clearly; Zell Miller is an outlying Democrat.",
        remark="The published table has 20 issues, and the paper does not say which 15 it uses. There are 15,504 "
        "choices; 23 of them leave the published 15 Democrats, 13 Republicans and 1 Independent after senators with "
        "missing votes and repeated records are removed. Miller is separate from his party in all 23. The figure "
        "shows the first.",
    ),
    Item(
        "figure-4c",
        "Figure 4c",
        "Teeth of 27 mammals with equal weights for all pairs (set A), and with 5 neighbors and phi = 0.5 (set B).",
        make_mammals,
        published="set B is superior; the brown bat joins the house bat and the red bat, though on the plane of the "
        "principal components it is closer to the coyote and the oppossum.",
        remark="The same here.",
    ),
    Item(
        "table-2",
        "Table 2, Figure 5",
        "Seconds of whole paths with all pairs connected, for 100 to 500 normal rows.",
        make_table_2,
        remark="With the duality gap all solvers take about the same time; with the residual rule of Boyd ADMM is "
        "slower. In the paper ADMM takes 7 to 13 times as long as accelerated AMA. The published seconds are those of "
        "R and C programs on a machine of 2013, which stopped when the objective was below that of the subgradient "
        "method; here solvers stop at a relative gap of 1e-4. The subgradient program of Hocking et al. was not run. "
        "The paper's phi = -2 is taken as 2.",
        reproduced="in part",
    ),
    Item(
        "table-3",
        "Table 3, Figure 6",
        "The same with n / 4 nearest neighbors.",
        make_table_3,
        remark="With the duality gap ADMM takes 1.4 to 2.1 times as long as accelerated AMA, in the paper 4 to 59 "
        "times. Machines and stopping rules differ as in Table 2. The step of the paper is 1 divided by the bound of "
        "section 4.1.",
        reproduced="in part",
    ),
    Item(
        "path-warm-starts",
        "Section 2",
        "The solution of each gamma is the warm start of the next.",
        remark="`ConvexClusterPath`, which also extrapolates the dual variables of the last two gammas. Clusters can "
        "split again, as in the paper; `n_splits_` counts this.",
    ),
    Item(
        "dense-warm-starts",
        "Section 9, denser graphs",
        "Warm starts on graphs with more and more edges.",
        make_warm_starts,
        published="suggested, not tried.",
        remark="`ConvexClustering(warm_neighbors=[5, 15])` (`tests/convex/test_paper_options.py`). It saves no time: "
        "the sparse graphs take more iterations than they save.",
    ),
    Item(
        "approximate-neighbors",
        "Section 9, approximate neighbors",
        "Approximate nearest neighbors are enough.",
        published="conjectured.",
        remark="The search is exact for small data and approximate for large data "
        "(`coterie.graphs.nearest_neighbors`).",
    ),
    Item(
        "sparse-centroids",
        "Section 9, sparse centroids",
        "A penalty that makes centroids sparse.",
        published="suggested, not tried.",
        remark="Not implemented, because it is another model with a second penalty strength. Accelerated ADMM (section "
        "5, not used in the paper) and active sets are not implemented either.",
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
