"""What the papers' figures and tables are made of: rows, and what is read off curves."""

import numpy as np
import pytest

from benchmarks.convex.paper import (
    ISSUES,
    SENATORS,
    five_clusters,
    iris,
    mammals,
    senate_as_published,
    senate_subsets,
    two_moons,
)
from benchmarks.harness.data.tables import SPLITS
from benchmarks.nested.contenders import CURVES, RHOS, SCULLEY, SETTINGS, RunningMeans, setting_name
from benchmarks.nested.curves import RowCurves
from benchmarks.nested.paper import CONTENDERS, PAPER_ROWS


@pytest.fixture(scope="module")
def subsets():
    return senate_subsets()


def test_senators_of_each_party_are_as_many_as_published(subsets):
    """15 Democrats, 1 Independent and 13 Republicans, no two of whom voted alike; Zell Miller among them."""
    assert len(subsets) == 23
    for issues in subsets:
        known = senate_as_published(issues)
        assert known.rows.shape == (SENATORS, ISSUES)
        assert set(np.unique(known.rows)) == {0, 1}
        assert len(np.unique(known.rows, axis=0)) == SENATORS
        np.testing.assert_array_equal(np.bincount(known.classes), [15, 1, 13])
        assert "Miller" in known.names.values()


@pytest.mark.parametrize(
    ("make", "shape", "sizes"),
    [
        (two_moons, (200, 2), [100, 100]),
        (five_clusters, (100, 2), [20] * 5),
        (iris, (150, 4), [50, 50, 50]),
        (mammals, (27, 8), None),
    ],
)
def test_rows_of_figures(make, shape, sizes):
    known = make()
    assert known.rows.shape == shape
    assert (known.classes is None) == (sizes is None)
    if sizes:
        np.testing.assert_array_equal(np.bincount(known.classes), sizes)
        assert len(known.class_names) == len(sizes)


def test_excess_at_a_time():
    """That of the last point by then; before the first point that of the first."""
    curves = RowCurves("", {"fast": [[(0.1, 12.0), (0.5, 11.0), (2.0, 10.0)]], "slow": [[(1.0, 15.0)]]})
    assert curves.excess_at("fast", 0.05) == [pytest.approx(0.2)]
    assert curves.excess_at("fast", 0.5) == [pytest.approx(0.1)]
    assert curves.excess_at("fast", 9.0) == [pytest.approx(0.0)]
    assert curves.excess_at("slow", 0.2) == curves.excess_at("slow", 2.0) == [pytest.approx(0.5)]


def test_contenders_match_their_names():
    assert CURVES[SCULLEY].call.keywords == {"make": RunningMeans}
    assert set(CONTENDERS) <= set(CURVES)
    assert len(SETTINGS) == 2 * len(RHOS)
    for bounds in ("auto", "off"):
        for rho in RHOS:
            assert SETTINGS[setting_name(rho, bounds)].call.keywords == {
                "doubling_threshold": rho,
                "bounds": bounds,
            }
    assert {row.data for row in PAPER_ROWS.values()} <= set(SPLITS)
