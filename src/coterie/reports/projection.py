"""Rows in two dimensions, and in words what that does to them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray
from coterie.graphs.spectral import spectral_vectors
from coterie.reports.subject import Subject

__all__ = ["PROJECTIONS", "Projection", "project"]

# Those of other libraries, and what these are called.
_LIBRARIES = {"umap": "umap", "opentsne": "openTSNE"}
PROJECTIONS = ("auto", "centers", "graph", "umap", "opentsne")

# The eigenvectors of larger graphs take seconds.
_MOST_VERTICES = 30_000
_MOST_EIGENVECTORS = 12

# The libraries' own defaults, which few rows do not have.
_UMAP_NEIGHBORS, _TSNE_PERPLEXITY = 15, 30

# How far rows are spread around their places in the graph, of the extent of the map.
_SPREAD = 0.06


@dataclass(frozen=True, slots=True)
class Projection:
    """Where the rows of a sample are drawn.

    Attributes
    ----------
    points : ndarray of shape (m, 2)
        Their places.
    caption : str
        How these were found, and what they distort.
    """

    points: FloatArray
    caption: str


def project(
    subject: Subject, kind: Literal["auto", "centers", "graph", "umap", "opentsne"] = "auto"
) -> Projection:
    """Place the rows of a sample in two dimensions.

    Raises
    ------
    ValueError
        If the model has no graph, or its graph is not wanted where rows are no points.
    ImportError
        If the library asked for is not installed.
    """
    if kind not in PROJECTIONS:
        raise ValueError(f"projection must be one of {', '.join(PROJECTIONS)}, got {kind!r}.")
    graph = getattr(subject.model, "affinity_matrix_", None)
    fits = graph is not None and np.shape(graph)[0] == subject.rows.shape[0]
    if kind == "graph" and not fits:
        raise ValueError(
            f"This {type(subject.model).__name__} has no graph of these rows to project them by."
        )
    if kind == "graph" or (
        kind == "auto" and fits and (subject.is_graph or subject.rows.shape[0] <= _MOST_VERTICES)
    ):
        return _by_graph(subject, graph)
    if kind in ("umap", "opentsne"):
        if subject.is_graph:
            raise ValueError(
                f"The vertices of a graph are no points, which projection={kind!r} needs: take 'graph'."
            )
        return _by_umap(subject) if kind == "umap" else _by_opentsne(subject)
    found = _by_centers(subject)
    return replace(found, caption=found.caption + _about_installed()) if kind == "auto" else found


def _about_installed() -> str:
    """Name the library that would keep neighbors together; unasked it would take longer than all else."""
    installed = [kind for kind, library in _LIBRARIES.items() if find_spec(library)]
    if not installed:
        return ""
    return f" {_LIBRARIES[installed[0]]} is installed: --projection {installed[0]} keeps neighbors together instead."


def _by_centers(subject: Subject) -> Projection:
    """Principal components of the centers, each counted as its rows."""
    block, centers = subject.sample.block, subject.centers
    assert centers is not None
    weights = subject.sizes / max(subject.sizes.sum(), 1)
    middle = weights @ centers
    rooted = np.sqrt(weights)[:, None] * (centers - middle)
    _, values, axes = np.linalg.svd(rooted, full_matrices=False)
    known = int(np.count_nonzero(values > 1e-9 * max(values.max(initial=0.0), 1e-300)))
    axes = axes[: min(known, 2)]
    if len(axes) < 2:
        axes = _with_axes_of_rows(axes, block)
    points = np.asarray(block @ axes.T, dtype=np.float64) - middle @ axes.T
    total = _total_variance(block)
    seen = float(points.var(axis=0).sum() / total) if total > 0 else 1.0
    between = float((values[:2] ** 2).sum() / max((values**2).sum(), 1e-300)) if known else 1.0
    points = np.column_stack([points, np.zeros((len(points), 2 - points.shape[1]))])
    if known < 2:
        how = "the line through the centers, and across it the direction in which rows differ most"
    else:
        how = f"the two principal components of the centers, which hold {between:.0%} of what the centers differ in"
    return Projection(
        points,
        f"Places: {how}, and {min(seen, 1.0):.0%} of what rows differ in. It is a shadow: rows that lie together here "
        "can be far apart in the other directions, and clusters that cover each other here need not touch. Distances "
        "are never longer than in the data.",
    )


def _with_axes_of_rows(axes: FloatArray, block: Any) -> FloatArray:
    """Add directions in which rows differ most, at right angles to those that there are."""
    part = block[np.linspace(0, block.shape[0] - 1, min(block.shape[0], 2000)).astype(np.int64)]
    part = part.toarray() if sp.issparse(part) else np.asarray(part)
    rest = part - part.mean(axis=0, dtype=np.float64)
    rest = rest - (rest @ axes.T) @ axes
    _, values, more = np.linalg.svd(rest, full_matrices=False)
    return np.vstack([axes, more[values > 1e-12 * max(values.max(initial=0.0), 1e-300)]])[:2]


def _total_variance(block: Any) -> float:
    if sp.issparse(block):
        means = np.asarray(block.mean(axis=0)).ravel()
        return float(block.multiply(block).sum() / block.shape[0] - (means**2).sum())
    return float(block.var(axis=0, dtype=np.float64).sum())


def _by_graph(subject: Subject, graph: Any) -> Projection:
    """Eigenvectors of the graph, turned such that the means of the clusters lie as far apart as can be."""
    n_vectors = min(subject.n_clusters + 1, _MOST_EIGENVECTORS)
    spectrum = spectral_vectors(sp.csr_array(graph), n_vectors, seed=0)
    places = spectrum.directions()
    inside = subject.labels >= 0
    members = sp.csr_array(
        (np.ones(inside.sum()), (subject.labels[inside], np.flatnonzero(inside))),
        shape=(subject.n_clusters, len(subject.labels)),
    )
    means = (members @ places) / np.maximum(subject.sizes, 1)[:, None]
    weights = subject.sizes / max(subject.sizes.sum(), 1)
    middle = weights @ means
    _, _, axes = np.linalg.svd(np.sqrt(weights)[:, None] * (means - middle), full_matrices=True)
    points = (places[subject.sample.rows] - middle) @ axes[:2].T
    points = np.column_stack([points, np.zeros((len(points), 2 - points.shape[1]))])
    within = ""
    if not subject.is_graph:
        within = " Around these places rows are spread by what they differ in within clusters."
        # Rows of a part of the graph that nothing joins to the rest have all the same place in it.
        points = points + _SPREAD * np.ptp(points, axis=0).max(initial=0.0) * _within_clusters(subject)
    return Projection(
        points,
        f"Places: {len(spectrum.values)} eigenvectors of the graph that was clustered, turned such that the clusters "
        "lie as far apart as two dimensions allow. Rows that many short paths of the graph join lie together. "
        f"Distances between clusters, and how dense they look, mean little.{within}",
    )


def _within_clusters(subject: Subject) -> FloatArray:
    """Places of rows around the middle of their clusters, most of them within 1 of it."""
    block, labels = subject.sample.block, subject.sample.labels
    means = np.asarray(subject.centers)
    axes = _with_axes_of_rows(np.zeros((0, block.shape[1])), block)
    own = np.asarray(block @ axes.T, dtype=np.float64) - means[np.maximum(labels, 0)] @ axes.T
    own[labels < 0] = 0
    own = np.column_stack([own, np.zeros((len(own), 2 - own.shape[1]))])
    reach = np.quantile(np.linalg.norm(own, axis=1), 0.95)
    return own / reach if reach > 0 else own


def _by_umap(subject: Subject) -> Projection:
    try:
        import umap
    except ImportError as error:
        raise ImportError("projection='umap' needs umap-learn: pip install umap-learn") from error
    block = subject.sample.block
    few = min(_UMAP_NEIGHBORS, max(block.shape[0] - 1, 2))
    with warnings.catch_warnings():
        # A seed leaves it one thread, and random starts stand in for eigenvectors of few rows.
        warnings.simplefilter("ignore", UserWarning)
        placing = umap.UMAP(
            n_neighbors=few, random_state=0, init="spectral" if block.shape[0] > few + 1 else "random"
        )
        points = placing.fit_transform(sp.csr_matrix(block) if sp.issparse(block) else block)
    return Projection(
        np.asarray(points, dtype=np.float64),
        "Places: UMAP of the rows that are drawn. Neighbors stay neighbors as a rule. Distances between groups, "
        "their sizes and gaps between them mean little.",
    )


def _by_opentsne(subject: Subject) -> Projection:
    try:
        from openTSNE import TSNE
    except ImportError as error:
        raise ImportError("projection='opentsne' needs openTSNE: pip install openTSNE") from error
    block = subject.sample.block
    perplexity = min(_TSNE_PERPLEXITY, max((block.shape[0] - 1) / 3, 1))
    points = TSNE(perplexity=perplexity, random_state=0).fit(block.toarray() if sp.issparse(block) else block)
    return Projection(
        np.asarray(points, dtype=np.float64),
        "Places: t-SNE of the rows that are drawn. Neighbors stay neighbors as a rule. Distances between groups, "
        "their sizes and gaps between them mean little.",
    )
