"""The table of speeds names our seconds first, and beside them the fastest of the others."""

import pytest

from benchmarks.harness.contenders import is_peer
from benchmarks.speed.__main__ import ROWS, cells_of_others, run_small

SECONDS = {"coterie auto": 1.0, "coterie lloyd": 4.0, "coterie elkan": 2.0, "faiss": 3.0, "superkmeans": 2.5}


@pytest.mark.parametrize("key", ROWS)
def test_the_first_contender_is_ours(key):
    assert not is_peer(ROWS[key].ours)


def test_table_has_the_fastest_package_and_our_best_fixed_setting():
    summaries = {
        name: {
            "seconds": s,
            "seconds_min": s,
            "seconds_max": s,
            "runs": 1,
            "disturbed": 0,
            "inertia": 100 + s,
        }
        for name, s in SECONDS.items()
    }
    names, seconds, inertias = cells_of_others(ROWS["k-means-b"], summaries)
    assert names == "superkmeans; coterie elkan"
    assert seconds == "2.50; 2.00"
    assert inertias == "+1.49%; +0.99%"


def test_small_work_is_timed_by_itself():
    found = run_small("coterie", "predict", 0, 1, repeats=3)
    assert 0 < found["seconds"] < 1
