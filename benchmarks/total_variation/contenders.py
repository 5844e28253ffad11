"""What clusters the vertices of a graph, with and without labels: purity, energy and seconds on each graph."""

import warnings
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.contenders import Contender, bisected, model_of
from benchmarks.harness.data.files import arrays_of, csr_of, labeled, real_file, snippets
from benchmarks.harness.data.images import upright_digits
from benchmarks.harness.measuring import clock
from benchmarks.total_variation.cut_ssl import cut_ssl
from coterie.graphs import knn_graph
from coterie.metrics import balanced_cut, purity

N_NEIGHBORS = 10
FILES = {
    "20news": "20news_graph.npz",
    "webkb4": "webkb4.npz",
    "4moons": "four_moons_regen.npz",
    "mnist-upright": "mnist.npz",
    "snippets": "searchsnippets.parquet",
}


def graph_file(name: str) -> Path | None:
    """Return the file that a graph is made from, or None."""
    return real_file(FILES.get(name, f"graphs/{name}.npz"))


def has_rows(name: str) -> bool:
    """Tell whether `load_graph` returns rows."""
    is_dense = name not in ("webkb4", "20news") and real_file(FILES.get(name, f"{name}.npz")) is not None
    return graph_file(name) is None or is_dense


@lru_cache(maxsize=2)
def load_graph(name: str) -> tuple[sp.csr_array, np.ndarray, np.ndarray | None]:
    """Return a graph, the classes of its vertices, and its rows, None where they are not dense, or not here.

    Digits of scikit-learn stand in where there is no such file.
    """
    rows = None
    if graph_file(name) is None:
        rows, classes = labeled("digits")
    elif name == "snippets":
        rows, classes = snippets()
    elif has_rows(name):
        rows, classes = arrays_of(FILES.get(name, f"{name}.npz"))
        rows = upright_digits(rows) if name == "mnist-upright" else rows
    if rows is not None and (name in FILES or graph_file(name) is None):
        # Neighbors of many rows are approximate: all contenders get the same ones.
        return knn_graph(rows, N_NEIGHBORS, random_state=0), classes, rows
    graph, classes = csr_of(FILES.get(name, f"graphs/{name}.npz"))
    return *(_graph_of_counts(graph, classes) if name == "webkb4" else (graph, classes)), rows


def _graph_of_counts(counts: sp.csr_array, classes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Join each document to the 10 with the smallest angle, as terms weighted by log(1 + count) log(n / documents)."""
    has_terms = np.diff(counts.indptr) > 0
    weighted, classes = counts[has_terms], classes[has_terms]
    documents = np.maximum(np.bincount(weighted.indices, minlength=weighted.shape[1]), 1)
    weighted.data = np.log1p(weighted.data) * np.log(weighted.shape[0] / documents)[weighted.indices]
    graph = knn_graph(weighted, N_NEIGHBORS, metric="cosine", random_state=0)
    return graph.astype(np.float32), classes


def known_labels(classes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Draw labels: so many of each class (1 or more), or a share of each (less than 1)."""
    random = np.random.default_rng(seed)
    labels = np.full(len(classes), -1)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        n_known = int(share) if share >= 1 else max(1, round(share * len(rows)))
        labels[random.choice(rows, n_known, replace=False)] = label
    return labels


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


def _coterie(task: Task, *, trials: bool = False, knows_sizes: bool = False, **options: Any) -> np.ndarray:
    if trials:  # those of the paper are besides start (a)
        options["n_init"] = task.n_init + ("steps" in options)
    if knows_sizes:  # peers have clusters of exactly these sizes
        least, most = 0.95 * task.shares.min(), 1.05 * task.shares.max()
        options |= {"class_priors": task.shares, "size_min": least, "size_max": most}
    model = _graph_model("TotalVariationClustering", task, **options)
    return model.fit(task.graph, task.known).labels_


def _graph_model(name: str, task: Task, **options: Any) -> Any:
    options |= {"affinity": "precomputed", "random_state": task.seed, "n_threads": task.n_threads}
    return model_of(f"coterie.{name}", task.n_clusters, **options)


def _spectral(task: Task) -> np.ndarray:
    options = {"affinity": "precomputed", "random_state": task.seed, "n_jobs": task.n_threads}
    return model_of("sklearn.cluster.SpectralClustering", task.n_clusters, **options).fit(task.matrix).labels_


# Better than the defaults on most graphs; the defaults end after 30 iterations.
_PROPAGATIONS: dict[str, dict[str, Any]] = {
    "LabelPropagation": {},
    "LabelSpreading": {"alpha": 0.99, "tol": 1e-6, "max_iter": 1000},
}


def _propagation(task: Task, *, name: str) -> np.ndarray:
    # Its kernel is a function of rows; here rows are numbers of vertices.
    options = {"kernel": lambda left, right: task.graph, "n_jobs": task.n_threads} | _PROPAGATIONS[name]
    model = model_of(f"sklearn.semi_supervised.{name}", **options)
    return model.fit(np.arange(task.graph.shape[0])[:, None], task.known).transduction_


# Conjugate gradients break down on graphs of several components; weights keep Laplace from constant solutions.
_SOLVERS: dict[str, dict[str, Any]] = {
    "poisson": {"solver": "gradient_descent"},
    "laplace": {"reweighting": "poisson"},
}


def _graph_learning(task: Task, *, name: str, shares: str) -> np.ndarray:
    given = {"none": None, "equal": np.full(task.n_clusters, 1 / task.n_clusters), "true": task.shares}
    # 800 products with the graph take minutes of a processor and less than a second of a GPU.
    options = {"use_cuda": _has_gpu()} if name == "poisson_mbo" else _SOLVERS.get(name, {})
    model = model_of(f"graphlearning.ssl.{name}", task.matrix, class_priors=given[shares], **options)
    rows = np.flatnonzero(task.known >= 0)
    return np.asarray(model.fit_predict(rows, task.known[rows])).astype(np.int64)


def _cut_ssl(task: Task, *, has_equal_sizes: bool = False) -> np.ndarray:
    shares = np.full(task.n_clusters, 1 / task.n_clusters) if has_equal_sizes else task.shares
    return cut_ssl(task.graph, task.known, shares)


@cache
def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _leiden(task: Task) -> np.ndarray:
    options = {"modularity": "newman", "shuffle_nodes": True, "random_state": task.seed}

    def labels_at(resolution: float) -> np.ndarray:
        return model_of("sknetwork.clustering.Leiden", resolution, **options).fit_predict(task.matrix)

    # Purity would gain by more clusters than there are classes: small ones beyond their number are one.
    return np.minimum(bisected(labels_at, task.n_clusters, -2, 2), task.n_clusters - 1)


OURS, PAPER_STEPS, GENIE = "coterie", "coterie, steps of the paper", "genieclust Genie"
# The two MBO schemes need class sizes; equal ones are what is known where none is given.
_SIZES = {"none": "", "equal": ", equal sizes", "true": ", true sizes"}
_GRAPH_LEARNING = {
    "laplace": ("Laplace", ("none", "true")),
    "poisson": ("Poisson", ("none", "true")),
    "poisson_mbo": ("PoissonMBO", ("equal", "true")),
    "volume_mbo": ("VolumeMBO", ("equal", "true")),
}
PROPAGATIONS = tuple(f"scikit-learn {name}" for name in _PROPAGATIONS)
_PAPER = Contender("coterie", partial(_coterie, trials=True, steps="paper", select_by="energy"))

# Those that need no label, and those that need some.
UNLABELED: dict[str, Contender] = {
    OURS: Contender("coterie", _coterie),
    "coterie, 30 runs": Contender("coterie", partial(_coterie, trials=True)),
    "coterie, lowest (P)": Contender("coterie", partial(_coterie, trials=True, select_by="energy")),
    PAPER_STEPS: _PAPER,
    "coterie Laplacian K-modes": Contender(
        "coterie", lambda task: _graph_model("LaplacianKModes", task).fit(task.graph).labels_
    ),
    "scikit-learn SpectralClustering": Contender("sklearn", _spectral),
    "scikit-network Leiden": Contender("sknetwork", _leiden),
    GENIE: Contender(
        "genieclust", lambda task: model_of("genieclust.Genie", task.n_clusters).fit_predict(task.rows)
    ),
}
LABELED: dict[str, Contender] = {
    OURS: UNLABELED[OURS],
    "coterie, true sizes": Contender("coterie", partial(_coterie, knows_sizes=True)),
    PAPER_STEPS: _PAPER,
    "CutSSL, equal sizes": Contender("coterie", partial(_cut_ssl, has_equal_sizes=True)),
    "CutSSL, true sizes": Contender("coterie", _cut_ssl),
    **{
        title: Contender("sklearn", partial(_propagation, name=name))
        for title, name in zip(PROPAGATIONS, _PROPAGATIONS)
    },
    **{
        f"graphlearning {title}{_SIZES[shares]}": Contender(
            "graphlearning", partial(_graph_learning, name=name, shares=shares)
        )
        for name, (title, several) in _GRAPH_LEARNING.items()
        for shares in several
    },
}
CONTENDERS = UNLABELED | LABELED

# What the paper reports: purity in percent, without labels, with one of each class, and with 1, 2.5, 5 and 10%.
PAPER = {
    "4moons": (99.53, 99.55, 99.55, 99.55, 99.53, 99.55),
    "optdigits": (98.29, 98.29, 98.29, 98.35, 98.38, 98.45),
    "pendigits": (89.06, 89.17, 93.73, 95.83, 97.98, 98.22),
    "mnist": (97.60, 97.53, 97.59, 97.72, 97.79, 98.05),
    "mnist-upright": (97.60, 97.53, 97.59, 97.72, 97.79, 98.05),
    "webkb4": (59.15, 56.58, 58.75, 57.01, 58.34, 62.01),
    "20news": (39.40, 50.07, 61.70, 67.61, 70.51, 73.97),
}


def run_contender(
    name: str, data: str, share: float, n_draws: int, n_init: int, n_threads: int
) -> dict[str, Any]:
    """Cluster a graph from several draws of labels; means over the draws."""
    draws = [run_draw(name, data, share, seed, n_init, n_threads) for seed in range(n_draws if share else 1)]
    purities = [draw["purity"] for draw in draws]
    best = min(draws, key=lambda draw: draw["energy"])
    return {
        "draws": len(draws),
        "accuracies": [draw["accuracy"] for draw in draws if share],
        "purity": fmean(purities),
        "purity_range": [min(purities), max(purities)],
        "of the lowest (P)": best["purity"],
        "(P)": fmean(draw["energy"] for draw in draws),
        "lowest (P)": best["energy"],
        "seconds": fmean(draw["seconds"] for draw in draws),
    }


def run_draw(name: str, data: str, share: float, seed: int, n_init: int, n_threads: int) -> dict[str, float]:
    """Cluster a graph from one draw of labels, or none; return purity and accuracy in percent, energy and seconds."""
    warnings.simplefilter("ignore")
    seconds_by = clock(n_threads)
    graph, classes, rows = load_graph(data)
    k, shares = len(np.unique(classes)), np.bincount(classes) / len(classes)
    known = known_labels(classes, share, seed) if share else None
    task = Task(graph, known, k, shares, rows, seed, n_threads, n_init)
    start = seconds_by()
    labels = CONTENDERS[name].call(task)
    seconds = seconds_by() - start
    unknown = np.ones(len(classes), dtype=bool) if known is None else known < 0
    return {
        "purity": 100 * purity(classes, labels),
        "energy": balanced_cut(graph, np.maximum(labels, 0).astype(np.int32), n_clusters=k),
        "seconds": seconds,
        "accuracy": 100 * float(np.mean((labels == classes)[unknown])),
    }


def has_what_it_needs(name: str, data: str) -> bool:
    """Tell whether a contender can do with what there is of a data set: dense rows, for one of them."""
    return name != GENIE or has_rows(data)


def accuracy_cell(found: list[float]) -> str:
    """Return the mean accuracy of the rows without a label, and its standard deviation."""
    return f"{np.mean(found):.1f} ± {np.std(found):.1f}" if found else "-"


def share_in_words(share: float) -> str:
    """Return a number of labels in words: none, so many of each class, or a share."""
    return "none" if share == 0 else f"{share:.0f} per class" if share >= 1 else f"{share:.1%}"
