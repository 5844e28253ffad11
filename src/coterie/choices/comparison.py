"""Several methods on the same rows: what each takes, finds and finds again, and which to take."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import FloatArray, IndexArray
from coterie.choices.advice import advise
from coterie.choices.candidates import find_candidates
from coterie.choices.criteria import CRITERIA, common_graph, criteria_of
from coterie.choices.trials import Clock, Trial
from coterie.fitting.checks import check_positive_integer
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score
from coterie.reports.classes import is_known
from coterie.rows import Block, RowSource, as_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from coterie.reports.page import Page

__all__ = ["Comparison", "compare"]

# Rows that methods are compared on: with a budget of five minutes or more, and the fewest with less.
_SAMPLE, _SMALL_SAMPLE = 20_000, 4_000
_LONG_BUDGET = 300.0

# Of the budget for fits; the rest is for what compares them.
_FITS = 0.9

_SEEDS, _PAIRS = 3, 4

# Rows in one cluster each would fit anything.
_ROWS_PER_CLUSTER = 2


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; printed, it is its advice and a table.

    Attributes
    ----------
    recommended : str or None
        The method to take; None if the data prefer none.
    reasons : tuple of str
        Why, in sentences; the first says the result.
    records : tuple of dict
        What is known of each method, as in `table`.
    agreement : ndarray of shape (m, m)
        Adjusted Rand index of the best clusterings of any two methods.
    models : dict of str to estimator
        The best fit of each.
    sample_ids : ndarray of shape (n,), int64
        The rows that were compared on.
    left_out : tuple of str
        Methods that were not compared, and what there was no time for.
    facts : dict
        Rows, rows of the sample, clusters, seeds, seconds, budget.
    """

    recommended: str | None
    reasons: tuple[str, ...]
    records: tuple[dict[str, Any], ...]
    agreement: FloatArray
    models: dict[str, Any]
    sample_ids: IndexArray
    left_out: tuple[str, ...]
    facts: dict[str, Any]

    def __str__(self) -> str:
        shown = ("method", "seconds", "stability", *CRITERIA)
        cells = [[_cell(record[name]) for name in shown] for record in self.records]
        widths = [max(map(len, column)) for column in zip(*cells, shown)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths)) for line in [shown, *cells]
        ]
        return "\n".join([*self.reasons, *lines])

    def table(self) -> pa.Table:
        """Return an Arrow table, a row a method: seconds, memory, objective, sizes, stability, criteria, scores."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ImportError("An Arrow table needs pyarrow: pip install 'coterie[io]'") from error
        return pa.Table.from_pylist(list(self.records))

    def page(self, name: str = "the rows") -> Page:
        """Return a page for people, with `html()` and `markdown()`; `name` is what it calls the rows.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is missing.
        """
        from coterie.choices.pages import comparison_page

        return comparison_page(self, name)

    def plot(self) -> Figure:
        """Draw stability, criteria and agreement.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        from coterie.choices.pictures import plot_comparison

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
) -> Comparison:
    """Cluster rows by every method that suits them, the fair way, and say which to take, if the data prefer any.

    All methods get the same rows and the same seeds: three fits of all rows each, and four pairs of halves of the rows,
    whose clusters are compared on the rows that both halves have (stability).

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        What to cluster.
    n_clusters : int
        How many clusters each method is asked for.
    methods : iterable of str, optional
        Names of methods, such as "k-means"; by default those of coterie that suit so many rows of this kind.
    labels : array-like of shape (n,), optional
        Known classes of any names; None, NaN or -1 where not known. Adds accuracy, NMI and ARI; the advice does not use
        them.
    budget : float, optional
        Seconds for all fits. A method that has no time left is cut short, which is said; each has one fit at least.
    sample_size : int, optional
        Rows to compare on; by default at most 20,000, or in proportion fewer with a budget below five minutes, but
        4,000.
    random_state : int, RandomState or None
        Same seed, same clusters, where no budget cuts a fit.
    n_threads : int, optional
        None: all processors that this process may use.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than two rows a cluster, a method is unknown, or none suits.

    Notes
    -----
    Criteria compare clusterings whatever found them, and each favours its own kind: cuts of the graph of ten nearest
    neighbours those methods that cut graphs, the quantization error and the silhouette (to means, the simplified one)
    k-means.

    Examples
    --------
    >>> from coterie import compare
    >>> from coterie.datasets import load_iris
    >>> X, _ = load_iris()
    >>> found = compare(X, 3, methods=["k-means", "gmm"], random_state=0)
    >>> [record["method"] for record in found.records], found.agreement.shape
    (['k-means', 'gmm'], (2, 2))
    """
    started = time.perf_counter()
    threads = effective_n_threads(n_threads)
    check_positive_integer("n_clusters", n_clusters)
    if budget is not None and not 0 < budget < np.inf:
        raise ValueError(f"budget must be a number of seconds above 0, got {budget!r}.")
    source = as_rows(X)
    random = random_stream(random_state)
    ids = _sample_ids(source, n_clusters, sample_size, budget, random)
    candidates = find_candidates(source, methods, len(ids))
    classes = _checked_classes(labels, source.shape[0])
    rows = source.read() if len(ids) == source.shape[0] else source.take(ids)
    trials = [
        Trial(method, {str(method.clusters): int(n_clusters), "n_threads": threads})
        for method in candidates.chosen
    ]
    left_out = [*candidates.left_out, *_run(trials, rows, random, budget)]
    done = [trial for trial in trials if trial.fits]
    if not done:
        raise ValueError(f"No method could cluster the rows: {'; '.join(left_out)}.")
    graph = common_graph(rows, random, threads)
    criteria = {trial.method.name: criteria_of(rows, trial.best.labels, graph) for trial in done}
    agreement = np.array(
        [[adjusted_rand_score(one.best.labels, other.best.labels) for other in done] for one in done]
    )
    recommended, reasons = advise(done, agreement, criteria, int(n_clusters))
    known = None if classes is None else classes[ids]
    facts = {
        "rows": source.shape[0],
        "columns": source.shape[1],
        "sample_rows": len(ids),
        "clusters": int(n_clusters),
        "seeds": _SEEDS,
        "pairs_of_halves": _PAIRS,
        "budget": budget,
        "seconds": time.perf_counter() - started,
    }
    return Comparison(
        recommended, reasons,
        tuple({**_record(trial, int(n_clusters)), **criteria[trial.method.name], **_scores(trial, known)}
              for trial in done),
        agreement, {trial.method.name: trial.best.model for trial in done}, ids, tuple(left_out), facts,
    )  # fmt: skip


def _sample_ids(
    source: RowSource, n_clusters: int, size: int | None, budget: float | None, random: np.random.RandomState
) -> IndexArray:
    n_rows = source.shape[0]
    if size is None:
        share = 1.0 if budget is None else min(budget / _LONG_BUDGET, 1.0)
        size = max(int(_SAMPLE * share), _SMALL_SAMPLE, 20 * n_clusters)
    else:
        check_positive_integer("sample_size", size)
    n_taken = min(n_rows, int(size))
    if n_taken // 2 < _ROWS_PER_CLUSTER * n_clusters:
        raise ValueError(
            f"{n_clusters} clusters of {n_taken} rows cannot be compared: halves of the rows must hold "
            f"{_ROWS_PER_CLUSTER} rows a cluster. Take fewer clusters, or more rows."
        )
    if n_taken == n_rows:
        return np.arange(n_rows)
    return np.sort(random.choice(n_rows, n_taken, replace=False)).astype(np.int64)


def _checked_classes(labels: npt.ArrayLike | None, n_rows: int) -> IndexArray | None:
    """Return classes as numbers, -1 for those that are not known."""
    if labels is None:
        return None
    classes = np.asarray(labels)
    if classes.shape != (n_rows,):
        raise ValueError(f"labels must have shape ({n_rows},), one for each row, got {classes.shape}.")
    known = is_known(classes)
    if not known.any():
        raise ValueError("labels holds no class that is known.")
    names = classes[known] if classes.dtype.kind != "O" else classes[known].astype(str)
    numbers = np.full(n_rows, -1, dtype=np.int64)
    numbers[known] = np.unique(names, return_inverse=True)[1]
    return numbers


def _run(trials: list[Trial], rows: Block, random: np.random.RandomState, budget: float | None) -> list[str]:
    """Fit all methods in turns, so that a budget that ends treats them alike; return what was left out."""
    clock = Clock(None if budget is None else _FITS * budget, len(trials) * (_SEEDS + 2 * _PAIRS))
    seeds = random.randint(2**31 - 1, size=_SEEDS + _PAIRS).tolist()
    for number, seed in enumerate(seeds):
        for trial in trials:
            # One fit is owed to each method; the budget makes it short.
            if trial.failure is not None or (number and clock.is_over):
                continue
            if number < _SEEDS:
                trial.try_seed(rows, seed, clock)
            else:
                trial.try_halves(rows, seed, clock)
    left_out = [f"{trial.method.name}: {trial.failure}" for trial in trials if trial.failure is not None]
    unfinished: dict[tuple[int, int], list[str]] = {}
    for trial in trials:
        made = len(trial.fits), len(trial.agreements)
        if trial.failure is None and made < (_SEEDS, _PAIRS):
            unfinished.setdefault(made, []).append(trial.method.name)
    for (n_seeds, n_pairs), names in unfinished.items():
        done = f"{n_seeds} of {_SEEDS} seeds and {n_pairs} of {_PAIRS} pairs of halves"
        left_out.append(f"{', '.join(names)}: the budget ended after {done}")
    return left_out


def _record(trial: Trial, n_clusters: int) -> dict[str, Any]:
    best, interval = trial.best, trial.stability
    sizes = np.bincount(best.labels)
    name, objective = trial.objective
    peaks = [fitted.peak_bytes for fitted in trial.fits if fitted.peak_bytes is not None]
    return {
        "method": trial.method.name,
        "seconds": float(np.median([fitted.seconds for fitted in trial.fits])),
        "peak_bytes": max(peaks, default=None),
        "objective_name": name,
        "objective": objective,
        "clusters": len(sizes),
        "clusters_lost": max(0, n_clusters - len(sizes)),
        "smallest": int(sizes.min()),
        "median": round(float(np.median(sizes))),
        "largest": int(sizes.max()),
        "stability": None if interval is None else interval.mean,
        "stability_low": None if interval is None else interval.low,
        "stability_high": None if interval is None else interval.high,
        "between_seeds": trial.of_seeds,
        "was_cut": trial.was_cut,
    }


def _scores(trial: Trial, known: IndexArray | None) -> dict[str, float]:
    if known is None:
        return {}
    rows = known >= 0
    if not rows.any():
        return {}
    truth, found = known[rows], trial.best.labels[rows]
    return {
        "accuracy": clustering_accuracy(truth, found),
        "nmi": float(normalized_mutual_info_score(truth, found)),
        "ari": float(adjusted_rand_score(truth, found)),
    }


def _cell(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"
