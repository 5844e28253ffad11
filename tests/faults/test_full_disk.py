"""Disks without room: one line that names the file, and nothing left behind."""

import resource
from functools import partial

import pytest

from tests.cli.running import everything
from tests.faults.children import failed_in_one_line, in_child


def files_of_at_most(n_bytes):
    """From now on a longer file is what a full disk is: writing fails half-way."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def test_every_method(folder, command):
    before = everything(folder)
    ended = in_child(command, partial(files_of_at_most, 4_000))
    failed_in_one_line(
        ended, "error: out", "so it was not written. Free some space, or write to another disk\n"
    )
    assert everything(folder) == before


@pytest.mark.parametrize("n_bytes", [0, 20_000, 60_000])
def test_an_older_result_stays_whole(folder, rows, n_bytes):
    """What fails is a model of many centroids, or the labels, or the summary."""
    fit = f"fit {rows} -p max_iter=2 --quiet --out out -k"
    assert in_child(f"{fit} 3").code == 0
    before = contents(folder)
    ended = in_child(f"{fit} 1500", partial(files_of_at_most, n_bytes))
    failed_in_one_line(ended)
    assert contents(folder) == before


@pytest.mark.parametrize("results", ["npy", "parquet", "csv"])
def test_predict(folder, rows, results):
    assert in_child(f"fit {rows} -k 3 --quiet --out out").code == 0
    before = everything(folder)
    ended = in_child(
        f"predict out/model.coterie {rows} --quiet --out found.{results}", partial(files_of_at_most, 500)
    )
    failed_in_one_line(ended)
    assert everything(folder) == before


def contents(folder):
    return {name: (folder / name).read_bytes() for name in everything(folder) if (folder / name).is_file()}
