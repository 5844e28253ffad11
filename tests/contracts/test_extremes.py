"""Numbers at the ends of their range: labels as plain NumPy finds them in float64, or one clear error, never a NaN."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from coterie import (
    ConvexClustering,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    NestedMiniBatchKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from coterie.centers.choice import ALGORITHMS
from coterie.coresets import lightweight_coreset
from tests.reference.k_means import square_distances

pytestmark = pytest.mark.filterwarnings("ignore")

# What a label may cost more than the best one, relative to it: the fourth root of the unit of rounding.
TOLERANCE = {"float64": 2e-4, "float32": 0.03}

CLEAR = "too large for float|differ too little for float"


def blobs(n=120, d=3, seed=0):
    """Four groups of rows, about 5 apart."""
    random = np.random.default_rng(seed)
    centers = np.zeros((4, d))
    centers[1, 0] = centers[2, -1] = 5
    centers[3] = 5
    return np.concatenate([c + 0.5 * random.normal(size=(n // 4, d)) for c in centers])


def with_rows(X, **rows):
    X = X.copy()
    for number, value in rows.items():
        X[int(number[1:])] = value
    return X


def data_sets():
    """Rows that are hard on floats, by name."""
    X, random = blobs(), np.random.default_rng(1)
    far = X.copy()
    far[60:] += 1e12
    return {
        "outlier": with_rows(X, r7=1e12),
        "outlier, float32": with_rows(X, r7=1e8).astype(np.float32),
        "far outlier": with_rows(X, r7=1e150),
        "three outliers": with_rows(X, r7=1e12, r40=-1e13, r100=[0, 1e11, 0]),
        "one of thousands": with_rows(blobs(4000), r5=1e13),
        "two far groups": far,
        "two far groups, float32": np.where(far > 1e11, far - 1e12 + 1e5, far).astype(np.float32),
        "offset": X + 1e8,
        "large offset": X + 1e12,
        "offset, float32": (X + 3e5).astype(np.float32),
        "constant columns": np.column_stack([X, np.full(len(X), 1e9), np.zeros(len(X))]),
        "repeated rows": np.repeat(X[::12], 12, axis=0),
        "mixed columns": X * [1e-100, 1, 1e100],
        "all scales": 10.0 ** random.uniform(-140, 140, size=(150, 2)),
        "all scales, float32": (10.0 ** random.uniform(-17, 17, size=(150, 2))).astype(np.float32),
        "small beside large, float32": np.vstack([X * 1e-20, np.ones(3)]).astype(np.float32),
        "denormal": X * 1e-310,
        "denormal, float32": (X * 1e-40).astype(np.float32),
        "one column": X[:, :1] ** 9,
        "5000 columns": blobs(16, 5000) + 300,
        "5000 columns, float32": (blobs(16, 5000) + 300).astype(np.float32),
    }


DATA = data_sets()
every_data_set = pytest.mark.parametrize("name", DATA)

K_MEANS = {
    "elkan": lambda k: KMeans(k, algorithm="elkan", random_state=0),
    "coreset": lambda k: KMeans(k, coreset_size=60, random_state=0),
    "cosine": lambda k: KMeans(k, metric="cosine", random_state=0),
    "mini-batch": lambda k: MiniBatchKMeans(k, batch_size=50, random_state=0),
    "nested": lambda k: NestedMiniBatchKMeans(k, batch_size=50, random_state=0),
}
MIXTURES = {
    kind: lambda k, kind=kind: TruncatedGaussianMixture(k, covariance_type=kind, random_state=0)
    for kind in ("tied_spherical", "spherical", "diag")
}
OTHERS = {
    "modes": lambda k: LaplacianKModes(k, max_iter=20, random_state=0),
    "total variation": lambda k: TotalVariationClustering(k, n_init=1, max_iter=100, random_state=0),
    "convex": lambda k: ConvexClustering(n_neighbors=5),
}
ALL = K_MEANS | MIXTURES | OTHERS


def fitted(model, X):
    """The fitted model, or None where it refuses such rows in one clear line."""
    try:
        return model.fit(X)
    except ValueError as error:
        lines = str(error).splitlines()
    assert len(lines) == 1
    return None


def check_nearest(X, model, labels):
    """Check that no centroid is nearer than the chosen one, but for the rounding of rows and centroids themselves."""
    if model.metric == "cosine":
        largest = np.abs(X).max(axis=1, keepdims=True)
        X = X / largest
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    squares = square_distances(X, model.cluster_centers_)
    own, best = squares[np.arange(len(X)), labels], squares.min(axis=1)
    lengths = np.sum(model.cluster_centers_[labels].astype(np.float64) ** 2, axis=1)
    rounding = 64 * float(np.finfo(X.dtype).eps) ** 2 * lengths
    assert np.all(own <= best * (1 + TOLERANCE[X.dtype.name]) + rounding)
    return own


@every_data_set
@pytest.mark.parametrize("kind", K_MEANS)
def test_rows_go_to_their_nearest_centroids(kind, name):
    X = DATA[name]
    model = fitted(K_MEANS[kind](5), X)
    if model is None:
        assert name.startswith("denormal")
        return
    own = check_nearest(X, model, model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if kind != "cosine":
        np.testing.assert_allclose(model.inertia_, own.sum(), rtol=1e-6)
    assert np.all(np.isfinite(model.cluster_centers_))
    assert np.all(np.isfinite(model.history_.objective))


@every_data_set
def test_all_algorithms_give_the_same_bits(name):
    X = DATA[name]
    models = [fitted(KMeans(7, algorithm=algorithm, random_state=0), X) for algorithm in ALGORITHMS]
    for other in models[1:]:
        if models[0] is None:
            assert other is None
            continue
        np.testing.assert_array_equal(other.labels_, models[0].labels_)
        np.testing.assert_array_equal(other.cluster_centers_, models[0].cluster_centers_)
        np.testing.assert_array_equal(other.history_.objective, models[0].history_.objective)


@pytest.mark.parametrize("kind", ["elkan", "nested"])
@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 1e12), (np.float64, 1e18), (np.float32, 1e8)])
def test_an_outlier_leaves_the_clusters_of_the_others(kind, dtype, far):
    X = with_rows(blobs(), r7=far).astype(dtype)
    groups = np.repeat(np.arange(4), 30)
    groups[7] = 4
    pairs = set(zip(groups.tolist(), K_MEANS[kind](5).fit(X).labels_.tolist()))
    assert len(pairs) == 5


@given(
    n=st.integers(1, 60), d=st.integers(1, 6), k=st.integers(1, 60), seed=st.integers(0, 999),
    rows=st.integers(0, 40), columns=st.integers(0, 40), offset=st.integers(-5, 20), repeats=st.booleans(),
    dtype=st.sampled_from(["float64", "float32"]), algorithm=st.sampled_from(ALGORITHMS),
)  # fmt: skip
def test_labels_do_not_depend_on_the_scale(n, d, k, seed, rows, columns, offset, repeats, dtype, algorithm):
    random = np.random.default_rng(seed)
    factor = 0.2 if dtype == "float32" else 1
    X = random.normal(size=(n, d)) * 10.0 ** (factor * random.uniform(-rows, rows, size=(n, 1)))
    X = X * 10.0 ** (factor * random.uniform(-columns, columns, size=d)) + 10.0 ** (factor * offset)
    X = X[random.integers(0, max(1, n // 3), size=n)] if repeats else X
    X = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(KMeans(min(k, n), algorithm=algorithm, random_state=0), X)
    if model is not None:
        check_nearest(X, model, model.labels_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def energies_of(X, model):
    """Minus the logarithms of the densities, weights included, by differences."""
    means, weights = model.means_.astype(np.float64), model.weights_
    variances = np.asarray(model.covariances_, dtype=np.float64)
    variances = np.broadcast_to(variances if variances.ndim == 2 else variances[..., None], means.shape)
    parts = [
        np.sum((X - mean) ** 2 / (2 * own) + np.log(2 * np.pi * own) / 2, axis=1) - np.log(weight)
        for mean, own, weight in zip(means, variances, weights)
    ]
    return np.stack(parts, axis=1)


@pytest.mark.parametrize("kind", MIXTURES)
@pytest.mark.parametrize(
    "name", ["outlier", "outlier, float32", "far outlier", "three outliers", "large offset", "two far groups"]
)
def test_rows_go_to_their_likeliest_components(kind, name):
    X = DATA[name]
    model = fitted(MIXTURES[kind](5), X)
    if model is None:
        assert name == "two far groups"
        return
    energies = energies_of(X.astype(np.float64), model)
    own, best = energies[np.arange(len(X)), model.labels_], energies.min(axis=1)
    assert np.all(own <= best + 0.02 + 0.03 * np.abs(best))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    likelihoods = logsumexp(-energies, axis=1)
    np.testing.assert_allclose(model.score_samples(X), likelihoods, rtol=1e-6, atol=0.05)
    assert np.all(np.isfinite(model.lower_bounds_))


SCALES = {
    "float64": (2.0**530, 2.0**400, 2.0**-400, 2.0**-600, 2.0**-1000),
    "float32": (2.0**66, 2.0**50, 2.0**-50, 2.0**-90, 2.0**-120),
}
# What is not the same at another scale, for a parameter is in the units of the rows.
WITH_UNITS = {"convex", *MIXTURES}


@pytest.mark.parametrize("dtype", SCALES)
@pytest.mark.parametrize("kind", ALL)
def test_powers_of_two_change_no_label(kind, dtype):
    X = blobs(40).astype(dtype)
    expected = ALL[kind](4).fit(X).labels_
    for scale in SCALES[dtype]:
        model = fitted(ALL[kind](4), X * np.dtype(dtype).type(scale))
        if model is None:
            assert kind in WITH_UNITS or not 2.0**-85 < scale < 2.0**60
            continue
        finite = [
            value
            for value in vars(model).values()
            if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        ]
        assert all(np.all(np.isfinite(value)) for value in finite)
        if kind not in WITH_UNITS:
            np.testing.assert_array_equal(model.labels_, expected)


@pytest.mark.parametrize("kind", [name for name in ALL if name != "cosine"])
@pytest.mark.parametrize("scale", [2.0**530, 2.0**-600])
def test_overflow_and_underflow_are_errors(kind, scale):
    with pytest.raises(ValueError, match=CLEAR):
        ALL[kind](4).fit(blobs(40) * scale)


def test_equal_rows_are_not_refused():
    for X in (np.zeros((30, 2)), np.full((30, 2), 1e-300), np.full((30, 2), 0.1)):
        model = KMeans(1).fit(X)
        assert np.all(model.labels_ == 0)
        assert lightweight_coreset(X, 5, random_state=0)[0].shape == (5, 2)


def test_other_rows_too_far_out():
    model = KMeans(4, random_state=0).fit(blobs())
    far = with_rows(blobs(), r3=1e200)
    assert model.predict(far).shape == (120,)
    for use in (model.transform, model.score, lambda X: model.predict(X, return_distance=True)):
        with pytest.raises(ValueError, match="First bad row: 3"):
            use(far)


class TestCoresets:
    @pytest.mark.parametrize("scale", [2.0**400, 2.0**-400])
    def test_the_same_rows_at_any_scale(self, scale):
        X = blobs()
        _, weights, indices = lightweight_coreset(X, 20, random_state=0)
        _, scaled_weights, scaled_indices = lightweight_coreset(X * scale, 20, random_state=0)
        np.testing.assert_array_equal(indices, scaled_indices)
        np.testing.assert_array_equal(weights, scaled_weights)
