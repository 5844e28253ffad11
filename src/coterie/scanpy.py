"""Clusters of single cells: `cluster` writes labels into an AnnData object, as `scanpy.tl.leiden` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.estimators.on_graph import GraphEstimator
from coterie.methods import find_method

# Coordinates of the cells where no others are asked for, if they are there.
_COORDINATES = "X_pca"


def cluster(
    adata: Any,
    method: str = "multilevel",
    *,
    resolution: float | None = None,
    n_clusters: int | None = None,
    neighbors_key: str | None = None,
    use_rep: str | None = None,
    key_added: str = "coterie",
    random_state: int | None = 0,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData object.

    Parameters
    ----------
    adata : AnnData
        Cells. It is changed: see Notes.
    method : str
        "multilevel", or another method of `coterie.methods.methods`.
    resolution : float, optional
        Of "multilevel" without `n_clusters`: larger for more clusters; 1 by default.
    n_clusters : int, optional
        Number of clusters, for methods that take one.
    neighbors_key : str, optional
        Where `sc.pp.neighbors` has stored the graph: ``adata.uns[neighbors_key]["connectivities_key"]`` names the
        matrix in ``adata.obsp``. None: ``"connectivities"``.
    use_rep : str, optional
        Coordinates of the cells, instead of a graph: a key of ``adata.obsm``, or "X".
    key_added : str
        The column of ``adata.obs`` and the key of ``adata.uns`` that are written.
    random_state : int, optional
        For methods that draw.
    **parameters
        Other parameters of the method's estimator.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    KeyError
        If there is no such graph, or no such coordinates.
    ValueError
        If a parameter is wrong, or both a graph and coordinates are asked for.
    TypeError
        If the method has no such parameter.

    Notes
    -----
    Methods on a graph take the matrix of connectivities, all others ``adata.obsm["X_pca"]`` (``adata.X`` without it).
    ``adata.obs[key_added]`` becomes a categorical of the numbers of clusters as texts, missing for noise, and
    ``adata.uns[key_added]`` the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from coterie.graphs import knn_graph
    >>> from coterie.scanpy import cluster
    >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    >>> adata = SimpleNamespace(X=X, obs={}, uns={}, obsm={}, obsp={"connectivities": knn_graph(X, 10)})
    >>> _ = cluster(adata)
    >>> list(adata.obs["coterie"].categories)
    ['0', '1']
    """
    import pandas as pd  # scanpy needs it, too

    estimator = find_method(method).estimator
    known = estimator().get_params()
    given = {"n_clusters": n_clusters, "resolution": resolution}
    settings = {name: value for name, value in given.items() if value is not None} | parameters
    if "n_components" in known and "n_clusters" in settings:
        settings["n_components"] = settings.pop("n_clusters")
    if "random_state" in known:
        settings["random_state"] = random_state
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise TypeError(f"The method {method!r} has no parameter {unknown[0]!r}.")
    if n_clusters is not None and resolution is not None:
        raise ValueError("n_clusters and resolution both set the number of clusters: give one of them.")
    if use_rep is not None and neighbors_key is not None:
        raise ValueError("use_rep takes coordinates and neighbors_key a graph: give one of them.")
    on_graph = issubclass(estimator, GraphEstimator) and use_rep is None
    if on_graph:
        settings["affinity"] = "precomputed"
        data, source = _connectivities(adata, neighbors_key)
    elif neighbors_key is not None:
        raise ValueError(f"The method {method!r} takes coordinates, not a graph: give use_rep.")
    else:
        data, source = _coordinates(adata, use_rep)
    model = estimator(**settings).fit(data)
    labels = np.asarray(model.labels_)
    names = [str(number) for number in range(int(labels.max()) + 1)]
    adata.obs[key_added] = pd.Categorical.from_codes(labels, names)
    adata.uns[key_added] = {"params": {"method": method, "input": source, **_stored(settings)}}
    return model


def _connectivities(adata: Any, neighbors_key: str | None) -> tuple[Any, str]:
    """Return the graph and its name."""
    key = "connectivities"
    if neighbors_key is not None:
        if neighbors_key not in adata.uns:
            raise KeyError(
                f"adata.uns has no {neighbors_key!r}: run scanpy.pp.neighbors with this key_added."
            )
        key = adata.uns[neighbors_key].get("connectivities_key", key)
    if key not in adata.obsp:
        raise KeyError(f"adata.obsp has no {key!r}: run scanpy.pp.neighbors, or give use_rep.")
    return adata.obsp[key], f"obsp/{key}"


def _coordinates(adata: Any, use_rep: str | None) -> tuple[Any, str]:
    """Return the coordinates and their name."""
    wanted = use_rep or (_COORDINATES if _COORDINATES in adata.obsm else "X")
    if wanted == "X":
        return adata.X, "X"
    if wanted not in adata.obsm:
        raise KeyError(f"adata.obsm has no {wanted!r}.")
    return adata.obsm[wanted], f"obsm/{wanted}"


def _stored(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that an h5ad file can hold."""
    return {
        name: value for name, value in settings.items() if isinstance(value, str | int | float | np.ndarray)
    }
