"""Measure a block of code, in a process of its own: seconds, CPU seconds, peak memory, the load of other processes.

A fresh process for every run, because threads that another package's OpenMP or BLAS left spinning, or memory that it
keeps, would otherwise be charged to the next one. Measure on a quiet machine, and not under ``nice``: beside one busy
process of normal priority the scheduler packs the threads of a nice one onto a single processor, and what waits at
barriers becomes ten times slower.
"""

import gc
import os
import re
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partialmethod
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np


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


def inertia(X: Any, centers: np.ndarray) -> float:
    """Return the sum of squared distances of dense or sparse rows to the nearest centroid, in float64."""
    from sklearn.metrics import pairwise_distances_argmin_min

    centers = np.ascontiguousarray(centers, X.dtype)
    return float(pairwise_distances_argmin_min(X, centers, metric="sqeuclidean")[1].sum())


def limit_threads(n_threads: int) -> None:
    """Set the environment that OpenMP and BLAS read when other processes start."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(n_threads)


class Processes:
    """Calls importable functions in a new process each, or in one that is kept, so that packages are imported once."""

    def __init__(self, *, kept: bool = False) -> None:
        self._is_kept = kept
        self._pool: ProcessPoolExecutor | None = None

    def run_within(
        self, limit: float | None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a function, but end its process and raise a TimeoutError after so many seconds."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=_begin)
        process = self._pool.submit(os.getpid).result()  # starting is not part of the call
        call = self._pool.submit(function, *args, **kwargs)
        is_done = wait([call], limit).done
        if not is_done:
            os.kill(process, signal.SIGKILL)  # the executor would wait for the call
        if not self._is_kept or isinstance(call.exception(), BrokenProcessPool):
            self.close()
        if not is_done:
            raise TimeoutError(f"not done after {limit:g} s")
        return call.result()

    run = partialmethod(run_within, None)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _begin() -> None:
    # What other packages print must not get between the lines of the tables.
    warnings.simplefilter("ignore")
    os.dup2(2, 1)
