"""Choose the number of clusters by the modes of the density, or find that there are none."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from coterie.arrays import FloatArray, IntArray
from coterie.fitting.checks import check_positive_integer, random_stream
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import nearest_neighbors
from coterie.rows import RowSource, as_rows
from coterie.selection.criteria_by_k import (
    Criterion,
    Resampling,
    bic,
    gap_statistic,
    stability,
)
from coterie.selection.modes import Modes, find_modes, local_sides
from coterie.selection.sample import Sample, draw_sample, references

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from coterie.reports.page import Page

# Rows of the sample, and the fewest that allow a decision.
_SAMPLE = 5_000
_FEWEST_ROWS = 20

# Neighbors of the density estimate per log of the number of points: few resolve small clusters, more shallow ones.
_NEIGHBORS = (2.0, 1.25, 1.0)
_FEWEST_NEIGHBORS = 6

# Reference data sets of each kind, and the factor by which a mode must exceed the median prominence of their second
# modes. The factor was set on simulated data without clusters (python -m benchmarks.choose_k).
_REFERENCE_SETS = 5
_MARGIN = 1.45

# Half samples whose modes are counted, and the share of them that must have more than one mode: they also have half of
# the rows of each cluster.
_HALVES = 10
_FEWEST_HALVES = 0.2

# Among this number of modes or more, one with more than this share of the rows may be several touching clusters.
_SEVERAL, _MOST_OF_ROWS = 3, 0.5

# Share of half samples that must have as many modes as all rows for the number to be clear.
_CLEAR = 0.5

# Pairs of consecutive rows that are examined where there are more rows than in the sample.
_STEPS = 2_000

# Consecutive rows are dependent where their mean squared distance is below this share of that of random pairs.
_DEPENDENT_STEP = 0.5

# Steps between clusters are jumps from this multiple of the median step on.
_JUMP = 2.0

# Fewer steps allow no decision.
_FEWEST_STEPS = 30

# Leaves among the vertices of the minimum spanning tree: 22% for scattered points in a plane, more in more dimensions;
# 15 to 19% for a random walk in ten dimensions, 4 to 10% in twenty. Points on a line are always a path.
_FEW_LEAVES = 0.2
_FEWEST_DIRECTIONS = 3
_TREE_NEIGHBORS = 15

# The curves have every k up to here; beyond, steps of 8%.
_DENSE_GRID = 12
_GRID_STEP = 0.08

_CRITERIA: tuple[Callable[[Resampling], Criterion], ...] = (gap_statistic, stability, bic)


@dataclass(frozen=True)
class KChoice:
    """Result of `choose_k`; `print` explains it.

    Attributes
    ----------
    n_clusters : int or None
        Number of clusters; None if the data have no clusters, or their number is outside the range.
    interval : tuple of int
        5% and 95% quantile of the number of modes of half samples.
    support : float
        Share of the half samples with as many modes as all rows.
    plausible : tuple of int
        Lower and upper limit of the number of clusters; both equal `n_clusters` where that is clear.
    may_be_more : bool
        Whether one of several modes holds more than half of the rows: touching clusters can share one mode.
    reasons : tuple of str
        Explanation in sentences; the first states the result.
    criteria : tuple of Criterion
        Curves over k: name, title, ks, values, low, high, chance, choice, why.
    left_out : tuple of str
        Criteria that were not computed, with the reason.
    prominences : ndarray of shape (n_modes,), float64
        Difference of the log density between each mode and the highest saddle on a path to a denser mode; descending.
    threshold : float
        Prominence that a mode must exceed to count.
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
        """The number in words, such as "6 clusters", "perhaps 6 clusters, 4 to 8" or "no clusters"."""
        if self.n_clusters is None:
            return "no clusters"
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
        types = {"criterion": pa.string(), "k": pa.int64()}
        types |= dict.fromkeys(("value", "low", "high", "chance"), pa.float64()) | {"chosen": pa.bool_()}
        records = [record for curve in self.criteria for record in curve.records()]
        return pa.Table.from_pylist(records, pa.schema(types))

    def page(self, name: str = "the rows") -> Page:
        """Return a page with `html()` and `markdown()`; `name` is the title of the data set."""
        from coterie.selection.pages import choice_page

        return choice_page(self, name)

    def plot(self) -> Figure:
        """Draw the modes and all curves over k."""
        from coterie.selection.pages import plot_choice

        return plot_choice(self)


def choose_k(
    X: Any,
    k_range: tuple[int, int] = (2, 50),
    *,
    sample_size: int = _SAMPLE,
    max_time: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
    callback: Callable[[str], Any] | None = None,
) -> KChoice:
    """Choose the number of clusters, or find that the data have none (experimental).

    Counts the modes of the density that are more prominent than those of data without clusters: one Gaussian, a uniform
    box, uniform rows of the same local dimension. Three other criteria are computed over k for comparison; they do
    not decide, as each favors clusters of one shape or always finds some.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        At least 20 rows.
    k_range : (int, int)
        Smallest and largest number of clusters to consider, both included.
    sample_size : int
        A random sample of this size is used where there are more rows.
    max_time : float, optional
        Time limit in seconds for the criteria over k; the number itself is always found.
    random_state : int, RandomState or None
        Same seed, same answer for any number of threads.
    n_threads : int, optional
        None: all processors of this process.
    callback : callable, optional
        Called with the name of each step before it begins, such as "modes" or "gap statistic".

    Returns
    -------
    KChoice

    Raises
    ------
    ValueError
        If the range does not ascend from at least 2, or there are fewer than 20 rows.

    Notes
    -----
    The density is estimated along the principal directions with more variance than noise (at most 60). A cluster needs
    some 20 rows of the sample to be found. Clusters whose common density has one mode (two equal Gaussians nearer than
    two standard deviations) count as one, though a mixture can separate them: see the BIC.

    Rows on one path, such as a random walk or a slow time series, have modes but no clusters: where consecutive rows
    are close and steps between modes are no longer than within, the answer is None.

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
    tell = callback if callback is not None else str
    with single_threaded_blas():
        tell("modes of the density")
        sample = draw_sample(source, max(int(sample_size), _FEWEST_ROWS), random)
        looks = [
            _look(points, per_log, random, threads) for points in sample.views() for per_log in _NEIGHBORS
        ]
        view = max(looks, key=lambda look: look.modes.count(look.threshold))  # the most prominent modes
        tell("modes of half samples")
        points, modes, threshold = view.points, view.modes, view.threshold
        found = modes.count(threshold)
        halves = _counts_of_halves(view, random, threads)
        labels = modes.labels(threshold)
        dependence = _serial_dependence(source, sample, labels, threads)
        plausible = _plausible(modes, threshold, halves)
        path = path_likeness(sample.points, labels, threads)
        verdict, reasons = _judged(
            halves, modes, threshold, labels, dependence, path, plausible, (lowest, highest)
        )

        def check_time() -> None:
            if max_time is not None and time.perf_counter() - started > max_time:
                raise TimeoutError

        grid = _grid(lowest, min(highest, len(sample.points) // 4), found)
        criteria, left_out = _curves(Resampling(points, grid, random, threads, check_time), tell)
    facts = {
        "rows": source.shape[0],
        "columns": source.shape[1],
        "sample_rows": len(sample.points),
        "directions": points.shape[1],
        "k_range": [lowest, highest],
        "modes": found,
        "seconds": time.perf_counter() - started,
    }
    taken = ", ".join(
        f"{curve.name} {'none' if curve.choice in (None, 1) else curve.choice}" for curve in criteria
    )
    choices = [f"Choices of other criteria: {taken}."] if criteria else []
    return KChoice(
        verdict, _interval(halves), float(np.mean(halves == found)), plausible, _may_be_more(labels),
        (*reasons, *_equally_stable(plausible, criteria), *choices),
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
        raise ValueError(f"X has {n_rows} rows; choosing a number of clusters needs at least {_FEWEST_ROWS}.")
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
    """A projection of the sample with its density modes, for one number of neighbors, and the prominence threshold."""

    points: FloatArray
    per_log: float
    modes: Modes
    threshold: float


def _look(points: FloatArray, per_log: float, random: np.random.RandomState, n_threads: int) -> _View:
    """Find the modes of points, and the prominence threshold, which modes of data without clusters rarely exceed."""
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


def _serial_dependence(
    source: RowSource, sample: Sample, labels: IntArray, n_threads: int
) -> SerialDependence:
    """Compare consecutive rows of the source; their clusters are those of the nearest sampled rows."""
    n_rows = source.shape[0]
    if len(sample.ids) == n_rows:
        return serial_dependence(sample.points[:-1], labels[:-1], sample.points[1:], labels[1:])
    usable = np.flatnonzero(sample.ids < n_rows - 1)
    chosen = usable[np.linspace(0, len(usable) - 1, min(_STEPS, len(usable))).astype(np.int64)]
    behind = sample.project(source.take(sample.ids[chosen] + 1))
    nearest, _ = nearest_neighbors(sample.points, 1, queries=behind, method="exact", n_threads=n_threads)
    return serial_dependence(sample.points[chosen], labels[chosen], behind, labels[nearest[:, 0]])


def _interval(halves: IntArray) -> tuple[int, int]:
    low, high = np.quantile(halves, [0.05, 0.95], method="nearest")
    return int(low), int(high)


def _plausible(modes: Modes, threshold: float, halves: IntArray) -> tuple[int, int]:
    """Return the limits of the number of clusters, which are equal where half samples confirm it.

    The upper limit counts modes above the median of the reference data.
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
    dependence: SerialDependence,
    path: PathLikeness,
    plausible: tuple[int, int],
    bounds: tuple[int, int],
) -> tuple[int | None, list[str]]:
    """Return the number of clusters, or None, and the reasons."""
    found = modes.count(threshold)
    if found == 1:
        return None, [
            "The data have no clusters.",
            f"Their density has one mode: the second mode is {np.exp(min(modes.second, 50)):.3g} times as dense as the "
            f"saddle between them, not more than the {np.exp(threshold):.3g} times that data without clusters reach.",
        ]
    if dependence.is_path:
        return None, [
            "The data have no clusters: consecutive rows are close to each other, as in a time series.",
            f"The mean squared step from a row to the next is {dependence.step:.2g} times that of rows in random "
            f"order, and steps between the {found} modes of the density are not longer than within.",
        ]
    if path.is_path:
        return None, [
            "The data have no clusters: the rows lie on one path.",
            f"{path.leaves:.0%} of the vertices of their minimum spanning tree are leaves (scattered rows: at least "
            f"22%), and its edges between the {found} modes of the density are not longer than within.",
        ]
    if np.mean(halves > 1) < _FEWEST_HALVES:
        return None, [
            "The data have no clusters.",
            f"The sample has {found} modes, but {np.sum(halves == 1)} of its {len(halves)} random halves have one.",
        ]
    low, high = _interval(halves)
    fall = float(modes.prominences[found - 1])
    contrast = (
        f"at least {np.exp(fall):.3g} times as dense as the saddles between them"
        if fall < 20
        else "separated by empty space"
    )
    reasons = [
        f"The density has {found} prominent modes, {contrast}. In data without clusters, modes are rarely more than "
        f"{np.exp(threshold):.3g} times as dense as the saddles.",
        f"All {len(halves)} random halves of the sample have {low} modes."
        if low == high
        else f"Random halves of the sample have {low} to {high} modes; {np.sum(halves == found)} of {len(halves)} have "
        f"{found}.",
    ]
    if _may_be_more(labels):
        share = np.bincount(labels).max() / len(labels)
        reasons.append(
            f"One mode holds {share:.0%} of the rows: touching clusters can share a mode, so there may be more."
        )
    low, high = plausible
    unclear = (
        f"The data have clusters, but their number is not clear: {found} prominent modes, {low} to {high}"
    )
    if not bounds[0] <= found <= bounds[1]:
        outside = f"range {bounds[0]} to {bounds[1]}."
        if plausible == (found, found):
            return None, [f"The data have {found} clusters, outside of the {outside}", *reasons]
        return None, [f"{unclear} plausible; none in the {outside}", *reasons]
    if plausible == (found, found):
        return found, [f"The data have {found} clusters.", *reasons]
    more = (
        f" {high - found} more {'mode is' if high - found == 1 else 'modes are'} above the median of data without "
        "clusters, but below the threshold."
    )
    return found, [
        f"{unclear}{' or more' if _may_be_more(labels) else ''} plausible.",
        reasons[0] + (more if high > found else ""),
        *reasons[1:],
    ]


def _may_be_more(labels: IntArray) -> bool:
    shares = np.bincount(labels) / len(labels)
    return len(shares) >= _SEVERAL and float(shares.max()) > _MOST_OF_ROWS


def _equally_stable(plausible: tuple[int, int], criteria: tuple[Criterion, ...]) -> list[str]:
    """Return the sentence with the most stable numbers, where none is clear."""
    curve = next((curve for curve in criteria if curve.name == "stability"), None)
    if plausible[0] == plausible[1] or curve is None or curve.chance is None or not len(curve.ks):
        return []
    best = int(curve.values.argmax())
    alike = (curve.high >= curve.low[best]) & (curve.low > curve.chance)
    if not alike.any():
        return []
    ks = ", ".join(str(k) for k in curve.ks[alike].tolist())
    return [
        f"K-means is most stable for k = {ks} (ARI of half samples {curve.values[best]:.2f} for {curve.ks[best]}), and "
        "more stable than on data without clusters."
    ]


def _curves(task: Resampling, tell: Callable[[str], Any]) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    done, late = [], []
    for criterion in _CRITERIA:
        tell(criterion.__name__.replace("_", " "))
        try:
            done.append(criterion(task))
        except TimeoutError:
            late.append(criterion.__name__.replace("_", " "))
    return tuple(done), ((f"{', '.join(late)}: max_time was reached",) if late else ())


# --- rows on a path --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SerialDependence:
    """Dependence of consecutive rows.

    `step` is the mean squared distance of consecutive rows of the same cluster over that of two random rows of it (von
    Neumann's ratio): 1 for rows in random order, near 0 for a random walk. `jump` is the median length of the steps
    between clusters over that of the steps within; infinite if there are none.
    """

    step: float
    jump: float

    @property
    def is_path(self) -> bool:
        """Whether the rows move from cluster to cluster by ordinary steps."""
        return self.step < _DEPENDENT_STEP and self.jump < _JUMP


def serial_dependence(
    points: FloatArray, labels: IntArray, following: FloatArray, labels_after: IntArray
) -> SerialDependence:
    """Compare rows and the row after each with random pairs of rows of the same cluster (von Neumann 1941)."""
    squares = np.square(following - points).sum(axis=1)
    same = labels == labels_after
    if same.sum() < _FEWEST_STEPS:
        return SerialDependence(1.0, np.inf)
    sizes = np.bincount(labels)
    means = (
        np.column_stack([np.bincount(labels, column) for column in points.T]) / np.maximum(sizes, 1)[:, None]
    )
    spread = np.square(points - means[labels]).sum(axis=1) * (sizes / np.maximum(sizes - 1, 1))[labels]
    apart = 2 * float(spread[same].mean())
    step = float(squares[same].mean()) / apart if apart > 0 else 1.0
    jump = (
        np.inf
        if same.all()
        else float(np.sqrt(np.median(squares[~same]) / max(np.median(squares[same]), 1e-300)))
    )
    return SerialDependence(step, jump)


@dataclass(frozen=True)
class PathLikeness:
    """Similarity of the points to one path, in any order.

    `leaves` is the share of leaves among the vertices of the minimum spanning tree of the neighbor graph: near 0 for a
    path. `jump` is the median length of its edges between clusters over that of its edges within; infinite if clusters
    are apart.
    """

    leaves: float
    jump: float
    n_directions: int

    @property
    def is_path(self) -> bool:
        """Whether they lie on one path that leads from cluster to cluster by ordinary steps."""
        return self.n_directions >= _FEWEST_DIRECTIONS and self.leaves < _FEW_LEAVES and self.jump < _JUMP


def path_likeness(points: FloatArray, labels: IntArray, n_threads: int) -> PathLikeness:
    """Count the leaves of the minimum spanning tree of the nearest-neighbor graph."""
    n_points = len(points)
    n_neighbors = min(_TREE_NEIGHBORS, n_points - 1)
    ids, squares = nearest_neighbors(points, n_neighbors, method="exact", n_threads=n_threads)
    starts = np.arange(0, ids.size + 1, n_neighbors)
    # Equal points are connected as well: SciPy ignores edges of length 0.
    lengths = np.sqrt(squares.ravel()) + np.finfo(np.float64).tiny
    graph = sp.csr_array((lengths, ids.ravel(), starts), shape=(n_points, n_points))
    tree = minimum_spanning_tree(graph.maximum(graph.T)).tocoo()
    degrees = np.bincount(tree.row, minlength=n_points) + np.bincount(tree.col, minlength=n_points)
    within = labels[tree.row] == labels[tree.col]
    jump = (
        np.inf
        if within.all() or not within.any()
        else float(np.median(tree.data[~within]) / max(float(np.median(tree.data[within])), 1e-300))
    )
    return PathLikeness(float(np.mean(degrees <= 1)), jump, points.shape[1])
