"""A picture of a scan over lambda. matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie.figures import (
    FEW_COLOURS,
    new_figure,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coterie.laplacian_kmodes.lambda_scan import LambdaScan


__all__ = ["plot_lambda_scan"]


def plot_lambda_scan(scan: LambdaScan) -> Figure:
    """Objective, sizes of clusters, and scores where labels are known, else modularity; the best lambda is marked.

    Parameters
    ----------
    scan : LambdaScan
        What `coterie.select_lambda` returned.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> from coterie import LaplacianKModes, select_lambda
    >>> from coterie.datasets import load_iris
    >>> from coterie.plotting import plot_lambda_scan
    >>> X, y = load_iris()
    >>> figure = plot_lambda_scan(select_lambda(LaplacianKModes(3, random_state=0), X, [1, 2, 4], y=y))
    >>> figure.savefig("lambda.png")  # doctest: +SKIP
    """
    scores = {"NMI": scan.normalized_mutual_information, "accuracy": scan.accuracy}
    known = {name: values for name, values in scores.items() if values is not None}
    figure = new_figure((10.2, 3.1))
    axes = figure.subplots(1, 3)
    line = {"marker": "o", "markersize": 4, "linewidth": 1.8}
    axes[0].plot(scan.lambdas, scan.objectives, color=FEW_COLOURS[0], **line)
    axes[0].set(title="discrete objective")
    # Clusters by rank: which is which may change from one lambda to the next.
    axes[1].plot(
        scan.lambdas, scan.sizes, color=FEW_COLOURS[0], alpha=0.6, linewidth=1.0, marker="o", markersize=3
    )
    axes[1].set(title="rows of each cluster")
    axes[1].set_ylim(bottom=0)
    for (name, values), colour in zip(known.items(), FEW_COLOURS):
        axes[2].plot(scan.lambdas, values, color=colour, label=name, **line)
    if not known:
        axes[2].plot(scan.lambdas, scan.modularities, color=FEW_COLOURS[0], **line)
        axes[2].set(title="modularity on the graph")
    else:
        axes[2].set(title="scores of the rows with labels")
        axes[2].legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.axvline(scan.best_lambda, color="#999999", linewidth=1.0, linestyle=":", zorder=0)
        ax.set(xlabel="lambda")
        ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
        tidy(ax)
    return figure
