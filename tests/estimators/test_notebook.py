"""What a notebook shows of an estimator: scikit-learn's picture, and once fitted the sizes and centers of clusters."""

import re

import numpy as np
import pytest
from sklearn import config_context

import coterie
from coterie.datasets import load_iris


@pytest.mark.parametrize("cosine", [False, True], ids=["euclidean", "cosine"])
def test_a_fitted_estimator_shows_sizes_and_centers(cosine):
    X = load_iris()[0]
    model = coterie.KMeans(3, metric="cosine" if cosine else "euclidean", random_state=0)
    plain = model._repr_html_()
    assert "clusters of" not in plain
    shown = model.fit(X)._repr_html_()
    sizes = ", ".join(str(size) for size in np.bincount(model.labels_))
    assert f"3 clusters of 150 rows: {sizes}" in shown
    assert len(re.findall("<circle ", shown)) == 3
    assert "sk-top-container" in shown
    assert model._repr_mimebundle_()["text/html"].endswith("</figure>")


def test_rows_in_no_cluster_are_counted_without_a_map():
    random = np.random.default_rng(0)
    X = np.concatenate(
        [random.normal(size=(60, 2)), random.normal(size=(60, 2)) + 30, [[300, 300], [-300, 300]]]
    )
    model = coterie.DensityClustering(min_cluster_size=20).fit(X)
    shown = model._repr_html_()
    assert f"{model.n_clusters_} clusters of 122 rows" in shown
    assert f"{np.count_nonzero(model.labels_ < 0)} in none" in shown
    assert "<circle" not in shown


def test_many_clusters_have_no_numbers():
    X = np.random.default_rng(0).normal(size=(80, 3))
    shown = coterie.KMeans(40, random_state=0).fit(X)._repr_html_()
    assert "and 28 more" in shown
    assert len(re.findall("<circle ", shown)) == 40
    assert "<text" not in shown


def test_text_instead_of_a_picture():
    model = coterie.KMeans(2, random_state=0).fit(np.eye(4))
    with config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")
