"""Where runs take place: each in a process of its own, or all in one.

A fresh process for every run, because threads that another package's OpenMP or BLAS left spinning, or memory that it
keeps, would otherwise be charged to the next one.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any


def limit_threads(n_threads: int) -> None:
    """Set the environment that OpenMP and BLAS read when other processes start."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(n_threads)


class Processes:
    """Calls importable functions in a new process each, or in one that is kept, so that packages are imported once.

    With one thread limits of new processes count seconds of the processor, as `measuring.clock` does.
    """

    def __init__(self, n_threads: int = 0, *, kept: bool = False) -> None:
        self._counts_cpu, self._is_kept = n_threads == 1 and not kept, kept
        self._pool: ProcessPoolExecutor | None = None

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function."""
        return self.run_within(None, function, *args, **kwargs)

    def run_within(
        self, limit: float | None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a function, but end its process and raise a TimeoutError after so many seconds."""
        cpu_limit = math.ceil(limit) if limit and self._counts_cpu else None
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, initializer=_begin, initargs=(cpu_limit,))
        process = self._pool.submit(os.getpid).result()  # starting is not part of the call
        call = self._pool.submit(function, *args, **kwargs)
        used = _seconds_of_children()
        is_done = wait([call], None if self._counts_cpu else limit).done
        if not is_done:
            os.kill(process, signal.SIGKILL)  # the executor would wait for the call
        if not self._is_kept or isinstance(call.exception(), BrokenProcessPool):
            self.close()
        if not is_done:
            raise TimeoutError(f"not done after {limit:g} s")
        # The limit counts ticks of the clock, of which a busy machine may charge more than were used.
        is_over = cpu_limit and _seconds_of_children() - used >= 0.5 * cpu_limit
        if is_over and isinstance(call.exception(), BrokenProcessPool):
            raise TimeoutError(f"not done after {limit:g} s of a processor")
        return call.result()

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _begin(most_seconds: int | None) -> None:
    if most_seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds))
    # What other packages print must not get between the lines of the tables.
    warnings.simplefilter("ignore")
    os.dup2(2, 1)
