"""Rounds: contenders run in turns (A B C A B C ...), so that a machine that grows slower does so for all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.harness.contenders import is_peer

# Runs during which other processes used more than this fraction of a processor are marked as disturbed.
DISTURBED = 0.1
# A contender that needs this many times the seconds of the fastest peer is not worth repeating.
SLOW_FACTOR = 4.0

Result = dict[str, Any]
Summaries = dict[str, Result]


def interleave(
    names: Sequence[str],
    run: Callable[[str, int], Result],
    *,
    repeats: int,
    repeat_slow: bool = True,
    most_rounds: Mapping[str, int] | None = None,
) -> dict[str, list[Result] | str]:
    """Run every contender in turns.

    Unless `repeat_slow`, a contender that took more than `SLOW_FACTOR` times the seconds of the fastest peer in the
    first round is not run again; those in `most_rounds` take part in so many rounds only. The result of a contender is
    a list, or the message of its error.
    """
    results: dict[str, list[Result] | str] = {name: [] for name in names}
    for repeat in range(repeats):
        for name, runs in results.items():
            if isinstance(runs, str) or repeat >= (most_rounds or {}).get(name, repeats):
                continue
            if repeat and not repeat_slow and _is_slow(name, results):
                continue
            try:
                runs.append(run(name, repeat))
                said = f"{runs[-1]['seconds']:.3f} s (round {repeat + 1} of {repeats})"
            except Exception as error:
                results[name] = said = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"  {name}: {said}", file=sys.stderr, flush=True)
    return results


def _is_slow(name: str, results: dict[str, list[Result] | str]) -> bool:
    seconds = {one: runs[0]["seconds"] for one, runs in results.items() if not isinstance(runs, str)}
    peers = [taken for one, taken in seconds.items() if is_peer(one)]
    return bool(peers) and seconds[name] > SLOW_FACTOR * min(peers)


def summarize(runs: Sequence[Result]) -> Result:
    """Reduce the runs of a contender: medians of every number, the range of the seconds, how many runs."""
    summary: Result = {
        key: median(run[key] for run in runs) if isinstance(value, (int, float)) else value
        for key, value in runs[0].items()
    }
    seconds = [run["seconds"] for run in runs]
    disturbed = sum(run["other_seconds"] > DISTURBED * run["seconds"] + 0.02 for run in runs)
    return summary | {
        "seconds_min": min(seconds), "seconds_max": max(seconds), "runs": len(runs), "disturbed": disturbed
    }  # fmt: skip
