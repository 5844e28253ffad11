"""What all contenders are given: parameters, rows and one graph of their neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

N_NEIGHBORS = 5
SEED = 0
GRAPH = "coterie graph"  # the search for neighbors, in tables


@dataclass(frozen=True)
class Setting:
    """Parameters of all contenders; `bandwidth_factor` multiplies the bandwidth of the modes, `init` is theirs too."""

    n_clusters: int
    lam: float
    n_init: int
    n_threads: int
    bandwidth_factor: float = 1.0
    init: str = "k-means++"


@dataclass(frozen=True)
class Neighbors:
    """The nearest rows of all rows."""

    ids: np.ndarray
    squares: np.ndarray

    @classmethod
    def load(cls, data: Path) -> Neighbors:
        """Return those that were kept beside the data."""
        with np.load(_neighbors_file(data)) as file:
            return cls(file["ids"], file["squares"])

    def save(self, data: Path) -> None:
        """Keep them beside the data."""
        np.savez(_neighbors_file(data), ids=self.ids, squares=self.squares)


def _neighbors_file(data: Path) -> Path:
    return data.with_name(f"{data.stem}-neighbors.npz")


def load_labeled(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes."""
    with np.load(data) as file:
        return file["X"], file["y"]
