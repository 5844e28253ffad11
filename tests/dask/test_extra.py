"""What is said where there is no cluster, or no library for one."""

import subprocess
import sys

import pytest

import coterie.dask
from coterie.dask import KMeans


def test_coterie_loads_nothing_of_it():
    code = "import sys, coterie, coterie.dask; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'coterie\[dask\]'"):
        KMeans(2).fit("rows.npy")


def test_without_a_client():
    pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
    with pytest.raises(ValueError, match=r"There is no Dask client: make one by distributed.Client"):
        KMeans(2).fit("rows.npy")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "ConvexClustering",
            r"coterie.dask.KMeans\(coreset_size=...\), and give cluster_centers_ to coterie.Conv",
        ),
        ("ConvexClusterPath", "holds all rows and a graph of them"),
        (
            "TotalVariationClustering",
            r"\(affinity='precomputed'\) to coterie.dask.knn_graph\(X\); else fit .* coterie.dask.predict\(model, X\)",
        ),
        ("MiniBatchKMeans", "coterie.dask.NestedMiniBatchKMeans does"),
        ("BisectingKMeans", "does not run on a cluster: fit coterie.BisectingKMeans to rows of"),
    ],
)
def test_methods_that_need_all_rows_in_one_place_say_what_to_do(name, message):
    with pytest.raises(NotImplementedError, match=f"^{name} .*{message}"):
        getattr(coterie.dask, name)(3, random_state=0)
