"""Measure a block of code: seconds, CPU seconds, peak memory, and the load of other processes.

Measure on a quiet machine, and not under ``nice``: beside one busy process of normal priority the scheduler
packs the threads of a nice one onto a single processor, and what waits at barriers becomes ten times slower.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def clock(n_threads: int = 0) -> Callable[[], float]:
    """Return what counts seconds: where there is one thread those of the processor, else those of the wall.

    What one thread is given of a processor is the same beside other processes.
    """
    return time.process_time if n_threads == 1 else time.perf_counter


@dataclass
class Cost:
    """What a block of code took; filled in when the block of `measured` ends."""

    seconds: float = float("nan")
    cpu_seconds: float = float("nan")
    peak_bytes: int = 0
    other_seconds: float = 0.0


@contextmanager
def measured(n_threads: int = 0) -> Iterator[Cost]:
    """Measure a block.

    Its seconds by `clock`, the CPU seconds of its threads, the peak memory above what was held before, and the CPU
    seconds of all other processes meanwhile (0 where the system does not tell, or where they do not matter).
    """
    gc.collect()
    cost = Cost()
    held = _start_peak()
    seconds = clock(n_threads)
    busy, cpu, begin = _busy_seconds(), time.process_time(), seconds()
    yield cost
    cost.seconds = seconds() - begin
    cost.cpu_seconds = time.process_time() - cpu
    if seconds is not time.process_time:
        cost.other_seconds = max(0.0, _busy_seconds() - busy - cost.cpu_seconds)
    cost.peak_bytes = max(0, _peak_memory() - held)


def _start_peak() -> int:
    # Linux can forget the old peak; elsewhere only what rises above the old one is seen.
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # type: ignore[index]
    except OSError:
        return _peak_memory()


def _peak_memory() -> int:
    """Return the largest resident set of this process, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) * 1024  # type: ignore[index]
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _busy_seconds() -> float:
    # All processors together; "stolen" is what a virtual machine's host gave to others.
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system, _idle, _wait, irq, softirq, stolen = map(int, path.read_text().split()[1:9])
    return (user + nice + system + irq + softirq + stolen) / os.sysconf("SC_CLK_TCK")


def seconds_of(function: Callable[[], object], n_threads: int = 0) -> float:
    """Return the seconds of a call, by `clock`."""
    seconds = clock(n_threads)
    begin = seconds()
    function()
    return seconds() - begin
