"""Models through lives of fits, streams, files, copies and starts from others: what holds after each step.

`COTERIE_DRAWS=1000 pytest tests/contracts/test_state_machines.py` draws a tenth of that many longer ones at random.
"""

import os
import pickle
import tempfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone

import coterie
from coterie.estimators.persistence import first_non_finite
from tests.support.bits import same_bits, same_fits
from tests.support.errors import tried

pytestmark = pytest.mark.filterwarnings("ignore")

DRAWS = int(os.environ.get("COTERIE_DRAWS", 0))

N_COLUMNS = 3
SEEDS = st.integers(0, 50)


def rows_of(seed, n_rows=24):
    """Return rows in a few heaps, without ties."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, N_COLUMNS)) + 8.0 * random.integers(4, size=(n_rows, 1))


def through_a_file(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.coterie"
        model.save(path)
        return coterie.load(path)


class Life(RuleBasedStateMachine):
    """A model, and a twin that lives the same life without ever being saved, copied or wronged."""

    estimator = coterie.KMeans
    parameters: ClassVar = {"max_iter": 5}
    count = "n_clusters"
    streams = False

    @initialize(k=st.integers(2, 4), seed=st.integers(0, 3))
    def begin(self, k, seed):
        made = (
            self.estimator(random_state=seed, n_threads=1, **{self.count: k}, **self.parameters)
            for _ in range(2)
        )
        self.model, self.twin = made
        self.last = None

    # --- what both live through ----------------------------------------------------------------------------------

    @rule(seed=SEEDS)
    def fit(self, seed):
        self.last = rows_of(seed)
        assert self.model.fit(self.last) is self.model
        self.twin.fit(self.last)

    @precondition(lambda self: self.streams)
    @rule(seed=SEEDS, weighted=st.booleans())
    def partial_fit(self, seed, weighted):
        if tried(self.twin.__class__._check_continuation, self.twin)[1]:
            return
        rows = rows_of(seed)
        weights = np.random.default_rng(seed).uniform(0.5, 2, 24) if weighted else None
        before = self.twin.counts_.sum() if self.is_fitted() else 0.0
        for model in (self.model, self.twin):
            model.partial_fit(rows, sample_weight=weights)
        self.last = rows
        self.check_counts(before, 24.0 if weights is None else float(weights.sum()))

    def check_counts(self, before, added):
        """Each row of a stream counts once, by its weight."""
        np.testing.assert_allclose(self.model.counts_.sum(), before + added)

    @rule(k=st.integers(2, 5))
    def another_number_of_clusters(self, k):
        for model in (self.model, self.twin):
            model.set_params(**{self.count: k})

    @precondition(lambda self: self.is_fitted())
    @rule(seed=SEEDS)
    def begin_from_a_fitted_model(self, seed):
        k = len(self.twin.cluster_centers_)
        begun = [self.begun_from(model, k).fit(rows_of(seed)) for model in (self.model, self.twin)]
        same_fits(*begun)

    def begun_from(self, model, k):
        parameters = {**model.get_params(), self.count: k, "init": model}
        return self.estimator(**{**parameters, **({"n_init": 1} if "n_init" in parameters else {})})

    # --- what only one of them lives through ---------------------------------------------------------------------

    @rule()
    def save_and_load(self):
        self.model = through_a_file(self.model)

    @rule()
    def pickle(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    @rule()
    def clone(self):
        copy = clone(self.model)
        assert copy.get_params() == self.model.get_params()
        assert not hasattr(copy, "labels_")

    @precondition(lambda self: self.is_fitted())
    @rule(wrong=st.sampled_from(["nan", "columns", "weights", "huge", "few", "empty"]), method=st.booleans())
    def a_call_that_fails(self, wrong, method):
        rows, weights = rows_of(0), None
        if wrong == "nan":
            rows[-1, -1] = np.nan
        elif wrong == "huge":
            rows *= 1e200
        elif wrong == "columns" and method and self.streams:
            rows = rows[:, :2]
        elif wrong == "empty":
            rows = rows[:0]
        elif wrong == "few" and not (method and self.streams):
            rows = rows[:1]
        else:
            weights = np.full(24, -1.0)
        before = dict(vars(self.model))
        call = self.model.partial_fit if method and self.streams else self.model.fit
        assert tried(call, rows, sample_weight=weights)[1]
        assert vars(self.model).keys() == before.keys()

    @precondition(lambda self: self.is_fitted())
    @rule(seed=SEEDS, iteration=st.integers(1, 3))
    def a_fit_that_is_interrupted(self, seed, iteration):
        """It leaves the model as it was, unless it ends before the interruption."""

        def interrupt(progress):
            if progress.iteration == iteration:
                raise KeyboardInterrupt

        before = dict(vars(self.model))
        self.model.set_params(callback=interrupt)
        try:
            self.model.fit(rows_of(seed))
        except KeyboardInterrupt:
            self.model.set_params(callback=None)
            after = vars(self.model)
            assert after.keys() == before.keys()
            assert all(after[name] is value for name, value in before.items())
        else:
            self.model.set_params(callback=None)
            self.last = rows_of(seed)
            self.twin.fit(self.last)

    @precondition(lambda self: self.is_fitted())
    @rule(seed=SEEDS)
    def look(self, seed):
        """What only looks changes nothing."""
        rows = rows_of(seed, 9)
        for method in ("predict", "transform", "score", "score_samples", "responsibilities"):
            if hasattr(self.model, method):
                same_bits(getattr(self.model, method)(rows), getattr(self.twin, method)(rows), method)

    # --- what holds after each step ------------------------------------------------------------------------------

    def is_fitted(self):
        return self.last is not None

    @invariant()
    def is_its_twin(self):
        if not hasattr(self, "model") or not self.is_fitted():
            return
        same_fits(self.model, self.twin)
        same_bits(self.model.cluster_centers_, self.twin.cluster_centers_)
        same_bits(self.model.predict(self.last), self.twin.predict(self.last))
        assert first_non_finite(vars(self.model), self.model._fitted_attributes()) is None

    @invariant()
    def labels_are_those_of_the_nearest_centers(self):
        if not hasattr(self, "model") or not self.is_fitted():
            return
        self.check_labels(self.model.predict(self.last), self.last)

    def check_labels(self, labels, rows):
        centers = self.model.cluster_centers_
        squares = ((rows[:, None] - centers[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(squares[np.arange(len(rows)), labels], squares.min(axis=1), atol=1e-9)


class MiniBatchLife(Life):
    estimator = coterie.MiniBatchKMeans
    parameters: ClassVar = {"max_iter": 2, "batch_size": 10}
    streams = True

    def check_counts(self, before, added):
        assert np.all(self.model.counts_ > 0)  # of what centers remember


class NestedLife(Life):
    estimator = coterie.NestedMiniBatchKMeans
    parameters: ClassVar = {"max_iter": 6, "batch_size": 8}
    streams = True

    def check_counts(self, before, added):
        # The rounds of a batch may end before all of its rows are assigned.
        assert before - 1e-9 <= self.model.counts_.sum() <= before + added + 1e-9


class MixtureLife(Life):
    estimator = coterie.TruncatedGaussianMixture
    parameters: ClassVar = {"max_iter": 3}
    count = "n_components"


LIVES = [Life, MiniBatchLife, NestedLife, MixtureLife]


@pytest.mark.parametrize("life", LIVES, ids=[life.__name__ for life in LIVES])
def test_random_sequences_of_calls(life):
    machine = type(life.__name__, (life,), {})
    machine.TestCase.settings = settings(
        max_examples=DRAWS // 10 or 5, stateful_step_count=40 if DRAWS else 15, deadline=None, derandomize=not DRAWS,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    machine.TestCase().runTest()
