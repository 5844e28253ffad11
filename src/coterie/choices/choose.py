"""How many clusters the rows have, if they have any."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.choices.by_k import (
    Criterion,
    Resampling,
    bic,
    convex_merges,
    eigengaps,
    gap_statistic,
    stability,
)
from coterie.choices.dependence import Succession, Thread, succession_of, thread_of
from coterie.choices.modes import Modes, find_modes, local_sides
from coterie.choices.sample import Sample, draw_sample, references
from coterie.fitting.checks import check_positive_integer
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import nearest_neighbors
from coterie.rows import RowSource, as_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from coterie.reports.page import Page

__all__ = ["KChoice", "choose_k"]

# Rows that the decision is made on, and the fewest that say anything.
_SAMPLE = 5_000
_FEWEST_ROWS = 20

# Neighbours that a density is seen of, per logarithm of the number of points: few show small clusters, more low ones.
_NEIGHBORS = (2.0, 1.25, 1.0)
_FEWEST_NEIGHBORS = 6

# Sets of each kind without clusters, and how many times as prominent as the median of their second modes one must be.
_REFERENCE_SETS = 5
_MARGIN = 1.45

# Half samples whose modes are counted, and the share of them that must find more than one at least: they have half the
# rows of each cluster, too.
_HALVES = 10
_FEWEST_HALVES = 0.2

# From so many modes on one that holds more than this share of the rows may be several clusters that touch.
_SEVERAL, _MOST_OF_ROWS = 3, 0.5

# The share of half samples that must have the same number as all rows, or else it is not clear.
_CLEAR = 0.5

# Steps from a row to the next one that are looked at where there are more rows than in the sample.
_STEPS = 2_000

# Up to here every k has its place in the curves; beyond, they are about a twelfth apart.
_DENSE_GRID = 12
_GRID_STEP = 0.08

_CRITERIA: tuple[Callable[[Resampling], Criterion], ...] = (
    gap_statistic, stability, eigengaps, bic, convex_merges,
)  # fmt: skip


@dataclass(frozen=True)
class KChoice:
    """What `choose_k` found; printed, it says it in words.

    Attributes
    ----------
    n_clusters : int or None
        The natural number of clusters; None if the data show none in the range that was asked for.
    interval : tuple of int
        What the numbers on half samples lie between, without the lowest and the highest twentieth.
    support : float
        Share of the half samples that have the same number.
    plausible : tuple of int
        What the number lies between if it is not clear: the fewest clusters of `interval`, and all modes that more than
        half of the data sets without clusters do not have. Both are `n_clusters` where that is clear.
    may_be_more : bool
        Whether one of several modes holds more than half of the rows: clusters that touch have one mode.
    reasons : tuple of str
        Why, in sentences; the first says the result.
    criteria : tuple of Criterion
        The curves over k: name, title, ks, values, low, high, chance, choice, why.
    left_out : tuple of str
        Criteria that were not done by `max_time`, or cannot be had for these rows.
    prominences : ndarray of shape (n_modes,)
        How much lower, in natural logarithms, the density is on the way from each mode to a denser one; descending.
    threshold : float
        What a mode must have more of to count.
    facts : dict
        Rows, rows of the sample, directions, seconds, range.
    """

    n_clusters: int | None
    interval: tuple[int, int]
    support: float
    plausible: tuple[int, int]
    may_be_more: bool
    reasons: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    left_out: tuple[str, ...]
    prominences: FloatArray
    threshold: float
    facts: dict[str, Any]

    def __str__(self) -> str:
        return "\n".join(self.reasons)

    @property
    def answer(self) -> str:
        """The number in words, such as "6 clusters", "perhaps 6 clusters, 4 to 8" or "no natural k"."""
        if self.n_clusters is None:
            return "no natural k"
        low, high = self.plausible
        if low == high:
            return f"{high} clusters"
        return f"perhaps {self.n_clusters} clusters, {low} to {high}{' or more' if self.may_be_more else ''}"

    def table(self) -> pa.Table:
        """Return the curves as an Arrow table: criterion, k, value, low, high, chance, chosen."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ImportError("An Arrow table needs pyarrow: pip install 'coterie[io]'") from error
        columns: dict[str, list[Any]] = {
            name: [] for name in ("criterion", "k", "value", "low", "high", "chance", "chosen")
        }
        for curve in self.criteria:
            columns["criterion"] += [curve.name] * len(curve.ks)
            columns["k"] += curve.ks.tolist()
            for name, values in (("value", curve.values), ("low", curve.low), ("high", curve.high)):
                columns[name] += values.tolist()
            columns["chance"] += [None] * len(curve.ks) if curve.chance is None else curve.chance.tolist()
            columns["chosen"] += [k == curve.choice for k in curve.ks.tolist()]
        types = {"criterion": pa.string(), "k": pa.int64(), "chosen": pa.bool_()}
        return pa.table(
            {name: pa.array(cells, types.get(name, pa.float64())) for name, cells in columns.items()}
        )

    def page(self, name: str = "the rows") -> Page:
        """Return a page for people, with `html()` and `markdown()`; `name` is what it calls the rows.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is missing.
        """
        from coterie.choices.pages import choice_page

        return choice_page(self, name)

    def plot(self) -> Figure:
        """Draw the modes and all curves over k.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        from coterie.choices.pictures import plot_choice

        return plot_choice(self)


def choose_k(
    X: Any,
    k_range: tuple[int, int] = (2, 50),
    *,
    sample_size: int = _SAMPLE,
    max_time: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
) -> KChoice:
    """Find the natural number of clusters, or say that the data show none.

    The number is that of the modes of the density that stand out more than any do in data without clusters: one
    Gaussian, a uniform box, uniform rows of as many dimensions as these locally have. Five curves over k stand
    beside it, each with an interval and with the number that it would take; they explain, and do not decide, for each
    favours a shape of clusters or takes a number where there are none.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        At least 20 rows.
    k_range : (int, int)
        The least and the largest number that may be the answer, both included.
    sample_size : int
        Rows that decide; of more a sample is drawn.
    max_time : float, optional
        Seconds after which no further curve is begun or ended; the number itself is always found.
    random_state : int, RandomState or None
        Same seed, same answer, for any number of threads.
    n_threads : int, optional
        None: all processors that this process may use.

    Returns
    -------
    KChoice

    Raises
    ------
    ValueError
        If the range is not ascending from 2 on, or there are too few rows.

    Notes
    -----
    Rows are looked at along their principal directions, those that hold more variance than noise (60 at most). A
    cluster must hold some 20 rows of the sample to be seen. Clusters that overlap so much that their common density
    has one mode (two equal Gaussians nearer than two standard deviations) are one here, though a mixture may tell
    them apart: the curve of the BIC shows that.

    Where each row is near to the one before it, as in a walk or a slow series, or the rows lie on one path in whatever
    order, and the way leads from cluster to cluster without leaps, the answer is none: these are stretches of a path.

    References
    ----------
    Chazal, Guibas, Oudot and Skraba, Persistence-based clustering in Riemannian manifolds, 2013. Tibshirani, Walther
    and Hastie, Estimating the number of clusters via the gap statistic, 2001. Ben-David, von Luxburg and Pál, A sober
    look at clustering stability, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import choose_k
    >>> random = np.random.RandomState(0)
    >>> blobs = np.concatenate([random.normal(center, 1, (100, 2)) for center in (0, 8, 16)])
    >>> choose_k(blobs, (2, 5), random_state=0).n_clusters
    3
    """
    started = time.perf_counter()
    threads = effective_n_threads(n_threads)
    source = as_rows(X)
    lowest, highest = _checked_range(k_range, source.shape[0])
    check_positive_integer("sample_size", sample_size)
    random = random_stream(random_state)
    with single_threaded_blas():
        sample = draw_sample(source, max(int(sample_size), _FEWEST_ROWS), random)
        view = _best_view(sample, random, threads)
        points, modes, threshold = view.points, view.modes, view.threshold
        found = modes.count(threshold)
        halves = _counts_of_halves(view, random, threads)
        labels = modes.labels(threshold)
        succession = _succession(source, sample, labels, threads)
        plausible = _plausible(modes, threshold, halves)
        thread = thread_of(sample.points, labels, threads)
        verdict, reasons = _judged(
            halves, modes, threshold, labels, succession, thread, plausible, (lowest, highest)
        )

        def check_time() -> None:
            if max_time is not None and time.perf_counter() - started > max_time:
                raise TimeoutError

        grid = _grid(lowest, min(highest, len(sample.points) // 4), found)
        criteria, left_out = _curves(Resampling(points, grid, random, threads, check_time))
    facts = {
        "rows": source.shape[0],
        "columns": source.shape[1],
        "sample_rows": len(sample.points),
        "directions": points.shape[1],
        "k_range": [lowest, highest],
        "modes": found,
        "seconds": time.perf_counter() - started,
    }
    return KChoice(
        verdict, _interval(halves), float(np.mean(halves == found)), plausible, _may_be_more(labels),
        (*reasons, *_equally_stable(plausible, criteria), *_comparison(verdict, criteria)),
        criteria, left_out, modes.prominences, threshold, facts,
    )  # fmt: skip


def _checked_range(k_range: tuple[int, int], n_rows: int) -> tuple[int, int]:
    try:
        lowest, highest = (int(k) for k in k_range)
    except (TypeError, ValueError) as error:
        raise ValueError(f"k_range must be two whole numbers, such as (2, 50), got {k_range!r}.") from error
    if not 2 <= lowest <= highest:
        raise ValueError(f"k_range must ascend from 2 or more, got {lowest} and {highest}.")
    if n_rows < _FEWEST_ROWS:
        raise ValueError(
            f"X has {n_rows} rows; to choose a number of clusters takes at least {_FEWEST_ROWS}."
        )
    if highest >= n_rows:
        raise ValueError(f"k_range must end below the number of rows, got {highest} of {n_rows} rows.")
    return lowest, highest


def _grid(lowest: int, highest: int, found: int) -> list[int]:
    ks, k = [], float(lowest)
    while k <= highest:
        ks.append(int(k))
        k = max(k + 1, np.floor(k * (1 + _GRID_STEP)) if k >= _DENSE_GRID else k + 1)
    near = [k for k in (found - 1, found, found + 1) if lowest <= k <= highest]
    return sorted({*ks, *near, min(highest, max(lowest, highest))})


@dataclass(frozen=True)
class _View:
    """Points as they are looked at: their modes, seen of so many neighbours per logarithm, and what stands out."""

    points: FloatArray
    per_log: float
    modes: Modes
    threshold: float


def _best_view(sample: Sample, random: np.random.RandomState, n_threads: int) -> _View:
    """Look at the points in several ways; return the one in which most modes stand out."""
    found = [_look(points, per_log, random, n_threads) for points in sample.views() for per_log in _NEIGHBORS]
    return max(found, key=lambda view: view.modes.count(view.threshold))


def _look(points: FloatArray, per_log: float, random: np.random.RandomState, n_threads: int) -> _View:
    """Find the modes of points, and what modes of data without clusters hardly ever reach."""
    n_points = len(points)
    n_neighbors = _n_neighbors(n_points, per_log)
    modes = find_modes(points, n_threads, n_neighbors)
    sides = local_sides(modes.dimension, n_points, n_neighbors, random, n_threads)
    drawn: dict[str, list[float]] = {}
    for kind, reference in references(points, _REFERENCE_SETS, random, sides):
        drawn.setdefault(kind, []).append(find_modes(reference, n_threads, n_neighbors).second)
    return _View(points, per_log, modes, _MARGIN * max(map(statistics.median, drawn.values())))


def _n_neighbors(n_points: int, per_log: float) -> int:
    return min(max(_FEWEST_NEIGHBORS, round(per_log * np.log(n_points))), n_points - 1)


def _counts_of_halves(view: _View, random: np.random.RandomState, n_threads: int) -> IntArray:
    size = (len(view.points) + 1) // 2
    n_neighbors = _n_neighbors(size, view.per_log)
    halves = (view.points[random.permutation(len(view.points))[:size]] for _ in range(_HALVES))
    return np.array(
        [find_modes(half, n_threads, n_neighbors).count(view.threshold) for half in halves], dtype=np.int64
    )


def _succession(source: RowSource, sample: Sample, labels: IntArray, n_threads: int) -> Succession:
    """Say what rows have to do with the next ones of the source; their clusters are those of the nearest rows here."""
    n_rows = source.shape[0]
    if len(sample.ids) == n_rows:
        return succession_of(sample.points[:-1], labels[:-1], sample.points[1:], labels[1:])
    usable = np.flatnonzero(sample.ids < n_rows - 1)
    chosen = usable[np.linspace(0, len(usable) - 1, min(_STEPS, len(usable))).astype(np.int64)]
    behind = sample.project(source.take(sample.ids[chosen] + 1))
    nearest, _ = nearest_neighbors(sample.points, 1, queries=behind, method="exact", n_threads=n_threads)
    return succession_of(sample.points[chosen], labels[chosen], behind, labels[nearest[:, 0]])


def _interval(halves: IntArray) -> tuple[int, int]:
    low, high = np.quantile(halves, [0.05, 0.95], method="nearest")
    return int(low), int(high)


def _plausible(modes: Modes, threshold: float, halves: IntArray) -> tuple[int, int]:
    """Return what the number of clusters lies between, where half samples do not make it clear.

    A mode above the threshold is hardly ever chance; one above the median of the reference sets
    is none in half of them.
    """
    found = modes.count(threshold)
    if np.mean(halves == found) >= _CLEAR:
        return found, found
    return min(_interval(halves)[0], found), modes.count(threshold / _MARGIN)


def _judged(
    halves: IntArray,
    modes: Modes,
    threshold: float,
    labels: IntArray,
    succession: Succession,
    thread: Thread,
    plausible: tuple[int, int],
    bounds: tuple[int, int],
) -> tuple[int | None, list[str]]:
    """Return the natural number, or None, and the sentences that say why."""
    found = modes.count(threshold)
    if found == 1:
        return None, [
            "The data show no natural k.",
            f"Their density has one mode: the next falls by a factor of {np.exp(min(modes.second, 50)):.3g} on the "
            f"way to it, and data without clusters hardly ever show falls of {np.exp(threshold):.3g}.",
        ]
    if succession.is_path:
        return None, [
            "The data show no natural k: the rows follow one another like a walk.",
            f"The mean squared step from a row to the next is {succession.step:.2g} times that of rows in no order, "
            f"and steps into another cluster are no leaps. The {found} modes of the density are stretches of a path.",
        ]
    if thread.is_path:
        return None, [
            "The data show no natural k: the rows lie on one path.",
            f"Of the shortest tree that joins them {thread.ends:.0%} of the vertices are ends; of scattered rows "
            f"22% are or more. The {found} modes of the density are stretches of it, as of a walk in whatever order, "
            "for edges of the tree from one to the next are no leaps.",
        ]
    if np.mean(halves > 1) < _FEWEST_HALVES:
        return None, [
            "The data show no natural k.",
            f"All rows have {found} modes, but {int(np.sum(halves == 1))} of {len(halves)} half samples have one.",
        ]
    low, high = _interval(halves)
    fall = float(modes.prominences[found - 1])
    how_deep = f"by a factor of {np.exp(fall):.3g} or more" if fall < 20 else "to nothing"
    told = [
        f"The density has {found} modes that stand out: it falls {how_deep} between them, and data without clusters "
        f"hardly ever show falls of {np.exp(threshold):.3g}.",
        f"Half samples have {low} to {high} ({np.mean(halves == found):.0%} have {found}).",
        *_about_largest(labels),
    ]
    if not bounds[0] <= found <= bounds[1]:
        return None, [_about_bounds(found, plausible, bounds), *told]
    if plausible == (found, found):
        return found, [f"The natural number of clusters is {found}.", *told]
    low, high = plausible
    stand = "mode stands" if high - found == 1 else "modes stand"
    more = (
        f" {high - found} more {stand} out further than the highest of every second data set without clusters, but not "
        "as far as is needed."
    )
    return found, [
        f"The data have clusters, but how many is not clear: {found} stand out, {low} to {high}"
        f"{' or more' if _may_be_more(labels) else ''} are plausible.",
        told[0] + (more if high > found else ""),
        *told[1:],
    ]


def _about_bounds(found: int, plausible: tuple[int, int], bounds: tuple[int, int]) -> str:
    """Say that the number is not among those that were asked for."""
    if plausible == (found, found):
        return f"The data show no natural k from {bounds[0]} to {bounds[1]}, but k = {found} outside of it."
    return (
        f"The data have clusters, but how many is not clear: {found} stand out, {plausible[0]} to {plausible[1]} are "
        f"plausible. From {bounds[0]} to {bounds[1]} no k can be advised."
    )


def _may_be_more(labels: IntArray) -> bool:
    shares = np.bincount(labels) / len(labels)
    return len(shares) >= _SEVERAL and float(shares.max()) > _MOST_OF_ROWS


def _about_largest(labels: IntArray) -> list[str]:
    """Say that there may be more clusters than modes, where one mode has most rows."""
    if not _may_be_more(labels):
        return []
    share = np.bincount(labels).max() / len(labels)
    return [
        f"One mode holds {share:.0%} of the rows: clusters that touch have one mode, so there may be more."
    ]


def _equally_stable(plausible: tuple[int, int], criteria: tuple[Criterion, ...]) -> list[str]:
    """Name the numbers that half samples find again as well as any, where none is clear."""
    curve = next((curve for curve in criteria if curve.name == "stability"), None)
    if plausible[0] == plausible[1] or curve is None or curve.chance is None or not len(curve.ks):
        return []
    best = int(curve.values.argmax())
    alike = (curve.high >= curve.low[best]) & (curve.low > curve.chance)
    if not alike.any():
        return []
    ks = ", ".join(str(k) for k in curve.ks[alike].tolist())
    return [
        f"Half samples find k-means of k = {ks} again as well as any (ARI of {curve.values[best]:.2f} for "
        f"{curve.ks[best]}), and better than in data without clusters."
    ]


def _comparison(verdict: int | None, criteria: tuple[Criterion, ...]) -> list[str]:
    """Say what the curves would take."""
    if not criteria:
        return []
    taken = ", ".join(
        f"{curve.name} {'none' if curve.choice in (None, 1) else curve.choice}" for curve in criteria
    )
    return [f"The curves by themselves would take: {taken}."]


def _curves(task: Resampling) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    done, late = [], []
    for criterion in _CRITERIA:
        try:
            done.append(criterion(task))
        except TimeoutError:
            late.append(criterion.__name__.replace("_", " "))
    return tuple(done), ((f"{', '.join(late)}: max_time was over",) if late else ())
