"""The comparison of builds runs a case with the build that it is given."""

from pathlib import Path

import pytest

import coterie
from benchmarks.compilers.__main__ import run

SOURCES = Path(coterie.__file__).parents[1]


@pytest.mark.slow
def test_two_runs_of_one_build_are_bit_identical():
    (seconds, bits), (_, again) = run("convex", SOURCES), run("convex", SOURCES)
    assert seconds > 0
    assert bits == again


def test_a_folder_without_a_build_ends_with_its_name(tmp_path):
    (tmp_path / "coterie.py").write_text("raise ImportError('nothing here')")
    with pytest.raises(SystemExit, match=f"convex with {tmp_path} failed"):
        run("convex", tmp_path)
