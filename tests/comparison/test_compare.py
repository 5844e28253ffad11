"""`compare`: several methods on the same rows."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.comparison.compare import (
    CRITERIA,
    _affordable_rows,
    _chance,
    _Clock,
    _Fit,
    _information,
    _neighbor_likelihood,
    _random_partition,
    _recommendation,
    _scores,
)
from coterie.estimators import find_method


@pytest.fixture(scope="module")
def blobs():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], 60)
    return random.normal(10.0 * np.eye(3)[classes], 1), classes


def test_methods_that_find_the_same_clusters(blobs):
    X, classes = blobs
    names = ["k-means", "gmm", "laplacian-kmodes"]
    found = coterie.compare(X, 3, methods=names, labels=classes, random_state=0)
    assert [record["method"] for record in found.records] == names
    assert found.agreement.min() > 0.9
    assert (found.recommended, found.confidence) == ("k-means", "clear")
    assert found.reasons == ("Take k-means: k-means, gmm, laplacian-kmodes find the same clusters.",)
    for record in found.records:
        assert record["accuracy"] > 0.95
        assert record["neighbors"] > 0.1
        assert (record["clusters"], record["clusters_lost"]) == (3, 0)
    assert found.best_model_.n_clusters == found.models["k-means"].n_clusters == 3


def test_recommends_the_method_that_separates_moons():
    from sklearn.datasets import make_moons

    X, classes = make_moons(600, noise=0.05, random_state=0)
    found = coterie.compare(
        X, 2, methods=["k-means", "gmm", "total-variation"], labels=classes, random_state=0, n_threads=1
    )
    scores = {record["method"]: record["score"] for record in found.records}
    assert max(scores, key=scores.get) == "total-variation"
    assert found.best_model_ is found.models["total-variation"]
    assert {record["method"]: record["accuracy"] for record in found.records}["total-variation"] > 0.98


def test_known_classes_may_have_names_and_be_unknown(blobs):
    X, classes = blobs
    names = np.array(["a", "b", "c"], dtype=object)[classes]
    names[::5] = None
    numbers = np.where(np.arange(180) % 5 == 0, -1, classes)
    by_name, by_number = (
        coterie.compare(X, 3, methods=["k-means"], labels=labels, random_state=0, n_threads=1)
        for labels in (names, numbers)
    )
    assert by_name.records[0]["accuracy"] == by_number.records[0]["accuracy"] > 0.95
    assert by_name.recommended is None


def test_methods_that_do_not_suit_are_listed(blobs):
    pytest.importorskip("pyarrow")
    found = coterie.compare(blobs[0], 3, sample_size=60, random_state=0, n_threads=1)
    names = [record["method"] for record in found.records]
    assert {"k-means", "gmm", "laplacian-kmodes", "total-variation"} <= set(names)
    assert "nested: has the objective of k-means; name it to include it" in found.left_out
    assert len(found.sample_ids) == 60
    assert found.table().num_rows == len(names)
    assert "score" in str(found)


@pytest.mark.parametrize(("left", "expected"), [(1e9, 20_000), (4.0, 1_000), (40.0, 5_900)])
def test_a_budget_limits_the_rows(left, expected):
    clock, fits = SimpleNamespace(left=left), [fake_fit("k-means", A), fake_fit("gmm", A)]
    assert _affordable_rows(fits, 1_000, 20_000, clock) == pytest.approx(expected, rel=0.01)


def test_scores_by_chance_depend_on_the_sizes_alone():
    random = np.random.RandomState(0)
    graph = sp.csr_array(np.ones((60, 60)) - np.eye(60))
    neighbors = np.array([[j for j in range(60) if j != i][:15] for i in range(60)])
    own = np.repeat([0, 1, 2], 20)
    found = _chance([own, own[::-1], np.repeat([0, 1], 30)], neighbors, graph, random, _Clock(None))
    assert set(found) == {(20, 20, 20), (30, 30)}
    # In a complete graph every edge is as likely as any other.
    np.testing.assert_allclose(found[30, 30][1], _information(np.repeat([0, 1], 30), graph))
    hurried = _chance([own], neighbors, graph, np.random.RandomState(0), _Clock(1e-9))
    assert np.all(np.isfinite(hurried[20, 20, 20]))


def fake_fit(name, labels):
    return _Fit(name, find_method(name), None, np.array(labels), 1.0)


def fake_scores(score, agreement, neighbors, information):
    return {"score": score, "agreement": agreement, "neighbors": neighbors, "information": information}


A, B = [0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("of_b", "confidence"),
    [
        (fake_scores(0.5, 0.1, 0.1, 0.1), "clear"),
        (fake_scores(0.5, 0.1, 0.1, 0.9), "likely"),
        (fake_scores(0.5, 0.5, 0.1, 0.3), "likely"),  # a tie favors none
        (fake_scores(0.5, 0.9, 0.1, 0.9), "open"),
    ],
)
def test_confidence_counts_the_criteria_that_agree(of_b, confidence):
    fits = [fake_fit("k-means", A), fake_fit("gmm", B), fake_fit("nested", A[::-1])]
    scores = {
        "k-means": fake_scores(1.0, 0.5, 0.5, 0.5),
        "gmm": of_b,
        "nested": fake_scores(0.9, 0.4, 0.4, 0.4),
    }
    assert _recommendation(fits, scores, 3)[:2] == ("k-means", confidence)


def test_clusters_of_one_method_alone_are_not_clear():
    fits = [fake_fit("k-means", A), fake_fit("gmm", B)]
    scores = {"k-means": fake_scores(1.0, 0.5, 0.5, 0.5), "gmm": fake_scores(0.5, 0.1, 0.1, 0.4)}
    name, confidence, reasons = _recommendation(fits, scores, 3)
    assert (name, confidence) == ("k-means", "likely")
    assert reasons[0].endswith(
        "All three criteria choose its clusters. No other method finds similar clusters."
    )
    scores["gmm"]["information"] = 0.1  # too little
    name, confidence, reasons = _recommendation(fits, scores, 3)
    assert (name, confidence, reasons[0]) == ("k-means", "likely", "Take k-means: no other method is left.")


def test_method_with_empty_clusters_is_not_recommended():
    fits = [fake_fit("k-means", [0, 0, 1, 1, 1, 1]), fake_fit("gmm", B), fake_fit("nested", A)]
    scores = {
        "k-means": fake_scores(2.0, 1.0, 1.0, 1.0),
        "gmm": fake_scores(1.0, 0.5, 0.5, 0.5),
        "nested": fake_scores(0.5, 0.1, 0.1, 0.1),
    }
    recommended, _, reasons = _recommendation(fits, scores, 3)
    assert recommended == "gmm"
    assert "k-means is not recommended: 1 of 3 clusters are empty." in reasons


def test_method_with_less_than_half_of_the_information_is_not_recommended():
    fits = [fake_fit("k-means", [0, 0, 0, 0, 1, 2]), fake_fit("gmm", B), fake_fit("nested", A)]
    scores = {
        "k-means": fake_scores(0.9, 0.8, 0.5, 0.19),
        "gmm": fake_scores(0.7, 0.5, 0.4, 0.2),
        "nested": fake_scores(0.5, 0.1, 0.1, 0.4),
    }
    recommended, _, reasons = _recommendation(fits, scores, 3)
    assert recommended == "gmm"
    assert "k-means is not recommended: its information is less than half of the highest." in reasons
    for name, information in (("k-means", -0.3), ("gmm", -0.2), ("nested", -0.1)):
        scores[name]["information"] = information
    assert _recommendation(fits, scores, 3)[0] == "nested"


def test_the_score_is_high_if_agreement_or_neighbors_is():
    X = np.random.RandomState(0).normal(0, 1, (60, 2))
    X[30:] += 9
    good, poor = np.repeat([0, 1], 30), np.tile([0, 1], 30)
    fits = [fake_fit("k-means", good), fake_fit("gmm", good), fake_fit("nested", poor)]
    agreement = np.array([[1, 1, 0.2], [1, 1, 0.2], [0.2, 0.2, 1]])
    found = _scores(X, fits, agreement, 2, np.random.RandomState(0), 1, _Clock(None))
    assert found["k-means"]["agreement"] == pytest.approx(0.6)
    assert found["nested"]["agreement"] == pytest.approx(0.2)
    for record in found.values():
        assert 1 - record["score"] == pytest.approx((1 - record["agreement"]) * (1 - record["neighbors"]))
    assert found["k-means"]["neighbors"] == pytest.approx(1)
    assert 0 < found["k-means"]["information"] <= 1
    assert found["nested"]["information"] < 0


def test_neighbor_likelihood_of_a_known_case():
    neighbors = np.array([[1, 2], [0, 2], [3, 0], [2, 1]])
    labels = np.array([0, 0, 1, 1])
    expected = np.log(1.5 / 3 / 0.5), np.log(2.5 / 3 / 0.5)
    assert _neighbor_likelihood(labels, neighbors) == pytest.approx(expected)


def test_information_of_separate_clusters_is_their_entropy():
    graph = sp.block_diag([np.ones((3, 3)), np.ones((3, 3))]).tocsr()
    assert _information(np.repeat([0, 1], 3), graph) == pytest.approx(np.log(2))
    assert _information(np.zeros(6, dtype=int), graph) == pytest.approx(0)


def test_random_partitions_have_the_sizes_and_are_grown_along_the_graph():
    path = sp.diags([np.ones(99), np.ones(99)], [-1, 1]).tocsr()
    sizes = np.array([50, 30, 20])
    labels = _random_partition(path, sizes, np.random.RandomState(0))
    assert np.bincount(labels).tolist() == sizes.tolist()
    assert np.count_nonzero(np.diff(labels)) < 20


def test_equal_clusterings_have_equal_scores():
    X = np.concatenate([np.random.RandomState(0).normal(center, 1, (60, 2)) for center in (0, 9)])
    found = coterie.compare(X, 2, methods=["gmm", "total-variation"], random_state=0, n_threads=1)
    assert found.agreement.min() == 1.0
    first, second = ({name: record[name] for name in CRITERIA} for record in found.records)
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 100}, "cannot be compared"),
        ({"n_clusters": 3, "methods": ["unknown"]}, "unknown"),
        ({"n_clusters": 3, "budget": 0}, "budget"),
        ({"n_clusters": 3, "labels": [1, 2]}, "one for each row"),
        ({"n_clusters": 3, "labels": [-1] * 180}, "no known class"),
    ],
)
def test_wrong_arguments(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        coterie.compare(blobs[0], **arguments)


def test_each_record_has_all_criteria_and_steps_are_reported(blobs):
    steps = []
    found = coterie.compare(
        blobs[0], 3, methods=["k-means", "gmm"], random_state=0, n_threads=1, callback=steps.append
    )
    assert all(set(CRITERIA) <= set(record) for record in found.records)
    assert (steps[0], steps[-2:]) == ("k-means", ["gmm", "scores"])


def test_methods_without_a_number_of_clusters_are_refused(blobs):
    with pytest.raises(ValueError, match="density finds the number of clusters itself"):
        coterie.compare(blobs[0], 3, methods=["density", "k-means"])


def test_total_variation_with_equal_priors_is_compared_where_estimates_differ(blobs):
    names = ["k-means", "total-variation"]
    assert len(coterie.compare(blobs[0], 3, methods=names, random_state=0, n_threads=1).records) == 2
    random = np.random.RandomState(0)
    X = random.normal(4.0 * np.repeat([[0, 0], [1, 1]], (300, 30), axis=0), 1)
    found = coterie.compare(X, 2, methods=names, random_state=0, n_threads=1)
    equal = "total-variation, equal priors"
    assert [record["method"] for record in found.records] == [*names, equal]
    assert np.ptp(found.models["total-variation"].class_priors_) > 0
    assert found.models[equal].class_priors is None


def test_methods_are_timed_on_some_of_the_rows_where_there_is_a_budget():
    random = np.random.RandomState(0)
    X = random.normal(3.0 * np.repeat([[0, 0], [1, 1]], (1300, 200), axis=0), 1)
    found = coterie.compare(
        X, 2, methods=["k-means", "total-variation"], budget=60, random_state=0, n_threads=1
    )
    assert [record["method"] for record in found.records][:2] == ["k-means", "total-variation"]
    assert len(found.sample_ids) == 1500
