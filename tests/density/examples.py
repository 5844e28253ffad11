"""Rows for the tests of density-based clustering."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def rows(draw, most=30):
    """Rows with ties and repetitions, or without."""
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 9))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        return random.integers(0, draw(st.integers(1, 5)), (n, d)).astype(float)
    return random.normal(size=(n, d))
