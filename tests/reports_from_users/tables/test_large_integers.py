"""Integers above 2**53, which floats hold with fewer digits (hashes in UInt64 columns of polars and DuckDB)."""

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.rows import prepare_rows


@pytest.mark.parametrize("n", [9, 60])
def test_distinct_large_integers_are_ids(n):
    large = pa.array([2**64 - 1 - i for i in range(n)], pa.uint64())
    roles = prepare_rows(pa.table({"a": large, "x": np.arange(n) ** 2.5})).roles
    assert roles.left_out == (("a", "id"),)


def test_equal_large_integers_are_constant():
    table = pa.table({"a": pa.array([2**60] * 9), "x": np.arange(9) ** 2.5})
    assert prepare_rows(table).roles.left_out == (("a", "constant"),)


def test_in_a_text_file(tmp_path):
    (tmp_path / "x.csv").write_text("a,x\n" + "".join(f"{2**63 + i},{i**1.5:.3f}1\n" for i in range(30)))
    assert prepare_rows(tmp_path / "x.csv").roles.left_out == (("a", "id"),)
    assert coterie.open_rows(tmp_path / "x.csv").column_names == ["x"]
