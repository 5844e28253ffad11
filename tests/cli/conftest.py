"""A working folder with rows in it."""

import numpy as np
import pytest


@pytest.fixture(autouse=True, scope="session")
def extras(options_declared_once):
    """Commands need these."""


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)) + np.repeat(np.eye(4)[:3] * 10, 100, axis=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rows(folder, X):
    np.save(folder / "rows.npy", X)
    return "rows.npy"


@pytest.fixture
def table(folder, X):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.insert(1, "name", "somebody")
    frame.to_parquet(folder / "rows.parquet")
    return "rows.parquet"


@pytest.fixture
def shown_at_once(monkeypatch):
    """Progress is shown from the first step on, also of a short fit."""
    monkeypatch.setattr("coterie.cli.progress._FIRST_LINE", 0.0)
