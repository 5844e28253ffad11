"""Rounds: contenders run in turns (A B C A B C ...), so that a machine that grows slower does so for all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.harness.contenders import is_peer

# Runs during which other processes used more than this fraction of a processor are marked as disturbed.
DISTURBED = 0.1
# A peer that needs this many times the seconds of the fastest one is not worth repeating.
SLOW_FACTOR = 4.0

Result = dict[str, Any]
Summaries = dict[str, Result]


def together(name: str) -> str:
    """Put all contenders into one group: one that is much slower than the fastest peer is not repeated."""
    return ""


def apart(name: str) -> str:
    """Put each contender into a group of its own: a slow one is repeated like any other."""
    return name


def interleave(
    names: Sequence[str],
    run: Callable[[str, int], Result],
    *,
    repeats: int,
    group_of: Callable[[str], str] = together,
    most_rounds: Mapping[str, int] | None = None,
) -> dict[str, list[Result] | str]:
    """Run every contender in turns.

    A contender that took more than `SLOW_FACTOR` times the seconds of the fastest peer of its group in the first round
    is not run again; those in `most_rounds` take part in so many rounds only. The result of a contender is a list, or
    the message of its error.
    """
    results: dict[str, list[Result] | str] = {name: [] for name in names}
    running = list(names)
    for repeat in range(repeats):
        for name in list(running):
            if most_rounds and repeat >= most_rounds.get(name, repeats):
                continue
            try:
                result = run(name, repeat)
            except Exception as error:
                results[name] = f"{type(error).__name__}: {error}".splitlines()[0]
                running.remove(name)
                _say(f"{name}: {results[name]}")
            else:
                results[name].append(result)  # type: ignore[union-attr]
                _say(f"{name}: {result['seconds']:.3f} s (round {repeat + 1} of {repeats})")
        running = [name for name in running if not _too_slow(name, results, group_of)]
    return results


def _too_slow(name: str, results: dict[str, list[Result] | str], group_of: Callable[[str], str]) -> bool:
    if name.startswith("machine"):
        return False
    peers = [
        runs[0]["seconds"]
        for peer, runs in results.items()
        if is_peer(peer) and group_of(peer) == group_of(name) and runs and not isinstance(runs, str)
    ]
    return bool(peers) and results[name][0]["seconds"] > SLOW_FACTOR * min(peers)  # type: ignore[index]


def summarize(runs: Sequence[Result]) -> Result:
    """Reduce the runs of a contender: medians of every number, the range of the seconds, how many runs."""
    summary: Result = {
        key: median(run[key] for run in runs) if isinstance(value, (int, float)) else value
        for key, value in runs[0].items()
    }
    seconds = [run["seconds"] for run in runs]
    disturbed = sum(run["other_seconds"] > DISTURBED * run["seconds"] + 0.02 for run in runs)
    return summary | {
        "seconds_min": min(seconds),
        "seconds_max": max(seconds),
        "runs": len(runs),
        "disturbed": disturbed,
    }


def _say(message: str) -> None:
    print(f"  {message}", file=sys.stderr, flush=True)
