"""Files that vanish, shrink, change or become slow in the middle of a command, and files that are no files."""

import json
import os
import resource
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from coterie.blocks import kernel_rows
from coterie.passes import Passes
from coterie.rows import Rows, source
from coterie.rows.formats import arrays
from tests.cli.running import everything
from tests.faults.children import failed_in_one_line, in_child


def write(ending):
    """Write rows to a file of this kind; return its name."""
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(3_000, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    name = f"rows.{ending}"
    {
        "npy": lambda: np.save(name, X),
        "npz": lambda: np.savez(name, X=X),
        "csv": lambda: frame.to_csv(name, index=False),
        "parquet": lambda: frame.to_parquet(name),
        "feather": lambda: frame.to_feather(name, compression="uncompressed"),
    }[ending]()
    return name


def between_passes(change):
    """Return what prepares a child: arrays are mapped for all passes, and `change` is called after the first."""

    def prepare():
        mock.patch.object(kernel_rows, "KEPT_BYTES", 0).start()
        mock.patch.object(arrays, "RESIDENT_BYTES", 0).start()
        mock.patch.object(source, "RESIDENT_BYTES", 0).start()
        first = iter([change])
        run = Passes.run

        def run_and_change(passes, step, *arguments, **options):
            result = run(passes, step, *arguments, **options)
            if step.__name__ == "assign_rows":
                next(first, lambda: None)()
            return result

        mock.patch.object(Passes, "run", run_and_change).start()

    return prepare


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet", "feather"])
def test_file_is_removed_while_read(folder, ending):
    name = write(ending)
    ended = in_child(f"fit {name} -k 5 --quiet --out out", between_passes(lambda: os.unlink(name)))
    assert ended.code == 0  # it has been read, or is still open


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet", "feather"])
def test_a_file_that_shrinks(folder, ending):
    name = write(ending)
    size = os.path.getsize(name)
    ended = in_child(
        f"fit {name} -k 5 --quiet --out out", between_passes(lambda: os.truncate(name, size // 2))
    )
    if ending == "npy":  # which is mapped
        failed_in_one_line(ended, name, "cut short")
        assert everything(folder) == [name]
    else:
        assert ended.code == 0


def test_a_file_that_becomes_slow(folder):
    """A tenth of a second for each pass: the time is up after some of the 300 iterations, with a result."""
    name = write("npy")
    blocks = Rows.blocks  # of rows that are not in memory

    def slow(*arguments):
        time.sleep(0.1)
        return blocks(*arguments)

    def prepare():
        mock.patch.object(kernel_rows, "KEPT_BYTES", 0).start()
        mock.patch.object(arrays, "RESIDENT_BYTES", 0).start()
        mock.patch.object(source, "RESIDENT_BYTES", 0).start()
        mock.patch.object(Rows, "blocks", slow).start()

    ended = in_child(f"fit {name} -k 40 --max-time 0.2 -p tol=0 --quiet --out out", prepare)
    assert ended.code == 0, ended
    assert json.loads(Path("out/summary.json").read_text())["iterations"] < 30


@pytest.mark.parametrize("name", ["t.npy", "t.csv", "t.parquet", "t.svm", "t.h5"])
@pytest.mark.parametrize("kind", ["pipe", "endless", "socket"])
def test_no_regular_file(folder, name, kind):
    make_special(name, kind)
    ended = in_child(f"fit {name} -k 2 --quiet --out out", little_memory, seconds=10)
    failed_in_one_line(ended, name)
    assert everything(folder) == [name]


def make_special(name, kind):
    """Make a file that never ends, or never begins."""
    if kind == "pipe":
        os.mkfifo(name)
    elif kind == "endless":
        Path(name).symlink_to("/dev/zero")
    else:
        os.mknod(name, 0o600 | 0o140000)  # a socket that nobody has bound


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
