"""The table of speeds shows our seconds, and beside them scikit-learn and the fastest of the others."""

import pytest

from benchmarks.harness.contenders import is_peer
from benchmarks.speed import ROWS, cells_of, run_small

SECONDS = {"coterie auto": 1.0, "scikit-learn lloyd": 4.0, "faiss": 3.0, "superkmeans": 2.5}


@pytest.mark.parametrize("key", ROWS)
def test_the_first_contender_is_ours(key):
    assert not is_peer(ROWS[key].ours)


def test_table_has_the_fastest_package():
    summaries = {
        name: {"seconds": s, "runs": 1, "disturbed": 0, "inertia": 100 + s} for name, s in SECONDS.items()
    }
    row = ROWS["centers-blobs"]
    assert cells_of(row, summaries) == ["**1**", "4", "-", "2.5", "superkmeans", "+1.5%"]


@pytest.mark.parametrize("kind", ["predict", "first"])
def test_small_work_is_timed_by_itself(kind):
    found = run_small("coterie", kind, 0, 1, repeats=3)
    assert 0 < found["seconds"] < 1
