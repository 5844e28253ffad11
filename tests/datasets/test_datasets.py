"""The shipped tables hold what they say."""

from pathlib import Path

import numpy as np

from coterie import datasets

DATA = Path(__file__).parent / "data"


def test_senate_complete_unique_records():
    senate = datasets.load_senate(complete=True)
    expected = np.loadtxt(DATA / "senate48_X.csv", delimiter=",", skiprows=1)
    assert np.array_equal(senate.data > 0, expected)
    assert len(np.unique(senate.data, axis=0)) == len(senate.row_names) == len(senate.target) == 48
    everyone = datasets.load_senate()
    where = {name: i for i, name in enumerate(everyone.row_names)}
    kept = [where[name] for name in senate.row_names]
    assert kept == sorted(kept)
    assert np.array_equal(everyone.data[kept], senate.data)
    assert np.array_equal(everyone.target[kept], senate.target)
    assert senate.row_names[senate.target == 1].tolist() == ["Jeffords"]
    assert (everyone.data == 0).sum() == 17


def test_mammals():
    mammals = datasets.load_mammals()
    assert mammals.data.shape == (27, 8)
    assert len(np.unique(mammals.data, axis=0)) == 27
    assert mammals.data.min(axis=0).tolist() == [1] * 8
    assert mammals.data.max(axis=0).tolist() == [4, 5, 2, 2, 5, 5, 2, 2]
    assert mammals.row_names[3] == "brownbat"
    assert mammals.feature_names[:2] == ["top_incisors", "bottom_incisors"]
    assert len(mammals.feature_names) == 8


def test_each_call_gives_its_own_arrays():
    datasets.load_mammals().data[:] = 0
    assert datasets.load_mammals().data.min() == 1


def test_moved_digits_are_digits_that_moved():
    X, y = datasets.make_moved_digits(500, random_state=0)
    assert X.shape == (500, 64)
    assert X.dtype == np.float32
    assert X.min() >= 0
    assert X.max() <= 16
    assert len(np.unique(X, axis=0)) == 500
    again, _ = datasets.make_moved_digits(500, random_state=0)
    np.testing.assert_array_equal(X, again)
    digits, kinds = datasets.load_digits()
    # Most are still nearest to a digit of their own kind.
    nearest = kinds[np.argmin(np.sum((X[:, None] - digits[None]) ** 2, axis=2), axis=1)]
    assert np.mean(nearest == y) > 0.8


def test_definitions():
    definitions = datasets.load_definitions()
    assert definitions.data.shape == (2000, 64)
    assert definitions.data.dtype == np.float32
    assert np.isfinite(definitions.data).all()
    assert len(set(definitions.texts)) == 2000
    assert np.bincount(definitions.target).tolist() == [200] * 10
    row = definitions.texts.tolist().index("first half: the first of two halves of play")
    assert definitions.target_names[definitions.target[row]] == "time"
