"""`profile_table`: profiles of columns of all kinds."""

import numpy as np
import pytest

from coterie.rows.files import profile_table

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table():
    n = 400
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(n, 3)).astype(np.float32)
    ragged = [[1.0]] * 5 + [[1.0, 2.0]] * (n - 5)
    return pyarrow.table(
        {
            "number": [None, float("nan"), *rng.normal(7, 2, n - 2)],
            "row": np.arange(n) + 5,
            "hash": [f"x{i:04}" for i in rng.permutation(n)],
            "kind": np.resize(["a", "b", "", "a"], n),
            "story": [
                f"once upon a time there was number {i}, and it was happy ever after" for i in range(n)
            ],
            "day": pyarrow.array(range(n), pyarrow.date32()),
            "written": [f"2024-01-{i % 28 + 1:02}" for i in range(n)],
            "nearly": [*(str(i / 2) for i in range(n - 1)), "n.v."],
            "same": ["x"] * n,
            "nothing": pyarrow.nulls(n, pyarrow.float64()),
            "infinite": [np.inf, *rng.normal(size=n - 1)],
            "flag": np.arange(n) % 3 == 0,
            "vector": list(vectors),
            "ragged": ragged,
            "nested": [{"a": i} for i in range(n)],
            "levels": pyarrow.array(np.resize(["low", "high"], n)).dictionary_encode(),
        }
    )


LOOKS = {
    "number": "number",
    "row": "id",
    "hash": "id",
    "kind": "category",
    "story": "text",
    "day": "date",
    "written": "date",
    "nearly": "invalid numbers",
    "same": "constant",
    "nothing": "empty",
    "infinite": "number",
    "flag": "number",
    "vector": "vector",
    "ragged": "vector",
    "nested": "nested",
    "levels": "category",
}


@pytest.mark.parametrize("group", [7, 150, 1000])
def test_every_kind_of_column(table, group, tmp_path):
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=group)
    n_rows, _, columns = profile_table(str(tmp_path / "t.parquet"))
    found = {column.name: column for column in columns}
    assert n_rows == 400
    assert {name: column.looks_like for name, column in found.items()} == LOOKS
    number = np.array(table["number"].drop_null())[1:]
    assert (found["number"].missing, found["kind"].missing, found["nothing"].missing) == (2, 100, 400)
    np.testing.assert_allclose(
        [found["number"].lowest, found["number"].highest, found["number"].variance],
        [number.min(), number.max(), number.var()],
    )
    assert (found["number"].distinct, found["kind"].distinct, found["flag"].distinct) == (398, 2, 2)
    assert found["vector"].width == 3
    # Of vectors only the first rows are looked at.
    assert found["ragged"].remark == "lengths differ: 1 and 2"
    assert found["infinite"].remark == "1 infinite"
    assert found["nearly"].remark == "1 of 400 cells is not a number, the first is 'n.v.' in row 399"
    assert (found["day"].lowest, found["day"].highest) == ("1970-01-01", "1971-02-04")


def test_text_files(table, tmp_path):
    frame = table.select(["number", "row", "hash", "kind", "written", "nearly"]).to_pandas()
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    n_rows, _, columns = profile_table(str(tmp_path / "t.csv"))
    assert n_rows == 400
    for column in columns:
        assert column.looks_like == LOOKS[column.name]
    assert columns[0].missing == 2


def test_arrays_have_no_profile(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    assert profile_table(str(tmp_path / "x.npy")) is None
    with pytest.raises(FileNotFoundError):
        profile_table(str(tmp_path / "y.csv"))
