"""The methods: a name, an estimator and a sentence each.

Examples
--------
>>> from coterie.methods import methods
>>> {method.name: method.estimator.__name__ for method in methods()}["nested"]
'NestedMiniBatchKMeans'
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.utils import get_tags

from coterie.convex.estimator import ConvexClustering, ConvexClusterPath
from coterie.density.estimator import DensityClustering
from coterie.estimators.persistence import load_as
from coterie.kmeans.bisecting import BisectingKMeans
from coterie.kmeans.exact import KMeans
from coterie.kmeans.mini_batch import MiniBatchKMeans
from coterie.kmeans.nested import NestedMiniBatchKMeans
from coterie.laplacian_kmodes.estimator import LaplacianKModes
from coterie.mixture.estimator import TruncatedGaussianMixture
from coterie.multilevel.estimator import MultilevelGraphClustering
from coterie.size_constrained.estimator import SizeConstrainedKMeans
from coterie.total_variation.estimator import TotalVariationClustering

# More rows than this are clustered by nested mini-batches, which are far sooner within 1% of k-means there.
_NESTED_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Objective:
    """What a method minimizes or maximizes: the attribute of a fitted estimator that has it, and its name."""

    attribute: str = ""
    name: str = "objective"
    higher_is_better: bool = False


_INERTIA = Objective("inertia_", "inertia")


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its name on the command line, its estimator, and what it finds, in a sentence without a full stop."""

    name: str
    estimator: Any
    summary: str
    objective: Objective = Objective()
    # A fit reports its objective, or another quantity, after each step, of which a parameter may limit the number.
    step: str = "iteration"
    limit: str | None = "max_iter"
    reports: str = ""
    takes_labels: bool = False  # whether `fit(X, y)` learns from known classes, -1 where they are not known
    # What only a fitted estimator of this kind draws: names, and functions of it.
    pictures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    usual_above: int | None = None  # the number of rows above which it is the default; None: it never is

    @property
    def clusters(self) -> str | None:
        """The parameter that holds the number of clusters; None: the method finds it."""
        known = self.estimator().get_params()
        return next((name for name in ("n_clusters", "n_components") if name in known), None)

    @property
    def needs_clusters(self) -> bool:
        """Whether the number of clusters has to be given."""
        return self.clusters is not None and self.estimator().get_params()[self.clusters] is not None

    @property
    def takes_sparse(self) -> bool:
        """Whether it clusters sparse rows."""
        return bool(get_tags(self.estimator()).input_tags.sparse)


_METHODS = (
    Method("k-means", KMeans, "exact k-means", _INERTIA, usual_above=0),
    Method(
        "nested", NestedMiniBatchKMeans, "k-means by nested mini-batches, within 1% of exact k-means far sooner",
        _INERTIA, usual_above=_NESTED_ROWS,
    ),
    Method("mini-batch", MiniBatchKMeans, "k-means by random mini-batches", _INERTIA, "step", None),
    Method(
        "bisecting", BisectingKMeans,
        "k-means that repeatedly halves the worst cluster: a tree that can be cut at any number of clusters",
        _INERTIA, "split", "n_clusters",
    ),
    Method(
        "size-constrained", SizeConstrainedKMeans, "k-means with a minimum and a maximum size of clusters", _INERTIA
    ),
    Method(
        "gmm", TruncatedGaussianMixture, "a mixture of Gaussians, for up to tens of thousands of clusters",
        Objective("lower_bound_", "free energy", higher_is_better=True),
    ),
    Method(
        "laplacian-kmodes", LaplacianKModes, "clusters of any shape, each around a row", Objective("objective_"),
        reports="relaxed objective",
    ),
    Method(
        "multilevel", MultilevelGraphClustering,
        "communities of a neighbor graph, in a given number or by a resolution",
        Objective("objective_", "edge information", higher_is_better=True), limit=None,
    ),
    Method(
        "total-variation", TotalVariationClustering, "clusters with few edges between them, also from a few labels",
        Objective("energy_", "balanced cut"), "outer step", None, reports="relaxed cut", takes_labels=True,
    ),
    Method(
        "density", DensityClustering,
        "clusters of high density at several resolutions, and noise; it finds the number of clusters",
        limit=None, pictures={"tree": DensityClustering.plot_tree},
    ),
    Method(
        "convex-path", ConvexClusterPath,
        "a path from single rows to one cluster, with a certificate for each strength of the penalty",
        Objective("objectives_"), "gamma", "n_gammas",
        pictures={"path": ConvexClusterPath.plot, "dendrogram": ConvexClusterPath.plot_dendrogram},
    ),
    Method(
        "convex-clustering", ConvexClustering, "rows whose centroids fuse under a penalty, with a certificate",
        Objective("objective_"), "check", None,
    ),
)  # fmt: skip


def methods() -> tuple[Method, ...]:
    """Return all methods."""
    return _METHODS


def find_method(name: str) -> Method:
    """Return the method of this name; a ValueError that lists all names if there is none."""
    known = {method.name: method for method in _METHODS}
    if name not in known:
        raise ValueError(f"The method {name!r} is unknown. Choose from: {', '.join(known)}.")
    return known[name]


def method_of(estimator: Any) -> Method | None:
    """Return the method of an estimator, or of a class that it is derived from; None if it is of another library."""
    return next((method for method in _METHODS if isinstance(estimator, method.estimator)), None)


def name_of(estimator: Any) -> str:
    """Return the name of an estimator in plots and reports: that of its method, or of its class."""
    method = method_of(estimator)
    return type(estimator).__name__ if method is None else method.name


def usual_method(candidates: Iterable[Method], n_rows: int) -> Method:
    """Return the default method for a number of rows, among candidates."""
    by_size = sorted(candidates, key=lambda method: method.usual_above or 0)
    large_enough = [method for method in by_size if (method.usual_above or 0) < n_rows]
    return large_enough[-1] if large_enough else by_size[0]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        As it was saved, on any machine.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model, is damaged, comes from a newer format, or holds arrays of other types or shapes than
        those of such a model.

    See Also
    --------
    save : Writes such files, and has an example.
    """
    return load_as(path, [method.estimator for method in _METHODS])
