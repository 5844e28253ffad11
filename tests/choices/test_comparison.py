"""`compare`: several methods on the same rows."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

import coterie
from coterie.choices.advice import advise
from coterie.choices.comparison import _sample_ids
from coterie.choices.criteria import CRITERIA, common_graph, criteria_of
from coterie.choices.stability import half_pairs, interval_of, pair_agreement
from coterie.choices.trials import Fitted, Trial
from coterie.estimators import find_method
from coterie.metrics import quantization_error


@pytest.fixture(scope="module")
def blobs():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], 60)
    return random.normal(10.0 * np.eye(3)[classes], 1), classes


def test_clear_clusters_are_found_by_all_and_the_fastest_is_advised(blobs):
    X, classes = blobs
    found = coterie.compare(
        X, 3, methods=["k-means", "gmm", "laplacian-kmodes"], labels=classes, random_state=0
    )
    assert [record["method"] for record in found.records] == ["k-means", "gmm", "laplacian-kmodes"]
    assert found.agreement.min() > 0.9
    assert found.reasons[0].startswith(f"Take {found.recommended}: all find the same clusters")
    for record in found.records:
        assert record["accuracy"] > 0.95
        assert record["stability_low"] <= record["stability"] <= record["stability_high"]
        assert (record["clusters"], record["clusters_lost"]) == (3, 0)
    assert found.models["k-means"].n_clusters == 3


def test_classes_may_have_names_and_be_unknown(blobs):
    X, classes = blobs
    names = np.array(["a", "b", "c"], dtype=object)[classes]
    names[::5] = None
    by_name = coterie.compare(X, 3, methods=["k-means"], labels=names, random_state=0, n_threads=1).records[0]
    numbers = np.where(np.arange(180) % 5 == 0, -1, classes)
    by_number = coterie.compare(
        X, 3, methods=["k-means"], labels=numbers, random_state=0, n_threads=1
    ).records[0]
    assert by_name["accuracy"] == by_number["accuracy"] > 0.95


def test_rows_without_clusters_prefer_no_method():
    X = np.random.RandomState(1).uniform(size=(150, 6))
    found = coterie.compare(X, 12, methods=["k-means", "gmm"], random_state=0, n_threads=1)
    assert found.recommended is None
    assert found.reasons[0].startswith("The data prefer no method")


def test_what_suits_is_compared_and_what_does_not_is_named(blobs):
    pytest.importorskip("pyarrow")
    found = coterie.compare(blobs[0], 3, sample_size=60, budget=20.0, random_state=0, n_threads=1)
    names = [record["method"] for record in found.records]
    assert {"k-means", "gmm", "laplacian-kmodes", "total-variation"} <= set(names)
    assert any(line.startswith("nested: it is k-means by batches") for line in found.left_out)
    assert len(found.sample_ids) == 60
    assert found.table().num_rows == len(names)
    assert "stability" in str(found)


def test_a_budget_that_is_over_leaves_one_fit_each_and_says_so(blobs):
    found = coterie.compare(blobs[0], 3, methods=["k-means", "gmm"], budget=1e-9, random_state=0, n_threads=1)
    assert len(found.records) == 2
    assert all(record["stability"] is None for record in found.records)
    assert found.left_out == ("k-means, gmm: the budget ended after 1 of 3 seeds and 0 of 4 pairs of halves",)


def trial(name, labels, seconds=1.0, was_cut=False, agreements=(0.9, 0.95)):
    told = ("max_time=1 s was reached",) if was_cut else ()
    fitted = Fitted(None, np.array(labels), seconds, None, told)
    made = Trial(replace(find_method(name), objective=None), {}, agreements=list(agreements))
    made.fits.append(fitted)
    return made


SAME = {name: dict.fromkeys(CRITERIA, 1.0) for name in ("k-means", "gmm", "nested")}


def test_what_was_cut_off_is_not_called_worse():
    trials = [
        trial("k-means", [0, 1]),
        trial("gmm", [0, 0], was_cut=True),
        trial("nested", [0, 1], was_cut=True),
    ]
    name, reasons = advise(trials, np.ones((3, 3)), SAME, 2)
    assert name is None
    assert reasons[0].startswith(
        "The budget is too short to say which method to take: 2 of 3 methods were cut off"
    )
    assert "gmm is not advised: its time was over before it was done." in reasons


@pytest.mark.parametrize(("stability", "named"), [((0.7, 0.8), True), ((0.1, 0.2), False)])
def test_what_was_cut_off_may_be_ahead_already(stability, named):
    trials = [
        trial("k-means", [0, 1], agreements=(0.3, 0.4)),
        trial("nested", [0, 1], agreements=(0.2, 0.3)),
        trial("gmm", [0, 1], was_cut=True, agreements=stability),
    ]
    name, reasons = advise(trials, np.ones((3, 3)), SAME, 2)
    assert name is None
    assert ("gmm was cut off before it was done, and finds its clusters again best" in reasons[0]) == named
    assert ("none clearly finds its clusters again" in reasons[0]) != named


def test_agreement_is_told_of_those_that_agree():
    trials = [trial("k-means", [0, 1]), trial("gmm", [0, 0]), trial("nested", [0, 1], seconds=0.5)]
    name, reasons = advise(trials, np.ones((3, 3)), SAME, 2)
    assert name == "nested"
    assert reasons[0].startswith("Take nested: the other 2 find the same clusters")
    assert "gmm is not advised: it lost 1 of 2 clusters." in reasons
    name, reasons = advise(trials[:2], np.ones((2, 2)), SAME, 2)
    assert (name, reasons[0]) == ("k-means", "Take k-means: it is the only method that found 2 clusters.")


def test_a_short_budget_takes_fewer_rows():
    rows = coterie.as_rows(np.zeros((30_000, 1)))
    sizes = [
        len(_sample_ids(rows, 3, None, budget, np.random.RandomState(0))) for budget in (None, 600, 150, 10)
    ]
    assert sizes == [20_000, 20_000, 10_000, 4_000]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 100}, "cannot be compared"),
        ({"n_clusters": 3, "methods": ["unknown"]}, "unknown"),
        ({"n_clusters": 3, "budget": 0}, "budget"),
        ({"n_clusters": 3, "labels": [1, 2]}, "one for each row"),
        ({"n_clusters": 3, "labels": [-1] * 180}, "no class that is known"),
    ],
)
def test_wrong_arguments(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        coterie.compare(blobs[0], **arguments)


def test_criteria_are_what_they_are_called(blobs):
    X, classes = blobs
    graph = common_graph(X, np.random.RandomState(0), 1)
    found = criteria_of(X, classes, graph)
    means = np.array([X[classes == label].mean(axis=0) for label in range(3)])
    assert found["quantization_error"] == pytest.approx(quantization_error(X, means))
    assert found["balanced_cut"] == coterie.metrics.balanced_cut(graph, classes)
    # The simplified silhouette is near the whole one where clusters are round.
    assert found["silhouette"] == pytest.approx(silhouette_samples(X, classes).mean(), abs=0.1)
    mixed = criteria_of(X, np.random.RandomState(0).permutation(classes), graph)
    assert mixed["normalized_cut"] > 1 > found["normalized_cut"]


def test_halves_share_a_half_and_agree_with_themselves():
    (pair,) = half_pairs(1000, 1, np.random.RandomState(0))
    assert [len(half) for half in pair] == [500, 500]
    assert 200 < len(np.intersect1d(*pair)) < 300
    assert pair_agreement(pair, lambda half: half % 7) == 1.0
    labels = iter(np.random.RandomState(0).randint(3, size=(2, 500)))
    assert abs(pair_agreement(pair, lambda half: next(labels))) < 0.1


def test_an_interval_holds_its_mean_and_narrows():
    wide, narrow = interval_of([0.0, 1.0]), interval_of([0.0, 1.0] * 10)
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high
    assert interval_of([0.7]) == (0.7, 0.7, 0.7)
    assert interval_of([0.0, 1.0], -0.5, 1.0) == (0.5, -0.5, 1.0)
