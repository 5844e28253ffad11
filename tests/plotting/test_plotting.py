"""Pictures: what is in them, and that they can be written."""

import sys
import types
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from coterie import (
    KMeans,
    LaplacianKModes,
    TotalVariationClustering,
    TruncatedGaussianMixture,
    figures,
    plotting,
    results_table,
)
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


def is_png(figure, path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
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


@pytest.mark.parametrize(
    ("model", "ylabel", "step"),
    [
        (KMeans(3), "inertia", "iteration"),
        (LaplacianKModes(3, n_init=1), "relaxed objective", "iteration"),
        (TotalVariationClustering(3, n_init=1), "relaxed cut", "outer step"),
        (TruncatedGaussianMixture(3), "free energy per row", "iteration"),
    ],
)
def test_history_plots_are_labeled(X, model, ylabel, step):
    ax = plotting.plot_history(model.set_params(random_state=0, max_iter=4).fit(X))
    assert ax.get_ylabel() == ylabel
    assert step in ax.get_title()
    assert ax.lines[0].get_ydata().tolist() == model.history_.objective.tolist()


def test_pictures_of_one_model_have_the_same_colors(X):
    model = TotalVariationClustering(9, n_init=1, max_iter=20, random_state=0).fit(X)
    lines = plotting.plot_memberships(model, clusters=[8, 2]).lines
    for line, cluster in zip(lines, (8, 2)):
        assert line.get_color() == figures.style_of(cluster, 9)[0]
        assert line.get_label() == f"cluster {cluster}"


@pytest.mark.parametrize("n_clusters", [2, 7, 8, 10, 11, 50])
def test_numbered_clusters_look_different(n_clusters):
    styles = [figures.style_of(cluster, n_clusters) for cluster in range(n_clusters)]
    assert len(set(styles)) == n_clusters


def test_given_axes_are_used(X):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plotting.cluster_map(Model(X, 2), X, projection="pca", ax=ax) is ax
    assert plotting.plot_history(Model(X, 2), ax=ax) is ax


def pictures(figure, image_shape=(2, 3)):
    """What `plot_modes` has drawn: an array of images of shape (lines, columns, height, width)."""
    (ax,) = figure.axes
    sheet = np.asarray(ax.images[0].get_array())
    high, wide = image_shape[0] + 2, image_shape[1] + 2
    cells = sheet.reshape(sheet.shape[0] // high, high, sheet.shape[1] // wide, wide, *sheet.shape[2:])
    return np.moveaxis(cells, 2, 1)[:, :, 1:-1, 1:-1]


def texts(figure):
    """The headings, the names of the lines, and the title."""
    (ax,) = figure.axes
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    return [*(label.get_text() for label in labels), figure.get_suptitle()]


def shown(row, image_shape=(2, 3)):
    """How a row is drawn: from 0 to 1."""
    return (row.reshape(image_shape) - row.min()) / np.ptp(row)


@pytest.mark.parametrize("kind", [np.asarray, np.float32, sp.csr_matrix, sp.csr_array, as_rows])
def test_modes_means_and_nearest_rows(X, kind, tmp_path):
    model = Model(X, 3)
    model.cluster_centers_ = model.cluster_centers_ + 0.01
    figure = plotting.plot_modes(kind(X), model, (2, 3), n_neighbors=4)
    drawn = pictures(figure)
    assert drawn.shape == (3, 5, 2, 3)
    for cluster, (center, *nearest) in enumerate(drawn):
        assert np.allclose(center, shown(model.cluster_centers_[cluster]))
        squares = ((X - model.cluster_centers_[cluster]) ** 2).sum(axis=1)
        for row, picture in zip(np.argsort(squares), nearest):
            assert np.allclose(picture, shown(X[row]), atol=1e-5)
    written = texts(figure)
    assert written[:5] == ["center", "nearest", "2", "3", "4"]
    assert written[5:8] == ["cluster 0\n67 rows", "cluster 1\n67 rows", "cluster 2\n66 rows"]
    assert is_png(figure, tmp_path / "modes.png")


def test_a_mode_is_not_its_own_neighbor(X):
    model = LaplacianKModes(3, metric="cosine", n_init=1, random_state=0).fit(X)
    figure = plotting.plot_modes(X, model, (2, 3), n_neighbors=2)
    assert texts(figure)[:2] == ["mode", "mean"]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for cluster, (mode, (picture, mean, *nearest)) in enumerate(zip(model.mode_indices_, pictures(figure))):
        assert np.allclose(picture, shown(unit[mode]))
        assert np.allclose(mean, shown(unit[model.labels_ == cluster].mean(axis=0)))
        order = np.argsort(((unit - unit[mode]) ** 2).sum(axis=1))
        assert order[0] == mode
        for row, drawn in zip(order[1:], nearest):
            assert np.allclose(drawn, shown(unit[row]))


def test_nearest_rows_of_other_clusters_are_framed(X):
    model = Model(X, 2)
    figure = plotting.plot_modes(X, model, (2, 3), n_neighbors=3)
    n_others = 0
    for cluster, center in enumerate(model.cluster_centers_):
        order = np.argsort(((X - center) ** 2).sum(axis=1))[1:4]
        n_others += np.count_nonzero(model.labels_[order] != cluster)
    assert 0 < n_others == len(figure.axes[0].patches)
    assert texts(figure)[-1] == "Model: 2 clusters; framed: nearest rows of other clusters"


def test_the_largest_clusters_and_empty_ones(X, monkeypatch):
    model = Model(X, 15)
    model.labels_ = np.minimum(np.arange(len(X)) // 10, 13)
    assert texts(plotting.plot_modes(X, model, (2, 3), n_neighbors=1))[-1].startswith("Model: 15 clusters")
    monkeypatch.setattr(plotting.images, "_MOST_LINES", 12)
    figure = plotting.plot_modes(X, model, (2, 3), n_neighbors=1)
    written = texts(figure)
    assert written[-1].startswith("Model: 12 clusters, the largest of 15")
    names = [text.split("\n") for text in written if text.startswith("cluster")]
    assert [name for name, _ in names] == [f"cluster {i}" for i in (*range(11), 13)]
    assert [rows for _, rows in names] == ["10 rows"] * 11 + ["70 rows"]
    model = Model(X, 3)
    model.labels_[:] = 1
    assert pictures(plotting.plot_modes(X, model, (2, 3), 2)).shape == (3, 3, 2, 3)


def test_modes_of_few_rows_and_of_other_rows(X):
    (line,) = pictures(plotting.plot_modes(X[:3], Model(X[:3], 1), (2, 3)))
    assert len(line) == 3  # the center, and all other rows
    (line,) = pictures(plotting.plot_modes(X[:1], Model(X[:1], 1), (2, 3)))
    assert len(line) == 1
    figure = plotting.plot_modes(X[:50], Model(X, 3), (1, 6))
    assert "cluster 0\n50 rows" in texts(figure)


def test_modes_in_color(tmp_path):
    X = np.random.default_rng(0).integers(0, 255, size=(40, 24), dtype=np.uint8)
    figure = plotting.plot_modes(X, Model(X, 2), (4, 2, 3))
    assert pictures(figure, (4, 2)).shape == (2, 9, 4, 2, 3)
    assert is_png(figure, tmp_path / "modes.png")


@pytest.mark.parametrize(
    ("image_shape", "n_neighbors", "message"),
    [
        ((2, 2), 8, "image_shape must be"),
        ((6,), 8, "image_shape must be"),
        ((-2, -3), 8, "image_shape must be"),
        ((2, 3), 0, "n_neighbors"),
    ],
)
def test_bad_modes(X, image_shape, n_neighbors, message):
    with pytest.raises(ValueError, match=message):
        plotting.plot_modes(X, Model(X, 2), image_shape, n_neighbors)


def test_modes_without_coordinates(X):
    affinities = np.exp(-((X[:30, None] - X[:30]) ** 2).sum(axis=2))
    model = LaplacianKModes(2, affinity="precomputed", init="random", random_state=0).fit(affinities)
    with pytest.raises(ValueError, match="no centers with coordinates"):
        plotting.plot_modes(affinities, model, (5, 6))


def test_unfitted(X):
    class Unfitted(BaseEstimator):
        def fit(self, X):
            """Never called."""

    for draw in (
        plotting.plot_history,
        lambda model: plotting.cluster_map(model, X),
        lambda model: plotting.plot_modes(X, model, (2, 3)),
    ):
        with pytest.raises(NotFittedError):
            draw(Unfitted())


def test_missing_matplotlib(X, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (
        lambda: plotting.plot_history(Model(X, 2)),
        lambda: plotting.cluster_map(Model(X, 2), X),
        lambda: plotting.plot_modes(X, Model(X, 2), (2, 3)),
    ):
        with pytest.raises(ImportError, match=r"coterie\[plot\]"):
            draw()


def test_no_global_figures(X):
    plotting.plot_history(Model(X, 2))
    pyplot = sys.modules.get("matplotlib.pyplot", types.SimpleNamespace(get_fignums=list))
    assert pyplot.get_fignums() == []


def test_memberships(X, tmp_path):
    model = Model(X, 3)
    model.memberships_ = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    ax = plotting.plot_memberships(model)
    assert len(ax.lines) == 3
    for place, (line, column) in enumerate(zip(ax.lines, model.memberships_.T)):
        np.testing.assert_allclose((line.get_ydata() + place) / 0.82, np.sort(column)[::-1])
    assert [label.get_text() for label in ax.get_yticklabels()][:1] == ["cluster 0: 67 rows"]
    assert len(plotting.plot_memberships(model, [1]).lines) == 1
    assert is_png(ax.figure, tmp_path / "memberships.png")
    with pytest.raises(ValueError, match="from 0 to 2"):
        plotting.plot_memberships(model, [3])
    with pytest.raises(NotFittedError):
        plotting.plot_memberships(TruncatedGaussianMixture(3))


class TestRowsAsTheModelSeesThem:
    """Rows and centers in one space, and rows in no cluster."""

    @pytest.fixture
    def rays(self):
        """Rows around four directions, of lengths from 1 to 1,000."""
        random = np.random.default_rng(0)
        directions = np.repeat(np.eye(6)[:4], 50, axis=0) + 0.05 * random.normal(size=(200, 6))
        return directions * 10 ** random.uniform(0, 3, size=(200, 1))

    def test_rows_in_no_cluster_are_gray(self, rays, tmp_path):
        X = np.vstack([rays, np.zeros((3, 6))])
        model = KMeans(4, metric="cosine", zero_rows="ignore", random_state=0).fit(X)
        ax = plotting.cluster_map(model, X, projection="pca")
        assert [len(part.get_offsets()) for part in ax.collections] == [3, 50, 50, 50, 50]
        assert is_png(ax.figure, tmp_path / "clusters.png")
        others = plotting.cluster_map(model, X[-5:], projection="pca")  # these are predicted
        assert sum(len(part.get_offsets()) for part in others.collections) == 5

    def test_labels_of_a_table_of_results(self, rays):
        pytest.importorskip("pyarrow")
        model = KMeans(4, random_state=0).fit(rays)
        table = results_table(model, rays, outliers="5%")
        ax = plotting.cluster_map(model, rays, labels=table["cluster"], projection="pca")
        assert len(ax.collections[0].get_offsets()) == 10

    def test_columns_in_another_order(self, rays):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rays, columns=list("abcdef"))
        model = KMeans(4, random_state=0).fit(frame)
        maps = (
            plotting.cluster_map(model, rows, projection="pca") for rows in (frame, frame[list("fabced")])
        )
        for one, other in zip(*(ax.collections for ax in maps), strict=True):
            np.testing.assert_array_equal(one.get_offsets(), other.get_offsets())

    def test_modes_of_clusters_by_angle(self, rays, tmp_path):
        X = np.vstack([rays, np.zeros((3, 6))])
        model = KMeans(4, metric="cosine", zero_rows="ignore", random_state=0).fit(X)
        figure = plotting.plot_modes(X, model, (2, 3), n_neighbors=5)
        # The rows nearest to a direction are those of its cluster, whatever their lengths are.
        assert "4 clusters" in texts(figure)[-1]
        assert "framed" not in texts(figure)[-1]
        assert is_png(figure, tmp_path / "modes.png")
