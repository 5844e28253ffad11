"""Clusters of AnnData objects. Needs the extra `test-cells`."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.graphs import knn_graph
from coterie.scanpy import cluster

anndata = pytest.importorskip("anndata", reason="the extra test-cells is not installed")


@pytest.fixture
def cells():
    X, y = make_blobs([80, 60, 40], 10, cluster_std=1.5, random_state=0)
    adata = anndata.AnnData(X.astype(np.float32))
    adata.obs["truth"] = y.astype(str)
    adata.obsm["X_pca"] = X[:, :5]
    adata.obsp["connectivities"] = sp.csr_matrix(knn_graph(X, 15, weights="gaussian"))
    return adata


def test_communities_of_the_graph(cells):
    model = cluster(cells, resolution=0.3)
    assert model.affinity == "precomputed"
    assert adjusted_rand_score(cells.obs["truth"], cells.obs["coterie"]) == 1
    assert cells.obs["coterie"].cat.categories.tolist() == ["0", "1", "2"]
    expected = {
        "method": "multilevel",
        "input": "obsp/connectivities",
        "resolution": 0.3,
        "affinity": "precomputed",
    }
    assert cells.uns["coterie"]["params"] == expected


@pytest.mark.parametrize(
    "method", ["multilevel", "total-variation", "laplacian-kmodes", "k-means", "gmm", "bisecting"]
)
def test_a_given_number_of_clusters(cells, method):
    cluster(cells, method, n_clusters=3, key_added="found")
    assert adjusted_rand_score(cells.obs["truth"], cells.obs["found"]) > 0.95


def test_noise_is_missing_and_files_can_be_written(cells, tmp_path):
    cells.X[0] = 500
    model = cluster(cells, "density", use_rep="X", key_added="dense")
    np.testing.assert_array_equal(cells.obs["dense"].isna(), model.labels_ < 0)
    assert cells.obs["dense"].isna().iloc[0]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["dense"].equals(cells.obs["dense"])
    assert again.uns["dense"]["params"]["method"] == "density"


def test_another_graph(cells):
    cells.uns["other"] = {"connectivities_key": "other_connectivities"}
    cells.obsp["other_connectivities"] = sp.csr_matrix(knn_graph(cells.obsm["X_pca"], 15))
    cluster(cells, neighbors_key="other", resolution=0.3)
    assert cells.uns["coterie"]["params"]["input"] == "obsp/other_connectivities"
    graph = cells.obsp["other_connectivities"]
    plain = coterie.MultilevelGraphClustering(resolution=0.3, affinity="precomputed").fit(graph)
    np.testing.assert_array_equal(cells.obs["coterie"].cat.codes, plain.labels_)


def test_scanpy_itself(cells):
    sc = pytest.importorskip("scanpy", reason="the extra test-cells is not installed")
    sc.pp.neighbors(cells, n_neighbors=15, use_rep="X_pca", key_added="near")
    cluster(cells, neighbors_key="near", resolution=0.3)
    assert adjusted_rand_score(cells.obs["truth"], cells.obs["coterie"]) > 0.9


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(neighbors_key="none"), KeyError, "adata.uns has no 'none'"),
        (dict(use_rep="X_umap"), KeyError, "adata.obsm has no 'X_umap'"),
        (dict(use_rep="X_pca", neighbors_key="none"), ValueError, "one of them"),
        (dict(method="k-means", neighbors_key="none"), ValueError, "takes coordinates"),
        (dict(method="density", resolution=2.0), TypeError, "no parameter 'resolution'"),
        (dict(n_clusters=3, resolution=2.0), ValueError, "both set the number"),
        (dict(method="leiden"), ValueError, "unknown"),
    ],
)
def test_what_can_be_read_in_two_ways_or_is_not_there(cells, options, error, message):
    with pytest.raises(error, match=message):
        cluster(cells, **options)
    assert "coterie" not in cells.obs
