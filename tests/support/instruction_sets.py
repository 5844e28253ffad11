"""Instruction sets of this machine, and a context that selects one."""

from collections.abc import Iterator
from contextlib import contextmanager

from coterie import _kernels

INSTRUCTION_SETS = _kernels.available_instruction_sets()
FUSED = [name for name in INSTRUCTION_SETS if name != "baseline"]  # those with fused multiply-add


@contextmanager
def using(name: str) -> Iterator[None]:
    before = _kernels.instruction_set()
    _kernels.use_instruction_set(name)
    try:
        yield
    finally:
        _kernels.use_instruction_set(before)
