"""Bounds of sizes: numbers and fractions, and whether clusters can satisfy them."""

import numpy as np
import pytest

from coterie import SizeConstrainedKMeans
from coterie.size_constrained.sizes import SizeBounds, common_weight


@pytest.mark.parametrize(
    ("size_min", "size_max", "error"),
    [("9", None, TypeError), (True, None, TypeError), (-1, None, ValueError), (None, 0, ValueError),
     (None, np.nan, ValueError), (5, 4, ValueError), (2, 1, ValueError), (0.3, 0.2, ValueError)],
)  # fmt: skip
def test_invalid_sizes(size_min, size_max, error):
    with pytest.raises(error, match=r"size_min|size_max"):
        SizeConstrainedKMeans(2, size_min, size_max).check_parameters()


def test_fractions_and_numbers():
    assert SizeBounds.of(0.1, 30, 200.0) == SizeBounds(20.0, 30.0)
    assert SizeBounds.of(None, None, 200.0) == SizeBounds(0.0, 200.0)


@pytest.mark.parametrize(
    ("weights", "expected"), [(None, 1.0), ([0.5, 0.0, 0.5], 0.5), ([0.0, 2.0], 2.0), ([0.5, 2.0], None)]
)
def test_common_weight(weights, expected):
    assert common_weight(None if weights is None else np.array(weights)) == expected
