"""Matching of the clusters of two fits, so that ids are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from coterie.arrays import Array, IntArray

# A cluster goes into another, or comes from it, if they share this part of its rows.
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ClusterMatch:
    """The clusters of a new fit under the ids of an old one.

    Attributes
    ----------
    labels : ndarray of shape (m,), int32
        The new labels under lasting ids; -1 stays -1.
    ids : ndarray of shape (n_new,), int32
        The lasting id of each cluster of the new fit. Clusters without an old one get ids from `next_id` on.
    changes : record array
        One row per old or new cluster: `id`, `event`, `before` and `after` (rows in the old and in the new fit), and
        `kept` (rows in both). Events: "continued"; "split" or "merged", if it continues and most rows of another new
        cluster came from it, or most rows of another old cluster went into it; "born"; "died".
    """

    labels: IntArray
    ids: IntArray
    changes: Any


def match_clusters(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    rows: npt.ArrayLike | None = None,
    *,
    next_id: int | None = None,
) -> ClusterMatch:
    """Rename the clusters of a new fit so that they keep the ids of an old one.

    Old and new clusters are paired such that as many rows as possible stay under their ids (an assignment problem).

    Parameters
    ----------
    before : array-like of shape (n,)
        Labels of the old fit; negative ones are in no cluster.
    after : array-like of shape (m,)
        Labels of the new fit, 0 to n_new - 1 or negative.
    rows : array-like of shape (m,), of integers, optional
        The row of the old fit that each row of the new one is, -1 for a new row. None: the same rows in the same order.
    next_id : int, optional
        The least id of a new cluster without an old one. None: the least above all labels of `before`. After several
        refits give the least above all ids so far, or ids of clusters that died come again.

    Returns
    -------
    ClusterMatch

    Raises
    ------
    ValueError
        If labels are not one-dimensional integers, a number in `rows` is out of range or occurs twice, or `next_id` is
        a label of `before`.

    Notes
    -----
    O(n + m + k^3) time for k clusters, by `scipy.optimize.linear_sum_assignment`.

    Examples
    --------
    >>> import coterie
    >>> match = coterie.match_clusters([0, 0, 0, 1, 1], [1, 1, 1, 0, 2])
    >>> match.labels
    array([0, 0, 0, 1, 2], dtype=int32)
    >>> match.changes[["id", "event"]].tolist()
    [(0, 'continued'), (1, 'split'), (2, 'born')]
    """
    old, new = _labels(before, "before"), _labels(after, "after")
    of_new = np.arange(len(new)) if rows is None else np.asarray(rows)
    _check_rows(of_new, len(old), len(new))
    is_both = of_new >= 0
    was, now = old[of_new[is_both]], new[is_both]
    n_old, n_new = int(old.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    if next_id is not None and next_id < n_old:
        raise ValueError(f"next_id must be above all labels of before, at least {n_old}, got {next_id}.")
    counts = np.zeros((n_old + 1, n_new + 1), dtype=np.int64)  # the last ones: no cluster
    np.add.at(counts, (np.where(was < 0, n_old, was), np.where(now < 0, n_new, now)), 1)
    shared = counts[:-1, :-1]
    sizes_before, sizes_after = np.bincount(old[old >= 0], minlength=n_old), np.bincount(new[new >= 0])
    pairs = np.column_stack(linear_sum_assignment(shared, maximize=True))
    pairs = pairs[shared[pairs[:, 0], pairs[:, 1]] > 0]
    ids = np.full(n_new, -1, dtype=np.int32)
    ids[pairs[:, 1]] = pairs[:, 0]
    born = np.flatnonzero(ids < 0)
    ids[born] = (n_old if next_id is None else next_id) + np.arange(len(born))
    has_split = (shared > _LEAST_SHARE * np.maximum(sizes_after, 1)) & (ids != np.arange(n_old)[:, None])
    has_merged = (shared > _LEAST_SHARE * np.maximum(sizes_before, 1)[:, None]) & (
        ids != np.arange(n_old)[:, None]
    )
    table = []
    for one, other in pairs.tolist():
        event = "split" if has_split[one].any() else "merged" if has_merged[:, other].any() else "continued"
        table.append((one, event, sizes_before[one], sizes_after[other], shared[one, other]))
    occurring = np.flatnonzero(sizes_before)
    table += [(one, "died", sizes_before[one], 0, 0) for one in np.setdiff1d(occurring, pairs[:, 0]).tolist()]
    table += [(int(ids[other]), "born", 0, sizes_after[other], 0) for other in born.tolist()]
    fields = [
        ("id", np.int32),
        ("event", "U9"),
        ("before", np.int64),
        ("after", np.int64),
        ("kept", np.int64),
    ]
    changes = np.array(sorted(table), dtype=fields).view(np.recarray)
    renamed = np.where(new < 0, np.int32(-1), np.append(ids, np.int32(-1))[new]).astype(np.int32)
    return ClusterMatch(renamed, ids, changes)


def _labels(values: npt.ArrayLike, name: str) -> Array:
    labels = np.asarray(values)
    if labels.ndim != 1 or (labels.dtype.kind not in "iu" and labels.size):
        raise ValueError(f"{name} must be labels, a one-dimensional array of integers.")
    return labels.astype(np.int64)


def _check_rows(of_new: Array, n_old: int, n_new: int) -> None:
    if of_new.shape != (n_new,) or of_new.dtype.kind not in "iu":
        raise ValueError(f"rows must be {n_new} integers, one for each row of after.")
    known = of_new[of_new >= 0]
    if known.max(initial=-1) >= n_old or of_new.min(initial=0) < -1:
        raise ValueError(f"rows must be -1, or from 0 to {n_old - 1}, the rows of before.")
    if len(np.unique(known)) < len(known):
        raise ValueError("rows has a row of before twice.")
