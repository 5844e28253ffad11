"""Embeddings that a CSV file holds as text, as tutorials write them (`frame.to_csv` of a column of lists or arrays)."""

import json

import numpy as np
import pandas
import pytest

import coterie
from coterie.rows import prepare_rows

N, WIDTH = 60, 16
RNG = np.random.default_rng(0)
E = RNG.normal(size=(N, WIDTH)).round(5)
WAYS = {
    "lists": E.tolist(),
    "arrays of NumPy": list(E),
    "lists of NumPy's numbers": [str(list(row)) for row in E],
    "blanks": [" ".join(map(str, row)) for row in E],
    "tuples": [tuple(row) for row in E.tolist()],
    "JSON": [json.dumps(row) for row in E.tolist()],
}


@pytest.mark.parametrize("way", WAYS)
def test_vectors_are_parsed(way, tmp_path):
    frame = pandas.DataFrame(
        {"Id": np.arange(N) + 5000, "Score": RNG.integers(1, 6, N), "embedding": WAYS[way]}
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    for table in (tmp_path / "x.csv", pandas.read_csv(tmp_path / "x.csv")):
        assert prepare_rows(table).roles.features == ("embedding",)
        np.testing.assert_allclose(coterie.prepare_rows(table).read(), E)


def test_a_series_of_texts():
    np.testing.assert_array_equal(coterie.as_rows(pandas.Series(WAYS["JSON"])).read(), E)


def test_vectors_that_numpy_has_cut_are_an_error(tmp_path):
    with np.printoptions(threshold=10):
        pandas.DataFrame({"v": list(RNG.normal(size=(30, 2000)))}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"'\.\.\.' in row 0.*NumPy leaves out the middle"):
        coterie.open_rows(tmp_path / "x.csv")


def test_a_vector_of_another_length_is_named(tmp_path):
    cells = [*WAYS["JSON"][:20], "[1, 2]", *WAYS["JSON"][21:]]
    pandas.DataFrame({"v": cells}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"one has 2 numbers\. First bad row: 20"):
        coterie.open_rows(tmp_path / "x.csv").read()
