"""A limit of memory for a test."""

import os
from contextlib import contextmanager
from unittest.mock import patch

from coterie.limits.memory import MEMORY_VARIABLE


@contextmanager
def limited_memory(n_bytes):
    """Limit the memory of this process within the context."""
    with patch.dict(os.environ, {MEMORY_VARIABLE: str(int(n_bytes))}):
        yield
