"""Rows of given numbers."""

import numpy as np
import pytest

from coterie.blocks.batches import RowReader
from coterie.rows import as_rows


@pytest.mark.parametrize(
    ("bad", "message"), [(1e30, "too large for float32: .* First bad row: 103"), (np.nan, "contains NaN")]
)
def test_rows_whose_squared_distances_are_not_finite(bad, message):
    X = np.ones((5, 2), dtype=np.float32)
    X[3] = bad
    reader, chosen = RowReader(as_rows(X), first=100), np.array([1, 3, 4])
    with pytest.raises(ValueError, match=message):
        reader.measure(reader.read(chosen)[0], chosen, np.zeros(2), 1)
