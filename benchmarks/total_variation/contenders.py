"""What clusters the vertices of a graph, with and without labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.contenders import Contender, bisected, model_of
from benchmarks.total_variation.cut_ssl import cut_ssl


@dataclass(frozen=True)
class Task:
    """What a contender is given: the same graph for all."""

    graph: sp.csr_array
    known: np.ndarray | None  # classes, -1 where they are not known; None: no label is
    n_clusters: int
    shares: np.ndarray  # true ones of the classes, for contenders that say so in their names
    rows: np.ndarray | None  # None where there are no dense ones
    seed: int
    n_threads: int
    n_init: int

    @property
    def matrix(self) -> sp.csr_matrix:
        """The graph as peers want it."""
        matrix = sp.csr_matrix(self.graph.astype(np.float64))
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        return matrix


def _coterie(task: Task, *, n_swaps: int = 0, knows_sizes: bool = False, **options: Any) -> np.ndarray:
    # Swaps go on where a few trials have ended; the paper's trials are besides start (a).
    n_init = min(task.n_init, 2) if n_swaps else task.n_init + ("steps" in options)
    options |= {"n_init": n_init, "n_swaps": n_swaps, "class_priors": task.shares if knows_sizes else None}
    return _graph_model("TotalVariationClustering", task, **options).fit(task.graph, task.known).labels_


def _graph_model(name: str, task: Task, **options: Any) -> Any:
    options |= {"affinity": "precomputed", "random_state": task.seed, "n_threads": task.n_threads}
    return model_of(f"coterie.{name}", task.n_clusters, **options)


def _laplacian_k_modes(task: Task) -> np.ndarray:
    return _graph_model("LaplacianKModes", task).fit(task.graph).labels_


def _spectral(task: Task) -> np.ndarray:
    options = {"affinity": "precomputed", "random_state": task.seed, "n_jobs": task.n_threads}
    return model_of("sklearn.cluster.SpectralClustering", task.n_clusters, **options).fit(task.matrix).labels_


def _propagation(task: Task, *, name: str) -> np.ndarray:
    # Its kernel is a function of rows; here rows are numbers of vertices.
    options = {"kernel": lambda left, right: task.graph, "n_jobs": task.n_threads}
    model = model_of(f"sklearn.semi_supervised.{name}", **options)
    return model.fit(np.arange(task.graph.shape[0])[:, None], task.known).transduction_


def _graph_learning(task: Task, *, name: str, shares: str) -> np.ndarray:
    given = {"none": None, "equal": np.full(task.n_clusters, 1 / task.n_clusters), "true": task.shares}
    # 800 products with the graph take minutes of a processor and less than a second of a GPU.
    options = {"use_cuda": _has_gpu()} if name == "poisson_mbo" else {}
    model = model_of(f"graphlearning.ssl.{name}", task.matrix, class_priors=given[shares], **options)
    rows = np.flatnonzero(task.known >= 0)
    return np.asarray(model.fit_predict(rows, task.known[rows])).astype(np.int64)


@cache
def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _cut_ssl(task: Task) -> np.ndarray:
    return cut_ssl(task.graph, task.known, task.shares)


def _leiden(task: Task) -> np.ndarray:
    options = {"modularity": "newman", "shuffle_nodes": True, "random_state": task.seed}

    def labels_at(resolution: float) -> np.ndarray:
        return model_of("sknetwork.clustering.Leiden", resolution, **options).fit_predict(task.matrix)

    # Purity would gain by more clusters than there are classes: small ones beyond their number are one.
    return np.minimum(bisected(labels_at, task.n_clusters, -2, 2), task.n_clusters - 1)


def _genie(task: Task) -> np.ndarray:
    return model_of("genieclust.Genie", n_clusters=task.n_clusters).fit_predict(task.rows)


OURS = "coterie"
LOWEST = "coterie, lowest (P)"
PAPER_STEPS = "coterie, steps of the paper"
TRUE_SIZES = "coterie, true sizes"
SWAPS = "coterie, 2 trials and swaps"
MODES = "coterie Laplacian K-modes"
CUT_SSL = "CutSSL, true sizes"
SPECTRAL = "scikit-learn SpectralClustering"
LEIDEN = "scikit-network Leiden"
GENIE = "genieclust Genie"
PROPAGATIONS = {f"scikit-learn {name}": name for name in ("LabelPropagation", "LabelSpreading")}
# The two MBO schemes need class sizes; equal ones are what is known where none is given.
_SIZES = {"none": "", "equal": ", equal sizes", "true": ", true sizes"}
_GRAPH_LEARNING = {
    "laplace": ("Laplace", ("none", "true")),
    "poisson": ("Poisson", ("none", "true")),
    "poisson_mbo": ("PoissonMBO", ("equal", "true")),
    "volume_mbo": ("VolumeMBO", ("equal", "true")),
}
GRAPH_LEARNING = {
    f"graphlearning {title}{_SIZES[shares]}": partial(_graph_learning, name=name, shares=shares)
    for name, (title, several) in _GRAPH_LEARNING.items()
    for shares in several
}

UNLABELED = (OURS, LOWEST, PAPER_STEPS, SWAPS, MODES, SPECTRAL, LEIDEN, GENIE)
LABELED = (OURS, TRUE_SIZES, PAPER_STEPS, CUT_SSL, *PROPAGATIONS, *GRAPH_LEARNING)

CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", _coterie),
    LOWEST: Contender("coterie", partial(_coterie, select_by="energy")),
    PAPER_STEPS: Contender("coterie", partial(_coterie, steps="paper", select_by="energy")),
    TRUE_SIZES: Contender("coterie", partial(_coterie, knows_sizes=True)),
    SWAPS: Contender("coterie", partial(_coterie, n_swaps=20)),
    CUT_SSL: Contender("coterie", _cut_ssl),
    MODES: Contender("coterie", _laplacian_k_modes),
    SPECTRAL: Contender("sklearn", _spectral),
    LEIDEN: Contender("sknetwork", _leiden),
    GENIE: Contender("genieclust", _genie),
    **{title: Contender("sklearn", partial(_propagation, name=name)) for title, name in PROPAGATIONS.items()},
    **{title: Contender("graphlearning", call) for title, call in GRAPH_LEARNING.items()},
}


def takes(name: str, share: float) -> bool:
    """Tell whether a contender can be given that share of the labels."""
    return name in (LABELED if share else UNLABELED)
