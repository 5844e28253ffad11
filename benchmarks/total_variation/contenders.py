"""What clusters the vertices of a graph, with and without labels."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.contenders import Contender


def _coterie(
    graph: sp.csr_array,
    known: np.ndarray | None,
    k: int,
    seed: int,
    n_threads: int,
    n_init: int,
    *,
    n_swaps: int,
) -> np.ndarray:
    from coterie import TotalVariationClustering

    # Swaps go on where a few trials have ended.
    model = TotalVariationClustering(
        k, affinity="precomputed", n_init=min(n_init, 2) if n_swaps else n_init, n_swaps=n_swaps,
        random_state=seed, n_threads=n_threads,
    )  # fmt: skip
    return model.fit(graph, known).labels_


def _spectral(
    graph: sp.csr_array, known: np.ndarray | None, k: int, seed: int, n_threads: int, n_init: int
) -> np.ndarray:
    from sklearn.cluster import SpectralClustering

    matrix = sp.csr_matrix(graph.astype(np.float64))
    return (
        SpectralClustering(k, affinity="precomputed", random_state=seed, n_jobs=n_threads).fit(matrix).labels_
    )


def _propagation(
    graph: sp.csr_array, known: np.ndarray, k: int, seed: int, n_threads: int, n_init: int, *, name: str
) -> np.ndarray:
    from sklearn import semi_supervised

    # Its kernel is a function of rows; here rows are numbers of vertices.
    model = getattr(semi_supervised, name)(kernel=lambda left, right: graph, n_jobs=n_threads)
    return model.fit(np.arange(graph.shape[0])[:, None], known).transduction_


OURS = "coterie"
SWAPS = "coterie, 2 trials and swaps"
SPECTRAL = "scikit-learn SpectralClustering"
PROPAGATIONS = {f"scikit-learn {name}": name for name in ("LabelPropagation", "LabelSpreading")}

CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", partial(_coterie, n_swaps=0)),
    SWAPS: Contender("coterie", partial(_coterie, n_swaps=20)),
    SPECTRAL: Contender("sklearn", _spectral),
    **{title: Contender("sklearn", partial(_propagation, name=name)) for title, name in PROPAGATIONS.items()},
}


def takes(name: str, share: float) -> bool:
    """Tell whether a contender can be given that share of the labels."""
    return bool(share) if name in PROPAGATIONS else name == OURS or not share
