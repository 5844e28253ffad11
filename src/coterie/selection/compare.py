"""Compare the clusterings of several methods on the same rows, and recommend one.

Clusterings are scored without labels, by two things that no method of coterie optimizes: how well other methods find
the same clusters on subsamples, and how well the clusters predict the neighbors of a row.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.estimators import OBJECTIVE, Estimator, Method, find_method, methods
from coterie.fitting.checks import check_positive_integer, random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import nearest_neighbors
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score
from coterie.reports.classes import is_known
from coterie.rows import Block, RowSource, as_rows
from coterie.selection.sample import check_range

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from coterie.reports.page import Page

CRITERIA = {
    "score": "agreement plus neighbors: the recommendation has the highest",
    "agreement": "adjusted Rand index to other methods fitted to subsamples of two thirds of the rows",
    "neighbors": "log-likelihood of the clusters of 15 nearest neighbors: 0 by chance, 1 if each is that of the row",
    "information": "mutual information of the clusters at both ends of a graph edge, above chance",
}
"""What each score measures. For all of them, higher is better."""

_Labels = IntArray | IndexArray

# Rows that methods are fitted to, and rows that clusterings are scored on: a Python loop grows the null partitions.
_MOST_ROWS, _SCORED_ROWS = 20_000, 5_000

# Fits to all compared rows, which differ in their seed, and fits to random subsets of two thirds of them.
_SEEDS, _SUBSETS, _SUBSET_SHARE = 3, 3, 2 / 3

_NEIGHBORS = 15

# Smallest difference of a likelihood and its value by chance that is divided by.
_TINY = 1e-9

# Rows of all null partitions of a clustering: six of 5,000 rows, more of fewer, which vary more; and the fewest
# partitions when a budget ends.
_NULL_ROWS, _FEWEST_NULLS = 6 * _SCORED_ROWS, 2

# Clusterings with a normalized mutual information above this count as one.
_SAME = 0.95

# The three ways to choose agree on a clustering from this normalized mutual information on.
_CONFIRMED = 0.9

# Rows of the first fits, which measure how long a method takes.
_PILOT_ROWS = 1_000

# Part of the budget for fits; scores take the rest.
_BUDGET_OF_FITS = 0.8

# Fits take time in proportion to at most this power of the number of rows (graphs; k-means is below).
_GROWTH = 1.3

# Parameters of the methods that have them: clusters need not be of equal size, and fits are repeated anyway.
_SETTINGS = {"class_priors": "estimate", "n_init": 3}


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`. `print` shows the recommendation and a table.

    Attributes
    ----------
    best : str
        Method with the highest score, of those without empty clusters if there are any.
    confidence : {"clear", "likely", "open"}
        "clear": three ways to choose (the score, mean agreement of all rows with the other methods, information in the
        graph) pick the same clustering; "likely": two of them; "open": none do, or the first two scores differ by less
        than restarts of one method.
    reasons : tuple of str
        Explanation in sentences; the first states the result.
    records : tuple of dict
        One for each method, as in `table`.
    agreement : ndarray of shape (m, m), float64
        Adjusted Rand index of the best clusterings of any two methods.
    models : dict of str to estimator
        Best fit of each method, by its own objective.
    sample_ids : ndarray of shape (n_compared,), int64
        Rows that were compared on.
    left_out : tuple of str
        Methods that were not compared, with the reason.
    facts : dict
        Rows, rows compared on, clusters, seeds, subsets, seconds, budget.
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
        from coterie.selection.pages import comparison_page

        return comparison_page(self, name)

    def plot(self) -> Figure:
        """Draw the scores and the agreement of the methods."""
        from coterie.selection.pages import plot_comparison

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

    All methods are fitted to the same rows with the same seeds, three times to all compared rows and once to each of
    three random subsets, with three restarts in each fit; total variation estimates its class priors. The clusterings
    are scored without labels (see Notes).

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
        Called with the name of each step before it begins, such as "k-means, fit 2 of 6" or "scores".

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than three rows per cluster, a method is unknown, or none suits.

    Notes
    -----
    The score of a clustering is S + G. S is its mean adjusted Rand index, on random subsets of two thirds of the
    rows, to the other methods fitted to the subset. G is the mean over rows of ``log(((v + p) / 16) / p)``, where v
    of the 15 nearest neighbors share the row's cluster and p is the share of this cluster, adjusted for chance as the
    Rand index is: less its mean over random connected partitions of the same sizes, over the difference of its
    maximum (v = 15) and that mean.

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
    if int(_SUBSET_SHARE * n_compared) < 2 * k:
        raise ValueError(
            f"{k} clusters cannot be compared on {n_compared} rows: that takes three rows per cluster. Ask for fewer "
            "clusters or give more rows."
        )
    chosen, left_out = _candidates(source, methods)
    classes = _checked_classes(labels, source.shape[0])
    trials = [
        _Trial(method, {**_SETTINGS, str(method.clusters): k, "n_threads": threads}) for method in chosen
    ]
    ids = _drawn_ids(source.shape[0], n_compared, random)
    rows = source.read() if len(ids) == source.shape[0] else source.take(ids)
    check_range(rows, ids)
    if budget is not None and n_compared > _PILOT_ROWS:
        pilot = _drawn_ids(n_compared, max(_PILOT_ROWS, 3 * k), random)
        kept = _affordable_rows(trials, rows[pilot], n_compared, clock, random)
        if sample_size is None and kept < n_compared:
            some = _drawn_ids(n_compared, kept, random) if kept > len(pilot) else pilot
            ids, rows = ids[some], rows[some]
        if len(ids) > len(pilot):
            for trial in trials:
                trial.fits.clear()
    subsets = [
        np.sort(random.permutation(len(ids))[: int(_SUBSET_SHARE * len(ids))]) for _ in range(_SUBSETS)
    ]
    tell = callback if callback is not None else str
    _fit_all(trials, rows, subsets, random, clock, tell)
    left_out += [f"{trial.method.name}: {trial.failure}" for trial in trials if trial.failure]
    done = [trial for trial in trials if trial.fits]
    if not done:
        raise ValueError(f"No method could cluster the rows: {'; '.join(left_out)}.")
    tell("scores")
    scores = _scores(rows, done, subsets, random, threads, clock)
    agreement = np.array(
        [[adjusted_rand_score(one.best.labels, other.best.labels) for other in done] for one in done]
    )
    best, confidence, reasons = _recommendation(done, scores, k)
    known = None if classes is None else classes[ids]
    facts = {
        "rows": source.shape[0],
        "columns": source.shape[1],
        "sample_rows": len(ids),
        "clusters": k,
        "seeds": _SEEDS,
        "subsets": _SUBSETS,
        "budget": budget,
        "seconds": clock.seconds,
    }
    records = tuple(
        {**_record(trial, k), **scores[trial.method.name].record, **_known_scores(trial, known)}
        for trial in done
    )
    models = {trial.method.name: trial.best.model for trial in done}
    return Comparison(best, confidence, reasons, records, agreement, models, ids, tuple(left_out), facts)


# --- which methods, which rows ---------------------------------------------------------------------------------------


def _drawn_ids(n_rows: int, n_drawn: int, random: np.random.RandomState) -> IndexArray:
    """Return the numbers of rows drawn without replacement, ascending; all of them if there are no more."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    return np.sort(random.choice(n_rows, n_drawn, replace=False)).astype(np.int64)


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
    known = is_known(classes)
    if not known.any():
        raise ValueError("labels contains no known class.")
    names = classes[known] if classes.dtype.kind != "O" else classes[known].astype(str)
    numbers = np.full(n_rows, -1, dtype=np.int64)
    numbers[known] = np.unique(names, return_inverse=True)[1]
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


@dataclass(frozen=True)
class _Fit:
    """One fit: the model, its clusters numbered from 0, seconds."""

    model: Any
    labels: IntArray
    seconds: float


@dataclass
class _Trial:
    """A method with its fits to all compared rows (one per seed) and to each of the subsets."""

    method: Method
    settings: dict[str, Any]
    fits: list[_Fit] = field(default_factory=list)
    subset_labels: list[IntArray] = field(default_factory=list)
    failure: str | None = None

    def fit(self, rows: Block, seed: int, max_time: float = np.inf) -> _Fit | None:
        """Cluster rows; a method that fails is left out from there on."""
        limit = None if max_time == np.inf else max(max_time, 1e-3)
        parameters = {**self.settings, "random_state": seed, "max_time": limit}
        model = self.method.estimator()
        known = model.get_params()
        model.set_params(**{name: value for name, value in parameters.items() if name in known})
        began = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(rows)
        except (ValueError, MemoryError, ArithmeticError) as error:
            self.failure = " ".join(str(error).split())
            return None
        if any("max_time" in str(warning.message) for warning in caught):
            self.failure = "its first fit did not end within the budget"
            return None
        labels = np.unique(model.labels_, return_inverse=True)[1].astype(np.int32)
        return _Fit(model, labels, time.perf_counter() - began)

    @property
    def best(self) -> _Fit:
        """The fit with the best objective of its method."""
        objective = self.method.objective
        if objective is None:
            return self.fits[0]
        sign = -1 if objective.higher_is_better else 1
        return min(self.fits, key=lambda fit: sign * float(getattr(fit.model, objective.attribute)))


def _affordable_rows(
    trials: Sequence[_Trial], rows: Block, n_most: int, clock: _Clock, random: np.random.RandomState
) -> int:
    """Fit each method to few rows; return the number of rows that all fits can have within the budget."""
    seconds, seed = 0.0, int(random.randint(2**31 - 1))
    for trial in trials:
        fit = trial.fit(rows, seed, clock.left)
        if fit is not None:
            trial.fits.append(fit)
            seconds += fit.seconds
    needed = seconds * (_SEEDS + _SUBSETS * _SUBSET_SHARE**_GROWTH)
    share = (max(clock.left, 0.0) / max(needed, 1e-9)) ** (1 / _GROWTH)
    return int(min(n_most, share * rows.shape[0]))


def _fit_all(
    trials: Sequence[_Trial],
    rows: Block,
    subsets: Sequence[IndexArray],
    random: np.random.RandomState,
    clock: _Clock,
    tell: Callable[[str], Any],
) -> None:
    """Fit all methods in turns, so that a budget that ends treats them alike."""
    seeds = random.randint(2**31 - 1, size=_SEEDS + _SUBSETS).tolist()
    order = [(seeds[0], None), *zip(seeds[_SEEDS:], subsets), *((seed, None) for seed in seeds[1:_SEEDS])]
    for number, (seed, subset) in enumerate(order):
        for trial in trials:
            if (
                trial.failure
                or (number == 0 and trial.fits)
                or (number and clock.left < (trial.fits[0].seconds if trial.fits else 0.0))
            ):
                continue
            tell(f"{trial.method.name}, fit {number + 1} of {len(order)}")
            fit = trial.fit(rows if subset is None else rows[subset], seed, clock.left)
            if fit is None:
                # A later fit that the budget cut off does not exclude the method.
                trial.failure = None if trial.fits and "budget" in str(trial.failure) else trial.failure
            elif subset is None:
                trial.fits.append(fit)
            else:
                trial.subset_labels.append(fit.labels)


# --- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scores:
    """The `CRITERIA` of a method's best clustering, and the range of the scores of its restarts."""

    record: dict[str, float]
    consensus: float
    spread: float


def _scores(
    rows: Block,
    trials: Sequence[_Trial],
    subsets: Sequence[IndexArray],
    random: np.random.RandomState,
    n_threads: int,
    clock: _Clock,
) -> dict[str, _Scores]:
    scored = _drawn_ids(rows.shape[0], _SCORED_ROWS, random)
    n_neighbors = min(_NEIGHBORS, len(scored) - 1)
    ids, _ = nearest_neighbors(rows[scored], n_neighbors, method="exact", n_threads=n_threads)
    starts = np.arange(0, ids.size + 1, n_neighbors)
    directed = sp.csr_array((np.ones(ids.size), ids.ravel(), starts), shape=(len(scored), len(scored)))
    graph = directed.maximum(directed.T).tocsr()
    clusterings = [
        [trial.best.labels, *(fit.labels for fit in trial.fits if fit is not trial.best)] for trial in trials
    ]
    numbered = [
        [np.unique(labels[scored], return_inverse=True)[1] for labels in found] for found in clusterings
    ]
    chance = _chance([own for found in numbered for own in found], ids, graph, random, clock)
    found = {}
    for trial, all_labels, all_own in zip(trials, clusterings, numbered):
        others = [other for other in trials if other is not trial]
        values = []
        for labels, own in zip(all_labels, all_own):
            by_chance = chance[_sizes(own)]
            likelihood, largest = _neighbor_likelihood(own, ids)
            neighbors = (likelihood - by_chance[0]) / max(largest - by_chance[0], _TINY)
            information = _information(own, graph) - by_chance[1]
            agreement = _subset_agreement(labels, others, subsets)
            values.append((agreement + neighbors, agreement, neighbors, information))
        consensus = [_nmi(trial.best.labels, other.best.labels) for other in others]
        spread = max(value[0] for value in values) - min(value[0] for value in values)
        found[trial.method.name] = _Scores(
            dict(zip(CRITERIA, map(float, values[0]))), float(np.mean(consensus or [1.0])), float(spread)
        )
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


def _subset_agreement(labels: IntArray, others: Sequence[_Trial], subsets: Sequence[IndexArray]) -> float:
    """Return the mean adjusted Rand index to other methods fitted to subsets; 1 if all find the same clusters."""
    found = []
    for other in others:
        pairs = zip(subsets, other.subset_labels)
        if other.subset_labels:
            found.append(np.mean([adjusted_rand_score(labels[subset], fitted) for subset, fitted in pairs]))
    return float(np.mean(found)) if found else 1.0


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
    trials: Sequence[_Trial], scores: dict[str, _Scores], k: int
) -> tuple[str, str, tuple[str, ...]]:
    lost = {trial.method.name: k - int(trial.best.labels.max()) - 1 for trial in trials}
    flaws = [
        f"{name} is not recommended: {n_lost} of {k} clusters are empty."
        for name, n_lost in lost.items()
        if n_lost
    ]
    whole = [trial for trial in trials if not lost[trial.method.name]]

    def score(trial: _Trial) -> float:
        return scores[trial.method.name].record["score"]

    best = max(whole or trials, key=score)
    others = [trial for trial in whole if _nmi(trial.best.labels, best.best.labels) <= _SAME]
    # The first of the methods with the same clusters: simpler methods come first.
    alike = [trial.method.name for trial in whole if trial not in others] or [best.method.name]
    if len(trials) == 1:
        return alike[0], "open", (f"Only {alike[0]} was compared: there is no choice to make.",)
    if not whole:
        return alike[0], "open", ("No method found the number of clusters that was asked for.", *flaws)
    if not others:
        return alike[0], "clear", (f"Take {alike[0]}: {', '.join(alike)} find the same clusters.", *flaws)
    choices = (
        max(whole, key=lambda trial: scores[trial.method.name].consensus),
        max(whole, key=lambda trial: scores[trial.method.name].record["information"]),
    )
    n_confirmed = sum(_nmi(choice.best.labels, best.best.labels) >= _CONFIRMED for choice in choices)
    second = max(others, key=score)
    owner = "" if alike[0] == best.method.name else f" of {best.method.name}"
    values = f"score {score(best):.3f}{owner}, next {second.method.name} with {score(second):.3f}"
    if score(best) - score(second) <= max(scores[trial.method.name].spread for trial in (best, second)):
        reason = (
            f"No clear winner: {alike[0]} and {second.method.name} differ by less than restarts of one method do "
            f"({values}). Compare their clusters on your data."
        )
        return alike[0], "open", (reason, *flaws)
    if not n_confirmed:
        reason = (
            f"No clear winner: {alike[0]} has the highest score ({values}), but agreement between methods and "
            "information in the graph favor others. Compare their clusters on your data."
        )
        return alike[0], "open", (reason, *flaws)
    confidence, how = (
        ("likely", "Two of three criteria") if n_confirmed == 1 else ("clear", "All three criteria")
    )
    finds = "find" if len(alike) > 2 else "finds"
    same = f" {', '.join(alike[1:])} {finds} the same clusters." if len(alike) > 1 else ""
    return alike[0], confidence, (f"Take {alike[0]}: {values}. {how} choose its clusters.{same}", *flaws)


# --- output ---------------------------------------------------------------------------------------------------


def _record(trial: _Trial, k: int) -> dict[str, Any]:
    best = trial.best
    sizes = np.bincount(best.labels)
    objective = trial.method.objective or OBJECTIVE
    value = getattr(best.model, objective.attribute, None)
    between = [
        float(adjusted_rand_score(first.labels, second.labels))
        for number, first in enumerate(trial.fits)
        for second in trial.fits[:number]
    ]
    return {
        "method": trial.method.name,
        "seconds": float(np.median([fit.seconds for fit in trial.fits])),
        "objective_name": objective.name,
        "objective": None if value is None else float(value),
        "clusters": len(sizes),
        "clusters_lost": max(0, k - len(sizes)),
        "smallest": int(sizes.min()),
        "median": round(float(np.median(sizes))),
        "largest": int(sizes.max()),
        "between_seeds": float(np.mean(between)) if between else None,
    }


def _known_scores(trial: _Trial, known: IndexArray | None) -> dict[str, float]:
    if known is None or not np.any(known >= 0):
        return {}
    truth, found = known[known >= 0], trial.best.labels[known >= 0]
    return {
        "accuracy": clustering_accuracy(truth, found),
        "nmi": _nmi(truth, found),
        "ari": float(adjusted_rand_score(truth, found)),
    }


def _cell(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"
