"""Columns of a table: clustered ones and metadata columns."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather, parquet

from coterie.rows import as_rows, open_rows
from coterie.rows.checks import TableError
from coterie.rows.columns import column_positions
from coterie.rows.derived import normalized

NAMES = ["id", "e0", "e1", "e2", "year", "x:y"]


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        ("e1", [1 + 1]),
        (2, [2]),
        (np.int64(2), [2]),
        (["e1", 0], [2, 0]),
        (range(1, 4), [1, 2, 3]),
        ("e0:e2", [1, 2, 3]),
        (["e1:"], [2, 3, 4, 5]),
        (":e0", [0, 1]),
        ("1:3", [1, 2]),
        ("4:", [4, 5]),
        (":2", [0, 1]),
        ("e*", [1, 2, 3]),
        ("e[02]", [1, 3]),
        ("?ear", [4]),
        (["e2", "e*", "e0:year"], [3, 1, 2, 4]),
        ("x:y", [5]),
    ],
)
def test_ways_to_name_columns(wanted, positions):
    assert column_positions(NAMES, [wanted] if isinstance(wanted, np.integer) else wanted) == positions


@pytest.mark.parametrize(
    "wrong", ["nothing", "z*", "e0:z", "z:e0", "e2:e0", "6:9", "3:2", 6, -1, ["e0", "E1"], "1:e2"]
)
def test_columns_that_are_not_there(wrong):
    with pytest.raises(ValueError, match=r"^no column .*\. Its columns are 'id', 'e0', "):
        column_positions(NAMES, wrong)


def test_columns_without_names():
    assert column_positions([None] * 4, ["1:3", 0]) == [1, 2, 0]
    with pytest.raises(ValueError, match=r"no column 'a'\. Its columns are 0 to 3, without names"):
        column_positions([None] * 4, "a")


@pytest.mark.parametrize("wanted", ["a", "a:b", "b:a", ["b", "a"]])
def test_ambiguous_names_are_refused(wanted):
    with pytest.raises(
        ValueError, match=r"^2 columns are named 'a'\. Rename them, or choose columns by position"
    ):
        column_positions(["a", "b", "a"], wanted)
    assert column_positions(["a", "b", "a"], [2, 1]) == [2, 1]
    assert column_positions(["a", "b", "a"], "a*") == [0, 2]


def test_column_named_twice_is_an_error():
    with pytest.raises(ValueError, match=r"the column 1 is named twice"):
        column_positions(NAMES, ["e0", 1])
    with pytest.raises(ValueError, match=r"the column 'e0' is named twice"):
        column_positions(NAMES, ["e*", "e0"])


def numbers():
    return np.random.default_rng(0).normal(size=(30, 3))


def mixed():
    X = numbers()
    vectors = [pa.FixedSizeListArray.from_arrays(pa.array(np.full(60, v)), 2) for v in (1.0, 2.0)]
    return pa.table(
        {
            "id": [f"r{i:02}" for i in range(30)],
            "e0": X[:, 0],
            "e1": X[:, 1],
            "title": vectors[0],
            "e2": X[:, 2],
            "text": vectors[1],
            "place": ["Rome", "Oslo"] * 15,
        }
    )


def stored(table, kind, folder):
    """What `as_rows` or `open_rows` reads, as a function of the options."""
    if kind in ("arrow", "pandas", "polars"):
        make = {"arrow": lambda t: t, "pandas": lambda t: t.to_pandas(), "polars": pl.from_arrow}[kind]
        return lambda **options: as_rows(make(table), **options)
    path = folder / f"x.{kind}"
    if kind == "csv":
        keep = [name for name in table.column_names if name not in ("title", "text")]
        table.select(keep).to_pandas().to_csv(path, index=False)
    elif kind == "parquet":
        parquet.write_table(table, path, row_group_size=7)
    else:
        feather.write_feather(table, str(path), chunksize=7)
    return lambda **options: open_rows(path, **options)


TABLES = ["arrow", "pandas", "polars", "parquet", "feather"]


@pytest.mark.parametrize("kind", [*TABLES, "csv"])
def test_choice_of_columns(kind, tmp_path):
    X, rows_of = numbers(), stored(mixed(), kind, tmp_path)
    file = rf"Cannot read .*x\.{kind}: " if kind in ("csv", "parquet", "feather") else ""
    every = [
        {"columns": "e*"},
        {"columns": ["e0", "e1", "e2"]},
        {"columns": "e?", "exclude": []},
        {"exclude": ["id", "place", "t*"]} if kind != "csv" else {"exclude": ["id", "place"]},
        {"columns": "*", "exclude": ["id", "place", "t*"]} if kind != "csv" else {"columns": "e0:e2"},
    ]
    for options in every:
        rows = rows_of(**options)
        assert rows.column_names == rows.chosen == ["e0", "e1", "e2"]
        np.testing.assert_array_equal(rows.read(), X)
    assert rows_of(columns=["e2", "e0"], exclude="e0").chosen == ["e2"]
    rows = rows_of(columns=["e2", 1])
    assert rows.column_names == ["e2", "e0"]
    np.testing.assert_array_equal(rows.read(), X[:, [2, 0]])
    np.testing.assert_array_equal(rows.take([3, 29]), X[[3, 29]][:, [2, 0]])
    with pytest.raises(ValueError, match="exclude leaves no column"):
        rows_of(columns="e*", exclude="e*")
    with pytest.raises(ValueError, match=r"columns must be a list of names or positions, got \[\]"):
        rows_of(columns=[])
    with pytest.raises(ValueError, match="no column 'z'"):
        rows_of(exclude="z")
    message = rf"{file}.*not numbers: 'id' \(.*\), 'place' \(.*\)\. Leave them out"
    with pytest.raises(ValueError, match=message):
        rows_of(columns=["id", "e0", "place"])


@pytest.mark.parametrize("kind", TABLES)
def test_several_columns_of_vectors(kind, tmp_path):
    rows_of = stored(mixed(), kind, tmp_path)
    with pytest.raises(TableError, match="several columns of vectors: title, text") as error:
        rows_of()
    assert error.value.parameter == "columns"
    assert rows_of(columns="text").chosen == ["text"]
    assert rows_of(columns=["title", "text"]).shape == (30, 4)


@pytest.mark.parametrize(
    "X", [np.eye(3), sp.eye_array(3), as_rows(np.eye(3)), pd.DataFrame.sparse.from_spmatrix(sp.eye_array(3))]
)
@pytest.mark.parametrize("option", ["columns", "exclude"])
def test_only_tables_have_columns_to_choose(X, option):
    with pytest.raises(ValueError, match=rf"^{option} has no meaning for X \(\w+\): it is for dense tables"):
        as_rows(X, **{option: [0]})


@pytest.mark.parametrize("kind", [*TABLES, "csv"])
def test_other_columns_are_metadata(kind, tmp_path):
    rows_of = stored(mixed(), kind, tmp_path)
    rows = rows_of(columns=["e1", "e0"])
    names = ["id", "title", "e2", "text", "place"] if kind != "csv" else ["id", "e2", "place"]
    assert rows.metadata_columns.column_names == names
    for other in (rows, pickle.loads(pickle.dumps(rows)), rows.with_dtype(np.float32), normalized(rows)):
        table = other.metadata_columns
        assert table.column_names == names
        assert table["id"].to_pylist() == mixed()["id"].to_pylist()
        assert table["e2"].to_pylist() == mixed()["e2"].to_pylist()
    left_out = [name for name in names if name != "e2"]
    assert rows_of(exclude=left_out).metadata_columns.column_names == left_out


def test_shards_with_other_metadata_columns(tmp_path):
    """Those that a shard lacks are missing in its rows."""
    table = mixed().select(["id", "e0", "place"])
    parquet.write_table(table.slice(0, 10), tmp_path / "0.parquet")
    later = table.slice(10).set_column(0, "id", table.slice(10)["id"].cast(pa.large_string()))
    parquet.write_table(later.append_column("note", pa.array(["-"] * 20)), tmp_path / "1.parquet")
    rows = open_rows(tmp_path, columns="e0")
    note = [None] * 10 + ["-"] * 20
    assert rows.metadata_columns.to_pydict() == {**table.select(["id", "place"]).to_pydict(), "note": note}
    parquet.write_table(table.select(["e0"]), tmp_path / "2.parquet")
    assert open_rows(tmp_path, columns="e0").metadata_columns["note"].to_pylist() == note + [None] * 30


def test_shards_with_repeated_names(tmp_path):
    for number in (0, 1):
        columns = [[number + 0.5, 2.5], [f"a{number}", "b"], [f"c{number}", "d"]]
        parquet.write_table(pa.table(columns, ["x", "note", "note"]), tmp_path / f"{number}.parquet")
    rows = open_rows(tmp_path)
    columns = [column.to_pylist() for column in rows.metadata_columns]
    assert columns == [["a0", "b", "a1", "b"], ["c0", "d", "c1", "d"]]
    parquet.write_table(pa.table([[1.5, 2.5], ["a", "b"]], ["x", "note"]), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="duplicate field names"):
        open_rows(tmp_path)


def test_pandas_index_is_metadata(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2]}, index=pd.Index(["x", "y"], name="id"))
    assert as_rows(frame).metadata_columns.to_pydict() == {"id": ["x", "y"]}
    frame.to_parquet(tmp_path / "x.parquet")
    assert open_rows(tmp_path / "x.parquet").metadata_columns.to_pydict() == {"id": ["x", "y"]}
    assert open_rows(tmp_path / "x.parquet").column_names == ["a"]
    frame.index = pd.MultiIndex.from_tuples([("x", 1), ("y", 2)])
    assert as_rows(frame).metadata_columns.column_names == ["__index_level_0__", "__index_level_1__"]
    assert as_rows(frame).metadata_columns.select([1]).to_pydict() == {"__index_level_1__": [1, 2]}


def test_metadata_columns_of_text_files(tmp_path):
    (tmp_path / "x.csv").write_text("id,code,x,note\n7,007,1.5,\n8,010,2.5,late\n")
    rows = open_rows(tmp_path / "x.csv", columns="x")
    assert rows.metadata_columns.to_pydict() == {"id": [7, 8], "code": ["007", "010"], "note": ["", "late"]}
    (tmp_path / "x.csv").write_text("7,a,1.5\n8,b,2.5\n")
    rows = open_rows(tmp_path / "x.csv", columns=[2])
    assert rows.column_names is None
    assert rows.chosen == [2]
    assert rows.metadata_columns.to_pydict() == {"0": [7, 8], "1": ["a", "b"]}
