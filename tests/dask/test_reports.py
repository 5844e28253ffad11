"""The report of a model that was fitted on a cluster."""

import numpy as np
import pytest

import coterie

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
pytest.importorskip("bokeh", reason="reports need the extra report")
da = pytest.importorskip("dask.array")

from coterie.dask import KMeans  # noqa: E402


def test_it_is_that_of_the_same_model_here(client):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) + 9 * np.eye(3)[np.arange(300) % 3]
    there = KMeans(3, init=X[:3]).fit(da.from_array(X, chunks=(100, 3)))
    for rows in (X, da.from_array(X, chunks=(100, 3))):
        report = coterie.report(there, rows, stability=0)
        assert report.page.subtitle == "300 rows x 3 columns in 3 clusters by k-means"
        np.testing.assert_array_equal(report.subject.labels, there.labels_)
        assert report.subject.examples == coterie.report(there.to_local(), X, stability=0).subject.examples
        assert "Clusters" in report.html
