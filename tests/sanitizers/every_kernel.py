"""A plugin of pytest: the run fails unless it has called every kernel, so that the sanitizers have seen all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from coterie import _kernels

# What is no loop over numbers.
NO_KERNELS = {"available_instruction_sets", "instruction_set", "use_instruction_set"}

_not_called: set[str] = set()


def pytest_configure() -> None:
    """Put functions that note their first call in the places of the kernels."""
    for name in set(dir(_kernels)) - NO_KERNELS:
        kernel = getattr(_kernels, name)
        if callable(kernel) and not isinstance(kernel, type):
            _not_called.add(name)
            setattr(_kernels, name, _noted(name, kernel))


def _noted(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(kernel)
    def noted(*arguments: Any, **options: Any) -> Any:
        _not_called.discard(name)
        return kernel(*arguments, **options)

    return noted


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that left a kernel out."""
    if exitstatus == pytest.ExitCode.OK and _not_called:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which kernels were left out."""
    if _not_called:
        terminalreporter.write_line(f"kernels that were not called: {', '.join(sorted(_not_called))}")
