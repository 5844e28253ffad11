"""Pictures: what is in them, and that they can be written."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from coterie import TruncatedGaussianMixture, plotting
from coterie.rows import as_rows

pytest.importorskip("matplotlib")


class Model(BaseEstimator):
    """A fitted model without a fit."""

    def __init__(self, X, n_clusters):
        self.cluster_centers_ = np.asarray(X[:n_clusters], dtype=float)
        self.labels_ = np.arange(len(X)) % n_clusters
        self.history_ = np.array(
            [(1, 0.1, 9.0), (2, 0.2, 4.0), (3, 0.3, 3.0)],
            dtype=[("iteration", "i8"), ("seconds", "f8"), ("objective", "f8")],
        ).view(np.recarray)

    def fit(self, X):
        """There must be one for `check_is_fitted`."""

    def predict(self, X):
        return np.zeros(X.shape[0], dtype=np.int32)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(200, 6))


def n_points(ax):
    """Points of the scatters that are no centres (those have a white face or a cross)."""
    return sum(len(c.get_offsets()) for c in ax.collections if c.get_alpha())


def is_png(figure, path):
    figure.savefig(path)
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_history(X, tmp_path):
    ax = plotting.plot_history(Model(X, 3))
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [0.1, 0.2, 0.3]
    assert line.get_ydata().tolist() == [9, 4, 3]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("seconds", "objective")
    assert "3 iterations" in ax.get_title()
    assert is_png(ax.figure, tmp_path / "history.png")


def test_history_of_a_mixture(X):
    model = TruncatedGaussianMixture(3, random_state=0).fit(X)
    ax = plotting.plot_history(model)
    assert ax.get_ylabel() == "free energy per row"
    (line,) = ax.lines
    assert line.get_ydata().tolist() == model.lower_bounds_.tolist()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array, as_rows])
def test_clusters_of_every_kind_of_rows(X, kind, tmp_path):
    ax = plotting.plot_clusters(kind(X), Model(X, 4))
    assert n_points(ax) == 200
    assert sorted(text.get_text() for text in ax.texts) == ["0", "1", "2", "3"]
    assert ax.get_title() == "200 rows in 4 clusters"
    assert is_png(ax.figure, tmp_path / "clusters.png")


def test_points_lie_on_the_principal_components(X):
    X = X * [9, 3, 1, 1, 1, 1]
    ax = plotting.plot_clusters(X, Model(X, 1))
    drawn = np.asarray(ax.collections[0].get_offsets())
    centred = X - X.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(np.abs(drawn), np.abs(centred @ directions[:2].T))


def test_large_sparse_rows_stay_sparse(X, monkeypatch):
    X = X * [9, 5, 1, 1, 1, 1]
    dense = plotting.plot_clusters(X, Model(X, 2))
    monkeypatch.setattr(plotting, "_MOST_DENSE", 0)
    sparse = plotting.plot_clusters(sp.csr_matrix(X), Model(X, 2))
    for left, right in zip(dense.collections[:2], sparse.collections[:2]):
        assert np.allclose(np.abs(left.get_offsets()), np.abs(right.get_offsets()))


def test_many_rows_are_sampled_and_many_clusters_are_not_numbered():
    X = np.random.default_rng(1).normal(size=(20_500, 3))
    ax = plotting.plot_clusters(X, Model(X, 120))
    assert n_points(ax) == 20_000
    assert ax.get_title() == "20,500 rows in 120 clusters, 20,000 drawn"
    assert not ax.texts
    again = plotting.plot_clusters(X, Model(X, 120))
    assert np.array_equal(ax.collections[0].get_offsets(), again.collections[0].get_offsets())


def test_other_rows_than_those_of_the_fit_are_predicted(X):
    ax = plotting.plot_clusters(X[:50], Model(X, 3))
    assert len(ax.collections[0].get_offsets()) == n_points(ax) == 50


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 40)])
def test_clusters_of_awkward_shapes(shape, tmp_path):
    X = np.random.default_rng(2).normal(size=shape)
    for rows in (X, sp.csr_matrix(X)):
        ax = plotting.plot_clusters(rows, Model(X, 1))
        assert n_points(ax) == shape[0]
        assert is_png(ax.figure, tmp_path / "clusters.png")


@pytest.mark.parametrize("n_clusters", [2, 7, 8, 10, 11, 50])
def test_numbered_clusters_look_different(n_clusters):
    styles = [plotting._style(cluster, n_clusters) for cluster in range(n_clusters)]
    assert len(set(styles)) == n_clusters


def test_equal_rows():
    X = np.ones((9, 3))
    for rows in (X, sp.csr_matrix(X)):
        assert n_points(plotting.plot_clusters(rows, Model(X, 1))) == 9


def test_given_axes_are_used(X):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plotting.plot_clusters(X, Model(X, 2), ax=ax) is ax
    assert plotting.plot_history(Model(X, 2), ax=ax) is ax


@pytest.mark.parametrize(
    ("n_images", "image_shape"),
    [*((n, (2, 3)) for n in (1, 2, 3, 5, 7, 10, 40, 41)), (1, (2, 1, 3)), (3, (2, 1, 3))],
)
def test_cluster_images(n_images, image_shape, monkeypatch):
    monkeypatch.setattr(plotting, "_MOST_IMAGES", 40)
    centers = np.arange(n_images * 6, dtype=float).reshape(n_images, 6)
    figure = plotting.plot_cluster_images(centers, image_shape, np.arange(n_images) * 1000)
    pictures = [ax for ax in figure.axes if ax.images]
    drawn = min(n_images, 40)
    assert len(pictures) == drawn
    assert pictures[0].get_title() == "0"
    if n_images > 1:
        assert pictures[1].get_title() == "1,000"
    last = np.asarray(pictures[-1].images[0].get_array())
    assert last.shape == image_shape
    assert np.allclose(last.ravel(), centers[drawn - 1] / max(centers[drawn - 1].max(), 1))
    assert len(figure.axes) <= 2 * drawn


def test_one_level_of_grey(tmp_path):
    assert is_png(plotting.plot_cluster_images(np.ones((3, 4)), (2, 2)), tmp_path / "grey.png")


@pytest.mark.parametrize(
    ("centers", "image_shape", "counts", "message"),
    [
        (np.ones((2, 5)), (2, 2), None, r"centers must have shape \(k, 4\)"),
        (np.ones(4), (2, 2), None, r"centers must have shape \(k, 4\)"),
        (np.ones((0, 4)), (2, 2), None, r"centers must have shape \(k, 4\)"),
        (np.ones((2, 4)), (4,), None, "image_shape must be"),
        (np.ones((2, 8)), (2, 2, 2), None, "image_shape must be"),
        (np.ones((2, 4)), (2, 2), [1], r"counts must have shape \(2,\)"),
    ],
)
def test_bad_images(centers, image_shape, counts, message):
    with pytest.raises(ValueError, match=message):
        plotting.plot_cluster_images(centers, image_shape, counts)


def test_unfitted(X):
    class Unfitted(BaseEstimator):
        def fit(self, X):
            """Never called."""

    for draw in (plotting.plot_history, lambda model: plotting.plot_clusters(X, model)):
        with pytest.raises(NotFittedError):
            draw(Unfitted())


def test_missing_matplotlib(X, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (
        lambda: plotting.plot_history(Model(X, 2)),
        lambda: plotting.plot_clusters(X, Model(X, 2)),
        lambda: plotting.plot_cluster_images(X, (2, 3)),
    ):
        with pytest.raises(ImportError, match=r"coterie\[plot\]"):
            draw()


def test_no_global_figures(X):
    plotting.plot_history(Model(X, 2))
    pyplot = sys.modules.get("matplotlib.pyplot", types.SimpleNamespace(get_fignums=list))
    assert pyplot.get_fignums() == []


def test_curves_are_drawn_together(tmp_path):
    curves = {"one": ([1, 2, 3], [0.5, 0.1, 0.0]), "two": ([1, 10], [0.2, 0.02])}
    ax = plotting.plot_curves(curves, xlabel="seconds", ylabel="excess", title="a race")
    assert [line.get_label() for line in ax.lines] == ["one", "two"]
    assert ax.lines[0].get_xdata().tolist() == [1, 2]  # a logarithmic axis has no 0
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert is_png(ax.figure, tmp_path / "curves.png")


def test_memberships(X, tmp_path):
    model = Model(X, 3)
    model.memberships_ = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    ax = plotting.plot_memberships(model)
    assert len(ax.lines) == 3
    for line, column in zip(ax.lines, model.memberships_.T):
        np.testing.assert_array_equal(line.get_ydata(), np.sort(column)[::-1])
    assert len(plotting.plot_memberships(model, [1]).lines) == 1
    assert is_png(ax.figure, tmp_path / "memberships.png")
    with pytest.raises(ValueError, match="from 0 to 2"):
        plotting.plot_memberships(model, [3])
    with pytest.raises(NotFittedError):
        plotting.plot_memberships(TruncatedGaussianMixture(3))
