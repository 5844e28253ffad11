"""The records of methods, and their register."""

from dataclasses import replace
from typing import Annotated

import pytest
from sklearn.base import BaseEstimator

import coterie
from coterie import persistence
from coterie.estimators import (
    Method,
    find_method,
    method,
    method_of,
    methods,
    register_method,
    usual_method,
)
from coterie.estimators.parameters import Param


class Fixed(BaseEstimator):
    """An estimator of another package."""

    def __init__(self, n_clusters=2, color="red"):
        self.n_clusters = n_clusters
        self.color = color


def fixed(**flags):
    """Return an estimator with parameters of these flags."""

    class Flagged(Fixed):
        def __init__(self, n_clusters=2, color="red", n_init=1):
            super().__init__(n_clusters, color)
            self.n_init = n_init

    for name, flag in flags.items():
        Flagged.__init__.__annotations__[name] = Annotated[str, Param("What it is.", flag=flag)]
    return Flagged


@pytest.fixture(autouse=True)
def register(monkeypatch):
    """A register that a test may change."""
    monkeypatch.setattr(method, "_methods", dict(method._methods))
    monkeypatch.setattr(persistence, "_persistable", dict(persistence._persistable))


def names(of):
    return [method.name for method in of]


def test_records_match_their_estimators():
    """What a record names, the estimator has; and every estimator has a record."""
    for record in methods():
        known = record.estimator().get_params()
        if record.progress.limit is not None:
            assert record.progress.limit in known
        assert record.clusters is None or record.clusters in known
        assert record.page
        assert not record.summary.endswith(".")
    estimators = [value for value in vars(coterie).values() if isinstance(value, type)]
    described = {record.estimator for record in methods()}
    assert described == {value for value in estimators if issubclass(value, coterie.estimators.Estimator)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("record", methods(), ids=names(methods()))
def test_fitted_estimators_have_the_attributes_of_their_records(record):
    X, _ = coterie.datasets.load_iris()
    settings = {} if record.clusters is None else {record.clusters: 3}
    if "max_iter" in record.estimator().get_params():
        settings["max_iter"] = 3
    model = record.estimator(**settings).fit(X)
    assert record.objective is None or hasattr(model, record.objective.attribute)
    assert "callback" not in model.get_params() or len(model.history_) > 0
    pytest.importorskip("matplotlib")
    for draw in record.pictures.values():
        assert draw(model).figure is not None


def test_find():
    assert find_method("gmm").estimator is coterie.TruncatedGaussianMixture
    with pytest.raises(ValueError, match=r"'magic' is unknown\. Choose from: k-means, nested, mini-batch"):
        find_method("magic")
    with pytest.raises(ValueError, match=r"Choose from: gmm\."):
        find_method("k-means", [find_method("gmm")])


def test_record_of_an_estimator():
    class Mine(coterie.KMeans):
        """Nobody registered it."""

    assert method_of(coterie.MiniBatchKMeans()).name == "mini-batch"
    assert method_of(Mine()).name == "k-means"
    assert method_of(Fixed()) is None


@pytest.mark.parametrize(
    ("candidates", "n_rows", "usual"),
    [
        (["k-means", "nested"], 100_000, "k-means"),
        (["k-means", "nested"], 100_001, "nested"),
        (["nested"], 5, "nested"),
        (["gmm"], 5, "gmm"),
    ],
)
def test_usual_method(candidates, n_rows, usual):
    assert usual_method(map(find_method, candidates), n_rows).name == usual


def test_name_of_the_reported_objective():
    assert find_method("gmm").watched.name == "free energy"
    assert find_method("total-variation").watched.name == "relaxed cut"
    assert Method("fixed", Fixed, "nothing").watched.name == "objective"


def test_methods_without_sparse_rows():
    assert names(record for record in methods() if not record.takes_sparse) == [
        "gmm", "density", "convex-path", "convex-clustering",
    ]  # fmt: skip


def test_register(tmp_path):
    pytest.importorskip("skops")
    with pytest.raises(TypeError, match="registered"):
        persistence.save(Fixed(), tmp_path / "m.coterie")
    record = Method("fixed", Fixed, "nothing")
    assert register_method(record) is record
    assert methods()[-1] is find_method("fixed") is record
    persistence.save(Fixed(3), tmp_path / "m.coterie")
    assert coterie.load(tmp_path / "m.coterie").n_clusters == 3
    newer = replace(record, summary="less")
    register_method(newer)
    assert names(methods()).count("fixed") == 1
    assert find_method("fixed") is newer


def test_a_parameter_has_one_flag():
    record = Method("seeded", fixed(n_init="--starts"), "nothing")
    with pytest.raises(
        ValueError, match="--starts cannot be the option of n_init: in k-means --n-init is that of n_init"
    ):
        register_method(record)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "k-means"}, "a method 'k-means' already"),
        ({"clusters": "n_heaps"}, "a parameter 'n_heaps' that Fixed does not have"),
        ({"estimator": fixed(color="--metric")}, "--metric cannot be the option of color: in k-means"),
        ({"estimator": fixed(color="--out")}, "--out cannot be an option"),
        ({"estimator": fixed(color="color")}, "color cannot be an option"),
        ({"estimator": type("KMeans", (Fixed,), {})}, "KMeans has the same name as coterie"),
    ],
)
def test_wrong_records(changes, message):
    before = methods()
    with pytest.raises(ValueError, match=message):
        register_method(replace(Method("fixed", Fixed, "nothing"), **changes))
    assert methods() == before
