import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, is_valid_linkage, linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from coterie import DensityClustering
from coterie.density.diffusion import diffuse
from coterie.density.solver import DensityOptions, attach, density_clusters
from coterie.graphs import nearest_neighbors
from coterie.graphs.equal_rows import equal_rows
from tests.density.examples import rows
from tests.reference import density as reference
from tests.reference.k_means import square_distances

DIGITS = load_digits().data
SPACES = pytest.mark.parametrize("space", ["rows", "diffused"])


@SPACES
@pytest.mark.parametrize("assign_noise", [None, "nearest"])
def test_predict_gives_the_rows_of_the_fit_their_labels(space, assign_noise):
    X = np.vstack([DIGITS[:900], DIGITS[:30]])
    model = DensityClustering(space=space, assign_noise=assign_noise).fit(X)
    labels, probabilities = model.predict(X, return_probability=True)
    assert np.array_equal(labels, model.labels_)
    assert np.array_equal(probabilities, model.probabilities_)
    assert np.array_equal(model.predict(X[5:9].copy()), model.labels_[5:9])
    assert (model.labels_ < 0).any() == (assign_noise is None)
    assert model.coverage_ == np.mean(model.probabilities_ > 0)


@given(rows(), st.integers(1, 6))
def test_the_place_of_a_row_in_the_tree_gives_its_own_label(X, min_samples):
    options = DensityOptions(min_samples, max(2, min_samples), "leaf", 3)
    found, equal = density_clusters(X, options), equal_rows(X)
    cores = found.spanning.core_distances[equal.first]
    ids, heights = attach(np.ascontiguousarray(X[equal.first]), equal, cores, X, options)
    near, cut = equal.first[ids], found.cut
    anchors, joins = cut.anchors[near], np.maximum(heights, cut.joins[near])
    assert np.array_equal(cut.labels_of(anchors, joins), cut.labels)
    assert np.array_equal(cut.probabilities_of(anchors, joins), cut.probabilities_of(cut.anchors, cut.joins))


@given(rows(most=20), rows(most=5), st.integers(1, 6))
def test_places_of_new_rows_against_the_oracle(X, asked, min_samples):
    d = min(X.shape[1], asked.shape[1])
    X, asked = np.ascontiguousarray(X[:, :d]), np.ascontiguousarray(asked[:, :d])
    equal = equal_rows(X)
    reach, cores = reference.mutual_reachability(X, min_samples)
    distances = np.sqrt(square_distances(asked, X))
    own = np.sort(distances, axis=1)[:, min(min_samples, len(X)) - 1]
    _, expected = reference.joins(reach, cores, distances, own)
    options = DensityOptions(min_samples=min_samples, n_neighbors=2)
    places = np.ascontiguousarray(X[equal.first])
    _, heights = attach(places, equal, cores[equal.first], asked, options)
    np.testing.assert_allclose(heights, expected, rtol=1e-12)


@SPACES
def test_memberships(space):
    model = DensityClustering(space=space).fit(DIGITS)
    others = DIGITS[:50] + 0.5
    for X in (DIGITS, others):
        memberships = model.memberships(X, n_top=3)
        assert memberships.shape == (len(X), model.n_clusters_ + 1)
        assert np.diff(memberships.indptr).max() <= 4
        dense = memberships.toarray()
        np.testing.assert_allclose(dense.sum(axis=1), 1)
        noise = model.n_clusters_
        labels = dense.argmax(axis=1)
        assert np.array_equal(np.where(labels == noise, -1, labels), model.predict(X))


@given(rows(most=24), st.integers(1, 4))
def test_memberships_against_the_heights_of_the_tree(X, min_samples):
    min_samples = min(min_samples, len(X))
    options = dict(min_samples=min_samples, min_cluster_size=3, cluster_selection_method="leaf")
    model = DensityClustering(**options, space="rows").fit(X)
    if model.n_clusters_ == 0:
        return
    found = model.memberships(X, n_top=model.n_clusters_).toarray()
    reach, _ = reference.mutual_reachability(X, min_samples)
    heights = squareform(cophenet(linkage(reach[np.triu_indices(len(X), 1)], "single")))
    ends = model._result().cut.ends
    for row, label in np.ndindex(len(X), model.n_clusters_):
        if label != model.labels_[row]:
            height = heights[row, np.flatnonzero(model.labels_ == label)[0]]
            expected = np.exp(1 - height / ends[label])
            np.testing.assert_allclose(found[row, label] / found[row, -1], expected, rtol=1e-6)


def test_diffused_rows_find_clusters_where_rows_do_not():
    rows_only, automatic = (DensityClustering(space=space).fit(DIGITS) for space in ("rows", "auto"))
    assert rows_only.coverage_ < 0.85 < automatic.coverage_
    assert automatic.space_ == "diffused"
    target = load_digits().target
    assert adjusted_rand_score(target, automatic.labels_) > adjusted_rand_score(target, rows_only.labels_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["normal", "uniform", "rounded"])
@pytest.mark.parametrize("n_columns", [2, 6])
def test_one_region_of_density_has_no_clusters(kind, n_columns, seed):
    random = np.random.default_rng(seed)
    shape = 1000, n_columns
    X = random.uniform(size=shape) if kind == "uniform" else random.normal(size=shape)
    model = DensityClustering().fit(X.round(1) if kind == "rounded" else X)
    assert model.n_clusters_ == 0
    assert model.space_ == "rows"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_clusters_of_very_unequal_sizes(seed, scale):
    X = np.random.default_rng(seed).normal(size=(945, 2))
    X[900:] += 6
    labels = DensityClustering().fit(scale * X).labels_
    assert adjusted_rand_score(np.arange(945) >= 900, labels) > 0.98


def test_the_intrinsic_dimension():
    plane = np.random.default_rng(0).normal(size=(2000, 2)) @ np.random.default_rng(1).normal(size=(2, 7))
    assert DensityClustering().fit(plane).intrinsic_dimension_ == pytest.approx(2, rel=0.1)


def test_coordinates_separate_many_components():
    X = make_blobs(900, 3, centers=30, cluster_std=0.01, center_box=(-50, 50), random_state=0)[0]
    coordinates = diffuse(nearest_neighbors(X, 15)).rows
    assert len(equal_rows(np.round(coordinates, 6)).first) >= 30
    labels = DensityClustering(space="diffused").fit(X).labels_
    theirs = make_blobs(900, 3, centers=30, cluster_std=0.01, center_box=(-50, 50), random_state=0)[1]
    assert adjusted_rand_score(theirs, labels) > 0.95


def test_coordinates_of_new_rows_are_near_those_of_the_rows_beside_them():
    X = make_moons(500, noise=0.05, random_state=0)[0]
    model = DensityClustering(space="diffused").fit(X[:400])
    expected = DensityClustering(space="diffused").fit(X).labels_[400:]
    assert adjusted_rand_score(expected, model.predict(X[400:])) > 0.9


def test_layers_at_a_number_of_clusters():
    X = make_blobs(800, 4, centers=6, random_state=0)[0]
    model = DensityClustering().fit(X)
    for wished in (2, 6, 10_000):
        leaves = model._result().leaves
        found = model.layers_at(wished).max() + 1
        assert abs(found - wished) == np.abs(leaves.n_leaves() - wished).min()


def test_layers_have_parents():
    model = DensityClustering(space="rows").fit(DIGITS)
    assert len(model.layer_parents_) == len(model.layers_) - 1 > 0
    for parents, fine, coarse in zip(model.layer_parents_, model.layers_, model.layers_[1:], strict=False):
        for cluster, parent in enumerate(parents):
            assert np.all(coarse[fine == cluster] == parent)


def test_linkage_is_single_linkage_of_mutual_reachability():
    X = DIGITS[:200]
    model = DensityClustering(space="rows").fit(X)
    reach, _ = reference.mutual_reachability(X, 5)
    assert is_valid_linkage(model.linkage_)
    np.testing.assert_allclose(model.linkage_[:, 2], linkage(reach[np.triu_indices(200, 1)], "single")[:, 2])


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((7, 2)), np.eye(2), np.eye(3)], ids=len)
@pytest.mark.parametrize("space", ["auto", "rows", "diffused"])
@pytest.mark.parametrize("assign_noise", [None, "nearest"])
def test_few_rows_are_noise(X, space, assign_noise):
    model = DensityClustering(min_samples=min(5, len(X)), space=space, assign_noise=assign_noise).fit(X)
    assert np.all(model.labels_ == -1)
    assert model.layers_.shape == (1, len(X))
    assert np.all(model.predict(X + 1) == -1)
    assert model.memberships(X).toarray().tolist() == [[1.0]] * len(X)
    assert np.array_equal(model.layers_at(3), model.labels_)
    assert len(model.condensed_tree_) == len(X)


def test_more_samples_than_rows_are_refused():
    with pytest.raises(ValueError, match="min_samples=500 should be <= n_samples=200"):
        DensityClustering(min_samples=500).fit(DIGITS[:200])


def test_outlier_scores_are_core_distances_relative_to_the_cluster():
    random = np.random.default_rng(0)
    X = np.concatenate(
        [random.normal(0, 1, (150, 2)), random.normal(20, 3, (150, 2)), [[9.0, 9.0], [60.0, 0.0]]]
    )
    model = DensityClustering(min_cluster_size=20).fit(X)
    scores = model.outlier_scores_
    assert model.labels_[-2:].tolist() == [-1, -1]
    for cluster in range(model.n_clusters_):
        own = model.labels_ == cluster
        median = np.sort(model.core_distances_[own])[(own.sum() - 1) // 2]
        np.testing.assert_allclose(scores[own], model.core_distances_[own] / median, rtol=1e-6)
    assert np.argsort(scores)[-1] == 301
    assert scores[-2:].min() > 3
    alone = DensityClustering(min_cluster_size=400).fit(X)  # no cluster
    assert np.isfinite(alone.outlier_scores_).all()
