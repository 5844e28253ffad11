"""Too little memory: success or one line, never a crash, whatever the method and wherever the memory ends."""

import resource
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import blas

import coterie
from tests.cli.running import everything
from tests.faults.children import failed_in_one_line, in_child
from tests.faults.conftest import write

MEGABYTE = 2**20


def more_memory_at_most(n_bytes):
    """From now on this process may have so much memory more than it has.

    OpenBLAS has its threads and buffers by then: where it gets none, it ends the process by itself.
    """
    square = np.ones((300, 300))
    blas.dgemm(1.0, square @ square, square)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@pytest.mark.parametrize("megabytes", [4, 40])
def test_every_method(folder, command, megabytes):
    before = everything(folder)
    ended = in_child(command, partial(more_memory_at_most, megabytes * MEGABYTE), seconds=6)
    if ended.code == -signal.SIGALRM and "MemoryError" in ended.err:
        pytest.xfail("CPython waits for ever for a thread that finds no memory to begin with")
    if ended.code == 0:
        assert any(name.endswith("summary.json") for name in everything(folder))
        return
    failed_in_one_line(ended)
    assert everything(folder) == before


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet"])
def test_every_kind_of_file(folder, ending):
    """A file of 6 MB, and 3 MB to read it with once the threads of pyarrow run: without one it would wait for ever."""
    name = write(ending, 100_000 if ending != "csv" else 20_000)
    before = everything(folder)

    def read_and_limit():
        coterie.open_rows(name).read()
        more_memory_at_most(3 * MEGABYTE)

    ended = in_child(f"fit {name} -k 4 -p max_iter=2 --quiet --out out", read_and_limit)
    assert ended.code in (0, 1), ended
    if ended.code == 1:
        failed_in_one_line(ended)
        assert everything(folder) == before
