"""Two-dimensional layouts of rows: t-SNE on their nearest neighbors by openTSNE, or principal components."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.estimators import Estimator
from coterie.graphs import nearest_neighbors
from coterie.graphs.spectral import spectral_vectors
from coterie.rows import Rows

PROJECTIONS = ("auto", "tsne", "pca")

# 10,000 x 384 rows of texts keep 48% of their neighbors with these, and with three times as many iterations, too.
_PERPLEXITY, _EARLY, _LATE = 15, 100, 200

# Repulsion of fewer rows is faster by a tree than on a grid.
_FEWEST_FOR_GRID = 3_000

# Neighbors of each row that a map should keep.
_KEPT = 10

_EIGENVECTORS = 8

# Rows of each cluster in a sample, however small its share.
_FEWEST = 30


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of rows in two dimensions by "t-SNE", "PCA" or "eigenvectors" of a graph. `kept` is the mean share of
    the ten nearest rows that stay among the ten nearest, NaN for fewer than three rows.
    """

    points: FloatArray
    method: str
    kept: float


def lay_out(
    block: Any,
    projection: str = "auto",
    *,
    metric: str = "euclidean",
    is_graph: bool = False,
    n_threads: int | None = None,
) -> Layout:
    """Place rows, or the vertices of a graph with the weights `block`, in two dimensions. "tsne" is openTSNE (Poličar
    et al. 2019), "pca" are principal components, of a graph those of its eigenvectors, and "auto" is t-SNE where
    openTSNE is installed and rows have more than two columns.
    """
    if projection not in PROJECTIONS:
        raise ValueError(f"projection must be one of {', '.join(PROJECTIONS)}, got {projection!r}.")
    has_library = find_spec("openTSNE") is not None
    if projection == "tsne" and not has_library:
        raise ImportError("projection='tsne' needs openTSNE: pip install 'coterie[report]'")
    m = block.shape[0]
    n_neighbors = min(3 * _PERPLEXITY, m - 1)
    is_flat = not is_graph and block.shape[1] <= 2
    wants_tsne = projection != "pca" and has_library and m > 3 and not is_flat
    if is_graph:
        graph = sp.csr_array(block)
        neighbors, start = _graph_neighbors(graph), _graph_components(graph)
        method, affinities = "eigenvectors", graph
    else:
        wanted = n_neighbors if wants_tsne else min(_KEPT, m - 1)
        ids, squares = np.zeros((m, 0), np.int64), np.zeros((m, 0))
        if m > 1:
            found = nearest_neighbors(block, wanted, metric=metric, random_state=0, n_threads=n_threads)
            ids, squares = map(np.asarray, found)
        neighbors, start, method = ids[:, :_KEPT], _components(block), "PCA"
        affinities = (ids, np.sqrt(squares))
    points = start
    if wants_tsne:
        points, method = _tsne(affinities, start), "t-SNE"
    return Layout(points, method, _kept_share(neighbors, points, n_threads))


def _tsne(affinities: Any, start: FloatArray) -> FloatArray:
    from openTSNE import TSNE
    from openTSNE.affinity import PerplexityBasedNN, PrecomputedAffinities
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    scale = 1e-4 / max(float(start[:, 0].std()), 1e-300)
    # One thread: sums of several differ in their last digits.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if sp.issparse(affinities):
            joint = sp.csr_matrix(affinities + affinities.T, dtype=np.float64)
            joint.setdiag(0)
            joint.eliminate_zeros()
            given = PrecomputedAffinities(joint / max(joint.sum(), 1e-300), normalize=False)
        else:
            ids, distances = affinities
            perplexity = min(_PERPLEXITY, max(ids.shape[1] / 3, 1))
            index = PrecomputedNeighbors(ids.copy(), distances.astype(np.float64))
            given = PerplexityBasedNN(perplexity=perplexity, knn_index=index, random_state=0, n_jobs=1)
        model = TSNE(
            initialization=start * scale, n_jobs=1, random_state=0,
            negative_gradient_method="bh" if len(start) < _FEWEST_FOR_GRID else "fft",
            early_exaggeration_iter=_EARLY, n_iter=_LATE, ints_in_interval=2,
        )  # fmt: skip
        return np.asarray(model.fit(affinities=given), dtype=np.float64)


def _components(block: Any) -> FloatArray:
    """Return rows on their first two principal components, each with a reproducible sign."""
    from sklearn.decomposition import PCA

    count = min(2, *block.shape)
    rows = block if block.dtype.kind == "f" and block.dtype.itemsize > 2 else block.astype(np.float64)
    small = min(rows.shape) <= 2 or rows.shape[1] <= 50
    if sp.issparse(rows) and small:
        rows = rows.toarray()
    solver = "full" if small else "arpack" if sp.issparse(rows) else "randomized"
    with np.errstate(invalid="ignore", divide="ignore"):  # equal rows have no variance
        found = PCA(count, svd_solver=solver, random_state=0).fit_transform(rows)
    return np.column_stack([found, np.zeros((len(found), 2 - count))]).astype(np.float64)


def _graph_components(graph: sp.csr_array) -> FloatArray:
    """Return the vertices on the principal components of the first eigenvectors of their graph."""
    return _components(spectral_vectors(graph, min(_EIGENVECTORS, graph.shape[0]), seed=0).directions())


def _graph_neighbors(graph: sp.csr_array) -> IndexArray:
    """Return the vertices with the largest weights of each vertex, -1 where there are fewer."""
    found = np.full((graph.shape[0], _KEPT), -1, dtype=np.int64)
    for vertex, (begin, end) in enumerate(zip(graph.indptr, graph.indptr[1:])):
        heaviest = np.argsort(-graph.data[begin:end], kind="stable")
        others = graph.indices[begin:end][heaviest]
        others = others[others != vertex][:_KEPT]
        found[vertex, : len(others)] = others
    return found


def _kept_share(neighbors: IndexArray, points: FloatArray, n_threads: int | None) -> float:
    """Return the mean share of known neighbors that are as many nearest ones on the map."""
    m, count = neighbors.shape
    if m < 3 or not (neighbors >= 0).any():
        return float("nan")
    near = np.asarray(nearest_neighbors(points, min(count, m - 1), n_threads=n_threads)[0])
    shared = (neighbors[:, :, None] == near[:, None, :]).any(axis=2).sum(axis=1)
    known = (neighbors >= 0).sum(axis=1)
    return float(np.mean(shared[known > 0] / known[known > 0]))


def sample_by_cluster(labels: IntArray, most: int, first: Array | None = None) -> IndexArray:
    """Return a random sample of at most `most` rows with some of each cluster, those with True in `first` first."""
    n_rows = len(labels)
    if n_rows <= most:
        return np.arange(n_rows)
    shuffled = np.random.default_rng(0).permutation(n_rows)
    if first is not None:
        shuffled = shuffled[np.argsort(~first[shuffled], kind="stable")]
    groups = labels.astype(np.int64) + 1
    sizes = np.bincount(groups)
    fewest = min(_FEWEST, max(1, most // (2 * int(np.count_nonzero(sizes)))))
    place = np.empty(n_rows, dtype=np.int64)  # of each row in its cluster
    place[shuffled[np.argsort(groups[shuffled], kind="stable")]] = np.arange(n_rows) - np.repeat(
        np.cumsum(sizes) - sizes, sizes
    )
    return np.sort(shuffled[np.argsort(place[shuffled] >= fewest, kind="stable")][:most])


def clusters_of(
    model: Any, rows: Rows, labels: npt.ArrayLike | None = None, n_clusters: int | None = None
) -> IntArray:
    """Return the clusters of rows: those given, of the fit, of a path those that last longest, or predicted ones."""
    n_rows, found = rows.shape[0], labels
    if labels is None:
        is_cut = n_clusters is not None and hasattr(model, "labels_path_")
        found = model.labels_at(n_clusters) if is_cut else getattr(model, "labels_", None)
        if hasattr(model, "predict") and (found is None or len(found) != n_rows):
            found = model.predict(rows if isinstance(model, Estimator) else rows.read())
    if found is None or np.shape(found) != (n_rows,):
        have = "none" if found is None else f"{len(np.asarray(found)):,}"
        whose = "Labels are given" if labels is not None else f"This {type(model).__name__} has labels"
        raise ValueError(
            f"{whose} of {have} rows, and here are {n_rows:,}: give the rows of the fit, or labels of these."
        )
    clusters = np.asarray(found)
    if clusters.dtype.kind not in "iu" or clusters.min(initial=0) < -1:
        raise ValueError("labels must be whole numbers from 0, and -1 for rows in no cluster.")
    return clusters.astype(np.int32)


def label_places(
    anchors: FloatArray, sizes: FloatArray, extent: tuple[float, float]
) -> list[tuple[float, float] | None]:
    """Return where the centers of labels go so that none covers another, None where there is no space. Anchors are
    their ideal places, the most important first, `sizes` and `extent` widths and heights.
    """
    placed: list[tuple[float, float, float, float]] = []
    found: list[tuple[float, float] | None] = []
    for (x, y), (width, height) in zip(anchors.tolist(), sizes.tolist()):
        left, place = min(max(x - width / 2, 0), max(extent[0] - width, 0)), None
        for step in (0, -1, 1, -2, 2, -3, 3):
            low = y - height / 2 + step * height
            right, high = left + width, low + height
            is_free = all(right <= b[0] or b[2] <= left or high <= b[1] or b[3] <= low for b in placed)
            if low >= 0 and high <= extent[1] and is_free:
                placed.append((left, low, right, high))
                place = (left + width / 2, low + height / 2)
                break
        found.append(place)
    return found
