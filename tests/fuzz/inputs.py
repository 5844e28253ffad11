"""Inputs of the fuzzer: a byte that tells the kind, and the content; and how one is run."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.fuzz.targets import TARGETS

__all__ = ["as_input", "replay", "run_input", "working_folder"]


def as_input(target: str, path: Path) -> bytes:
    """Return what the fuzzer sees of a file of the corpus."""
    kind = path.name.rpartition(".")[2]
    return bytes([TARGETS[target].kinds.index(kind)]) + path.read_bytes()


def run_input(target: str, data: bytes) -> None:
    """Run an input of the fuzzer; raises what is a finding."""
    if data:
        kinds = TARGETS[target].kinds
        TARGETS[target].run(kinds[data[0] % len(kinds)], data[1:])


@contextmanager
def working_folder() -> Iterator[None]:
    """Work in an empty folder, in memory where there is such a disk."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def replay(paths: Sequence[Path]) -> int:
    """Run files of inputs, whose names begin with their targets; return 1 if one is a finding."""
    contents = {path: path.read_bytes() for path in paths}
    code = 0
    with working_folder():
        for path, data in contents.items():
            target = path.name.partition("-")[0]
            try:
                run_input(target, data)
                print(f"{path}: nothing found")
            except BaseException:
                code = 1
                print(f"{path}:", file=sys.stderr)
                traceback.print_exc()
    return code
