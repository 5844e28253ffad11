"""Random problems: each estimator against plain NumPy, linear programming, or the optimality of what it returns.

`COTERIE_DRAWS=2000 pytest tests/contracts/test_differential.py` draws that many problems at random for each test.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import logsumexp

import coterie
from tests.reference import convex_clustering as convex
from tests.reference import density, total_variation
from tests.reference.k_means import square_distances
from tests.support.bits import same_bits

pytestmark = pytest.mark.filterwarnings("ignore")

DRAWS = int(os.environ.get("COTERIE_DRAWS", 0))


def draws(n_examples):
    return settings(
        max_examples=DRAWS or n_examples, derandomize=not DRAWS, deadline=None, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@st.composite
def problems(draw, most=60, scales=(1e-6, 1e-2, 1.0, 1e3, 1e6), dtypes=("f4", "f8", "i4", "u1")):
    """Draw rows (groups, duplicates, constant columns, extreme scales), weights (some 0), and a number of clusters."""
    n, d = draw(st.integers(6, most)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.normal(size=(n, d)) + draw(st.sampled_from([0, 10])) * random.integers(4, size=(n, 1))
    dtype = draw(st.sampled_from(dtypes))
    scale = draw(st.sampled_from(scales)) if dtype[0] == "f" else 10.0
    X = (X + draw(st.sampled_from([0.0, 100.0])) * (dtype != "u1")) * scale
    if draw(st.booleans()):
        X[random.integers(n, size=n // 3)] = X[0]
    if draw(st.booleans()):
        X[:, random.integers(d)] = X[0, 0]
    weights = None
    if draw(st.booleans()):
        weights = random.choice([0.0, 0.5, 1.0, 3.0], size=n)
        weights[:3] = 1.0
    rows = np.ascontiguousarray((np.abs(X) % 255 if dtype == "u1" else X).astype(dtype))
    return rows, weights, draw(st.integers(1, min(5, n // 2))), draw(st.integers(0, 99))


def relative(X, tolerance):
    """Return an absolute tolerance for squared distances: rounding grows with the squared extent of the rows."""
    X = np.asarray(X, dtype=np.float64)
    spread = float(np.max(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
    return tolerance * spread + np.finfo(np.float64).tiny


def precision(X):
    return 1e-4 if X.dtype.itemsize < 8 else 1e-9


def check_assignment(X, model, labels):
    """Each row has the label of its nearest center, up to rounding."""
    squares = square_distances(X, model.cluster_centers_)
    own = squares[np.arange(len(X)), labels]
    assert np.all(own - squares.min(axis=1) <= relative(X, 4 * precision(X)))
    return own


def saved(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m.coterie"))
        return coterie.load(Path(folder, "m.coterie"))


K_MEANS = [
    *((coterie.KMeans, {"algorithm": name}) for name in ("lloyd", "elkan", "yinyang")),
    (coterie.KMeans, {"init": "k-means||"}),
    (coterie.KMeans, {"init": "split-merge"}),
    (coterie.KMeans, {"init": "random", "n_init": 3}),
    (coterie.BisectingKMeans, {}),
    (coterie.MiniBatchKMeans, {"batch_size": 16, "max_iter": 5}),
    (coterie.NestedMiniBatchKMeans, {"batch_size": 16}),
]


@draws(50)
@given(problem=problems(), which=st.integers(0, len(K_MEANS) - 1))
def test_k_means(problem, which):
    X, weights, k, seed = problem
    estimator, options = K_MEANS[which]
    model = estimator(k, random_state=seed, **options).fit(X, sample_weight=weights)
    w = np.ones(len(X)) if weights is None else weights
    if estimator is coterie.BisectingKMeans:  # labels by the tree, not by the nearest of all centers
        same_bits(model.predict(X), model.labels_)
        own = square_distances(X, model.cluster_centers_)[np.arange(len(X)), model.labels_]
    else:
        own = check_assignment(X, model, model.labels_)
        check_assignment(X, model, model.predict(X))
    np.testing.assert_allclose(
        model.inertia_, own @ w, rtol=precision(X), atol=w.sum() * relative(X, precision(X))
    )
    if estimator in (coterie.KMeans, coterie.BisectingKMeans) and model.n_iter_ < model.max_iter:
        for cluster, center in enumerate(model.cluster_centers_):
            members = model.labels_ == cluster
            if w[members].sum() > 0:
                mean = np.average(X[members].astype(np.float64), axis=0, weights=w[members])
                # With the default tol the last update may move centers a little.
                limit = np.sqrt(
                    relative(X, precision(X)) + model.tol * np.var(X.astype(float), axis=0).mean() * k
                )
                np.testing.assert_allclose(center, mean, atol=limit)
    same_bits(saved(model).predict(X), model.predict(X))


@draws(25)
@given(problem=problems(dtypes=("f4", "f8"), scales=(1e-2, 1.0, 1e3)))
def test_cosine_k_means(problem):
    X, weights, k, seed = problem
    lengths = np.linalg.norm(X.astype(np.float64), axis=1)
    if lengths.min() == 0:
        return
    unit = (X / lengths[:, None]).astype(X.dtype)
    model = coterie.KMeans(k, metric="cosine", random_state=seed).fit(X, sample_weight=weights)
    cosines = unit.astype(np.float64) @ model.cluster_centers_.T.astype(np.float64)
    cosines /= np.linalg.norm(model.cluster_centers_, axis=1)
    own = cosines[np.arange(len(X)), model.labels_]
    assert np.all(cosines.max(axis=1) - own <= 10 * precision(X))
    np.testing.assert_allclose(model.transform(X), 1 - cosines, atol=10 * precision(X))


@draws(20)
@given(problem=problems(most=30, dtypes=("f4", "f8"), scales=(1.0, 1e3)), share=st.floats(0.2, 0.9))
def test_size_constraints_reach_the_optimum_of_the_linear_program(problem, share):
    X, _, k, seed = problem
    least, most = int(share * len(X) / k), int(np.ceil(len(X) / k / share))
    model = coterie.SizeConstrainedKMeans(k, least, most, random_state=seed, n_init=1, size_gap=1e-6).fit(X)
    sizes = np.bincount(model.labels_, minlength=k)
    assert least <= sizes.min()
    assert sizes.max() <= most
    n = len(X)
    costs = square_distances(X, model.cluster_centers_)
    rows = np.kron(np.eye(n), np.ones(k))
    columns = np.kron(np.ones(n), np.eye(k))
    best = linprog(
        costs.ravel(), np.vstack([columns, -columns]), [most] * k + [-least] * k, rows, np.ones(n)
    ).fun  # fmt: skip
    found = costs[np.arange(n), model.labels_].sum()
    assert found <= best + n * relative(X, 10 * precision(X)) + 1e-6 * abs(best)


@draws(25)
@given(
    problem=problems(dtypes=("f4", "f8"), scales=(1.0, 1e3)),
    kind=st.sampled_from(["tied_spherical", "spherical", "diag"]),
)
def test_mixture_posteriors_and_bounds(problem, kind):
    X, weights, k, seed = problem
    if np.ptp(X.astype(np.float64), axis=0).min() == 0:
        return  # a variance of the regularization alone
    model = coterie.TruncatedGaussianMixture(
        k,
        covariance_type=kind,
        n_candidates=k,
        n_neighbors=k,
        search_every=1,
        random_state=seed,
        reg_covar=1e-3,
    ).fit(X, sample_weight=weights)
    found = len(model.means_)
    variances = np.broadcast_to(
        np.reshape(model.covariances_, (-1, 1)) if np.ndim(model.covariances_) < 2 else model.covariances_,
        (found, X.shape[1]),
    ).astype(np.float64)
    differences = X.astype(np.float64)[:, None] - model.means_[None].astype(np.float64)
    logs = np.log(model.weights_) - 0.5 * np.sum(
        np.log(2 * np.pi * variances)[None] + differences**2 / variances, axis=2
    )
    posteriors = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), posteriors, atol=2e-2 if X.dtype == "f4" else 1e-6)
    if found < k or variances.min() < 1.0:
        return  # neither the regularization nor dropping a component is a step of EM: bounds may fall
    bounds = np.asarray(model.lower_bounds_)
    assert np.all(np.diff(bounds) >= -1e-3 * np.maximum(1, np.abs(bounds[1:])))


@draws(20)
@given(problem=problems(scales=(1.0, 1e3)), min_samples=st.integers(1, 6), size=st.integers(2, 6))
def test_density_clusters_are_parts_of_the_mutual_reachability_graph(problem, min_samples, size):
    X = problem[0]
    model = coterie.DensityClustering(min_samples=min_samples, min_cluster_size=size, space="rows").fit(X)
    reach, cores = density.mutual_reachability(X, min_samples)
    limit = np.sqrt(relative(X, precision(X)))
    np.testing.assert_allclose(model.core_distances_, cores, atol=limit)
    for label in range(model.n_clusters_):
        rows = np.flatnonzero(model.labels_ == label)
        assert len(rows) >= size
        # Its rows are connected by edges lighter than any that lead to rows of other clusters.
        others = np.flatnonzero((model.labels_ >= 0) & (model.labels_ != label))
        if len(others):
            assert density.merge_height(reach, rows) <= reach[np.ix_(rows, others)].min() + limit
    same_bits(model.predict(X), model.labels_)
    same_bits(saved(model).predict(X), model.labels_)


@draws(15)
@given(problem=problems(dtypes=("f4", "f8"), scales=(1.0, 1e3)))
def test_modes_are_rows_and_memberships_sum_to_one(problem):
    X, _, k, seed = problem
    model = coterie.LaplacianKModes(k, n_neighbors=3, n_init=1, random_state=seed).fit(X)
    is_row = model.mode_indices_ >= 0  # a cluster without rows has no mode
    same_bits(model.modes_[is_row], X[model.mode_indices_[is_row]])
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-5)
    assert np.all((model.labels_ >= 0) & (model.labels_ < k))


@draws(15)
@given(problem=problems(most=40, dtypes=("f4", "f8"), scales=(1.0, 1e3)))
def test_total_variation_reports_the_cut_of_its_labels(problem):
    X, _, k, seed = problem
    model = coterie.TotalVariationClustering(max(k, 2), n_neighbors=4, n_init=2, random_state=seed).fit(X)
    vertices = model.vertex_rows_
    if len(vertices) < max(k, 2):
        assert model.energy_ == np.inf  # a cluster is empty
        return
    masses = (X[:, None] == X[vertices]).all(axis=2).sum(axis=0)
    lam = 1 / model.class_priors_ - 1 if hasattr(model, "class_priors_") else None
    expected = total_variation.balanced_cut(
        model.affinity_matrix_.toarray().astype(float), model.labels_[vertices], max(k, 2), lam, masses
    )
    np.testing.assert_allclose(model.energy_, expected, rtol=1e-5, atol=1e-9)


@draws(30)
@given(
    problem=problems(most=20, dtypes=("f8",), scales=(1e-2, 1.0, 1e3)), gamma=st.floats(0.01, 10),
    norm=st.sampled_from(["l1", "l2", "linf"]), solver=st.sampled_from(["ama", "admm"]),
)  # fmt: skip
def test_convex_objective_gap_and_perturbations(problem, gamma, norm, solver):
    X, _, _, seed = problem
    model = coterie.ConvexClustering(gamma, n_neighbors=3, norm=norm, solver=solver, tol=1e-6).fit(X)
    plain = convex.PlainNorm(norm, X.shape[1])
    objective = convex.primal(X, model.centroids_, model.edges_, model.edge_weights_, gamma, plain)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-7, atol=1e-12)
    if not model.converged_:
        return
    random = np.random.default_rng(seed)
    for _ in range(5):
        moved = model.centroids_ + 1e-3 * X.std() * random.normal(size=X.shape)
        other = convex.primal(X, moved, model.edges_, model.edge_weights_, gamma, plain)
        assert other >= objective - 2e-6 * max(objective, 1e-12)
