"""Maps by libraries of others, where they are installed, and points for programs of others."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.datasets import load_iris

LIBRARIES = {"umap": "umap", "opentsne": "openTSNE"}


def library_of(projection):
    pytest.importorskip(
        LIBRARIES[projection], reason=f"projection={projection!r} needs {LIBRARIES[projection]}"
    )


def blobs(is_sparse):
    random = np.random.default_rng(0)
    X = np.abs(random.normal(12 * np.repeat(np.eye(4, 6), 40, axis=0), 1))
    return sp.csr_array(X) if is_sparse else X


@pytest.mark.slow
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("projection", LIBRARIES)
def test_clusters_stay_together(projection, is_sparse):
    library_of(projection)
    X = blobs(is_sparse)
    model = coterie.KMeans(4, n_init=5, random_state=0).fit(X)
    report = coterie.report(model, X, projection=projection, stability=0)
    points = report.projection.points
    assert points.shape == (160, 2)
    assert np.isfinite(points).all()
    means = np.array([points[model.labels_ == cluster].mean(axis=0) for cluster in range(4)])
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(axis=1)
    assert np.mean(nearest == model.labels_) > 0.95
    assert ("UMAP" if projection == "umap" else "t-SNE") in report.projection.caption
    again = coterie.report(model, X, projection=projection, stability=0).projection.points
    np.testing.assert_array_equal(points, again)


@pytest.mark.slow
@pytest.mark.parametrize("projection", LIBRARIES)
def test_few_rows(projection):
    library_of(projection)
    X = load_iris()[0][:8]
    report = coterie.report(coterie.KMeans(2, random_state=0).fit(X), X, projection=projection)
    assert report.projection.points.shape == (8, 2)


@pytest.mark.parametrize("projection", LIBRARIES)
def test_vertices_of_a_graph_are_no_points(projection):
    graph = sp.csr_array(np.kron(np.eye(2), np.ones((5, 5))) - np.eye(10))
    model = coterie.TotalVariationClustering(2, affinity="precomputed", n_init=1, random_state=0).fit(graph)
    with pytest.raises(ValueError, match="vertices of a graph are no points"):
        coterie.report(model, graph, projection=projection)


@pytest.mark.parametrize("projection", LIBRARIES)
def test_what_is_missing_is_named(projection, monkeypatch):
    monkeypatch.setitem(sys.modules, LIBRARIES[projection], None)
    X = load_iris()[0]
    model = coterie.KMeans(3, random_state=0).fit(X)
    with pytest.raises(ImportError, match=f"projection='{projection}' needs"):
        coterie.report(model, X, projection=projection, stability=0)


@pytest.mark.parametrize("installed", [None, "umap", "openTSNE"])
def test_an_installed_library_is_named(installed, monkeypatch):
    monkeypatch.setattr("coterie.reports.projection.find_spec", lambda library: library == installed)
    X = load_iris()[0]
    caption = coterie.report(coterie.KMeans(3, random_state=0).fit(X), X, stability=0).projection.caption
    words = {
        None: "",
        "umap": " umap is installed: --projection umap",
        "openTSNE": "--projection opentsne keeps",
    }
    assert words[installed] in caption
    assert ("is installed" in caption) == (installed is not None)


def test_points_have_the_types_that_other_programs_read(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    model, rows = table
    parquet.write_table(coterie.report(model, rows, stability=0).points(), tmp_path / "points.parquet")
    points = parquet.read_table(tmp_path / "points.parquet")
    types = {field.name: str(field.type) for field in points.schema}
    assert types == {"x": "float", "y": "float", "row": "int64", "cluster": "int32", "label": "string", "id": "string",
                     "text": "string"}  # fmt: skip
    assert points["row"].to_pylist() == list(range(120))
    assert points["label"].to_pylist() == [f"cluster {cluster}" for cluster in model.labels_]
    assert all(column.null_count == 0 for column in points.columns)


@pytest.mark.slow
def test_a_data_map_is_plotted(table):
    datamapplot = pytest.importorskip("datamapplot", reason="needs datamapplot")
    model, rows = table
    points = coterie.report(model, rows, stability=0).points().to_pandas()
    _, ax = datamapplot.create_plot(points[["x", "y"]].to_numpy(), points["label"].to_numpy())
    assert {"cluster 0", "cluster 1", "cluster 2"} <= {text.get_text() for text in ax.texts}
