"""Files that vanish, shrink, change or become slow in the middle of a command, and files that are no files."""

import os
import resource
from pathlib import Path
from unittest import mock

import pytest

from coterie.blocks import kernel_rows
from coterie.passes import Passes
from coterie.rows import source
from coterie.rows.formats import arrays
from tests.cli.running import everything
from tests.faults.children import failed_in_one_line, in_child
from tests.faults.conftest import write


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
    cut = between_passes(lambda: os.truncate(name, os.path.getsize(name) // 2))
    ended = in_child(f"fit {name} -k 5 --quiet --out out", cut)
    if ending == "npy":  # which is mapped
        failed_in_one_line(ended, name, "cut short")
        assert everything(folder) == [name]
    else:
        assert ended.code == 0


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
