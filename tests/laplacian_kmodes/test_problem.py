"""Runs of Laplacian K-modes, and which of them is the best."""

import numpy as np

from coterie.laplacian_kmodes.modes import Modes
from coterie.laplacian_kmodes.problem import Run


def test_runs_that_leave_no_cluster_empty_come_first():
    labels = np.array([0, 0, 1], dtype=np.int32)
    modes = Modes(np.zeros((2, 1)), np.zeros(2, dtype=np.int64))

    def run(discrete, labels):
        return Run(discrete, 0.0, labels, np.zeros((3, 2)), modes, False, True, np.zeros(0))

    ranked = sorted([run(-3, labels * 0), run(-1, labels), run(-2, labels)], key=lambda run: run.rank)
    assert [run.discrete for run in ranked] == [-2, -1, -3]
