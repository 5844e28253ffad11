"""Density-based clustering of rows on workers."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import DensityClustering
from tests.support.bits import same_bits

pytest.importorskip("distributed", reason="rows on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402


@pytest.mark.parametrize(("n_columns", "searches_on_workers"), [(4, False), (8, True)])
def test_the_same_clusters_as_on_one_machine(client, n_columns, searches_on_workers):
    X = make_blobs(600, n_columns, centers=5, random_state=0)[0]
    rows = coterie.dask.rows(da.from_array(X, chunks=(250, n_columns)), client=client)
    here, there = (DensityClustering(random_state=0).fit(data) for data in (X, rows))
    same_bits([here.labels_, here.probabilities_], [there.labels_, there.probabilities_])
    assert ("neighbors" in rows.traffic.name) == searches_on_workers
    assert np.array_equal(np.asarray(there.predict(rows)), there.labels_)
