"""Fits and predictions at the same time, in threads and in processes, have the bits of one thread on its own.

`COTERIE_FAULTS=50` repeats each test so often.
"""

import json
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import cycle

import numpy as np
import pytest

from coterie.cli import main
from tests.cli.running import everything
from tests.faults.children import in_child
from tests.support.bits import same_bits, same_fits
from tests.support.estimators import CASES
from tests.support.processes import ended, forks, started

pytestmark = pytest.mark.filterwarnings("ignore")

ROUNDS = int(os.environ.get("COTERIE_FAULTS", 1))

# One of each class.
ESTIMATORS = {case.estimator: case for case in reversed(CASES)}
NAMES = [case.name for case in ESTIMATORS.values()] * ROUNDS

FILES = ("clusters.csv", "labels.npy", "model.coterie", "summary.json")

# Attributes of paths that are computed when they are asked for, also by pickle.
CACHED = ("linkage_", "centroids_path_")

METHODS = ("predict", "transform", "responsibilities", "score_samples")


def rows_of(case):
    return case.rows()[:300].astype(np.float32)


def fit(name, n_threads):
    """Return a new model; children by spawn import this function."""
    (case,) = (case for case in CASES if case.name == name)
    return case.make(n_threads=n_threads).fit(rows_of(case))


@cache
def alone(name):
    return fit(name, 1)


def check(models):
    """Fail unless there is a model of each name, with the bits of a fit on its own."""
    for name, model in zip(NAMES, models, strict=True):
        same_fits(model, alone(name), but=CACHED)


def answers(model, X):
    return [getattr(model, method)(X) for method in METHODS if hasattr(model, method)]


class TestThreads:
    def test_fit_models_of_their_own(self):
        with ThreadPoolExecutor(4) as pool:
            check(pool.map(fit, NAMES, cycle((1, 2, 3))))

    @pytest.mark.parametrize("case", ESTIMATORS.values(), ids=lambda case: case.name)
    def test_share_a_fitted_model(self, case):
        X, model = rows_of(case), fit(case.name, 2)
        expected = answers(alone(case.name), X)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: answers(model, X), range(8 * ROUNDS)):
                same_bits(found, expected)


@forks
class TestProcesses:
    @pytest.mark.parametrize("kind", ["fork", "spawn"])
    def test_fit_and_predict(self, kind):
        """The threads of the parent exist, also those of OpenMP; models go over and come back."""
        models = [fit(name, 3) for name in NAMES]
        with multiprocessing.get_context(kind).Pool(2 if kind == "fork" else 1) as pool:
            check(pool.starmap(fit, zip(NAMES, cycle((1, 2, 3))), chunksize=1))
            inputs = [(model, rows_of(ESTIMATORS[type(model)])) for model in models]
            for found, given in zip(pool.starmap(answers, inputs, chunksize=1), inputs, strict=True):
                same_bits(found, answers(*given))

    def test_fork_while_threads_fit(self):
        expected = alone("k-means-lloyd").labels_
        is_over = threading.Event()

        def fit_until_over():
            while not is_over.is_set():
                fit("k-means-lloyd", 3)

        def fit_once():
            same_bits(fit("k-means-lloyd", 3).labels_, expected)

        with ThreadPoolExecutor(2) as pool:
            fits = [pool.submit(fit_until_over) for _ in range(2)]
            try:
                children = [started(fit_once) for _ in range(5 * ROUNDS)]
                assert [ended(child) for child in children] == [0] * len(children)
            finally:
                is_over.set()
            for fitted in fits:
                fitted.result()

    def test_write_the_same_run_folder(self, folder, rows):
        """Each run is whole or refused in one line; a reader finds one whole run at any time."""

        def run(k):
            return in_child(f"fit {rows} -k {k} -p max_iter=3 --quiet --out out")

        def clusters(_):
            read = in_child("info out --json")
            assert read.code == 0, read
            return json.loads(read.out)["clusters"]

        assert run(2).code == 0
        counts = [3, 4, 5, 6] * 2 * ROUNDS
        with ThreadPoolExecutor(4) as writers, ThreadPoolExecutor(1) as reader:
            seen = reader.map(clusters, range(10 * ROUNDS))
            runs = list(writers.map(run, counts))
            seen = list(seen)
        for one in runs:
            refused = "coterie: error: Another run writes to out ("
            is_refused = one.code == 2 and one.err.startswith(refused) and one.err.count("\n") == 1
            assert one.code == 0 or is_refused, one
        assert set(seen) <= {2, *counts}
        assert clusters(0) in {k for k, one in zip(counts, runs) if one.code == 0}
        assert main(["verify", "out", "--quiet"]) == 0
        assert everything(folder) == sorted([rows, "out", *(f"out/{name}" for name in FILES)])
