"""A clock that jumps by hours, forwards and backwards: only the time that passes counts."""

import itertools
import time
from unittest import mock

import numpy as np

from tests.faults.children import in_child
from tests.faults.conftest import METHODS

HOURS = 3_600.0


def jump():
    """Let the clock on the wall jump at each look, 6 hours in each direction and further each time."""
    began, looks = time.time(), itertools.count()

    def jumping():
        look = next(looks)
        return began + (-1) ** look * 6 * HOURS * (1 + look % 5)

    mock.patch.object(time, "time", jumping).start()
    mock.patch.object(time, "time_ns", side_effect=lambda: int(jumping() * 1e9)).start()


def test_deadline_not_reached(folder, rows):
    fit = METHODS["k-means"].format(file=rows) + " --quiet --max-time 1000"
    assert in_child(f"{fit} --out calm").code == 0
    ended = in_child(f"{fit} --out jumping", jump)
    assert ended.code == 0, ended
    np.testing.assert_array_equal(np.load("calm/labels.npy"), np.load("jumping/labels.npy"))


def test_deadline_reached(folder, rows):
    """However the clock is turned back: else a thousand million iterations would not end."""
    fit = f"fit {rows} -k 300 -p tol=0 -p max_iter=1000000000 --method gmm --quiet --max-time 0.5 --out out"
    assert in_child(fit, jump).code == 0
