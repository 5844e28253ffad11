"""Estimators with initial centers: given, or drawn by `init`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array
from coterie.estimators.base import Estimator
from coterie.fitting.checks import warn
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.passes import MeasuredRows
from coterie.rows import Rows
from coterie.seeding.greedy import seed_by_square_distance
from coterie.seeding.markov_chain import seed_by_markov_chain
from coterie.seeding.rounds import sample_of, seed_in_rounds
from coterie.seeding.seeds import Seeds, seed_at_random
from coterie.seeding.split_merge import seed_by_split_and_merge

SEEDINGS: dict[str, Callable[..., Seeds]] = {
    "k-means++": seed_by_square_distance,
    "afk-mc2": seed_by_markov_chain,
    "random": seed_at_random,
}


class SeededEstimator(Estimator):
    """A model with initial centers, given or drawn by `init`."""

    init: Any
    random_state: int | np.random.RandomState | None
    _count_name = "n_clusters"

    def __sklearn_clone__(self) -> Any:
        # scikit-learn clones parameters that are estimators, so that a fitted model as `init` would lose its fit.
        other = super().__sklearn_clone__()
        other.init = self.init if hasattr(self.init, "cluster_centers_") else other.init
        return other

    @property
    def _is_cosine(self) -> bool:
        """Whether rows and centroids have length 1."""
        return False

    @property
    def _n_centers(self) -> int:
        return int(getattr(self, self._count_name))

    def _check_n_rows(self, rows: Rows) -> None:
        if self._n_centers > rows.shape[0]:
            raise ValueError(f"n_samples={rows.shape[0]} should be >= {self._count_name}={self._n_centers}.")

    def _draws_centers(self) -> bool:
        return isinstance(self.init, str) or (callable(self.init) and not hasattr(self.init, "get_params"))

    def _given_centers(self, rows: Rows, n_init: int | str = "auto") -> Array | None:
        """Return the centroids given by `init`, or None if they are drawn, in each of `n_init` runs."""
        if self._draws_centers():
            return None
        if n_init not in ("auto", 1):
            warn(
                f"Explicit initial center position passed: performing only one init instead of n_init={n_init}.",
                RuntimeWarning,
            )
        if not hasattr(self.init, "get_params"):
            return self._checked_centers(self.init, rows)
        check_is_fitted(self.init, "cluster_centers_")
        return self._checked_centers(self.init.cluster_centers_, rows)

    def _drawn_centers(
        self,
        X: Any,
        data: MeasuredRows,
        random: np.random.RandomState,
        deadline: Deadline = UNLIMITED,
    ) -> Array:
        """Draw centroids by `init` before the deadline; X is the argument of a callable."""
        if data.n_rows < self._n_centers:  # those of weight 0 are left out
            raise ValueError(f"Fewer than {self._count_name}={self._n_centers} rows have a positive weight.")
        if callable(self.init):
            return self._checked_centers(self.init(X, self._n_centers, random_state=random), data.rows)
        return draw_centers(
            self.init, X, data, self._n_centers, random, deadline, unit_length=self._is_cosine
        )

    def _checked_centers(self, centers: Any, rows: Rows, name: str = "init") -> Array:
        return checked_centers(centers, rows, self._n_centers, name)


def draw_centers(
    init: Any,
    X: Any,
    data: MeasuredRows,
    n_centers: int,
    random: np.random.RandomState,
    deadline: Deadline,
    *,
    unit_length: bool = False,
) -> Array:
    """Draw initial centers by `init`: a name in `SEEDINGS`, "k-means||", "split-merge", or a function of X.

    Of rows on workers, "k-means++" chooses among a bounded sample. At the deadline a faster initialization is used.
    """
    if callable(init):
        return checked_centers(init(X, n_centers, random_state=random), data.rows, n_centers)
    if init == "k-means||":
        return seed_in_rounds(data, n_centers, random, deadline=deadline)
    if init == "split-merge":
        return seed_by_split_and_merge(data, n_centers, random, unit_length=unit_length, deadline=deadline)
    rows: Any = data
    if data.passes.is_here:
        rows = data.in_this_process()
    elif init == "k-means++":
        rows = sample_of(data, n_centers, random).in_this_process()
    return SEEDINGS[init](rows, n_centers, random, deadline=deadline)[0]


def checked_centers(centers: Any, rows: Rows, n_centers: int, name: str = "init") -> Array:
    """Return a copy of given centers in the dtype of the rows; raise a ValueError if they have another shape."""
    centers = check_array(centers, dtype=rows.dtype, order="C", copy=True, input_name=name)
    if centers.shape != (n_centers, rows.shape[1]):
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the number of clusters "
            f"{n_centers} and of features {rows.shape[1]}."
        )
    return centers
