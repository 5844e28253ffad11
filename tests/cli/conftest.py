"""Working folders with an array and a table in them."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("cyclopts")
pytest.importorskip("pyarrow")


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
    """The name of a file of an array."""
    np.save("rows.npy", X)
    return "rows.npy"


@pytest.fixture
def frame(X):
    """Customers: an id, ages and incomes in their units, a city, a name and a date; one row lacks its age."""
    frame = pandas.DataFrame({
        "customer_id": [f"c{i:03}" for i in range(300)],
        "age": 40 + 10 * X[:, 0],
        "income": 30_000 + 1_000 * X[:, 1],
        "visits": X[:, 2],
        "city": np.random.default_rng(1).choice(["Rome", "Oslo"], 300),
    })  # fmt: skip
    frame.loc[3, "age"] = np.nan
    return frame


@pytest.fixture
def table(folder, frame):
    """The name of a CSV file of them."""
    frame.to_csv("customers.csv", index=False)
    return "customers.csv"
