"""The rows of the paper's figures, with what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

# The published table: senators and issues, and how many senators of each party (D, I, R).
SENATORS, ISSUES, PARTIES = 29, 15, (15, 1, 13)


@dataclass(frozen=True)
class Known:
    """Rows, their classes if there are any, and names of rows worth naming."""

    rows: np.ndarray
    classes: np.ndarray | None = None
    class_names: tuple[str, ...] = ()
    names: dict[int, str] = field(default_factory=dict)


def two_moons() -> Known:
    """Return two half moons of 100 rows each; the paper's are drawn anew, with noise of 0.1."""
    from sklearn.datasets import make_moons

    rows, classes = make_moons(200, noise=0.1, random_state=0)
    return Known(rows, classes, ("upper moon", "lower moon"))


def five_clusters() -> Known:
    """Return five clusters of 20 rows that are well apart."""
    random = np.random.default_rng(0)
    turn = 2 * np.pi * np.arange(5) / 5
    classes = np.repeat(np.arange(5), 20)
    rows = 3 * np.column_stack([np.cos(turn), np.sin(turn)])[classes] + 0.35 * random.normal(size=(100, 2))
    return Known(rows, classes, tuple(f"cluster {label + 1}" for label in range(5)))


def iris() -> Known:
    """Return Fisher's iris."""
    from coterie.datasets import load_iris

    rows, classes = load_iris()
    return Known(rows.astype(float), classes, ("setosa", "versicolor", "virginica"))


def mammals() -> Known:
    """Return the teeth of 27 mammals; the bats and what lies near the brown bat on a plane are named."""
    from coterie.datasets import load_mammals

    table = load_mammals()
    return Known(table.data, names={at: str(name) for at, name in enumerate(table.row_names)})


def senate_as_published(issues: tuple[int, ...]) -> Known:
    """Return the unique voting records on 15 of 20 issues, coded 0 and 1 as in the paper; see `senate_subsets`."""
    from coterie.datasets import load_senate

    table = load_senate()
    votes = table.data[:, list(issues)]
    kept = _unique_records(votes)
    names = {at: str(name) for at, name in enumerate(table.row_names[kept])}
    return Known(
        (votes[kept] > 0).astype(float),
        table.target[kept],
        ("Democrats", "Independent", "Republicans"),
        names,
    )


def senate_subsets() -> list[tuple[int, ...]]:
    """Return the choices of 15 issues that leave as many unique senators of each party as the paper has.

    Of the 20 issues that the table has, the paper takes 15 and does not say which; it says how many senators remain.
    """
    from coterie.datasets import load_senate

    table = load_senate()
    found = []
    for issues in combinations(range(table.data.shape[1]), ISSUES):
        kept = _unique_records(table.data[:, list(issues)])
        if len(kept) == SENATORS and tuple(np.bincount(table.target[kept], minlength=3)) == PARTIES:
            found.append(issues)
    return found


def _unique_records(votes: np.ndarray) -> np.ndarray:
    """Return the rows without a missing vote; of equal ones the first."""
    complete = np.flatnonzero((votes != 0).all(axis=1))
    codes = (votes[complete] > 0) @ (1 << np.arange(votes.shape[1]))
    return complete[np.sort(np.unique(codes, return_index=True)[1])]
