"""Comparison of a fit with restarts: its own, or additional ones for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.estimators import Objective
from coterie.estimators.seeded import SeededEstimator
from coterie.reports.subject import Subject, refitted, seconds_of

# Number of restarts, and the fewest that are compared.
_OTHERS, _FEWEST = 9, 3

# Total seconds of all restarts.
_SECONDS = 0.6

# Rows of the sample that is used if all rows take too long.
_FEW_ROWS, _ROWS_A_CLUSTER = 5_000, 20

# Smaller differences are not reported: a share, or a difference of objectives without a zero.
NEARLY_THE_SAME = 0.01


@dataclass(frozen=True, slots=True)
class Restarts:
    """Objectives of fits to the same rows: `own` starts from the result of the report, others elsewhere."""

    objective: Objective
    own: float
    others: FloatArray
    n_rows: int

    @property
    def has_better(self) -> bool:
        """Whether another initialization gave a clearly better result."""
        return relative_loss(self.objective, [self.own, self._best])[0] > NEARLY_THE_SAME

    def sentence(self, n_all: int) -> str:
        """Return a sentence on the comparison: the difference to the best result."""
        rows = "all rows" if self.n_rows == n_all else f"{self.n_rows:,} random rows"
        _, words = relative_loss(self.objective, [self.own, self._best])
        return f"This {self.objective.name} is {words} the best of {len(self.others) + 1} runs on {rows}."

    @property
    def _best(self) -> float:
        return float(self.others.max() if self.objective.higher_is_better else self.others.min())


def relative_loss(objective: Objective, values: Any) -> tuple[float, str]:
    """Return the difference of the first objective to the best one, as a number and in words.

    Examples
    --------
    >>> from coterie.estimators import Objective
    >>> from coterie.reports.restarts import relative_loss
    >>> relative_loss(Objective("inertia_", "inertia"), [103.0, 100.0, 110.0])[1]
    '3.0% above'
    >>> relative_loss(Objective("bound_", "free energy", "per row", True), [-2.5, -2.25])[1]
    '0.25 per row below'
    """
    found = np.asarray(values, dtype=np.float64)
    best = float(found.max() if objective.higher_is_better else found.min())
    difference = abs(float(found[0]) - best)
    side = "below" if objective.higher_is_better else "above"
    if objective.higher_is_better or best <= 0:
        # A ratio is meaningless without a natural zero.
        return difference, f"{difference:.3g} {objective.unit}".rstrip() + f" {side}"
    return difference / best, f"{difference / best:.1%} {side}"


def runs_of(model: Any) -> list[Any]:
    """Return the history of each run of a fit, as far as the model keeps it."""
    runs = getattr(model, "runs_", None)
    return [] if runs is None else [runs[runs.run == number] for number in np.unique(runs.run)]


def compare_restarts(subject: Subject) -> tuple[Restarts | None, str]:
    """Repeat a fit of one run with other initializations, if that takes less than a second.

    Also returned is a sentence on what was done, or why it was not; it is empty if the fit had several runs itself.
    """
    model, method = subject.model, subject.method
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    # Only models with random initial centers give other results when they are fitted again.
    draws = isinstance(model, SeededEstimator) and isinstance(parameters.get("init"), str)
    if method is None or method.objective is None or not draws or subject.is_graph or len(runs_of(model)) > 1:
        return None, ""
    n_all = subject.rows.shape[0]
    for n_rows in (len(subject.sample.rows), min(len(subject.sample.rows), _FEW_ROWS)):
        expected = seconds_of(model) * n_rows / n_all
        if (_OTHERS + 1) * expected <= _SECONDS:
            break
    affordable = _OTHERS if expected <= 0 else min(_OTHERS, int(_SECONDS / expected) - 1)
    is_enough = n_rows == n_all or n_rows >= _ROWS_A_CLUSTER * subject.n_clusters
    if affordable < _FEWEST or not is_enough:
        return None, (
            f"Restarts were not tried: {_OTHERS + 1} runs on {n_rows:,} rows would take about "
            f"{(_OTHERS + 1) * expected:.1f} s."
            if is_enough
            else f"Restarts were not tried: {n_rows:,} rows are too few for {subject.n_clusters:,} clusters."
        )
    chosen = np.sort(np.random.default_rng(0).choice(len(subject.sample.rows), n_rows, replace=False))
    block = subject.sample.block[chosen]
    own = _objective_from(model, method.objective, block, 0, {"init": model})
    others = [_objective_from(model, method.objective, block, seed, {}) for seed in range(1, affordable + 1)]
    found = np.array([value for value in others if value is not None], dtype=np.float64)
    if own is None or not np.isfinite(own) or not len(found) or not np.isfinite(found).all():
        return None, "Restarts were tried, but a sample of the rows cannot be clustered in the same way."
    starts = Restarts(method.objective, own, found, n_rows)
    return starts, (
        f"{starts.sentence(n_all)} {len(found)} restarts were computed for this page, and one run from the "
        "result."
    )


def _objective_from(
    model: Any, objective: Objective, block: Any, seed: int, changes: dict[str, Any]
) -> float | None:
    """Fit rows once; return the objective, None if these rows cannot be fitted."""
    try:
        again = refitted(model, block, seed, {"n_init": 1, "coreset_size": None} | changes)
    except ValueError:
        return None
    return float(getattr(again, objective.attribute))
