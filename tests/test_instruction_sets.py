"""Exact methods give the same labels on every instruction set, of any processor: those of these fingerprints.

Rows are small integers over a power of 2: all machines draw them alike, and square distances of two of them have no
rounding even in float32.
"""

import hashlib

import numpy as np
import pytest

import coterie
from coterie.graphs import nearest_neighbors
from tests.support.instruction_sets import INSTRUCTION_SETS, using

# The same for x86-64 without extensions, AVX2, AVX-512, AVX-512 with VNNI, NEON, and NEON with dot products (`make
# test-arm64` runs the last two in an emulator).
FINGERPRINTS = {
    ("k-means", np.float32): "3e3f9ed31cf37bbb",
    ("k-means", np.float64): "3e3f9ed31cf37bbb",
    ("predict", np.float32): "21f261fd580ca0ed",
    ("predict", np.float64): "21f261fd580ca0ed",
    ("neighbors", np.float32): "5fa476907ac24eb9",
    ("neighbors", np.float64): "5fa476907ac24eb9",
}


def rows(dtype, n_rows=1200, n_columns=40):
    random = np.random.RandomState(0)
    groups = random.randint(-90, 91, size=(30, n_columns))
    X = groups[random.randint(30, size=n_rows)] + random.randint(-60, 61, size=(n_rows, n_columns))
    return (X / 64).astype(dtype)


def result_of(method, dtype):
    X = rows(dtype)
    if method == "neighbors":
        return nearest_neighbors(X, 12, method="exact")[0]
    model = coterie.KMeans(60, init=X[::20], max_iter=12, tol=0).fit(X)
    return model.labels_ if method == "k-means" else model.predict(rows(dtype, 5000)[1200:])


@pytest.mark.parametrize(("method", "dtype"), FINGERPRINTS, ids=str)
def test_fingerprints_of_exact_methods(method, dtype):
    for name in INSTRUCTION_SETS:
        with using(name):
            found = result_of(method, dtype)
        hashed = hashlib.sha256(np.ascontiguousarray(found, dtype="<i4").tobytes()).hexdigest()[:16]
        assert hashed == FINGERPRINTS[method, dtype], name
