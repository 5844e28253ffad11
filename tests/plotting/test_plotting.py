"""Layouts of rows in two dimensions, samples of clusters, labels that cover no other, maps and memberships."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.figures import style_of
from coterie.graphs import knn_graph
from coterie.plotting.layout import label_places, lay_out, sample_by_cluster

pytest.importorskip("matplotlib")


def blobs(is_sparse=False):
    random = np.random.default_rng(0)
    X = np.abs(random.normal(12 * np.repeat(np.eye(4, 6), 40, axis=0), 1))
    return sp.csr_array(X) if is_sparse else X


def assert_clusters_stay_together(points, labels, share=0.95):
    assert points.shape == (len(labels), 2)
    means = np.array([points[labels == cluster].mean(axis=0) for cluster in np.unique(labels)])
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(axis=1)
    assert np.mean(nearest == labels) > share


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_tsne_keeps_clusters_together_and_is_reproducible(is_sparse):
    pytest.importorskip("openTSNE")
    found = lay_out(blobs(is_sparse), "tsne")
    assert_clusters_stay_together(found.points, np.repeat(np.arange(4), 40))
    assert found.method == "t-SNE"
    for n_threads in (1, 2):
        np.testing.assert_array_equal(
            lay_out(blobs(is_sparse), "tsne", n_threads=n_threads).points, found.points
        )


def test_the_share_of_kept_neighbors_is_counted():
    X = np.random.default_rng(0).normal(size=(80, 5))
    found = lay_out(X, "pca")

    def nearest(rows):
        distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        np.fill_diagonal(distances, np.inf)
        return np.argsort(distances, axis=1)[:, :10]

    shares = [len(set(a) & set(b)) / 10 for a, b in zip(nearest(X), nearest(found.points))]
    assert found.kept == pytest.approx(np.mean(shares))
    assert lay_out(X[:, :2], "pca").kept == 1


@pytest.mark.parametrize("projection", ["tsne", "pca"])
def test_a_graph_is_laid_out(projection):
    if projection == "tsne":
        pytest.importorskip("openTSNE")
    graph = knn_graph(blobs(), 8)
    found = lay_out(graph.maximum(graph.T), projection, is_graph=True)
    # Two dimensions show three of four groups that no edge joins.
    share = 0.95 if projection == "tsne" else 0.8
    assert_clusters_stay_together(found.points, np.repeat(np.arange(4), 40), share)
    assert found.method == ("t-SNE" if projection == "tsne" else "eigenvectors")


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
def test_few_rows(n_rows):
    found = lay_out(np.arange(2.0 * n_rows).reshape(-1, 2))
    assert found.points.shape == (n_rows, 2)
    assert np.isfinite(found.points).all()


def test_a_missing_library_is_named_and_auto_does_without(monkeypatch):
    monkeypatch.setattr("coterie.plotting.layout.find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"projection='tsne' needs openTSNE: pip install 'coterie\[report\]'"
    ):
        lay_out(blobs(), "tsne")
    assert lay_out(blobs()).method == "PCA"


def test_a_sample_has_some_rows_of_each_cluster():
    labels = np.repeat(np.arange(4, dtype=np.int32), [50_000, 3_000, 40, 2])
    chosen = sample_by_cluster(labels, 1_000)
    assert len(chosen) <= 1_000
    assert np.array_equal(chosen, np.unique(chosen))
    assert np.bincount(labels[chosen]).min() == 2
    assert np.array_equal(sample_by_cluster(labels[:500], 1_000), np.arange(500))
    first = np.zeros(len(labels), dtype=bool)
    first[[7, 49_999, 52_000]] = True
    assert first[sample_by_cluster(labels, 1_000, first)].sum() == 3


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 80), st.floats(1, 40), st.floats(1, 20)),
        min_size=1,
        max_size=30,
    )
)
def test_labels_cover_no_other(drawn):
    drawn = np.array(drawn)
    places = label_places(drawn[:, :2], drawn[:, 2:], (100, 80))
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for place, (w, h) in zip(places, drawn[:, 2:])
        if place is not None
        for x, y in [place]
    ]
    for i, a in enumerate(boxes):
        assert -1e-9 <= a[0] <= a[2] <= 100 + 1e-9
        assert -1e-9 <= a[1] <= a[3] <= 80 + 1e-9
        for b in boxes[:i]:
            assert a[2] <= b[0] + 1e-9 or b[2] <= a[0] + 1e-9 or a[3] <= b[1] + 1e-9 or b[3] <= a[1] + 1e-9


@pytest.mark.parametrize("n_clusters", [2, 7, 8, 10, 11, 50])
def test_numbered_clusters_look_different(n_clusters):
    assert len({style_of(cluster, n_clusters) for cluster in range(n_clusters)}) == n_clusters


class TestClusterMap:
    def test_names_do_not_overlap_and_every_row_is_drawn(self):
        X = blobs()
        model = coterie.KMeans(4, n_init=5, random_state=0).fit(X)
        ax = coterie.plotting.cluster_map(model, X, names={0: "zero", 1: "one"}, projection="pca")
        assert sorted(text.get_text() for text in ax.texts) == ["2", "3", "one", "zero"]
        ax.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
        assert sum(len(points.get_offsets()) for points in ax.collections) == 160

    def test_coordinates_of_ones_own_need_no_model(self):
        X, labels = blobs(), np.repeat([0, 1, 2, -1], 40)
        points = X[:, :2]
        ax = coterie.plotting.cluster_map(None, X, labels=labels, projection=points)
        np.testing.assert_array_equal(ax.collections[0].get_offsets(), points[labels < 0])
        with pytest.raises(ValueError, match=r"projection must have shape \(160, 2\)"):
            coterie.plotting.cluster_map(None, X, labels=labels, projection=points[:5])

    def test_rows_of_the_fit_and_others_with_rows_in_no_cluster(self, tmp_path):
        random = np.random.default_rng(0)
        directions = np.repeat(np.eye(6)[:4], 50, axis=0) + 0.05 * random.normal(size=(200, 6))
        X = np.vstack([directions * 10 ** random.uniform(0, 3, size=(200, 1)), np.zeros((3, 6))])
        model = coterie.KMeans(4, metric="cosine", zero_rows="ignore", random_state=0).fit(X)
        for rows, sizes in ((X, [3, 50, 50, 50, 50]), (sp.csr_array(X[-5:]), [3, 2])):
            ax = coterie.plotting.cluster_map(model, rows, projection="pca")
            assert [len(part.get_offsets()) for part in ax.collections if len(part.get_offsets())] == sizes
        ax.figure.savefig(tmp_path / "map.png")
        pyplot = sys.modules.get("matplotlib.pyplot", types.SimpleNamespace(get_fignums=list))
        assert pyplot.get_fignums() == []

    def test_labels_of_a_table_of_results_and_columns_in_another_order(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(blobs(), columns=list("abcdef"))
        model = coterie.KMeans(4, random_state=0).fit(frame)
        labels = coterie.results_table(model, frame, outliers="5%")["cluster"]
        maps = [coterie.plotting.cluster_map(model, rows, labels=labels, projection="pca")
                for rows in (frame, frame[list("fabced")])]  # fmt: skip
        assert len(maps[0].collections[0].get_offsets()) == 8
        for one, other in zip(*(ax.collections for ax in maps), strict=True):
            np.testing.assert_array_equal(one.get_offsets(), other.get_offsets())
        with pytest.raises(ValueError, match="of 5 rows, and here are 160"):
            coterie.plotting.cluster_map(model, frame, labels=labels[:5])

    def test_missing_matplotlib(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(ImportError, match=r"coterie\[plot\]"):
            coterie.plotting.cluster_map(None, blobs(), labels=np.zeros(160, int), projection="pca")
