"""Affinities instead of rows."""

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


def test_objectives(affinities):
    model = on_affinities().fit(affinities)
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


def test_dense_and_sparse_affinities_give_the_same(affinities):
    one, two = (on_affinities().fit(X) for X in (affinities, sp.coo_array(affinities)))
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
    model = on_affinities(2, graph_weight=2.0).fit(affinities)
    assert clustering_accuracy([0] * 5 + [1] * 5, model.labels_) == 1


def test_voting_records():
    """The share of votes in which two senators agree: each mode is a senator of its own party."""
    senate = load_senate()
    votes = np.asarray(senate.data, dtype=float)
    agreement = np.mean(votes[:, None] == votes, axis=2)
    model = on_affinities(2, graph_weight=0.05).fit(agreement)
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
        (np.eye(6), dict(mode_update="median"), "'byproduct', 'mean_shift'"),
    ],
)
def test_wrong_affinities(X, options, message):
    with pytest.raises(ValueError, match=message):
        on_affinities(2, **options).fit(X)
