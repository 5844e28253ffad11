"""Names of clusters, and clusters that are merged: read from files, applied to labels."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, IndexArray, IntArray


def read_names(names: str | Path | Mapping[int, str] | Sequence[str | None]) -> dict[int, str]:
    """Return the names of clusters in a CSV file with the columns `cluster` and `name`, a mapping or a list; None,
    NaN and an empty text are no names. A line without a cluster or a name, or a repeated cluster, is a ValueError.
    """
    if isinstance(names, str | Path):
        return dict(_lines(names, "name"))
    items: Any = names.items() if isinstance(names, Mapping) else enumerate(names)
    return {
        int(cluster): str(name) for cluster, name in items if not (name is None or name != name or name == "")
    }


def read_merges(merges: str | Path | Mapping[int, int]) -> dict[int, int]:
    """Return the clusters into which others go, from a CSV file with the columns `cluster` and `into`, or a mapping.
    Chains are followed to their ends; repeated clusters and circles are a ValueError.
    """
    if isinstance(merges, Mapping):
        known = {int(cluster): int(into) for cluster, into in merges.items()}
    else:
        known = {cluster: _cluster(into, merges) for cluster, into in _lines(merges, "into")}
    found = {}
    for cluster in known:
        into = cluster
        for _ in known:
            into = known.get(into, into)
        if into in known:
            raise ValueError(f"Cluster {cluster} is merged into itself, through cluster {into}.")
        found[cluster] = into
    return found


def relabel(
    labels: npt.ArrayLike,
    *,
    merges: str | Path | Mapping[int, int] | None = None,
    names: str | Path | Mapping[int, str] | Sequence[str | None] | None = None,
) -> Array:
    """Merge clusters, and return names for labels.

    Parameters
    ----------
    labels : array-like of shape (n,), int
        Labels; -1 for rows in no cluster, which stay there.
    merges : path or mapping, optional
        The cluster into which another one goes: `merges.csv` of a report, with the columns `cluster` and `into`. The
        other clusters keep their ids.
    names : path, mapping or sequence of str, optional
        The names of clusters: `names.csv` of a report, with the columns `cluster` and `name`. None and NaN are no
        names.

    Returns
    -------
    ndarray of shape (n,)
        int32 labels; with `names` texts: the name of each row's cluster, "Cluster 3" where it has none, "" for -1.

    Raises
    ------
    ValueError
        If labels are not whole numbers, or a file is not as described.

    Examples
    --------
    >>> import coterie
    >>> coterie.relabel([0, 1, 2, -1], merges={2: 0})
    array([ 0,  1,  0, -1], dtype=int32)
    >>> coterie.relabel([0, 1, 2, -1], merges={2: 0}, names={0: "sports"}).tolist()
    ['sports', 'Cluster 1', 'sports', '']
    """
    found = np.asarray(labels)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be one whole number for each row, got {found.dtype} of shape {found.shape}."
        )
    merged = merge_labels(found.astype(np.int32), {} if merges is None else read_merges(merges))
    if names is None:
        return merged
    known = read_names(names)
    ids, places = np.unique(merged, return_inverse=True)
    texts = np.array(["" if i < 0 else known.get(int(i), f"Cluster {i}") for i in ids], dtype=object)
    return texts[places]


def known_classes(labels: npt.ArrayLike) -> tuple[IndexArray, list[str]]:
    """Return known classes as numbers, -1 for None, NaN, -1 and empty texts, and the names of the classes."""
    classes = np.asarray(labels)
    if classes.dtype.kind == "f":
        known = ~np.isnan(classes) & (classes != -1)
    elif classes.dtype.kind in "iu":
        known = classes != -1
    else:
        known = np.array(
            [value is not None and value == value and str(value) not in ("", "-1") for value in classes]
        )
    known = np.asarray(known, dtype=bool)
    # Numbers in their order, not in that of the alphabet.
    values = classes[known] if classes.dtype.kind != "O" else classes[known].astype(str)
    names, codes = np.unique(values, return_inverse=True)
    numbers = np.full(classes.shape, -1, dtype=np.int64)
    numbers[known] = codes
    return numbers, [str(name) for name in names]


def merge_labels(labels: IntArray, merges: Mapping[int, int]) -> IntArray:
    """Return labels with clusters merged, as `read_merges` gives them."""
    ids, places = np.unique(labels, return_inverse=True)
    return np.array([merges.get(int(i), int(i)) for i in ids], dtype=np.int32)[places]


def _lines(path: str | Path, column: str) -> list[tuple[int, str]]:
    """Return the cluster and another column of each line of a CSV file."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        head = file.readline()
        file.seek(0)
        reader = csv.DictReader(file, delimiter=max(",;\t|", key=head.count))
        if not {"cluster", column} <= set(reader.fieldnames or []):
            raise ValueError(f"{path}: the first line must name the columns cluster and {column}.")
        lines = [(_cluster(line["cluster"], path), (line[column] or "").strip()) for line in reader]
    found: dict[int, str] = {}
    for cluster, text in lines:
        if not text:
            raise ValueError(f"{path}: cluster {cluster} has no {column}.")
        if cluster in found:
            raise ValueError(f"{path}: cluster {cluster} occurs twice.")
        found[cluster] = text
    return list(found.items())


def _cluster(text: Any, path: Any) -> int:
    if text is None or not str(text).strip().isdecimal():
        raise ValueError(f"{path}: {text!r} is not a cluster: clusters are whole numbers from 0.")
    return int(text)
