"""Established criteria over the number of clusters: curves with intervals, and the k that each chooses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.kmeans.exact import KMeans
from coterie.mixture.estimator import TruncatedGaussianMixture
from coterie.selection.sample import references

# Half samples, and reference sets of each kind.
_PAIRS = 5
_REFERENCE_SETS = 3
_REFERENCE_PAIRS = 2
_MIXTURE_HALVES = 4

_MAX_ITER = 50

# Range of the adjusted Rand index.
LEAST_ARI, MOST_ARI = -0.5, 1.0

# Confidence of the intervals.
_CONFIDENCE = 0.9

# Adjusted Rand index of stable clusterings.
_STABLE = 0.9


@dataclass(frozen=True)
class Criterion:
    """A curve over the number of clusters, with its 90% confidence interval.

    `chance` are the values for data without clusters, `choice` is its k (1 or None: no clusters), and `why` the rule of
    the choice and the clusters that it favors.
    """

    name: str
    title: str
    ks: IndexArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray | None
    choice: int | None
    why: str

    def records(self) -> list[dict[str, Any]]:
        """Return criterion, k, value, low, high, chance and chosen for each k."""
        chance = [None] * len(self.ks) if self.chance is None else self.chance.tolist()
        columns = self.ks.tolist(), self.values.tolist(), self.low.tolist(), self.high.tolist(), chance
        return [
            {"criterion": self.name, "k": k, "value": value, "low": low, "high": high, "chance": at_chance,
             "chosen": k == self.choice}
            for k, value, low, high, at_chance in zip(*columns)
        ]  # fmt: skip


@dataclass(frozen=True)
class Resampling:
    """The points of a sample along their principal directions, and the settings of the fits to them.

    `check_time` raises a TimeoutError when the time is over.
    """

    points: FloatArray
    ks: Sequence[int]
    random: np.random.RandomState
    n_threads: int
    check_time: Callable[[], None]

    def seed(self) -> int:
        """Draw a seed."""
        return int(self.random.randint(np.iinfo(np.int32).max))

    def k_means(self, points: FloatArray, k: int) -> KMeans:
        """Cluster points."""
        self.check_time()
        model = KMeans(k, max_iter=_MAX_ITER, random_state=self.seed(), n_threads=self.n_threads)
        with (
            warnings.catch_warnings()
        ):  # of fewer different points than clusters, for each k and each subsample
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(points)


def _criterion(
    name: str,
    title: str,
    ks: Sequence[int],
    curve: Sequence[Interval],
    choice: int | None,
    why: str,
    chance: FloatArray | None = None,
) -> Criterion:
    values, low, high = np.array(curve, dtype=np.float64).reshape(-1, 3).T
    return Criterion(name, title, np.array(ks, dtype=np.int64), values, low, high, chance, choice, why)


def stability(task: Resampling) -> Criterion:
    """Agreement of k-means on half samples, on the rows that two of them share."""
    usable = [k for k in task.ks if 2 * k <= len(task.points) // 2]
    drawn = [points for _, points in references(task.points, 1, task.random)]
    curve, chance = [], []
    for k in usable:
        curve.append(interval_of(_agreements(task, task.points, k, _PAIRS), LEAST_ARI, MOST_ARI))
        chance.append(max(float(np.mean(_agreements(task, points, k, _REFERENCE_PAIRS))) for points in drawn))
    stable = [k for k, interval, other in zip(usable, curve, chance) if interval.low >= max(_STABLE, other)]
    why = (
        f"The largest k with stable clusters on half samples (ARI of {_STABLE} or more, and above that of data without "
        "clusters). Favors few clusters."
    )
    choice = max(stable, default=None)
    return _criterion("stability", "stability of k-means (ARI)", usable, curve, choice, why, np.array(chance))


def _agreements(task: Resampling, points: FloatArray, k: int, n_pairs: int) -> list[float]:
    pairs = half_pairs(len(points), n_pairs, task.random)
    return [pair_agreement(pair, lambda rows: task.k_means(points[rows], k).labels_) for pair in pairs]


def gap_statistic(task: Resampling) -> Criterion:
    """Gap statistic: log inertia of k-means against that of reference data (Tibshirani et al. 2001), from k = 1 on."""
    ks = [1, *task.ks]
    own = _log_inertias(task, task.points, ks)
    kinds: dict[str, list[FloatArray]] = {}
    for kind, drawn in references(task.points, _REFERENCE_SETS, task.random):
        kinds.setdefault(kind, []).append(_log_inertias(task, drawn, ks))
    gaps = {kind: np.mean(found, axis=0) - own for kind, found in kinds.items()}
    # The reference distribution with the smaller gap.
    kind = min(gaps, key=lambda kind: float(np.max(gaps[kind] - gaps[kind][0])))
    values = gaps[kind]
    errors = np.std(kinds[kind], axis=0, ddof=1) * np.sqrt(1 + 1 / _REFERENCE_SETS)
    curve = [Interval(value, value - 2 * error, value + 2 * error) for value, error in zip(values, errors)]
    enough = values[:-1] >= values[1:] - errors[1:]
    choice = int(ks[int(enough.argmax())]) if enough.any() else None
    words = {"gaussian": "one Gaussian of the same covariance", "box": "uniform data in the box of the rows"}
    why = (
        f"Smallest k whose gap to {words[kind]} is at least that of k + 1 minus its standard error. Favors round "
        "clusters."
    )
    return _criterion("gap", "gap statistic", ks, curve, choice, why)


def _log_inertias(task: Resampling, points: FloatArray, ks: Sequence[int]) -> FloatArray:
    centered = points - points.mean(axis=0)
    inertias = [float(np.square(centered).sum()) if k == 1 else task.k_means(points, k).inertia_ for k in ks]
    return np.log(np.maximum(inertias, 1e-300))


def bic(task: Resampling) -> Criterion:
    """The Bayesian information criterion of Gaussian mixtures, per row of half samples; the lower the better."""
    ks = [k for k in task.ks if 4 * k <= len(task.points) // 2]
    halves = [first for first, _ in half_pairs(len(task.points), _MIXTURE_HALVES, task.random)]
    curve = [interval_of([_bic_per_row(task, task.points[half], k) for half in halves]) for k in [1, *ks]]
    choice = [1, *ks][int(np.argmin([interval.mean for interval in curve]))]
    why = "Lowest BIC of Gaussian mixtures with diagonal covariances. Splits clusters that are not Gaussian."
    return _criterion("bic", "BIC per row of Gaussian mixtures", [1, *ks], curve, choice, why)


def _bic_per_row(task: Resampling, points: FloatArray, k: int) -> float:
    if k == 1:
        n_rows, n_columns = points.shape
        variances = np.maximum(points.var(axis=0), 1e-300)
        likelihood = -0.5 * float(np.log(2 * np.pi * variances).sum() + n_columns)
        return -2 * likelihood + 2 * n_columns * np.log(n_rows) / n_rows
    task.check_time()
    model = TruncatedGaussianMixture(
        k, covariance_type="diag", init="k-means++", max_iter=_MAX_ITER, random_state=task.seed(),
        n_threads=task.n_threads,
    )  # fmt: skip
    return model.fit(points).bic(points) / len(points)


# --- agreement of half samples ---------------------------------------------------------------------------------------


class Interval(NamedTuple):
    """A mean with its 90% confidence interval (Student's t); the interval of a single value is the value."""

    mean: float
    low: float
    high: float


def interval_of(values: Array | list[float], lowest: float = -np.inf, highest: float = np.inf) -> Interval:
    """Return the mean of values and its interval, clipped to the possible range.

    Examples
    --------
    >>> from coterie.selection.criteria_by_k import interval_of
    >>> [round(number, 2) for number in interval_of([1.0, 2.0, 3.0])]
    [2.0, 0.31, 3.69]
    """
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    if len(numbers) < 2:
        return Interval(mean, mean, mean)
    quantile = float(special.stdtrit(len(numbers) - 1, (1 + _CONFIDENCE) / 2))
    reach = quantile * float(numbers.std(ddof=1)) / len(numbers) ** 0.5
    return Interval(mean, max(mean - reach, lowest), min(mean + reach, highest))


def half_pairs(
    n_rows: int, n_pairs: int, random: np.random.RandomState
) -> list[tuple[IndexArray, IndexArray]]:
    """Draw pairs of independent halves of the rows, ascending, each without replacement."""
    size = (n_rows + 1) // 2
    return [
        (np.sort(random.permutation(n_rows)[:size]), np.sort(random.permutation(n_rows)[:size]))
        for _ in range(n_pairs)
    ]


def pair_agreement(pair: tuple[IndexArray, IndexArray], label: Callable[[IndexArray], IntArray]) -> float:
    """Return the adjusted Rand index of two clusterings, by ``label(rows)``, on the rows that both have."""
    shared, first, second = np.intersect1d(*pair, assume_unique=True, return_indices=True)
    if not len(shared):
        return 1.0
    return float(adjusted_rand_score(label(pair[0])[first], label(pair[1])[second]))
