"""Number of threads, of kernels and of BLAS."""

from __future__ import annotations

import math
import os
from contextlib import nullcontext
from functools import cache, lru_cache
from time import monotonic
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

# More than any machine has; a system that is asked for millions fails in ways of its own.
_MOST_THREADS = 4096


# OpenBLAS computes products with a vector by one thread up to 9,216 multiply-adds, products of matrices up to 262,144.
_WHOLE_PRODUCT = 8192


def effective_n_threads(n_threads: int | None) -> int:
    """Return the number of threads to use, at least 1; a number from 1 to 4096 is taken as it is.

    None stands for all processors that this process may use: CPU affinity, the quota of a Linux control group,
    `OMP_NUM_THREADS` and `LOKY_MAX_CPU_COUNT` count.

    Examples
    --------
    >>> from coterie.fitting.threads import effective_n_threads
    >>> effective_n_threads(3)
    3
    """
    if n_threads is not None:
        if isinstance(n_threads, bool) or n_threads != int(n_threads) or not 1 <= n_threads <= _MOST_THREADS:
            raise ValueError(
                f"n_threads must be None or an integer from 1 to {_MOST_THREADS}, got {n_threads!r}."
            )
        return int(n_threads)
    available = _processors(int(monotonic()))
    # A list such as "4,2" gives one number per level of nesting.
    requested = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(available, int(requested)) if requested.isdigit() and int(requested) > 0 else available


@lru_cache(maxsize=1)
def _processors(second: int) -> int:
    """Return the processors of this second: to read the quota takes a third of the time to label a row."""
    return joblib.cpu_count()


def single_threaded_blas(most_multiply_adds: float = math.inf) -> Any:
    """Return a context in which NumPy's and SciPy's BLAS use one thread, because their idle threads spin after each
    product. For products that no BLAS splits there is none: to find the libraries takes longer than a small fit.
    """
    if most_multiply_adds < _WHOLE_PRODUCT:
        return nullcontext()
    return _blas_libraries().limit(limits=1, user_api="blas")


@cache
def _blas_libraries() -> ThreadpoolController:
    # Looking for them takes milliseconds, and NumPy's and SciPy's are there once this package is imported.
    return ThreadpoolController()
