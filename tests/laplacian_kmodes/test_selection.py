"""Which of the runs of a fit is kept."""

from dataclasses import dataclass

import numpy as np
import pytest

from coterie.laplacian_kmodes import selection
from coterie.laplacian_kmodes.selection import AlikeByCut, FirstByRank


@dataclass(frozen=True)
class FoundRun:
    """A run, of which only this is known."""

    n_empty: int
    demerit: float
    cut: float
    discrete: float = 0.0
    labels: None = None


class Problem:
    connected_graph = main_rows = n_clusters = None


@pytest.fixture
def by_cut(monkeypatch):
    def make(runs):
        found = AlikeByCut(Problem())
        for run in runs:
            monkeypatch.setattr(selection, "demerit", lambda *_, run=run: run.demerit)
            monkeypatch.setattr(selection, "normalized_cut", lambda *_, run=run: run.cut)
            found.add(run)
        return found

    return make


def test_the_lowest_rank_the_first_of_equal_ones():
    runs = [(3, "a"), (1, "b"), (1, "c"), (2, "d")]
    found = FirstByRank(lambda run: run[0])
    for run in runs:
        found.add(run)
    assert found.best == (1, "b")


def test_of_those_that_are_alike_the_one_that_cuts_clearly_less(by_cut):
    runs = [FoundRun(0, 5.08, 0.1), FoundRun(0, 5.0, 0.3), FoundRun(0, 5.25, 0.05), FoundRun(1, 1.0, 0.0)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 2, 0]):
        assert by_cut([runs[place] for place in order]).best is runs[0]
    assert by_cut([FoundRun(0, 5.08, 0.29), first := FoundRun(0, 5.0, 0.3)]).best is first


def test_as_if_all_were_compared_in_the_end(by_cut):
    random = np.random.default_rng(0)
    for _ in range(50):
        runs = [
            FoundRun(int(n_empty), float(demerit), float(cut))
            for n_empty, demerit, cut in zip(random.integers(2, size=8), random.random(8), random.random(8))
        ]
        fewest = [run for run in runs if run.n_empty == min(other.n_empty for other in runs)]
        lowest = min(run.demerit for run in fewest)
        least = min((run for run in fewest if run.demerit <= lowest + 0.1), key=lambda run: run.cut)
        first = min(fewest, key=lambda run: run.demerit)
        assert by_cut(runs).best is (least if least.cut < 0.75 * first.cut else first)


def test_few_runs_are_held(by_cut):
    """Their memberships are large, and many starts end alike."""
    assert len(by_cut([FoundRun(0, 5.0, 0.3)] * 9)._judged) == 1
    assert len(by_cut([FoundRun(0, 9.0, 0.1), FoundRun(0, 5.0, 0.3), FoundRun(0, 5.09, 0.2)])._judged) == 2
    assert len(by_cut([FoundRun(0, 5.1, 0.4), FoundRun(0, 5.0, 0.3)])._judged) == 1
