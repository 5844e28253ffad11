"""Errors where there is no cluster, or no library for one."""

import sys

import pytest

import coterie.dask


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'coterie\[dask\]'"):
        coterie.dask.rows("rows.npy")


def test_without_a_client():
    pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
    with pytest.raises(ValueError, match=r"There is no Dask client: make one by distributed.Client"):
        coterie.dask.rows("rows.npy")
