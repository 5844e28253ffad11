"""What a fit tells while it runs, how it is stopped, and what it tells afterwards."""

import gc
import weakref

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.support.bits import same_bits
from tests.support.estimators import every_case, every_estimator


def iterates(case):
    return case.iterates


lenient = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def is_usable(model, case):
    """Whether what was found by the end of a short fit is whole."""
    X = case.rows()
    if hasattr(model, "predict"):
        labels = model.predict(X)
        assert labels.shape == (len(X),)
        if case.reads_blocks and case.predicts_labels:
            same_bits(labels, model.labels_)
    return getattr(model, case.labels).shape[-1] == len(X)


@lenient
@every_case(iterates)
def test_callback_and_history_see_each_iteration(case):
    seen, centers = [], []

    def callback(progress):
        seen.append(progress)
        centers.append(np.array(progress.centers))

    model = case.make(callback=callback).fit(case.rows())
    runs = np.split(seen, np.flatnonzero([progress.iteration == 1 for progress in seen])[1:])
    for run in runs:
        assert [progress.iteration for progress in run] == list(range(1, len(run) + 1))
    assert (len(runs) > 1) <= case.begins_again
    assert np.all(np.diff([progress.seconds for progress in seen]) >= 0)
    assert all(progress.remaining is None or progress.remaining >= 0 for progress in seen)
    with pytest.raises(ValueError, match="read-only"):
        seen[0].centers[0] = 0
    if case.centers is not None:
        same_bits(centers[-1], getattr(model, case.centers))
        assert not np.array_equal(centers[0], centers[-1])
    history = model.history_
    assert history.objective.tolist() in [[progress.objective for progress in run] for run in runs]
    assert isinstance(history, np.recarray)
    assert history.dtype.names[:3] == ("iteration", "seconds", "objective")
    same_bits(history.iteration, np.arange(1, len(history) + 1))
    assert np.all(np.diff(history.seconds, prepend=0) >= 0)
    assert np.all(np.isfinite(history.objective))


@lenient
@every_case(iterates)
def test_a_callback_stops_the_fit(case):
    seen = []

    def callback(progress):
        seen.append(progress)
        return len(seen) == 2

    model = case.make(callback=callback).fit(case.rows())
    assert len(seen) == 2
    assert len(model.history_) == 2 or case.begins_again
    assert is_usable(model, case)


@every_case(iterates)
def test_fit_warns_if_out_of_time(case):
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = case.make(max_time=1e-9, tol=0).fit(case.rows())
    assert len(model.history_) == 1
    assert is_usable(model, case)


@every_case(iterates)
def test_an_interrupted_fit_leaves_nothing(case):
    def callback(progress):
        raise KeyboardInterrupt

    model = case.make(callback=callback)
    with pytest.raises(KeyboardInterrupt):
        model.fit(case.rows())
    assert not hasattr(model, case.labels)


@lenient
@every_estimator(iterates)
def test_a_line_for_each_iteration_on_request(case, capsys):
    model = case.make(verbose=1).fit(case.rows())
    n_lines = len(capsys.readouterr().out.splitlines())
    assert n_lines >= len(model.history_)
    assert n_lines == len(model.history_) or case.begins_again


@pytest.mark.filterwarnings("error")
@every_estimator()
def test_no_output_without_verbose(case, capsys):
    case.make().fit(case.rows())
    assert capsys.readouterr() == ("", "")


class Counter:
    """A callback of scikit-learn's own kind that notes what has ended."""

    def __init__(self):
        self.ends = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ends.append(context.task_name)


@lenient
@every_estimator(iterates)
def test_callbacks_of_scikit_learn(case):
    pytest.importorskip("sklearn.callback")
    counter = Counter()
    model = case.make().set_callbacks(counter).fit(case.rows())
    *iterations, last = counter.ends
    assert last == "fit"
    assert set(iterations) == {"iteration"}
    assert len(iterations) >= len(model.history_)
    assert len(iterations) == len(model.history_) or case.begins_again


@every_estimator()
def test_rows_are_freed_with_the_model(case):
    """No reference cycle waits for the collector of garbage: rows, their copies and bounds are large."""
    model, X = case.make(), case.rows().copy()
    rows = weakref.ref(X)
    gc.disable()
    try:
        model.fit(X)
        del model, X
        assert rows() is None
    finally:
        gc.enable()
