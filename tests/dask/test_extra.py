"""No library for a cluster, no client, or one that is not the current one."""

import sys

import numpy as np
import pandas as pd
import pytest

import coterie
import coterie.dask


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'coterie\[dask\]'"):
        coterie.dask.rows("rows.npy")


def test_without_a_client():
    pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
    with pytest.raises(ValueError, match=r"There is no Dask client: make one by distributed.Client"):
        coterie.dask.rows("rows.npy")


@pytest.mark.parametrize("kind", ["array", "unknown lengths", "frame", "files"])
def test_a_client_that_is_not_the_current_one(tmp_path, kind):
    distributed, dd = pytest.importorskip("distributed"), pytest.importorskip("dask.dataframe")
    da = pytest.importorskip("dask.array")
    random = np.random.default_rng(0)
    X = (random.normal(size=(400, 3)) + 5 * random.integers(3, size=(400, 1))).astype(np.float32)
    for number, part in enumerate(np.array_split(X, 2)):
        np.save(tmp_path / f"{number}.npy", part)
    chunks = da.from_array(X, chunks=(90, 3))
    source = {
        "array": chunks, "unknown lengths": chunks[chunks[:, 0] > -99], "files": str(tmp_path),
        "frame": dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3),
    }[kind]  # fmt: skip
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        lying = coterie.dask.rows(source, client=client)
        weights = da.ones(len(X), chunks=90)
        with pytest.raises(ValueError, match="No clients"):
            distributed.default_client()
        for model in (coterie.KMeans(3, init=X[:3]), coterie.TruncatedGaussianMixture(3, init=X[:3])):
            model.fit(lying, sample_weight=weights)
            assert model.score(lying) == pytest.approx(model.score(X), rel=1e-6)
