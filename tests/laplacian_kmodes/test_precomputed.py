"""Affinities instead of rows, and modes of the highest density."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from coterie import LaplacianKModes
from coterie.datasets import load_senate
from coterie.metrics import clustering_accuracy
from tests.reference import laplacian_kmodes as oracle

WORDS = ["anna", "hannah", "ana", "anne", "hanna", "stephen", "steven", "stefan", "stephan", "stevens"]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, 3, centers=4, cluster_std=1.2, random_state=0)


@pytest.fixture(scope="module")
def affinities(blobs):
    return oracle.kernel(blobs[0], blobs[0], 1.5)


def on_affinities(n_clusters=4, **options):
    options = dict(graph_weight=0.1, affinity="precomputed", random_state=0) | options
    return LaplacianKModes(n_clusters, **options)


def edit_distance(left, right):
    """Levenshtein's: how many letters must be put in, left out or changed."""
    before = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        now = [i]
        for j, other in enumerate(right, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (letter != other)))
        before = now
    return before[-1]


@pytest.mark.parametrize("weight", [0.05, 0.2])
@pytest.mark.parametrize("start", [[0, 1, 2, 3], [5, 17, 30, 59], [7, 8, 9, 11]])
def test_whole_runs_with_modes_by_definition(affinities, weight, start):
    Z, modes = oracle.alternated(affinities, affinities, np.array(start), weight, 12, 400)
    model = on_affinities(
        mode_update="densest",
        init=start,
        graph_weight=weight,
        diagonal_shift=False,
        tol=0,
        membership_tol=1e-14,
    )
    model.fit(affinities)
    np.testing.assert_array_equal(model.mode_indices_, modes)
    np.testing.assert_allclose(model.memberships_, Z, atol=1e-4)


@pytest.mark.parametrize("mode_update", ["byproduct", "densest"])
def test_objectives(affinities, mode_update):
    model = on_affinities(mode_update=mode_update).fit(affinities)
    own = affinities[:, model.mode_indices_]
    expected = oracle.discrete_objective(model.labels_, own, affinities, 0.1)
    np.testing.assert_allclose(model.objective_, expected)
    published = oracle.published_objective(model.labels_, own, affinities, 0.1)
    np.testing.assert_allclose(model.published_objective_, published)
    doubled = oracle.discrete_objective(model.labels_, own, affinities, 0.2)
    np.testing.assert_allclose(model.published_objective_, doubled)
    K = oracle.shifted(affinities) if model.is_shifted_ else affinities
    relaxed = oracle.relaxed_objective(model.memberships_, own, K, 0.1)
    np.testing.assert_allclose(model.relaxation_, relaxed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_modes_of_rows_are_the_densest(blobs, dtype, is_sparse):
    X = np.where(np.abs(blobs[0]) < 0.5, 0, blobs[0]).astype(dtype)
    model = LaplacianKModes(4, graph_weight=0.6, mode_update="densest", random_state=0)
    model.fit(sp.csr_array(X) if is_sparse else X)
    k = oracle.kernel(X, X, model.bandwidth_)
    np.testing.assert_array_equal(model.mode_indices_, oracle.densest(model.memberships_.astype(float), k))
    np.testing.assert_array_equal(model.modes_, X[model.mode_indices_])


def test_more_rows_than_a_part_and_any_number_of_threads():
    X, y = make_blobs(1100, 2, centers=3, cluster_std=0.5, random_state=4)
    models = [
        LaplacianKModes(
            3, graph_weight=0.6, mode_update="densest", n_init=2, random_state=0, n_threads=n
        ).fit(X)
        for n in (1, 3)
    ]
    assert clustering_accuracy(y, models[0].labels_) > 0.98
    np.testing.assert_array_equal(models[0].memberships_, models[1].memberships_)
    sums = models[0].memberships_.T @ oracle.kernel(X, X, models[0].bandwidth_)
    np.testing.assert_array_equal(models[0].mode_indices_, sums.argmax(axis=1))


@pytest.mark.parametrize("mode_update", ["byproduct", "densest"])
def test_dense_and_sparse_affinities_give_the_same(affinities, mode_update):
    one, two = (on_affinities(mode_update=mode_update).fit(X) for X in (affinities, sp.coo_array(affinities)))
    np.testing.assert_allclose(two.memberships_, one.memberships_, atol=1e-10)
    assert one.n_features_in_ == 60


def test_predict_is_by_the_formula(blobs):
    X, new = blobs[0][:50], blobs[0][50:]
    model = on_affinities().fit(oracle.kernel(X, X, 1.5))
    near = oracle.kernel(new, X, 1.5)
    expected = near[:, model.mode_indices_] + 0.1 * near @ model.memberships_
    for rows in (near, sp.csr_array(near)):
        np.testing.assert_array_equal(model.predict(rows), expected.argmax(axis=1))


def test_strings():
    distances = np.array([[edit_distance(a, b) for b in WORDS] for a in WORDS], dtype=float)
    affinities = np.exp(-distances)
    model = on_affinities(2, mode_update="densest", graph_weight=2.0).fit(affinities)
    assert clustering_accuracy([0] * 5 + [1] * 5, model.labels_) == 1
    np.testing.assert_array_equal(model.mode_indices_, oracle.densest(model.memberships_, affinities))


def test_voting_records():
    """The share of votes in which two senators agree: each mode is a senator of its own party."""
    senate = load_senate()
    votes = np.asarray(senate.data, dtype=float)
    agreement = np.mean(votes[:, None] == votes, axis=2)
    model = on_affinities(2, mode_update="densest", graph_weight=0.05).fit(agreement)
    party = np.asarray(senate.target)
    assert clustering_accuracy(party, model.labels_) > 0.85
    assert len(set(party[model.mode_indices_])) == 2


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (-np.eye(6), {}, "negative weight. First bad row: 0"),
        (np.ones((6, 5)), {}, "square"),
        (np.eye(6), dict(metric="cosine"), "metric='cosine'"),
        (np.eye(6), dict(mode_update="mean_shift"), "needs coordinates"),
        (np.eye(6), dict(mode_update="median"), "'byproduct', 'mean_shift', 'densest'"),
    ],
)
def test_wrong_affinities(X, options, message):
    with pytest.raises(ValueError, match=message):
        on_affinities(2, **options).fit(X)
