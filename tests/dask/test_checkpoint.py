"""Checkpoints: a fit that is made again resumes them, bit-identical; other fits are refused."""

import numpy as np
import pytest

import coterie
from coterie import KMeans, NestedMiniBatchKMeans, TruncatedGaussianMixture
from tests.dask.clusters import lost_in

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402

K = 6


def rows(far=False):
    random = np.random.default_rng(0)
    centers = random.normal(size=(K, 5)) * 2
    X = centers[random.integers(K, size=2400)] + random.normal(size=(2400, 5))
    if far:  # where rounding decides
        X[:900] += 1e9
    return X


def on_workers(X, checkpoint=None):
    return coterie.dask.rows(da.from_array(X, chunks=(500, 5)), checkpoint=checkpoint)


def check_same(model, expected):
    for name in ("cluster_centers_", "labels_", "n_iter_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    np.testing.assert_array_equal(model.history_.objective, expected.history_.objective)


@pytest.mark.parametrize(
    ("model", "task", "far", "number"),
    [
        (KMeans(K, init="random", n_init=2, random_state=0, tol=0, algorithm="yinyang"), "assign", False, 2),
        (KMeans(K, init="k-means||", random_state=0, tol=0), "assign", True, 9),
        (NestedMiniBatchKMeans(K, batch_size=100, random_state=0, bounds="yinyang"), "update", False, 9),
        (NestedMiniBatchKMeans(K, batch_size=100, random_state=0), "update", True, 2),
        (
            TruncatedGaussianMixture(
                K, covariance_type="diag", n_candidates=3, random_state=0, tol=0, max_iter=12
            ),
            "e_step",
            False,
            2,
        ),
        (
            TruncatedGaussianMixture(
                K, covariance_type="factors", n_factors=2, n_candidates=3, random_state=0, tol=0, max_iter=12
            ),
            "e_step",
            False,
            9,
        ),
        (
            TruncatedGaussianMixture(
                K, random_candidate=True, search_group_size=1, random_state=0, tol=0, max_iter=12
            ),
            "e_step",
            False,
            2,
        ),
    ],
    ids=[
        "k-means",
        "settled k-means",
        "nested",
        "settled nested",
        "mixture",
        "mixture of factor analyzers",
        "mixture with random candidates",
    ],
)
def test_a_fit_that_was_cut_off_resumes(client, tmp_path, monkeypatch, model, task, far, number):
    X = rows(far)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    whole = on_workers(X)
    expected = model.fit(whole, sample_weight=weights)
    lying, again = on_workers(X, tmp_path / "checkpoint"), type(model)(**model.get_params())
    with monkeypatch.context() as patch:
        lost_in(patch, task, number)
        with pytest.raises(ConnectionError, match="is lost"):
            again.fit(lying, sample_weight=weights)
    again.fit(lying, sample_weight=weights)
    check_same(again, expected)
    n_passes = np.count_nonzero(lying.traffic.name == task)
    assert n_passes == np.count_nonzero(whole.traffic.name == task) - number + 1
    again.fit(lying, sample_weight=weights)  # a fit that is over is read from the file
    check_same(again, expected)
    assert not np.any(lying.traffic.name == task)


def test_more_iterations_and_a_file_that_was_cut_off(client, tmp_path):
    X, path = rows(), tmp_path / "checkpoint"
    options = dict(init=X[:K], tol=0, random_state=0)
    KMeans(K, max_iter=5, **options).fit(on_workers(X, path))
    path.write_bytes(path.read_bytes()[:-5])
    check_same(KMeans(K, **options).fit(on_workers(X, path)), KMeans(K, **options).fit(on_workers(X)))


def test_other_fits_are_refused(client, tmp_path):
    X, path = rows(), tmp_path / "checkpoint"
    KMeans(K, random_state=0, max_iter=3).fit(on_workers(X, path))
    before, other = path.read_bytes(), X.copy()
    other[-1, -1] += 0.5
    for model, data, weights in (
        (KMeans(K, random_state=1), X, None),
        (KMeans(K, random_state=0, tol=0.1), X, None),
        (NestedMiniBatchKMeans(K, random_state=0), X, None),
        (KMeans(K, random_state=0), other, None),
        (KMeans(K, random_state=0), X, np.linspace(1, 2, len(X))),
    ):
        with pytest.raises(
            ValueError, match=r"checkpoint belongs to another fit .* give another path or delete it"
        ):
            model.fit(on_workers(data, path), sample_weight=weights)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="needs a random_state"):
        KMeans(K).fit(on_workers(X, tmp_path / "new"))
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="belongs to something else"):
        KMeans(K, random_state=0).fit(on_workers(X, tmp_path / "rows.npy"))
