"""Fits that are compared: with the same rows, several seeds, and what each took of time and memory."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import IntArray
from coterie.choices.stability import LEAST_ARI, MOST_ARI, Interval, half_pairs, interval_of, pair_agreement
from coterie.estimators import OBJECTIVE, Method
from coterie.metrics import adjusted_rand_score
from coterie.rows import Block

__all__ = ["Clock", "Fitted", "Trial", "compact"]

# A fit may take so many times its equal share of the time that is left.
_SHARE = 5.0


class Clock:
    """The time that is left of a budget, and how many fits have to share it."""

    def __init__(self, budget: float | None, n_fits: int) -> None:
        self._end = None if budget is None else time.perf_counter() + budget
        self._n_fits = n_fits

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self._end is not None and time.perf_counter() >= self._end

    def next_share(self) -> float | None:
        """Return the seconds that the next fit may take."""
        n_fits = max(self._n_fits, 1)
        self._n_fits -= 1
        if self._end is None:
            return None
        left = self._end - time.perf_counter()
        return max(min(left, _SHARE * left / n_fits), 1e-3)


@dataclass(frozen=True)
class Fitted:
    """One fit: the model, its clusters numbered from 0, seconds, bytes above what was held before (None: unknown)."""

    model: Any
    labels: IntArray
    seconds: float
    peak_bytes: int | None
    warnings: tuple[str, ...]


@dataclass
class Trial:
    """A method, and what its fits gave."""

    method: Method
    settings: dict[str, Any]
    fits: list[Fitted] = field(default_factory=list)
    agreements: list[float] = field(default_factory=list)
    failure: str | None = None

    def fit(self, rows: Block, seed: int, clock: Clock) -> Fitted:
        """Cluster rows."""
        parameters = {**self.settings, "random_state": seed, "max_time": clock.next_share()}
        model = self.method.estimator()
        known = model.get_params()
        model.set_params(**{name: value for name, value in parameters.items() if name in known})
        held = _start_peak()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            started = time.perf_counter()
            model.fit(rows)
            seconds = time.perf_counter() - started
        peak = None if held is None else max(0, (_status_bytes("VmHWM") or 0) - held)
        told = tuple(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
        return Fitted(model, compact(model.labels_), seconds, peak, told)

    def try_seed(self, rows: Block, seed: int, clock: Clock) -> None:
        """Fit all rows; a method that fails is left out from there on."""
        try:
            self.fits.append(self.fit(rows, seed, clock))
        except (ValueError, MemoryError, ArithmeticError) as error:
            self.failure = " ".join(str(error).split())

    def try_halves(self, rows: Block, seed: int, clock: Clock) -> None:
        """Fit two halves of the rows, the same for every method, and compare them on the rows that they share."""
        random = np.random.RandomState(seed)
        (pair,) = half_pairs(rows.shape[0], 1, random)
        seeds = iter(random.randint(2**31 - 1, size=2).tolist())
        try:
            found = pair_agreement(pair, lambda half: self.fit(rows[half], next(seeds), clock).labels)
        except (ValueError, MemoryError, ArithmeticError) as error:
            self.failure = " ".join(str(error).split())
            return
        self.agreements.append(found)

    @property
    def best(self) -> Fitted:
        """The fit with the best objective."""
        objective = self.method.objective
        if objective is None:
            return self.fits[0]
        sign = -1 if objective.higher_is_better else 1
        return min(self.fits, key=lambda fitted: sign * float(getattr(fitted.model, objective.attribute)))

    @property
    def objective(self) -> tuple[str, float | None]:
        """The name of what it optimises, and the best value."""
        objective = self.method.objective or OBJECTIVE
        value = getattr(self.best.model, objective.attribute, None)
        return objective.name, None if value is None else float(value)

    @property
    def stability(self) -> Interval | None:
        """Agreement of halves; None where there was no time for it."""
        return interval_of(self.agreements, LEAST_ARI, MOST_ARI) if self.agreements else None

    @property
    def of_seeds(self) -> float | None:
        """Agreement of the fits of all rows with each other; None for one alone."""
        found = [
            float(adjusted_rand_score(first.labels, second.labels))
            for number, first in enumerate(self.fits)
            for second in self.fits[:number]
        ]
        return float(np.mean(found)) if found else None

    @property
    def was_cut(self) -> bool:
        """Whether a fit of all rows ended because its time was over."""
        return any("max_time" in text for fitted in self.fits for text in fitted.warnings)


def compact(labels: IntArray) -> IntArray:
    """Return labels numbered from 0 without a gap."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _start_peak() -> int | None:
    # Only Linux can forget the old peak.
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status_bytes("VmRSS")


def _status_bytes(field_name: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field_name}:")), None)
