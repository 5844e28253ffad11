"""Calls that may fail."""

from collections.abc import Callable
from typing import Any


def tried(call: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, str]:
    """Return what a call returns and an empty text; or None and what its ValueError says."""
    try:
        return call(*args, **options), ""
    except ValueError as error:
        return None, str(error)
