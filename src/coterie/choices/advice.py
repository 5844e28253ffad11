"""What to take, in words: one method with its reasons, or that the data prefer none."""

from __future__ import annotations

import numpy as np

from coterie.arrays import FloatArray
from coterie.choices.criteria import CRITERIA, HIGHER_IS_BETTER
from coterie.choices.trials import Trial

__all__ = ["advise"]

# Clusterings that are so alike are the same to a user.
_SAME = 0.9

# Methods none of which is clearly above this, by the lower end of its interval, find nothing again.
_UNSTABLE = 0.5

# Criteria that differ by less than this share are equal.
_EQUAL = 0.02


def advise(
    trials: list[Trial], agreement: FloatArray, criteria: dict[str, dict[str, float]], n_clusters: int
) -> tuple[str | None, tuple[str, ...]]:
    """Return the name of the method to take, if the data prefer one, and sentences with the reasons.

    Parameters
    ----------
    trials : list of Trial
        With fits.
    agreement : ndarray of shape (m, m)
        Adjusted Rand index of their best clusterings.
    criteria : dict of str to dict
        `criteria_of` of each.
    n_clusters : int
        That were asked for.
    """
    if len(trials) == 1:
        return None, (f"{trials[0].method.name} alone was compared, so nothing can be preferred.",)
    whole = [trial for trial in trials if not _flaw_of(trial, n_clusters)]
    told = [f"{trial.method.name} is not advised: {_flaw_of(trial, n_clusters)}." for trial in trials
            if _flaw_of(trial, n_clusters)]  # fmt: skip
    cut = [trial.method.name for trial in trials if trial.was_cut]
    if cut and len(whole) < 2:
        return None, (
            f"The budget is too short to say which method to take: {len(cut)} of {len(trials)} methods were cut off "
            "before they were done. Give it more time (--budget), or compare on fewer rows (--sample).",
            *told,
        )
    if not whole:
        return None, ("No method can be advised.", *told)
    if len(whole) == 1:
        return whole[0].method.name, (
            f"Take {whole[0].method.name}: it is the only method that found {n_clusters} clusters.",
            *told,
        )
    ahead = _cut_off_ahead(trials, whole)
    if ahead is not None:
        return None, (
            f"The budget is too short to say which method to take: {ahead.method.name} was cut off before it was done, "
            f"and finds its clusters again best already, ARI {_in_words(ahead)}; the next has "
            f"{_in_words(_next_to(ahead, whole))}. Give it more time (--budget), or compare on fewer rows (--sample).",
            *told,
        )
    stable = _stablest(whole)
    intervals = [trial.stability for trial in whole if trial.stability is not None]
    if intervals and max(interval.low for interval in intervals) < _UNSTABLE:
        return None, (
            f"The data prefer no method: none clearly finds its clusters again in halves of the rows (ARI of "
            f"{_UNSTABLE}). {n_clusters} may be the wrong number: see coterie choose-k.",
            *told,
        )
    places = [trials.index(trial) for trial in whole]
    if float(agreement[np.ix_(places, places)].min()) >= _SAME:
        fastest = min(stable, key=_seconds)
        return fastest.method.name, (
            f"Take {fastest.method.name}: {_who(whole, trials)} find the same clusters (ARI of {_SAME} or more between "
            f"any two), and of those as stable as any it is the fastest, {_seconds(fastest):.3g} s.",
            *told,
        )
    if len(stable) == 1:
        only = stable[0]
        assert only.stability is not None
        return only.method.name, (
            f"Take {only.method.name}: it alone finds its clusters again in halves of the rows, ARI "
            f"{_in_words(only)}; the next has {_in_words(_next_to(only, whole))}.",
            *told,
        )
    winners = _best_by_criterion(stable, criteria)
    dominating = set.intersection(*winners.values())
    if dominating:
        names = sorted(dominating, key=lambda name: _seconds(_named(stable, name)))
        return names[0], (
            f"Take {names[0]}: of the methods that are as stable as any it is the best or within {_EQUAL:.0%} of it by "
            "every criterion, those that favour other methods too"
            + (f", as good as {', '.join(names[1:])} and faster." if names[1:] else "."),
            *told,
        )
    return None, (
        "The data prefer no method: "
        + "; ".join(
            f"by {name.replace('_', ' ')} {' or '.join(sorted(found))}" for name, found in winners.items()
        )
        + ". Each criterion favours its own kind: choose by what the clusters are for.",
        *told,
    )


def _who(whole: list[Trial], trials: list[Trial]) -> str:
    return "all" if len(whole) == len(trials) else f"the other {len(whole)}"


def _flaw_of(trial: Trial, n_clusters: int) -> str:
    """Say why a method cannot be advised; nothing if it can."""
    if trial.was_cut:
        return "its time was over before it was done"
    lost = n_clusters - len(np.unique(trial.best.labels))
    return f"it lost {lost} of {n_clusters} clusters" if lost > 0 else ""


def _cut_off_ahead(trials: list[Trial], whole: list[Trial]) -> Trial | None:
    """Return the method that was cut off and is more stable than all that were not, None if there is none."""
    best = max(trials, key=_mean_stability)
    rivals = max(map(_mean_stability, whole))
    return best if best.was_cut and _mean_stability(best) > rivals else None


def _mean_stability(trial: Trial) -> float:
    return 0.0 if trial.stability is None else trial.stability.mean


def _stablest(trials: list[Trial]) -> list[Trial]:
    """Return the methods whose stability the best one's does not clearly exceed: their intervals meet."""
    known = [trial for trial in trials if trial.stability is not None]
    if not known:
        return trials
    best = max(known, key=_mean_stability)
    least = best.stability.low if best.stability else 0.0
    return [trial for trial in known if trial.stability is not None and trial.stability.high >= least]


def _next_to(only: Trial, trials: list[Trial]) -> Trial:
    others = [trial for trial in trials if trial is not only and trial.stability is not None]
    return max(others, key=_mean_stability, default=only)


def _in_words(trial: Trial) -> str:
    interval = trial.stability
    return "unknown" if interval is None else f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _best_by_criterion(trials: list[Trial], criteria: dict[str, dict[str, float]]) -> dict[str, set[str]]:
    """Return for each criterion the methods that are the best, or hardly worse."""
    winners = {}
    for name in CRITERIA:
        values = {trial.method.name: criteria[trial.method.name][name] for trial in trials}
        best = max(values.values()) if name in HIGHER_IS_BETTER else min(values.values())
        reach = _EQUAL * abs(best)
        winners[name] = {method for method, value in values.items() if abs(value - best) <= reach}
    return winners


def _named(trials: list[Trial], name: str) -> Trial:
    return next(trial for trial in trials if trial.method.name == name)


def _seconds(trial: Trial) -> float:
    return float(np.median([fitted.seconds for fitted in trial.fits]))
