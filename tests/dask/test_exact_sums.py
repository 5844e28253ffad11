"""Exact sums: no order, no rounding but the last."""

import math

import numpy as np
import pytest

from coterie.dask.exact_sums import ExactSum, Steps


def parts_of(seed, n=300, spread=12):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 5)) * 10.0 ** random.integers(-spread, 1, size=(n, 5))


def summed(parts, groups):
    steps = Steps.below(float(np.abs(parts).sum()))
    sums = []
    for group in groups:
        one = ExactSum((5,), steps)
        for part in parts[group]:
            one.add(part)
        sums.append(one)
    total = sums[0]
    for one in sums[1:]:
        total.merge(one)
    return total.total()


@pytest.mark.parametrize("seed", range(5))
def test_sums_do_not_depend_on_order_or_grouping(seed):
    parts, random = parts_of(seed), np.random.default_rng(seed)
    expected = summed(parts, [np.arange(len(parts))])
    for n_groups in (2, 3, 7):
        groups = np.array_split(random.permutation(len(parts)), n_groups)
        np.testing.assert_array_equal(summed(parts, groups), expected)


def test_the_sum_is_that_of_exact_arithmetic():
    parts = parts_of(7)
    expected = [math.fsum(column) for column in parts.T]
    np.testing.assert_allclose(summed(parts, [np.arange(len(parts))]), expected, rtol=1e-15, atol=1e-20)


def test_subtracting_a_part_restores_the_sum():
    parts = parts_of(3)
    total = ExactSum((5,), Steps.below(2 * float(np.abs(parts).sum())))
    for part in [*parts, *-parts[1:]]:
        total.add(part)
    np.testing.assert_array_equal(total.total(), parts[0])


def test_parts_of_some_rows():
    total = ExactSum((3, 2), Steps.below(10))
    total.add(np.ones((2, 2)), np.array([0, 2]))
    np.testing.assert_array_equal(total.total(), [[1, 1], [0, 0], [1, 1]])


def test_sums_that_overflow_are_refused():
    with pytest.raises(ValueError, match="too large for float64"):
        Steps.below(1e305)
