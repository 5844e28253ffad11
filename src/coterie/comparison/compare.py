"""Compare the clusterings of several methods on the same rows, and recommend one.

Clusterings are scored without labels, by two things that no method of coterie optimizes: how well other methods find
the same clusters, and how well the clusters predict the neighbors of a row. A third, how much the clusters at the two
ends of an edge of the graph of neighbors have in common, excludes one cluster of nearly all rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import check_squares
from coterie.estimators import OBJECTIVE, Estimator, Method, find_method, methods
from coterie.estimators.parameters import parameters_of
from coterie.fitting.checks import check_positive_integer, random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import nearest_neighbors
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score
from coterie.names import known_classes
from coterie.rows import Block, RowSource, as_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from coterie.reports.page import Page

CRITERIA = {
    "score": "1 - (1 - agreement) (1 - neighbors): the recommendation has the highest",
    "agreement": "mean adjusted Rand index to the clusters of the other methods",
    "neighbors": "log-likelihood of the clusters of 15 nearest neighbors: 0 by chance, 1 if each is that of the row",
    "information": "mutual information of the clusters at both ends of a graph edge, above chance; 1 at most",
}
"""What each score measures. For all of them, higher is better."""

_Labels = IntArray | IndexArray

# Rows that methods are fitted to, and rows that clusterings are scored on: a Python loop grows the null partitions.
_MOST_ROWS, _SCORED_ROWS = 20_000, 5_000

_NEIGHBORS = 15

# Smallest difference of a likelihood and its value by chance that is divided by.
_TINY = 1e-9

# Rows of all null partitions of a clustering: six of 5,000 rows, more of fewer, which vary more; and the fewest
# partitions when a budget ends.
_NULL_ROWS, _FEWEST_NULLS = 6 * _SCORED_ROWS, 2

# Clusterings with a normalized mutual information above this count as one.
_SAME = 0.95

# Clusterings with less than this part of the highest information are not recommended: neighbors are easy to predict if
# nearly all rows are in one cluster. Parts of 0.3 to 0.6 lead to the same recommendations.
_LEAST_INFORMATION = 0.5

# Criteria choose the same clusters from this normalized mutual information on.
_CONFIRMED = 0.9

# Rows of the first fits, which measure how long a method takes.
_PILOT_ROWS = 1_000

# Part of the budget for fits; scores take the rest.
_BUDGET_OF_FITS = 0.8

# Fits take time in proportion to at most this power of the number of rows (graphs; k-means is below).
_GROWTH = 1.3

# Parameters of the methods that have them: clusters need not be of equal size.
_SETTINGS = {"class_priors": "estimate", "n_init": 3}

# Initializations that draw centers, after which clusters are split and others merged.
_DRAWN = ("k-means++", "auto")


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`. `print` shows the recommendation and a table.

    Attributes
    ----------
    best : str
        Name of the fit with the highest score, of those without empty clusters (if there are any) and with at least
        half of the highest information.
    confidence : {"clear", "likely", "open"}
        "clear": all three criteria (agreement, neighbors, information) are highest for the same clusters as the score,
        and another method finds these clusters, too (normalized mutual information of at least 0.9); "likely": two of
        them are, or all three, but no other method finds the clusters; "open": fewer.
    reasons : tuple of str
        Explanation in sentences; the first states the result.
    records : tuple of dict
        One for each fit, as in `table`. Total variation has a second one, "total-variation, equal priors", if estimated
        class priors are unequal.
    agreement : ndarray of shape (m, m), float64
        Adjusted Rand index of the clusterings of any two methods.
    models : dict of str to estimator
        Fitted estimators by name.
    sample_ids : ndarray of shape (n_compared,), int64
        Rows that were compared on.
    left_out : tuple of str
        Methods that were not compared, with the reason.
    facts : dict
        Rows, rows compared on, clusters, seconds, budget.
    """

    best: str
    confidence: str
    reasons: tuple[str, ...]
    records: tuple[dict[str, Any], ...]
    agreement: FloatArray
    models: dict[str, Any]
    sample_ids: IndexArray
    left_out: tuple[str, ...]
    facts: dict[str, Any]

    @property
    def recommended(self) -> str | None:
        """The best method; None if the evidence does not favor one (`confidence` is "open")."""
        return None if self.confidence == "open" else self.best

    @property
    def best_model_(self) -> Any:
        """The fitted estimator of the best method, also where no method is recommended."""
        return self.models[self.best]

    def __str__(self) -> str:
        shown = ("method", "seconds", *CRITERIA)
        cells = [[_cell(record[name]) for name in shown] for record in self.records]
        widths = [max(map(len, column)) for column in zip(*cells, shown)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths)) for line in [shown, *cells]
        ]
        return "\n".join([*self.reasons, *lines])

    def table(self) -> pa.Table:
        """Return an Arrow table with a row for each method: seconds, objective, sizes, scores."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ImportError("An Arrow table needs pyarrow: pip install 'coterie[io]'") from error
        return pa.Table.from_pylist(list(self.records))

    def page(self, name: str = "the rows") -> Page:
        """Return a page with `html()` and `markdown()`; `name` is the title of the data set."""
        from coterie.comparison.page import comparison_page

        return comparison_page(self, name)

    def plot(self) -> Figure:
        """Draw the scores and the agreement of the methods."""
        from coterie.comparison.page import plot_comparison

        return plot_comparison(self)


def compare(
    X: Any,
    n_clusters: int,
    *,
    methods: Iterable[str] | None = None,
    labels: npt.ArrayLike | None = None,
    budget: float | None = None,
    sample_size: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
    callback: Callable[[str], Any] | None = None,
) -> Comparison:
    """Cluster the rows by several methods and recommend one.

    All methods are fitted to the same rows, with the best of three restarts; k-means and mixtures with
    ``init="split-merge"``, total variation with estimated class priors and, where these are unequal, also with equal
    ones. The clusterings are scored without labels (see Notes).

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        The data.
    n_clusters : int
        Number of clusters k of each method.
    methods : iterable of str, optional
        Names of methods, such as "k-means". Default: those of coterie that suit the kind of rows, of several with the
        same objective the first.
    labels : array-like of shape (n,), optional
        Known classes; None, NaN or -1 where unknown. They add accuracy, NMI and ARI to the table, and do not influence
        the recommendation.
    budget : float, optional
        Time limit in seconds. First fits to at most 1,000 rows are timed; as many rows are compared as the budget
        allows, and a fit that would exceed it is not begun.
    sample_size : int, optional
        Rows to compare on. Default: at most 20,000, fewer where the budget requires it.
    random_state : int, RandomState or None
        Same seed, same clusterings, where no budget is given.
    n_threads : int, optional
        None: all processors of this process.
    callback : callable, optional
        Called with the name of each step before it begins, such as "k-means" or "scores".

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than three rows per cluster, a method is unknown, or none suits.

    Notes
    -----
    The score of a clustering is 1 - (1 - A) (1 - G). A is its mean adjusted Rand index to the clusterings of the
    other methods. G is the mean over rows of ``log(((v + p) / 16) / p)``, where v of the 15 nearest neighbors share
    the row's cluster and p is the share of this cluster, adjusted for chance as the Rand index is: less its mean
    over random connected partitions of the same sizes, over the difference of its maximum (v = 15) and that mean. A
    clustering is not recommended if its information is less than half of the highest one: the mutual information of
    the clusters at the two ends of an edge of the graph of 15 nearest neighbors, less its mean over those
    partitions, over log k.

    Examples
    --------
    >>> from coterie import compare
    >>> from coterie.datasets import load_iris
    >>> X, _ = load_iris()
    >>> found = compare(X, 3, methods=["k-means", "gmm"], random_state=0)
    >>> [record["method"] for record in found.records], found.agreement.shape
    (['k-means', 'gmm'], (2, 2))
    """
    clock = _Clock(budget)
    threads = effective_n_threads(n_threads)
    check_positive_integer("n_clusters", n_clusters)
    k = int(n_clusters)
    source = as_rows(X)
    random = random_stream(random_state)
    if sample_size is not None:
        check_positive_integer("sample_size", sample_size)
    n_compared = min(source.shape[0], _MOST_ROWS if sample_size is None else int(sample_size))
    if n_compared < 3 * k:
        raise ValueError(
            f"{k} clusters cannot be compared on {n_compared} rows: that takes three rows per cluster. Ask for fewer "
            "clusters or give more rows."
        )
    chosen, left_out = _candidates(source, methods)
    classes = _checked_classes(labels, source.shape[0])
    ids = _drawn_ids(source.shape[0], n_compared, random)
    rows = source.read() if len(ids) == source.shape[0] else source.take(ids)
    _check_range(rows, ids)
    tell = callback if callback is not None else str
    settings = {**_SETTINGS, "random_state": int(random.randint(2**31 - 1)), "n_threads": threads}
    fits: list[_Fit] = []
    if budget is not None and n_compared > _PILOT_ROWS:
        pilot = _drawn_ids(n_compared, max(_PILOT_ROWS, 3 * k), random)
        fits = _fitted(chosen, k, settings, rows[pilot], clock, left_out, str)
        chosen = [method for method in chosen if any(fit.method is method for fit in fits)]
        n_kept = _affordable_rows(fits, len(pilot), n_compared, clock)
        if sample_size is None and n_kept < n_compared:
            some = _drawn_ids(n_compared, n_kept, random) if n_kept > len(pilot) else pilot
            ids, rows = ids[some], rows[some]
    if not fits or len(ids) > len(fits[0].labels):
        fits = _fitted(chosen, k, settings, rows, clock, left_out, tell)
    if not fits:
        raise ValueError(f"No method could cluster the rows: {'; '.join(left_out)}.")
    tell("scores")
    agreement = np.array([[adjusted_rand_score(one.labels, other.labels) for other in fits] for one in fits])
    scores = _scores(rows, fits, agreement, k, random, threads, clock)
    best, confidence, reasons = _recommendation(fits, scores, k)
    known = None if classes is None else classes[ids]
    facts = {
        "rows": source.shape[0],
        "columns": source.shape[1],
        "sample_rows": len(ids),
        "clusters": k,
        "budget": budget,
        "seconds": clock.seconds,
    }
    records = tuple({**_record(fit, k), **scores[fit.name], **_known_scores(fit, known)} for fit in fits)
    models = {fit.name: fit.model for fit in fits}
    return Comparison(best, confidence, reasons, records, agreement, models, ids, tuple(left_out), facts)


# --- which methods, which rows ---------------------------------------------------------------------------------------


def _drawn_ids(n_rows: int, n_drawn: int, random: np.random.RandomState) -> IndexArray:
    """Return the numbers of rows drawn without replacement, ascending; all of them if there are no more."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    return np.sort(random.choice(n_rows, n_drawn, replace=False)).astype(np.int64)


def _check_range(rows: Block, ids: Array) -> None:
    """Raise the ValueError of fits if squared distances of rows to their mean overflow in their dtype."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(rows):
            squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        else:
            squares = np.square(rows - rows.mean(axis=0, dtype=np.float64)).sum(axis=1)
        check_squares(squares.astype(rows.dtype), ids)


def _candidates(rows: RowSource, names: Iterable[str] | None) -> tuple[list[Method], list[str]]:
    """Return the methods that take a number of clusters and suit the rows, and why the others do not."""
    offered = [method for method in methods() if method.clusters is not None]
    asked = offered if names is None else [find_method(name) for name in names]
    for method in asked:
        if method.clusters is None:
            raise ValueError(
                f"{method.name} finds the number of clusters itself, and compare gives all methods the same number: "
                "leave it out, and fit it alone."
            )
    chosen: list[Method] = []
    left_out = []
    for method in asked:
        alike = [other.name for other in chosen if other.objective == method.objective is not None]
        if rows.is_sparse and not method.takes_sparse:
            left_out.append(f"{method.name}: takes dense rows only")
        elif names is None and not issubclass(method.estimator, Estimator):
            left_out.append(f"{method.name}: not one of coterie's methods; name it to include it")
        elif names is None and alike:
            left_out.append(f"{method.name}: has the objective of {alike[0]}; name it to include it")
        else:
            chosen.append(method)
    if not chosen:
        raise ValueError(f"No method can be compared on these rows: {'; '.join(left_out)}.")
    return chosen, left_out


def _checked_classes(labels: npt.ArrayLike | None, n_rows: int) -> IndexArray | None:
    """Return classes as numbers, -1 for those that are not known."""
    if labels is None:
        return None
    classes = np.asarray(labels)
    if classes.shape != (n_rows,):
        raise ValueError(f"labels must have shape ({n_rows},), one for each row, got {classes.shape}.")
    numbers, _ = known_classes(classes)
    if (numbers < 0).all():
        raise ValueError("labels contains no known class.")
    return numbers


# --- fits ------------------------------------------------------------------------------------------------------------


class _Clock:
    """Elapsed time of a comparison, and the remaining budget for fits."""

    def __init__(self, budget: float | None) -> None:
        if budget is not None and not 0 < budget < np.inf:
            raise ValueError(f"budget must be a number of seconds above 0, got {budget!r}.")
        self._begin = time.perf_counter()
        self._budget = np.inf if budget is None else budget

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    @property
    def left(self) -> float:
        """Seconds that fits may take."""
        return _BUDGET_OF_FITS * self._budget - self.seconds

    @property
    def left_in_all(self) -> float:
        return self._budget - self.seconds


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fit of a method: its name, the model, its clusters numbered from 0, seconds."""

    name: str
    method: Method
    model: Any
    labels: IntArray
    seconds: float


def _fitted(
    chosen: Sequence[Method],
    k: int,
    settings: dict[str, Any],
    rows: Block,
    clock: _Clock,
    left_out: list[str],
    tell: Callable[[str], Any],
) -> list[_Fit]:
    """Cluster rows by each method; list those that fail, with the reason, in `left_out`."""
    fits: list[_Fit] = []

    def fit(name: str, method: Method, **options: Any) -> Any:
        limit = None if clock.left == np.inf else max(clock.left, 1e-3)
        parameters = {**settings, str(method.clusters): k, "max_time": limit, **options}
        model = method.estimator()
        known = model.get_params()
        init = parameters_of(method.estimator).get("init") if isinstance(model, Estimator) else None
        if init is not None and "split-merge" in init.choices and known["init"] in _DRAWN:
            parameters["init"] = "split-merge"
        model.set_params(**{name: value for name, value in parameters.items() if name in known})
        began = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(rows)
        except (ValueError, MemoryError, ArithmeticError) as error:
            left_out.append(f"{name}: {' '.join(str(error).split())}")
            return None
        if any("max_time" in str(warning.message) for warning in caught):
            left_out.append(f"{name}: its fit did not end within the budget")
            return None
        labels = np.unique(model.labels_, return_inverse=True)[1].astype(np.int32)
        fits.append(_Fit(name, method, model, labels, time.perf_counter() - began))
        return model

    for method in chosen:
        tell(method.name)
        model = fit(method.name, method)
        # Neither equal nor estimated class priors are better on most data, and where both are the same one fit is both.
        if np.ptp(getattr(model, "class_priors_", 0.0)) > 0:
            fit(f"{method.name}, equal priors", method, class_priors=None)
    return fits


def _affordable_rows(fits: Sequence[_Fit], n_rows: int, n_most: int, clock: _Clock) -> int:
    """Return the number of rows that fits can have within half of the time left, from their time for fewer rows."""
    seconds = sum(fit.seconds for fit in fits)
    share = (max(clock.left, 0.0) / 2 / max(seconds, _TINY)) ** (1 / _GROWTH)
    return int(min(n_most, share * n_rows))


# --- scores ----------------------------------------------------------------------------------------------------------


def _scores(
    rows: Block,
    fits: Sequence[_Fit],
    agreement: FloatArray,
    k: int,
    random: np.random.RandomState,
    n_threads: int,
    clock: _Clock,
) -> dict[str, dict[str, float]]:
    """Return the `CRITERIA` of each method; neighbors and information on a sample of the rows."""
    scored = _drawn_ids(rows.shape[0], _SCORED_ROWS, random)
    n_neighbors = min(_NEIGHBORS, len(scored) - 1)
    ids, _ = nearest_neighbors(rows[scored], n_neighbors, method="exact", n_threads=n_threads)
    starts = np.arange(0, ids.size + 1, n_neighbors)
    directed = sp.csr_array((np.ones(ids.size), ids.ravel(), starts), shape=(len(scored), len(scored)))
    graph = directed.maximum(directed.T).tocsr()
    clusterings = [np.unique(fit.labels[scored], return_inverse=True)[1] for fit in fits]
    chance = _chance(clusterings, ids, graph, random, clock)
    found = {}
    for number, (fit, labels) in enumerate(zip(fits, clusterings)):
        by_chance = chance[_sizes(labels)]
        likelihood, largest = _neighbor_likelihood(labels, ids)
        others = np.delete(agreement[number], number)
        agreed = float(others.mean()) if len(others) else 1.0
        near = float((likelihood - by_chance[0]) / max(largest - by_chance[0], _TINY))
        information = float((_information(labels, graph) - by_chance[1]) / max(np.log(k), _TINY))
        score = 1 - (1 - agreed) * (1 - near)
        found[fit.name] = dict(zip(CRITERIA, (score, agreed, near, information)))
    return found


def _chance(
    clusterings: Sequence[IndexArray],
    neighbors: IntArray,
    graph: sp.csr_array,
    random: np.random.RandomState,
    clock: _Clock,
) -> dict[tuple[int, ...], FloatArray]:
    """Return the mean neighbor likelihood and information of random partitions, by the sizes of their clusters.

    Each of the sizes gets a partition in turn, so that a budget that ends treats them alike.
    """
    seed, n_nulls = int(random.randint(2**31 - 1)), _NULL_ROWS // graph.shape[0]
    states = {_sizes(own): np.random.RandomState(seed) for own in clusterings}
    values: dict[tuple[int, ...], list[tuple[float, float]]] = {sizes: [] for sizes in states}
    for number in range(n_nulls):
        began = clock.seconds
        for sizes, state in states.items():
            null = _random_partition(graph, np.array(sizes), state)
            values[sizes].append((_neighbor_likelihood(null, neighbors)[0], _information(null, graph)))
        if number + 1 >= _FEWEST_NULLS and clock.left_in_all < 2 * (clock.seconds - began):
            break
    return {sizes: np.mean(found, axis=0) for sizes, found in values.items()}


def _sizes(labels: IndexArray) -> tuple[int, ...]:
    return tuple(np.sort(np.bincount(labels)).tolist())


def _nmi(one: _Labels, other: _Labels) -> float:
    return float(normalized_mutual_info_score(one, other))


def _neighbor_likelihood(labels: _Labels, neighbors: IntArray) -> tuple[float, float]:
    """Return the mean of log(((v + p) / (m + 1)) / p), and its value if v = m for all rows.

    Of the m neighbors of a row v share its cluster, whose share of all rows is p.
    """
    shares, m = (np.bincount(labels) / len(labels))[labels], neighbors.shape[1]
    same = np.sum(labels[neighbors] == labels[:, None], axis=1)
    found, largest = (np.mean(np.log((v + shares) / (m + 1) / shares)) for v in (same, m))
    return float(found), float(largest)


def _information(labels: _Labels, graph: sp.csr_array) -> float:
    """Return the mutual information, in nats, of the clusters at the two ends of an edge."""
    n_clusters = int(labels.max()) + 1
    member = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), n_clusters))
    joint = (member.T @ graph @ member).toarray()
    joint /= joint.sum()
    ends = joint.sum(axis=0)
    chance = np.outer(ends, ends)
    there = joint > 0
    return float(np.sum(joint[there] * np.log(joint[there] / chance[there])))


def _random_partition(graph: sp.csr_array, sizes: IndexArray, random: np.random.RandomState) -> IndexArray:
    """Return connected clusters of given sizes, grown breadth-first from random rows at the same time.

    The next cluster to grow is drawn in proportion to its missing rows; one that cannot grow continues from another
    random row.
    """
    n_rows = graph.shape[0]
    edges, starts = graph.indices.tolist(), graph.indptr.tolist()
    labels = [-1] * n_rows
    queues: list[list[int]] = [[] for _ in sizes]
    heads = [0] * len(sizes)
    elsewhere = iter(random.permutation(n_rows).tolist())
    for cluster in random.permutation(np.repeat(np.arange(len(sizes)), sizes)).tolist():
        queue, head = queues[cluster], heads[cluster]
        while head < len(queue) and labels[queue[head]] >= 0:
            head += 1
        row = queue[head] if head < len(queue) else next(row for row in elsewhere if labels[row] < 0)
        heads[cluster] = head
        labels[row] = cluster
        queue.extend(edges[starts[row] : starts[row + 1]])
    return np.array(labels)


def _recommendation(
    fits: Sequence[_Fit], scores: dict[str, dict[str, float]], k: int
) -> tuple[str, str, tuple[str, ...]]:
    def value(fit: _Fit, criterion: str = "score") -> float:
        return scores[fit.name][criterion]

    def flaw(fit: _Fit) -> str:
        n_empty = k - int(fit.labels.max()) - 1
        what = (
            f"{n_empty} of {k} clusters are empty"
            if n_empty
            else "its information is less than half of the highest"
        )
        return f"{fit.name} is not recommended: {what}."

    whole = [fit for fit in fits if int(fit.labels.max()) + 1 == k]
    most = max((value(fit, "information") for fit in whole), default=0.0)
    whole = [fit for fit in whole if value(fit, "information") >= min(_LEAST_INFORMATION * most, most)]
    flaws = [flaw(fit) for fit in fits if fit not in whole]
    best = max(whole or fits, key=value)
    similarity = {fit.name: _nmi(fit.labels, best.labels) for fit in whole}
    others = [fit for fit in whole if similarity[fit.name] <= _SAME]
    # The first of the methods with the same clusters: simpler methods come first.
    alike = [fit.name for fit in whole if fit not in others] or [best.name]
    if len(fits) == 1:
        return alike[0], "open", (f"Only {alike[0]} was compared: there is no choice to make.",)
    if not whole:
        return alike[0], "open", ("No method found the number of clusters that was asked for.", *flaws)
    same = [fit for fit in whole if similarity[fit.name] >= _CONFIRMED]
    is_found_again = any(fit.method is not best.method for fit in same)
    if not others:
        confidence = "clear" if is_found_again else "likely"
        why = f"{', '.join(alike)} find the same clusters" if is_found_again else "no other method is left"
        return alike[0], confidence, (f"Take {alike[0]}: {why}.", *flaws)
    different = [fit for fit in whole if fit not in same]
    n_confirmed = sum(
        not different or max(value(fit, name) for fit in same) > max(value(fit, name) for fit in different)
        for name in CRITERIA
        if name != "score"
    )
    second = max(others, key=value)
    owner = "" if alike[0] == best.name else f" of {best.name}"
    values = f"score {value(best):.3f}{owner}, next {second.name} with {value(second):.3f}"
    if n_confirmed < 2:
        reason = (
            f"No clear winner: {alike[0]} has the highest score ({values}), but two of its three criteria favor "
            "others. Compare their clusters on your data."
        )
        return alike[0], "open", (reason, *flaws)
    confidence = "clear" if n_confirmed == 3 and is_found_again else "likely"
    how = "All three criteria" if n_confirmed == 3 else "Two of three criteria"
    finds = "find" if len(alike) > 2 else "finds"
    also = f" {', '.join(alike[1:])} {finds} the same clusters." if len(alike) > 1 else ""
    alone = "" if is_found_again else " No other method finds similar clusters."
    reason = f"Take {alike[0]}: {values}. {how} choose its clusters.{also}{alone}"
    return alike[0], confidence, (reason, *flaws)


# --- output ---------------------------------------------------------------------------------------------------


def _record(fit: _Fit, k: int) -> dict[str, Any]:
    sizes = np.bincount(fit.labels)
    objective = fit.method.objective or OBJECTIVE
    value = getattr(fit.model, objective.attribute, None)
    return {
        "method": fit.name,
        "seconds": fit.seconds,
        "objective_name": objective.name,
        "objective": None if value is None else float(value),
        "clusters": len(sizes),
        "clusters_lost": max(0, k - len(sizes)),
        "smallest": int(sizes.min()),
        "median": round(float(np.median(sizes))),
        "largest": int(sizes.max()),
    }


def _known_scores(fit: _Fit, known: IndexArray | None) -> dict[str, float]:
    if known is None or not np.any(known >= 0):
        return {}
    truth, found = known[known >= 0], fit.labels[known >= 0]
    return {
        "accuracy": clustering_accuracy(truth, found),
        "nmi": _nmi(truth, found),
        "ari": float(adjusted_rand_score(truth, found)),
    }


def _cell(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"
