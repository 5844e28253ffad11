"""Columns that should perhaps not be clustered are named, with the switch; others are not."""

import json

import numpy as np
import pytest
from sklearn import datasets as other_data

import coterie.datasets as own_data
from coterie.cli import main
from coterie.cli.suspects import column_warnings
from coterie.rows import as_rows

pandas = pytest.importorskip("pandas")


def told(X):
    return column_warnings(as_rows(pandas.DataFrame(np.asarray(X, dtype=float)).rename(columns="c{}".format)))


def noise(n_rows, n_columns):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(500),
        7 * np.arange(500) + 1_600_000_000,
        np.random.default_rng(0).permutation(500),
        np.random.default_rng(0).integers(2**50, 2**52, 500),
    ],
)
def test_ids(ids):
    (warning,) = told(np.c_[noise(500, 5), ids])
    assert warning.startswith("The column 'c5' looks like an id")
    assert "--exclude c5 leaves it out" in warning


def test_a_scale_that_drowns_the_others():
    (warning,) = told(noise(500, 5) * [1, 50, 1, 2, 3])
    assert "'c1' carries 99% of all variance" in warning
    assert "--exclude c1 leaves it out" in warning


def test_columns_without_names():
    X = noise(500, 3) * [1, 50, 1]
    (warning,) = column_warnings(as_rows(pandas.DataFrame(X)))
    assert "The column 1 carries" in warning
    assert "--exclude 1 leaves" in warning


@pytest.mark.parametrize(
    "X",
    [
        own_data.load_digits()[0],
        own_data.load_iris()[0],
        own_data.load_mammals().data,
        own_data.load_senate().data,
        other_data.load_diabetes().data,
    ],
)
def test_data_as_they_should_be(X):
    assert told(X) == []


def test_ordinary_tables():
    n = np.arange(5000)
    assert (
        told(noise(5000, 300) / np.linalg.norm(noise(5000, 300), axis=1, keepdims=True)) == []
    )  # embeddings
    assert told(noise(500, 2) * [1, 3]) == []
    # Sensors, read in the order of time: one drifts, one counts what seldom happens.
    assert told(np.c_[20 + 3 * np.sin(n / 300), 18 + n / 2500, n // 700, noise(5000, 1)]) == []
    assert told(np.random.default_rng(0).integers(0, 256, size=(300, 40))) == []
    assert told(np.arange(500)[:, None]) == []
    assert told(np.c_[np.zeros(500), noise(500, 3), np.ones(500)]) == []
    assert told(np.c_[np.arange(19), noise(19, 2)]) == []
    # All columns count: then there would be nothing left.
    assert told(np.c_[np.arange(500), np.arange(500) * 3]) == []


def test_only_tables_are_looked_at():
    assert column_warnings(as_rows(np.c_[np.arange(500), noise(500, 5)])) == []


def test_a_fit_says_so(folder, X, capsys):
    pandas.DataFrame(X, columns=list("abcd")).assign(id=np.arange(300)).to_csv("rows.csv", index=False)
    assert main(["fit", "rows.csv", "-k", "3"]) == 0
    assert "coterie: warning: The column 'id' looks like an id" in capsys.readouterr().err
    assert "'id'" in json.loads((folder / "coterie-out/summary.json").read_text())["warnings"][0]
    assert main(["fit", "rows.csv", "-k", "3", "--columns", "a,b,c,d"]) == 0
    assert "warning" not in capsys.readouterr().err
