"""What tables in files have in common: choice of columns, missing values, the index of pandas."""

import numpy as np
import pandas as pd
import pytest

from coterie.rows import as_rows, open_rows
from tests.rows.formats import WRITERS, assert_same_rows, numbers


@pytest.mark.parametrize(
    "name", ["csv, header", "tsv", "parquet, row groups", "feather, chunks", "arrow stream"]
)
def test_columns_of_tables(name, tmp_path):
    extension, write, _ = WRITERS[name]
    X = numbers(40)
    path = tmp_path / f"x{extension}"
    write(path, X)
    names = open_rows(path).column_names
    assert names == (list("abcde") if name in ("csv, header", "tsv") else [f"c{j}" for j in range(5)])
    source = open_rows(path, columns=[names[3], 0])
    assert source.column_names == [names[3], names[0]]
    assert_same_rows(source, X[:, [3, 0]])
    assert open_rows(tmp_path, [names[1]]).shape == (40, 1)
    for wrong in (["nothing"], [5], [-1]):
        with pytest.raises(ValueError, match=rf"no column .*\. Its columns are '{names[0]}'"):
            open_rows(path, columns=wrong)
    with pytest.raises(ValueError, match="named twice"):
        open_rows(path, columns=[names[1], 1])
    with pytest.raises(ValueError, match="columns must be a list"):
        open_rows(path, columns=[])


@pytest.mark.parametrize(
    ("write", "extension"),
    [
        (lambda frame, path: frame.to_csv(path, index=False), ".csv"),
        (lambda frame, path: frame.to_parquet(path), ".parquet"),
        (lambda frame, path: frame.to_feather(path), ".feather"),
    ],
)
def test_columns_that_are_not_numbers_are_named(write, extension, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2], "city": ["Rome", "Oslo"], "y": [3, 4], "ok": [True, False]})
    path = tmp_path / f"x{extension}"
    write(frame, path)
    with pytest.raises(
        ValueError, match=rf"x{extension}: The table has columns that are not numbers: 'city' \("
    ):
        open_rows(path, columns=["x", "city"])
    source = open_rows(path, columns=["ok", "x"])
    np.testing.assert_array_equal(source.read(), [[1, 1], [0, 2]])


def test_the_index_of_a_pandas_frame_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]}, index=pd.Index([7, 9], name="id"))
    frame.to_parquet(tmp_path / "x.parquet")
    assert open_rows(tmp_path / "x.parquet").column_names == ["a", "b"]
    assert open_rows(tmp_path / "x.parquet", columns=["id", "a"]).read().tolist() == [[7, 1], [9, 2]]


def test_missing_values_of_files_are_nan(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    for name in ("x.parquet", "x.csv"):
        with pytest.raises(ValueError, match=r"Input X contains NaN\. First bad row: 1 of \S+\. "):
            open_rows(tmp_path / name).read()


def test_missing_values_are_counted_by_column(tmp_path, monkeypatch):
    frame = pd.DataFrame(numbers(100), columns=["age", "size", "income", "b", "c"])
    frame.loc[20:31, "age"] = np.nan
    frame.loc[30:34, "income"] = np.inf
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=13)
    frame[:50].to_csv(tmp_path / "1.csv", index=False, na_rep="n/a")
    frame[50:].to_csv(tmp_path / "2.csv", index=False, na_rep="n/a")
    message = (
        r"^Input X contains NaN\. First bad row: 20( of \S+)?\. "
        r"Of 100 rows 15 have such values: 'age' in 12, 'income' in 5\. "
        r"Fill in numbers with prepare_rows\(X, missing='median'\), or drop the rows with "
        r"missing='drop', "
        r"or leave out the columns: exclude=\['age', 'income'\]\.$"
    )
    for rows in (as_rows(frame), open_rows(tmp_path / "x.parquet"), open_rows(tmp_path / "*.csv")):
        for read in (rows.read, lambda rows=rows: rows.take([0, 20]), lambda rows=rows: list(rows.blocks(7))):
            with pytest.raises(ValueError, match=message):
                read()
    monkeypatch.setattr("coterie.rows.source._COUNTED_BYTES", 25 * 5 * 8)
    with pytest.raises(ValueError, match=r"Of 25 rows 5 have such values: 'age' in 5\."):
        list(open_rows(tmp_path / "x.parquet").blocks(7))


def test_missing_values_of_many_columns():
    frame = pd.DataFrame(np.full((3, 10), np.nan))
    with pytest.raises(
        ValueError,
        match=r"'7' in 3, and 2 more columns\. Fill in numbers with .*, or drop the rows with missing='drop'.*$",
    ):
        as_rows(frame, columns=["*"]).read()
