"""What is compared: the function of a package, and the module without which it is skipped.

Peers are imported where they are called, so that all modules can be imported without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

EVERY_ROW = 2**31 - 1  # "points per centroid" that no data set exceeds

# Settings with which SuperKMeans does the same work as others: every row, no early stop.
SUPERKMEANS_ALL_ROWS: dict[str, Any] = {
    "hierarchical": False,
    "sampling_fraction": 1.0,
    "max_points_per_cluster": EVERY_ROW,
    "tol": 0.0,
    "early_termination": False,
}


@dataclass(frozen=True)
class Contender:
    """A package's function and the module without which it is skipped."""

    module: str
    call: Callable[..., Any]
    group: str = ""
    takes_centers: bool = True
    converges: bool = True  # stops by itself; otherwise it gets the iterations that scikit-learn took

    @property
    def installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.module) is not None


def is_peer(name: str) -> bool:
    """Tell whether a contender is another package (lines of the machine's own limit are none)."""
    return not name.startswith(("coterie", "machine"))
