"""Initial centers: given, or drawn by `init`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array
from coterie.centers.frame import unit_centers
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


def draws_centers(init: Any) -> bool:
    """Return whether `init` is a name or a function that draws centers, rather than centers or a fitted model."""
    return isinstance(init, str) or (callable(init) and not hasattr(init, "get_params"))


def given_centers(
    init: Any, rows: Rows, n_centers: int, n_init: int | str = "auto", *, unit_length: bool = False
) -> Array | None:
    """Return the centroids given by `init`, or None if they are drawn, in each of `n_init` runs."""
    if draws_centers(init):
        return None
    if n_init not in ("auto", 1):
        warn(
            f"Explicit initial center position passed: performing only one init instead of n_init={n_init}.",
            RuntimeWarning,
        )
    if hasattr(init, "get_params"):
        check_is_fitted(init, "cluster_centers_")
        init = init.cluster_centers_
    return checked_centers(init, rows, n_centers, unit_length=unit_length)


def draw_centers(
    init: Any,
    X: Any,
    data: MeasuredRows,
    n_centers: int,
    random: np.random.RandomState,
    deadline: Deadline = UNLIMITED,
    *,
    unit_length: bool = False,
) -> Array:
    """Draw initial centers by `init`: a name in `SEEDINGS`, "k-means||", "split-merge", or a function of X. Of rows on
    workers "k-means++" chooses among a bounded sample; at the deadline a faster initialization is used.
    """
    if data.n_rows < n_centers:  # those of weight 0 are left out
        raise ValueError(f"Fewer than {n_centers} rows, one for each cluster, have a positive weight.")
    if callable(init):
        centers = init(X, n_centers, random_state=random)
        return checked_centers(centers, data.rows, n_centers, unit_length=unit_length)
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


def checked_centers(centers: Any, rows: Rows, n_centers: int, *, unit_length: bool = False) -> Array:
    """Return a copy of given centers in the dtype of the rows; raise a ValueError if they have another shape."""
    centers = check_array(centers, dtype=rows.dtype, order="C", copy=True, input_name="init")
    if centers.shape != (n_centers, rows.shape[1]):
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the number of clusters "
            f"{n_centers} and of features {rows.shape[1]}."
        )
    return unit_centers(centers) if unit_length else centers


def check_n_rows(rows: Rows, n_centers: int, name: str = "n_clusters") -> None:
    """Raise a ValueError if there are fewer rows than centers."""
    if n_centers > rows.shape[0]:
        raise ValueError(f"n_samples={rows.shape[0]} should be >= {name}={n_centers}.")
