"""Which methods suit rows, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coterie.estimators import Estimator, Method, find_method, methods
from coterie.rows import RowSource

__all__ = ["Candidates", "find_candidates"]

# On fewer rows k-means by batches has nothing to gain.
_MANY_ROWS = 10_000

# What a graph of so many rows takes is affordable.
_GRAPH_ROWS = 100_000

# A parameter that only methods on graphs have.
_OF_GRAPHS = "affinity"


@dataclass(frozen=True)
class Candidates:
    """Methods that are compared, and why the others are not: sentences."""

    chosen: tuple[Method, ...]
    left_out: tuple[str, ...]


def find_candidates(rows: RowSource, names: Iterable[str] | None, n_compared: int) -> Candidates:
    """Choose the methods that can be asked for a number of clusters and suit the rows.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        All of them.
    names : iterable of str, optional
        Only these methods, whether they are worth while or not.
    n_compared : int
        Rows that they will be compared on.

    Raises
    ------
    ValueError
        If a name is unknown, or none of the methods can cluster the rows.
    """
    offered = [method for method in methods() if method.clusters is not None]
    asked = offered if names is None else [find_method(name, offered) for name in names]
    chosen, left_out = [], []
    for method in asked:
        reason = _reason_against(method, rows, n_compared, is_asked_for=names is not None)
        if reason is None:
            chosen.append(method)
        else:
            left_out.append(f"{method.name}: {reason}")
    if not chosen:
        raise ValueError(f"No method can be compared on these rows: {'; '.join(left_out)}.")
    return Candidates(tuple(chosen), tuple(left_out))


def _reason_against(method: Method, rows: RowSource, n_compared: int, *, is_asked_for: bool) -> str | None:
    if rows.is_sparse and not method.takes_sparse:
        return "it takes dense rows only"
    if is_asked_for:
        return None
    if not issubclass(method.estimator, Estimator):
        return "it is not coterie's own; name it to have it compared"
    if is_on_graph(method) and n_compared > _GRAPH_ROWS:
        return f"a graph of {n_compared:,} rows takes too long"
    if n_compared <= _MANY_ROWS and hasattr(method.estimator, "partial_fit"):
        return f"it is k-means by batches, for more than {_MANY_ROWS:,} rows"
    return None


def is_on_graph(method: Method) -> bool:
    """Whether a method clusters the vertices of a graph of nearest neighbours."""
    return _OF_GRAPHS in method.estimator().get_params()
