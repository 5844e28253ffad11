"""Compare the clusterings of several methods on the same rows, and recommend one.

Clusterings are scored without labels, by two things that no method of coterie optimizes: how well other methods find
the same clusters, and how well the clusters predict the neighbors of a row. A third, how much the clusters at the two
ends of an edge of the graph of neighbors have in common, excludes one cluster of nearly all rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.comparison.scores import CRITERIA, drawn_ids, rand_indices, scores
from coterie.estimators import Estimator
from coterie.estimators.parameters import ParameterError, parameters_of
from coterie.figures import counted
from coterie.fitting.checks import check_positive_integer, random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.graphs.equal_rows import equal_rows
from coterie.methods import Method, Objective, find_method, methods
from coterie.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score
from coterie.names import known_classes
from coterie.rows import Block, Rows, as_rows

if TYPE_CHECKING:
    from coterie.reports.page import Page

# Rows that methods are fitted to, and rows that are drawn.
_MOST_ROWS, _DRAWN_ROWS = 20_000, 2_000

# Clusterings with a normalized mutual information above this count as one.
_SAME = 0.95

# Clusterings with less than this part of the highest information are not recommended: neighbors are easy to predict if
# nearly all rows are in one cluster. Parts of 0.3 to 0.6 lead to the same recommendations.
_LEAST_INFORMATION = 0.5

# A clustering confirms another one if this share of the rows is in matching clusters; one that does not makes it
# doubtful if its score is less than this difference below. Data without clusters have lower scores.
_CONFIRMED, _CLOSE, _LEAST_SCORE = 0.97, 0.01, 0.95

_N_INIT = 3

# Initializations that draw centers, after which clusters are split and others merged.
_DRAWN = ("k-means++", "auto")

# A cluster is some of another clustering if most rows of each are its own, and these are this share of it.
_MOST, _PARTS, _MOST_DIFFERENCES = 0.5, 0.8, 3


@dataclass(frozen=True, repr=False)
class Comparison:
    """Result of `compare`. `print` shows the recommendation and a table; a notebook shows the page.

    Attributes
    ----------
    best : str
        Name of the fit with the highest score, of those without empty clusters (if there are any) and with at least
        half of the highest information.
    confidence : {"clear", "likely", "open"}
        "clear": all three criteria (agreement, neighbors, information) are highest for these clusters, the score is at
        least 0.95, another method finds them, too (97% of the rows in matching clusters), and no other clusters have a
        score less than 0.01 below; "likely": two of the criteria are highest; "open": fewer.
    reasons : tuple of str
        Explanation in sentences; the first is the answer.
    records : tuple of dict
        One for each fit, by descending score: seconds, objective, sizes, scores, as `pandas.DataFrame` takes them.
    differences : tuple of str
        How the clusters of other methods differ from those of the best.
    agreement : ndarray of shape (m, m), float64
        Adjusted Rand index of the clusterings of any two methods.
    models : dict of str to estimator
        Fitted estimators by name.
    sample_ids : ndarray of shape (n_compared,), int64
        Rows that were compared on.
    left_out : tuple of str
        Methods that were not compared, with the reason.
    facts : dict
        Rows, rows compared on, clusters, seconds.
    """

    best: str
    confidence: str
    reasons: tuple[str, ...]
    records: tuple[dict[str, Any], ...]
    differences: tuple[str, ...]
    agreement: FloatArray
    models: dict[str, Any]
    sample_ids: IndexArray
    left_out: tuple[str, ...]
    facts: dict[str, Any]
    _drawn: tuple[IndexArray, Block] = field(default=(np.zeros(0, dtype=np.int64), np.zeros((0, 1))))

    @property
    def recommended(self) -> str | None:
        """The best method; None if the evidence does not favor one (`confidence` is "open")."""
        return None if self.confidence == "open" else self.best

    @property
    def best_model_(self) -> Any:
        """The fitted estimator of the best method, also where no method is recommended."""
        return self.models[self.best]

    def __repr__(self) -> str:
        return f"<Comparison: {counted(len(self.records), 'clustering')}, {self.confidence}: {self.best}>"

    def __str__(self) -> str:
        n_rows, n_compared = self.facts["rows"], self.facts["sample_rows"]
        sampled = [f"Compared on {n_compared:,} of {n_rows:,} rows."] if n_compared < n_rows else []
        return "\n".join([*sampled, *self.reasons, "", *self.lines(), "", *self.differences]).rstrip()

    def lines(self) -> list[str]:
        """Return the lines of a table of scores and sizes, the best method marked by an asterisk."""
        known = [name for name in ("accuracy", "nmi", "ari") if name in self.records[0]]
        names = [*CRITERIA, *known]
        cells = [["method", *names, "sizes"]]
        for record in self.records:
            mark = "*" if record["method"] == self.best else ""
            numbers = [f"{record[name]:.2f}" for name in names]
            cells.append([record["method"] + mark, *numbers, f"{record['smallest']:,}-{record['largest']:,}"])
        widths = [max(map(len, column)) for column in zip(*cells)]
        return ["  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths)) for line in cells]

    def page(self, name: str = "the rows", warnings: Sequence[str] = ()) -> Page:
        """Return a page with `save(path)` and `html()`; `name` is that of the data set."""
        from coterie.comparison.page import comparison_page

        return comparison_page(self, name, warnings)

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()


def compare(
    X: Any,
    n_clusters: int,
    *,
    methods: Iterable[str] | None = None,
    labels: npt.ArrayLike | None = None,
    max_time: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
    callback: Callable[[str], Any] | None = None,
) -> Comparison:
    """Cluster the rows by several methods and recommend one.

    All methods are fitted to the same rows, at most 20,000, with their default parameters, but the best of three
    restarts, and k-means and mixtures with ``init="split-merge"``. The clusterings are scored without labels (see
    Notes).

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The data. Of more than 20,000 rows a random sample is compared on.
    n_clusters : int
        Number of clusters k of each method.
    methods : iterable of str, optional
        Names of methods, such as "k-means". Default: those of coterie that suit the kind of rows, of several with the
        same objective the first.
    labels : array-like of shape (n,), optional
        Known classes; None, NaN or -1 where unknown. They add accuracy, NMI and ARI to the table, and do not influence
        the recommendation.
    max_time : float, optional
        Time limit of all fits in seconds. Methods whose fits do not end within it are left out, so that the result
        depends on the speed of the machine.
    random_state : int, RandomState or None
        Same seed, same result, where no time limit is given.
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
        If n_clusters is 1, there are fewer than three rows, or less than one distinct row, per cluster, a method is
        unknown, or none suits.

    Notes
    -----
    The score of a clustering is 1 - (1 - A) (1 - G). A is its mean adjusted Rand index to the clusterings of the
    other methods. G is the mean over distinct rows of ``log(((v + p) / 16) / p)``, where v of the 15 nearest neighbors
    share the row's cluster and p is the share of this cluster, adjusted for chance as the Rand index is: less its mean
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
    began = time.perf_counter()
    if max_time is not None and not 0 < max_time < np.inf:
        raise ParameterError("max_time", f"must be a number of seconds above 0, got {max_time!r}.")
    threads = effective_n_threads(n_threads)
    check_positive_integer("n_clusters", n_clusters)
    k = int(n_clusters)
    if k < 2:
        raise ParameterError("n_clusters", "must be at least 2 to compare methods, got 1.")
    source = as_rows(X)
    random = random_stream(random_state)
    n_compared = min(source.shape[0], _MOST_ROWS)
    if n_compared < 3 * k:
        most = f"at most {n_compared // 3}, a third of the {n_compared} rows that are compared"
        raise ParameterError("n_clusters", f"must be {most}, got {k}.")
    chosen, left_out = _candidates(source, methods)
    classes = None
    if labels is not None:
        classes, names = known_classes(labels)
        if classes.shape != (source.shape[0],):
            raise ValueError(
                f"labels must have shape ({source.shape[0]},), one for each row, got {classes.shape}."
            )
        if not names:
            raise ValueError("labels contains no known class.")
    ids = drawn_ids(source.shape[0], n_compared, random)
    rows = source.read() if len(ids) == source.shape[0] else source.take(ids)
    n_distinct = len(equal_rows(rows).first)
    if n_distinct < k:
        raise ParameterError(
            "n_clusters", f"must be at most the number of distinct rows, {n_distinct}, got {k}."
        )
    tell = callback if callback is not None else str
    settings = {"n_init": _N_INIT, "random_state": int(random.randint(2**31 - 1)), "n_threads": threads}
    fits = _fitted(chosen, k, settings, rows, None if max_time is None else began + max_time, left_out, tell)
    if not fits:
        raise ValueError(f"No method could cluster the rows: {'; '.join(left_out)}.")
    tell("scores")
    clusterings = [fit.labels for fit in fits]
    agreement = rand_indices(clusterings)
    found = scores(rows, clusterings, agreement, k, random, threads)
    best, confidence, reasons = _recommendation(fits, found, k)
    order = sorted(range(len(fits)), key=lambda i: (-found[i]["score"], i))
    known = None if classes is None else classes[ids]
    facts = {"rows": source.shape[0], "columns": source.shape[1], "sample_rows": len(ids), "clusters": k,
             "seconds": time.perf_counter() - began}  # fmt: skip
    drawn = drawn_ids(len(ids), _DRAWN_ROWS, np.random.RandomState(0))
    return Comparison(
        best.name, confidence, reasons,
        records=tuple({**_record(fits[i], k, known), **found[i]} for i in order),
        differences=tuple(_difference(best, fits[i]) for i in order if fits[i] is not best),
        agreement=agreement[np.ix_(order, order)],
        models={fits[i].name: fits[i].model for i in order},
        sample_ids=ids,
        left_out=tuple(left_out),
        facts=facts,
        _drawn=(drawn, rows[drawn]),
    )  # fmt: skip


# --- which methods, which rows ---------------------------------------------------------------------------------------


def _candidates(rows: Rows, names: Iterable[str] | None) -> tuple[list[Method], list[str]]:
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
    left_out, twins = [], dict[str, list[str]]()
    for method in asked:
        alike = [other.name for other in chosen if other.objective == method.objective != Objective()]
        if rows.is_sparse and not method.takes_sparse:
            left_out.append(f"{method.name}: takes dense rows only")
        elif names is None and not issubclass(method.estimator, Estimator):
            left_out.append(f"{method.name}: not one of coterie's methods; name it to include it")
        elif names is None and alike:
            twins.setdefault(alike[0], []).append(method.name)
        else:
            chosen.append(method)
    left_out += [
        f"{', '.join(names)}: objective of {name}; name them to include them" for name, names in twins.items()
    ]
    if not chosen:
        raise ValueError(f"No method can be compared on these rows: {'; '.join(left_out)}.")
    return chosen, left_out


# --- fits ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fit of a method: its name, the model, its clusters numbered from 0, seconds."""

    name: str
    method: Method
    model: Any
    labels: IntArray
    seconds: float

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1


def _fitted(
    chosen: Sequence[Method],
    k: int,
    settings: dict[str, Any],
    rows: Block,
    deadline: float | None,
    left_out: list[str],
    tell: Callable[[str], Any],
) -> list[_Fit]:
    """Cluster rows by each method; list those that fail, with the reason, in `left_out`."""
    fits: list[_Fit] = []
    for method in chosen:
        tell(method.name)
        began = time.perf_counter()
        limit = None if deadline is None else max(deadline - began, 1e-3)
        parameters = {**settings, str(method.clusters): k, "max_time": limit}
        model = method.estimator()
        known = model.get_params()
        init = parameters_of(method.estimator).get("init") if isinstance(model, Estimator) else None
        if init is not None and "split-merge" in init.choices and known["init"] in _DRAWN:
            parameters["init"] = "split-merge"
        model.set_params(**{name: value for name, value in parameters.items() if name in known})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(rows)
        except (ValueError, MemoryError, ArithmeticError) as error:
            left_out.append(f"{method.name}: {' '.join(str(error).split())}")
            continue
        seconds = time.perf_counter() - began
        if limit is not None and seconds >= limit:
            left_out.append(f"{method.name}: its fit did not end within max_time")
            continue
        labels = np.unique(model.labels_, return_inverse=True)[1].astype(np.int32)
        fits.append(_Fit(method.name, method, model, labels, seconds))
    return fits


# --- the recommendation ----------------------------------------------------------------------------------------------


def _recommendation(
    fits: Sequence[_Fit], found: Sequence[dict[str, float]], k: int
) -> tuple[_Fit, str, tuple[str, ...]]:
    """Return the fit to recommend, the confidence, and the reasons, of which the first is the answer."""
    by_fit = dict(zip(fits, found))

    def value(fit: _Fit, criterion: str = "score") -> float:
        return by_fit[fit][criterion]

    whole = [fit for fit in fits if fit.n_clusters == k]
    most = max((value(fit, "information") for fit in whole), default=0.0)
    whole = [fit for fit in whole if value(fit, "information") >= min(_LEAST_INFORMATION * most, most)]
    flaws = [
        f"{fit.name} is not recommended: {k - fit.n_clusters} of {k} clusters are empty."
        if fit.n_clusters < k
        else f"{fit.name} is not recommended: its information is less than half of the highest."
        for fit in fits
        if fit not in whole
    ]
    highest = max(whole or fits, key=value)
    # The first of the methods with the same clusters: simpler methods come first.
    best = next(
        (fit for fit in whole if normalized_mutual_info_score(fit.labels, highest.labels) > _SAME), highest
    )
    if len(fits) == 1:
        return best, "open", (f"Only {best.name} was compared: there is no choice to make.",)
    if not whole:
        return best, "open", ("No method found the number of clusters that was asked for.", *flaws)
    same = [fit for fit in whole if clustering_accuracy(fit.labels, highest.labels) >= _CONFIRMED]
    different = [fit for fit in whole if fit not in same]
    confirming = [fit.name for fit in same if fit.method is not best.method]
    close = [fit.name for fit in different if value(fit) > value(highest) - _CLOSE]
    n_highest = sum(
        not different or max(value(fit, name) for fit in same) > max(value(fit, name) for fit in different)
        for name in CRITERIA
        if name != "score"
    )
    if n_highest < 2:
        rivals = " and ".join(fit.name for fit in sorted(different, key=value, reverse=True)[:1])
        answer = (
            f"No method is clearly better: {best.name} has the highest score, but two of three criteria favor others. "
            f"Compare its clusters with those of {rivals}."
        )
        return best, "open", (answer, *flaws)
    if n_highest == 3 and confirming and not close and value(highest) >= _LEAST_SCORE:
        return best, "clear", (f"Take {best.name}: {_listed(confirming)} found the same clusters.", *flaws)
    doubt = (
        f"{_listed(close)} found other clusters with nearly the same score"
        if close
        else "no other method found the same clusters"
        if not confirming
        else "one of three criteria favors other clusters"
        if n_highest < 3
        else f"a score of {value(highest):.2f} is low"
    )
    return best, "likely", (f"{best.name} is likely the best, but {doubt}.", *flaws)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _difference(best: _Fit, other: _Fit) -> str:
    """Return in words how the clusters of another fit differ from those of the best."""
    counts = np.zeros((best.n_clusters, other.n_clusters), dtype=np.int64)
    np.add.at(counts, (best.labels, other.labels), 1)
    parts = [
        *(f"cluster {one} of {best.name} is {some} of {other.name}" for one, some in _parts(counts)),
        *(f"cluster {one} of {other.name} is {some} of {best.name}" for one, some in _parts(counts.T)),
    ]
    share = clustering_accuracy(best.labels, other.labels)
    words = "".join(f"; {part}" for part in parts[:_MOST_DIFFERENCES])
    return f"{other.name}: {share:.0%} of the rows in the same clusters{words}."


def _parts(counts: Array) -> list[tuple[int, str]]:
    """Return the clusters (lines of a table of common rows) that are mostly several of the other clusters."""
    found = []
    for one, line in enumerate(counts):
        parts = np.flatnonzero(line > _MOST * counts.sum(axis=0))
        if len(parts) > 1 and line[parts].sum() >= _PARTS * line.sum():
            found.append((one, _listed(list(map(str, parts)))))
    return found


# --- output ----------------------------------------------------------------------------------------------------------


def _record(fit: _Fit, k: int, known: IndexArray | None) -> dict[str, Any]:
    """Return the sizes of clusters, the objective, and the scores by known classes, -1 where they are not known."""
    sizes = np.bincount(fit.labels)
    objective = fit.method.objective
    value = getattr(fit.model, objective.attribute, None)
    found = {
        "method": fit.name, "seconds": fit.seconds, "objective_name": objective.name,
        "objective": None if value is None else float(value),
        "clusters": len(sizes), "clusters_lost": max(0, k - len(sizes)), "smallest": int(sizes.min()),
        "median": round(float(np.median(sizes))), "largest": int(sizes.max()),
    }  # fmt: skip
    if known is None or not np.any(known >= 0):
        return found
    truth, labels = known[known >= 0], fit.labels[known >= 0]
    return {
        **found, "accuracy": clustering_accuracy(truth, labels), "nmi": normalized_mutual_info_score(truth, labels),
        "ari": float(adjusted_rand_score(truth, labels)),
    }  # fmt: skip
