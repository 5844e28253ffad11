"""How a run is measured: alone in its own process, with its seconds, CPU seconds and peak memory.

Every run gets a fresh process, because threads that another package's OpenMP or BLAS left spinning, or
memory that it keeps, would otherwise be charged to the next one. Contenders are run in turns
(A B C A B C ...), so that a machine that grows slower during the benchmark does so for all of them.

Measure on a quiet machine, and not under ``nice``: beside one busy process of normal priority the scheduler
packs the threads of a nice one onto a single processor, and what waits at barriers becomes ten times slower.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

# Runs during which other processes used more than this fraction of a processor are marked as disturbed.
DISTURBED = 0.1
# A peer that needs this many times the seconds of the fastest one is not worth repeating.
SLOW_FACTOR = 4.0

Result = dict[str, Any]


@dataclass
class Cost:
    """What a block of code took; filled in when the block of `measured` ends."""

    seconds: float = float("nan")
    cpu_seconds: float = float("nan")
    peak_bytes: int = 0
    other_seconds: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure a block.

    Its wall seconds, the CPU seconds of its threads, the peak memory above what was held before, and the CPU
    seconds of all other processes meanwhile (0 where the system does not tell).
    """
    gc.collect()
    cost = Cost()
    held = _start_peak()
    busy, cpu, wall = _busy_seconds(), time.process_time(), time.perf_counter()
    yield cost
    cost.seconds = time.perf_counter() - wall
    cost.cpu_seconds = time.process_time() - cpu
    cost.other_seconds = max(0.0, _busy_seconds() - busy - cost.cpu_seconds)
    cost.peak_bytes = max(0, peak_memory() - held)


def peak_memory() -> int:
    """Return the largest resident set of this process, in bytes."""
    try:
        return _status_bytes("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _start_peak() -> int:
    # Linux can forget the old peak; elsewhere only what rises above the old one is seen.
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status_bytes("VmRSS")
    except OSError:
        return peak_memory()


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _busy_seconds() -> float:
    # All processors together; "stolen" is what a virtual machine's host gave to others.
    try:
        user, nice, system, _idle, _wait, irq, softirq, stolen = map(
            int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        )
    except (OSError, ValueError):
        return 0.0
    return (user + nice + system + irq + softirq + stolen) / os.sysconf("SC_CLK_TCK")


def limit_threads(n_threads: int) -> None:
    """Set the environment that OpenMP and BLAS read when the processes of `isolated` start."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(n_threads)


def isolated(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call an importable function in a fresh process and return its result."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_hush) as pool:
        return pool.submit(function, *args, **kwargs).result()


def isolated_within(limit: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Do as `isolated` does, but end the process and raise a TimeoutError after so many seconds."""
    with get_context("spawn").Pool(1, initializer=_hush) as pool:
        try:
            return pool.apply_async(function, args, kwargs).get(limit)
        except multiprocessing.TimeoutError:
            raise TimeoutError(f"not done after {limit:g} s") from None


def _hush() -> None:
    # What other packages print must not get between the lines of the tables.
    warnings.simplefilter("ignore")
    os.dup2(2, 1)


def interleave(
    names: Sequence[str],
    run: Callable[[str, int], Result],
    *,
    repeats: int,
    group_of: Callable[[str], str] = lambda name: "",
    most_rounds: Mapping[str, int] | None = None,
) -> dict[str, list[Result] | str]:
    """Run every contender in turns.

    Parameters
    ----------
    names : sequence of str
        The contenders, in the order of a round.
    run : callable
        ``run(name, repeat)`` returns a dictionary with at least ``seconds``.
    repeats : int
        Rounds. A contender that took more than `SLOW_FACTOR` times the seconds of the fastest peer of its
        group in the first round is not run again.
    group_of : callable
        Gives the group of a contender; by default they are all compared with one another.
    most_rounds : mapping of str to int, optional
        Contenders that take part in the first rounds only, and in how many.

    Returns
    -------
    dict
        Name to list of results, or to the message of the error that ended a contender.
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


def is_peer(name: str) -> bool:
    """Tell whether a contender is another package (lines of the machine's own limit are none)."""
    return not name.startswith(("coterie", "machine"))


def summarise(runs: Sequence[Result]) -> Result:
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
