"""`cached_property` without the lock that Python 3.11 holds while it computes a value.

That lock is one for all instances: threads would wait for each other, and a process that is forked meanwhile, forever.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """A method whose value is computed once, and then is an attribute of the instance."""

        def __init__(self, method: Any) -> None:
            self._method = method
            self.__doc__ = method.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._method(instance)
            return value
