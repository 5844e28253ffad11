"""Rows in a working folder, and commands by every method."""

import importlib
import os
import sys

import numpy as np
import pytest

from coterie.cli import main

COMMANDS = [f"coterie.cli.{name}" for name in ("fit", "predict", "path", "info", "verify")]

# Each way to cluster, briefly.
METHODS = {
    "k-means": "fit {file} -k 8 -p algorithm=lloyd -p max_iter=3",
    "k-means, bounds": "fit {file} -k 8 -p algorithm=elkan -p max_iter=3",
    "nested": "fit {file} -k 8 --method nested -p max_iter=3",
    "mini-batch": "fit {file} -k 8 --method mini-batch -p max_iter=1",
    "gmm": "fit {file} -k 8 --method gmm -p max_iter=2",
    "coreset": "fit {file} -k 8 -p coreset_size=200 -p max_iter=2",
    "laplacian-kmodes": "fit {file} -k 8 --method laplacian-kmodes -p max_iter=2",
    "total-variation": "fit {file} -k 8 --method total-variation -p max_iter=5",
    "path": "path {file} -p n_gammas=3 -p max_iter=5",
}
FEW = {"laplacian-kmodes": 400, "total-variation": 400, "path": 60}


@pytest.fixture(autouse=True, scope="session")
def system():
    """Forks, limits and users are those of Linux."""
    if sys.platform != "linux":
        pytest.skip("limits of processes are those of Linux")
    for module in ("cyclopts", "pandas", "pyarrow", "matplotlib"):
        pytest.importorskip(module)
    # Once for all children, which would spend seconds on it.
    for module in ("pyarrow.csv", "pyarrow.parquet", "pyarrow.feather", "matplotlib.pyplot", *COMMANDS):
        importlib.import_module(module)
    for line in ("fit gone -k 2", "predict gone gone", "path gone", "info gone"):
        assert main(line.split()) == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder that everybody may enter and write to."""
    monkeypatch.chdir(tmp_path)
    os.chmod(tmp_path, 0o777)
    return tmp_path


@pytest.fixture
def rows(folder):
    """The name of a file of 2,000 rows."""
    rng = np.random.default_rng(0)
    np.save("rows.npy", rng.normal(size=(2_000, 8)) + 5 * rng.integers(4, size=(2_000, 1)))
    return "rows.npy"


@pytest.fixture(params=METHODS)
def command(request, rows):
    """A command by each method in turn; methods that are slow get few rows."""
    file = rows
    if request.param in FEW:
        file = "few.npy"
        np.save(file, np.load(rows)[: FEW[request.param]])
    return f"{METHODS[request.param].format(file=file)} --quiet --out out"


def write(ending, n_rows=3_000):
    """Write rows to a file of this kind; return its name."""
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(n_rows, 8)).round(2)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    name = f"rows.{ending}"
    {
        "npy": lambda: np.save(name, X),
        "npz": lambda: np.savez(name, X=X),
        "csv": lambda: frame.to_csv(name, index=False),
        "parquet": lambda: frame.to_parquet(name),
        "feather": lambda: frame.to_feather(name, compression="uncompressed"),
    }[ending]()
    return name
