"""Small real data sets: tables that ship with the package, and two of scikit-learn's."""

from __future__ import annotations

import csv
from importlib import resources

import numpy as np
from sklearn.utils import Bunch

from coterie.arrays import Array, FloatArray, IndexArray


def load_iris() -> tuple[Array, Array]:
    """Load Fisher's iris flowers from scikit-learn.

    Returns
    -------
    X : ndarray of shape (150, 4), float64
        Sepal length and width, petal length and width, in centimeters.
    y : ndarray of shape (150,), int64
        The species: 50 flowers of each of three.

    Examples
    --------
    >>> from coterie.datasets import load_iris
    >>> X, y = load_iris()
    >>> X.shape
    (150, 4)
    """
    from sklearn.datasets import load_iris as load

    X, y = load(return_X_y=True)
    return X, y.astype(np.int64, copy=False)


def load_digits() -> tuple[Array, Array]:
    """Load handwritten digits of 8 x 8 pixels from scikit-learn.

    Returns
    -------
    X : ndarray of shape (1797, 64), float64
        Gray levels from 0 to 16, row by row.
    y : ndarray of shape (1797,), int64
        The digit, 0 to 9.

    Examples
    --------
    >>> from coterie.datasets import load_digits
    >>> X, y = load_digits()
    >>> X.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    return X, y.astype(np.int64, copy=False)


def load_senate(*, complete: bool = False) -> Bunch:
    """Load votes of the senators of the United States on 20 issues of 2001.

    Parameters
    ----------
    complete : bool, default=False
        Keep only complete and unique voting records: senators without a missed vote, and of equal records only the
        first in the table. 48 remain. (The paper on convex clustering codes these votes as 0 and 1: `data > 0`.)

    Returns
    -------
    Bunch
        `data` : ndarray of shape (100, 20) or (48, 20), float64; +1 with Americans for Democratic Action,
        -1 against it, 0 no vote. `target` : ndarray of int64, the party as an index into `target_names`
        (`["D", "I", "R"]`). `row_names` : the senators. `feature_names` : the issues, V1 to V20.

    References
    ----------
    Americans for Democratic Action (2002). 2001 voting record: Shattered promise of liberal progress.
    ADA Today 57(1), 1-17. Table from the R package homals.

    Examples
    --------
    >>> from coterie.datasets import load_senate
    >>> load_senate().data.shape, load_senate(complete=True).data.shape
    ((100, 20), (48, 20))
    """
    header, table = _read_table("senate2001.csv")
    row_names = np.array([row[0] for row in table])
    target_names, target = np.unique([row[1] for row in table], return_inverse=True)
    votes = np.array([row[2:] for row in table], dtype=np.float64)
    kept = _complete_and_unique(votes) if complete else np.arange(len(votes))
    return Bunch(
        data=votes[kept],
        target=target.astype(np.int64, copy=False)[kept],
        target_names=target_names,
        row_names=row_names[kept],
        feature_names=header[2:],
    )


def load_mammals() -> Bunch:
    """Load the dentition of 27 mammals, all distinct.

    Returns
    -------
    Bunch
        `data` : ndarray of shape (27, 8), float64; category codes of the numbers of top and bottom
        incisors, canines, premolars and molars, 1 being the fewest. `row_names` : the mammals.
        `feature_names` : the kinds of teeth.

    References
    ----------
    Hartigan, J. A. (1975). Clustering Algorithms. Wiley. Table from the R package cvxclustr.

    Examples
    --------
    >>> from coterie.datasets import load_mammals
    >>> load_mammals().data.shape
    (27, 8)
    """
    header, table = _read_table("mammals.csv")
    return Bunch(
        data=np.array([row[1:] for row in table], dtype=np.float64),
        row_names=np.array([row[0] for row in table]),
        feature_names=header[1:],
    )


def load_definitions() -> Bunch:
    """Load 2,000 definitions of English nouns with embeddings, 200 of each of ten categories.

    Returns
    -------
    Bunch
        `data` : ndarray of shape (2000, 64), float32; embeddings by all-MiniLM-L6-v2, on their first 64 principal
        components. `texts` : ndarray of str, "word: definition". `target` : ndarray of int64, the category as an index
        into `target_names` (animal, artifact, communication, ...).

    References
    ----------
    WordNet 3.0, Princeton University; its license stands beside the data, in WordNet-LICENSE.txt.

    Examples
    --------
    >>> from coterie.datasets import load_definitions
    >>> definitions = load_definitions()
    >>> definitions.data.shape
    (2000, 64)
    >>> print(definitions.texts[0])
    chagrin: strong feelings of embarrassment
    """
    _, table = _read_table("definitions.csv")
    target_names, target = np.unique([row[0] for row in table], return_inverse=True)
    with resources.files("coterie.datasets").joinpath("definitions.npy").open("rb") as file:
        data = np.load(file).astype(np.float32)
    return Bunch(
        data=data,
        texts=np.array([row[1] for row in table]),
        target=target.astype(np.int64, copy=False),
        target_names=target_names,
    )


def _read_table(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a shipped CSV, without its comment lines."""
    text = resources.files("coterie.datasets").joinpath(name).read_text(encoding="utf-8")
    header, *table = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    return header, table


def _complete_and_unique(votes: FloatArray) -> IndexArray:
    """Return the indices, ascending, of rows without a zero; of equal rows only the first."""
    complete = np.flatnonzero((votes != 0).all(axis=1))
    _, first = np.unique(votes[complete], axis=0, return_index=True)
    return complete[np.sort(first)]
