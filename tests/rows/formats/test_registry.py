"""Formats of other packages: a function from a path to batches."""

import numpy as np
import pyarrow
import pytest
import scipy.sparse as sp

from coterie.rows import formats, open_rows, register_format
from tests.rows.formats import assert_same_rows, numbers


def read_toy(path):
    """A number a line: the number of columns, then row by row."""
    with open(path) as file:
        n_columns = int(next(file))
        row = []
        for line in file:
            row.append(float(line))
            if len(row) == n_columns:
                yield np.array([row])
                row = []
        if row:
            raise RuntimeError(f"{len(row)} numbers are too many")


def write_toy(path, X):
    path.write_text("\n".join([str(X.shape[1]), *map(repr, X.ravel().tolist())]))


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """The formats that Coterie brings; what a test adds is gone after it."""
    monkeypatch.setattr(formats, "_by_extension", dict(formats._by_extension))


def test_a_format_from_outside(tmp_path):
    register_format(".toy", read_toy)
    X = numbers(61)
    write_toy(tmp_path / "x.toy", X)
    assert_same_rows(open_rows(tmp_path / "x.toy"), X)
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, part in zip((1, 2, 10), np.split(X, [30, 31])):
        write_toy(folder / f"part-{number}.toy", part)
    source = open_rows(folder)
    assert_same_rows(source, X)
    assert [start for start, _ in source.files] == [0, 30, 31]


@pytest.mark.parametrize(
    "kind", [np.asarray, np.ndarray.tolist, sp.csr_array, lambda part: part.astype(np.int64)]
)
def test_kinds_of_pieces(tmp_path, kind):
    X = np.round(numbers(61) * 10)
    register_format(".toy", lambda path: [kind(part) for part in np.split(X, [13])])
    (tmp_path / "x.toy").touch()
    assert_same_rows(open_rows(tmp_path / "x.toy"), X)


def test_batches_of_arrow(tmp_path):
    X, names = numbers(61), ["id", *"abcd"]
    batches = [pyarrow.RecordBatch.from_arrays([*map(pyarrow.array, p.T)], names) for p in np.split(X, [13])]
    register_format(".toy", lambda path: batches)
    (tmp_path / "x.toy").touch()
    rows = open_rows(tmp_path / "x.toy", exclude="id")
    np.testing.assert_array_equal(rows.read(), X[:, 1:])
    assert rows.metadata_columns["id"].to_pylist() == X[:, 0].tolist()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("2\n1\n2\n3\n", {}, r"Cannot read .*x\.toy: 1 numbers are too many"),
        ("2\n1\n2\n", {"header": True}, r"header has no meaning for .*x\.toy"),
        ("2", {}, r"Cannot read .*x\.toy: it has no rows"),
        ("1\n1\nnan\n", {}, r"NaN\. First bad row: 1 of .*x\.toy"),
    ],
)
def test_errors_name_the_file(text, options, message, tmp_path):
    register_format(".toy", read_toy)
    (tmp_path / "x.toy").write_text(text)
    with pytest.raises(ValueError, match=message):
        open_rows(tmp_path / "x.toy", **options).read()


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([np.ones((2, 3)), np.ones((2, 4))], "instead of 3 columns"),
        ([np.ones((2, 3)), np.ones(3)], "instead of 3 columns"),
        ([np.ones((2, 3), complex)], "Complex"),
        ([np.array([["a"]])], "must hold numbers"),
    ],
)
def test_pieces_that_do_not_fit(tmp_path, pieces, message):
    register_format(".toy", lambda path: iter(pieces))
    (tmp_path / "x.toy").touch()
    with pytest.raises(ValueError, match=message):
        open_rows(tmp_path / "x.toy")


def test_an_extension_belongs_to_one_format():
    register_format(".toy", read_toy)
    register_format(".toy", read_toy)
    for extension, read in ((".toy", print), (".csv", read_toy)):
        with pytest.raises(ValueError, match=rf"\{extension} belongs"):
            register_format(extension, read)
