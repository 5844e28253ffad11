"""`compare`: several methods on the same rows."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.comparison.compare import _difference, _Fit, _recommendation
from coterie.comparison.scores import (
    CRITERIA,
    chance,
    information,
    neighbor_likelihood,
    rand_indices,
    random_partition,
    scores,
)
from coterie.methods import find_method


@pytest.fixture(scope="module")
def blobs():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], 60)
    return random.normal(10.0 * np.eye(3)[classes], 1), classes


def test_methods_that_find_the_same_clusters(blobs):
    X, classes = blobs
    names = ["k-means", "gmm", "laplacian-kmodes"]
    steps = []
    found = coterie.compare(X, 3, methods=names, labels=classes, random_state=0, callback=steps.append)
    assert (steps[0], steps[-1]) == ("k-means", "scores")
    assert sorted(record["method"] for record in found.records) == sorted(names)
    assert found.agreement.min() > 0.9
    assert (found.recommended, found.confidence) == ("k-means", "clear")
    assert found.reasons == ("Take k-means: gmm and laplacian-kmodes found the same clusters.",)
    for record in found.records:
        assert set(CRITERIA) <= set(record)
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


def test_methods_that_do_not_suit_are_listed(blobs, monkeypatch):
    monkeypatch.setattr("coterie.comparison.compare._MOST_ROWS", 60)
    found = coterie.compare(blobs[0], 3, random_state=0, n_threads=1)
    names = [record["method"] for record in found.records]
    assert {"k-means", "gmm", "laplacian-kmodes", "total-variation"} <= set(names)
    assert any("nested" in line and "k-means" in line for line in found.left_out)
    assert len(found.sample_ids) == 60
    assert "score" in str(found)
    assert "\n" not in repr(found)


def test_scores_by_chance_depend_on_the_sizes_alone():
    random = np.random.RandomState(0)
    graph = sp.csr_array(np.ones((60, 60)) - np.eye(60))
    neighbors = np.array([[j for j in range(60) if j != i][:15] for i in range(60)])
    own = np.repeat([0, 1, 2], 20)
    found = chance([own, own[::-1], np.repeat([0, 1], 30)], neighbors, graph, random)
    assert set(found) == {(20, 20, 20), (30, 30)}
    # In a complete graph every edge is as likely as any other.
    np.testing.assert_allclose(found[30, 30][1], information(np.repeat([0, 1], 30), graph))


def fake_fit(name, labels):
    return _Fit(name, find_method(name), None, np.array(labels), 1.0)


def fake_scores(score, agreement, neighbors, information):
    return {"score": score, "agreement": agreement, "neighbors": neighbors, "information": information}


A, B = np.repeat([0, 1, 2], 20), np.tile([0, 1, 2], 20)


def recommended(*of_methods, k=3):
    """Return the name, the confidence and the reasons of methods, each with its clusters and scores."""
    fits = [fake_fit(name, labels) for name, labels, _ in of_methods]
    fit, confidence, reasons = _recommendation(fits, [fake_scores(*values) for *_, values in of_methods], k)
    return fit.name, confidence, reasons


@pytest.mark.parametrize(
    ("of_b", "confidence"),
    [
        ((0.5, 0.1, 0.1, 0.3), "clear"),
        ((0.5, 0.1, 0.1, 0.9), "likely"),
        ((0.5, 0.5, 0.1, 0.3), "likely"),  # a tie favors none
        ((0.995, 0.1, 0.1, 0.3), "likely"),  # nearly the same score
        ((0.5, 0.9, 0.1, 0.9), "open"),
    ],
)
def test_confidence_counts_the_criteria_that_agree(of_b, confidence):
    found = recommended(
        ("k-means", A, (1.0, 0.5, 0.5, 0.5)), ("gmm", B, of_b), ("nested", A[::-1], (0.9, 0.4, 0.4, 0.4))
    )
    assert found[:2] == ("k-means", confidence)


@pytest.mark.parametrize(
    ("nested", "values"),
    [
        ((A[::-1], (0.7, 0.4, 0.4, 0.4)), (0.7, 0.5, 0.5, 0.5)),  # a low score
        (
            (np.where(np.arange(60) < 3, 1, A), (0.9, 0.4, 0.4, 0.4)),
            (1.0, 0.5, 0.5, 0.5),
        ),  # 5% of the rows differ
        (None, (1.0, 0.5, 0.5, 0.5)),  # no other method found them
    ],
)
def test_what_makes_it_unclear(nested, values):
    methods = [("k-means", A, values), ("gmm", B, (0.5, 0.1, 0.1, 0.3))]
    methods += [] if nested is None else [("nested", *nested)]
    assert recommended(*methods)[:2] == ("k-means", "likely")


def test_method_with_empty_clusters_is_not_recommended():
    name, _, reasons = recommended(
        ("k-means", np.minimum(A, 1), (2.0, 1.0, 1.0, 1.0)),
        ("gmm", B, (1.0, 0.5, 0.5, 0.5)),
        ("nested", A, (0.5, 0.1, 0.1, 0.1)),
    )
    assert name == "gmm"
    assert "k-means is not recommended: 1 of 3 clusters are empty." in reasons


def test_method_with_less_than_half_of_the_information_is_not_recommended():
    large = np.array([*[0] * 58, 1, 2])
    methods = [("k-means", large, 0.9), ("gmm", B, 0.7), ("nested", A, 0.5)]
    found = recommended(
        *((*one, (score, 0.5, 0.4, i)) for (*one, score), i in zip(methods, (0.19, 0.2, 0.4)))
    )
    assert found[0] == "gmm"
    assert "k-means is not recommended: its information is less than half of the highest." in found[2]
    found = recommended(
        *((*one, (score, 0.5, 0.4, i)) for (*one, score), i in zip(methods, (-0.3, -0.2, -0.1)))
    )
    assert found[0] == "nested"


def test_differences_name_clusters_that_are_several_others():
    split = np.where(np.arange(60) < 10, 3, A)
    split[np.flatnonzero(A == 1)[0]] = 3  # which is no part worth a word
    words = _difference(fake_fit("k-means", split), fake_fit("gmm", A))
    assert words == "gmm: 82% of the rows in the same clusters; cluster 0 of gmm is 0 and 3 of k-means."


@pytest.mark.parametrize("k", [2, 4])
def test_fewer_distinct_rows_than_clusters_have_no_recommendation(k):
    X = np.repeat(np.arange(k - 1.0)[:, None], 20, axis=0)
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=f"n_clusters must be .* distinct rows, {k - 1}, got {k}"):
            coterie.compare(rows, k)


def test_the_score_is_high_if_agreement_or_neighbors_is():
    X = np.random.RandomState(0).normal(0, 1, (60, 2))
    X[30:] += 9
    good, poor = np.repeat([0, 1], 30), np.tile([0, 1], 30)
    agreement = np.array([[1, 1, 0.2], [1, 1, 0.2], [0.2, 0.2, 1]])
    found = scores(X, [good, good, poor], agreement, 2, np.random.RandomState(0), 1)
    assert found[0] == found[1]
    assert found[0]["agreement"] == pytest.approx(0.6)
    assert found[2]["agreement"] == pytest.approx(0.2)
    for record in found:
        assert 1 - record["score"] == pytest.approx((1 - record["agreement"]) * (1 - record["neighbors"]))
    assert found[0]["neighbors"] == pytest.approx(1)
    assert 0 < found[0]["information"] <= 1
    assert found[2]["information"] < 0
    np.testing.assert_array_equal(rand_indices([good, good[::-1]]), 1)


def test_neighbor_likelihood_of_a_known_case():
    neighbors = np.array([[1, 2], [0, 2], [3, 0], [2, 1]])
    labels = np.array([0, 0, 1, 1])
    expected = np.log(1.5 / 3 / 0.5), np.log(2.5 / 3 / 0.5)
    assert neighbor_likelihood(labels, neighbors) == pytest.approx(expected)


def test_information_of_separate_clusters_is_their_entropy():
    graph = sp.block_diag([np.ones((3, 3)), np.ones((3, 3))]).tocsr()
    assert information(np.repeat([0, 1], 3), graph) == pytest.approx(np.log(2))
    assert information(np.zeros(6, dtype=int), graph) == pytest.approx(0)


def test_random_partitions_have_the_sizes_and_are_grown_along_the_graph():
    path = sp.diags([np.ones(99), np.ones(99)], [-1, 1]).tocsr()
    sizes = np.array([50, 30, 20])
    labels = random_partition(path, sizes, np.random.RandomState(0))
    assert np.bincount(labels).tolist() == sizes.tolist()
    assert np.count_nonzero(np.diff(labels)) < 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 100}, "at most 60"),
        ({"n_clusters": 1}, "at least 2"),
        ({"n_clusters": 3, "methods": ["unknown"]}, "unknown"),
        ({"n_clusters": 3, "max_time": 0}, "max_time"),
        ({"n_clusters": 3, "labels": [1, 2]}, "one for each row"),
        ({"n_clusters": 3, "labels": [-1] * 180}, "no known class"),
        ({"n_clusters": 3, "methods": ["density", "k-means"]}, "density finds the number of clusters itself"),
        ({"n_clusters": 3, "methods": ["k-means"], "max_time": 1e-9}, "did not end within max_time"),
    ],
)
def test_wrong_arguments(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        coterie.compare(blobs[0], **arguments)


def test_a_notebook_gets_a_page_with_a_map_of_each_method(blobs, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    found = coterie.compare(blobs[0], 3, methods=["k-means", "gmm"], random_state=0, n_threads=1)
    assert found._repr_html_().startswith("<iframe ")
    found.page("blobs").save(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert found.reasons[0] in html
    assert html.count('<figure class="small"') == 2


def test_criteria_see_repeated_rows_once():
    random = np.random.RandomState(0)
    X = random.normal(size=(90, 3))
    clusterings = [random.randint(0, 3, 90), (X[:, 0] > 0).astype(int)]
    agreement = rand_indices(clusterings)
    found = []
    for copies in (1, 4):
        repeated = [np.repeat(labels, copies) for labels in clusterings]
        rows = np.repeat(X, copies, axis=0)
        found.append(scores(rows, repeated, agreement, 3, np.random.RandomState(0), 1))
    assert found[0] == found[1]
