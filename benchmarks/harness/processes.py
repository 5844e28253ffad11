"""Where runs take place: each in a process of its own, or all in one.

A fresh process for every run, because threads that another package's OpenMP or BLAS left spinning, or memory that it
keeps, would otherwise be charged to the next one.
"""

from __future__ import annotations

import concurrent.futures
import math
import multiprocessing
import os
import resource
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol


def limit_threads(n_threads: int) -> None:
    """Set the environment that OpenMP and BLAS read when other processes start."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(n_threads)


class Processes(Protocol):
    """What calls importable functions elsewhere and returns their results."""

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function."""

    def run_within(self, limit: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function, but end it and raise a TimeoutError after so many seconds."""

    def close(self) -> None:
        """End what still runs."""


class FreshProcesses:
    """A new process for every call: what is measured is measured so.

    With one thread limits count seconds of the processor, as `measuring.clock` does.
    """

    def __init__(self, n_threads: int = 0) -> None:
        self._counts_cpu = n_threads == 1

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with _new_pool() as pool:
            return pool.submit(function, *args, **kwargs).result()

    def run_within(self, limit: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self._counts_cpu:
            return _run_within_cpu(limit, function, *args, **kwargs)
        # This pool can end a process that is at work.
        with get_context("spawn").Pool(1, initializer=_hush) as pool:
            try:
                return pool.apply_async(function, args, kwargs).get(limit)
            except multiprocessing.TimeoutError:
                raise TimeoutError(f"not done after {limit:g} s") from None

    def close(self) -> None:
        pass


class KeptProcess:
    """One process for all calls until one of them takes too long or ends it: packages are imported once."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._process = 0

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self._wait(None, function, *args, **kwargs)

    def run_within(self, limit: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self._wait(limit, function, *args, **kwargs)

    def _wait(self, limit: float | None, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self._pool is None:
            self._pool = _new_pool()
            # Starting is not part of the call.
            self._process = self._pool.submit(os.getpid).result()
        try:
            return self._pool.submit(function, *args, **kwargs).result(limit)
        except concurrent.futures.TimeoutError:
            # The executor would wait for the call.
            os.kill(self._process, signal.SIGKILL)
            self.close()
            raise TimeoutError(f"not done after {limit:g} s") from None
        except BrokenProcessPool:
            self.close()
            raise

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_hush)


def _run_within_cpu(limit: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function in a new process that the system ends after so many seconds of a processor."""
    before = _seconds_of_children()
    # A new pool each: its process must not have worked before.
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_limit_cpu, initargs=(math.ceil(limit),)
    ) as pool:
        call = pool.submit(function, *args, **kwargs)
        error = call.exception()
    # The limit counts ticks of the clock, of which a busy machine may charge more than were used.
    if isinstance(error, BrokenProcessPool) and _seconds_of_children() - before >= 0.5 * limit:
        raise TimeoutError(f"not done after {limit:g} s of a processor") from None
    return call.result()


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _limit_cpu(seconds: int) -> None:
    _hush()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _hush() -> None:
    # What other packages print must not get between the lines of the tables.
    warnings.simplefilter("ignore")
    os.dup2(2, 1)
