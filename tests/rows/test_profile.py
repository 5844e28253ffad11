"""`profile_table`: profiles of columns of all kinds."""

import numpy as np
import pytest

from coterie.rows.files import profile_table

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


N = 400
RNG = np.random.default_rng(0)
# What each column looks like, and its cells.
COLUMNS = {
    "number": ("number", [None, float("nan"), *RNG.normal(7, 2, N - 2)]),
    "row": ("id", np.arange(N) + 5),
    "hash": ("id", [f"x{i:04}" for i in RNG.permutation(N)]),
    "kind": ("category", np.resize(["a", "b", "", "a"], N)),
    "story": ("text", [f"once upon a time there was number {i}, happy ever after" for i in range(N)]),
    "day": ("date", pyarrow.array(range(N), pyarrow.date32())),
    "written": ("date", [f"2024-01-{i % 28 + 1:02}" for i in range(N)]),
    "nearly": ("invalid numbers", [*(str(i / 2) for i in range(N - 1)), "n.v."]),
    "same": ("constant", ["x"] * N),
    "nothing": ("empty", pyarrow.nulls(N, pyarrow.float64())),
    "infinite": ("number", [np.inf, *RNG.normal(size=N - 1)]),
    "flag": ("number", np.arange(N) % 3 == 0),
    "vector": ("vector", list(RNG.normal(size=(N, 3)).astype(np.float32))),
    "ragged": ("vector", [[1.0]] * 5 + [[1.0, 2.0]] * (N - 5)),
    "nested": ("nested", [{"a": i} for i in range(N)]),
    "levels": ("category", pyarrow.array(np.resize(["low", "high"], N)).dictionary_encode()),
}
LOOKS = {name: look for name, (look, _) in COLUMNS.items()}


@pytest.fixture
def table():
    return pyarrow.table({name: cells for name, (_, cells) in COLUMNS.items()})


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


def test_arrays_have_no_profile(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    assert profile_table(str(tmp_path / "x.npy")) is None
    with pytest.raises(FileNotFoundError):
        profile_table(str(tmp_path / "y.csv"))
