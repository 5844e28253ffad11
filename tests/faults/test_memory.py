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
from tests.faults.children import in_child

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
    assert ended.code == 1, ended
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("coterie: error: ")
    assert "Traceback" not in ended.err
    assert everything(folder) == before


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet"])
def test_every_kind_of_file(folder, ending):
    """A file of 6 MB, and 3 MB to read it with once the threads of pyarrow run: without one it would wait for ever."""
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(100_000, 8))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    write = {
        "npy": lambda: np.save("rows.npy", X),
        "npz": lambda: np.savez_compressed("rows.npz", X=X.round(2)),
        "csv": lambda: frame[:20_000].round(2).to_csv("rows.csv", index=False),
        "parquet": lambda: frame.to_parquet("rows.parquet"),
    }
    write[ending]()
    before = everything(folder)

    def read_and_limit():
        coterie.open_rows(f"rows.{ending}").read()
        more_memory_at_most(3 * MEGABYTE)

    ended = in_child(f"fit rows.{ending} -k 4 -p max_iter=2 --quiet --out out", read_and_limit)
    assert ended.code in (0, 1), ended
    if ended.code == 1:
        assert ended.err.count("\n") == 1
        assert ended.err.startswith("coterie: error: ")
        assert everything(folder) == before
