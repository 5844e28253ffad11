"""Embeddings in small types: the same numbers, and no float copy of the whole."""

import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from coterie import KMeans, NestedMiniBatchKMeans
from coterie.blocks import kernel_rows
from coterie.rows import as_rows
from tests.support.bits import same_bits

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("make", [KMeans, NestedMiniBatchKMeans])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float16, np.int16])
def test_the_bits_are_those_of_floats(make, dtype, kept_bytes, tiny_blocks):
    kept_bytes(0)
    tiny_blocks()
    X = np.random.default_rng(0).integers(0, 100, (5000, 7)).astype(dtype)
    expected = make(9, random_state=0).fit(X.astype(np.float32))
    found = make(9, random_state=0).fit(X)
    same_bits(found.labels_, expected.labels_)
    same_bits(found.cluster_centers_, expected.cluster_centers_)


def test_memory_of_a_fit(monkeypatch, kept_bytes):
    """Three blocks of floats at most: one at work, the next, and for a moment the one that is read after it."""
    for name in ("_CALL_BYTES", "_STREAM_BYTES"):
        monkeypatch.setattr(kernel_rows, name, 4 << 20)
    kept_bytes(0)
    X = np.random.default_rng(0).integers(0, 100, (200_000, 128), dtype=np.int8)
    tracemalloc.start()
    try:
        KMeans(3, n_init=1, init="random", max_iter=2, random_state=0).fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes  # of floats there would be four times as many bytes


class Tensor:
    """What coterie asks of a tensor of PyTorch, which is no dependency."""

    def __init__(self, array, dtype, device="cpu"):
        self.array, self.dtype, self.device = array, dtype, device

    def float(self):
        return Tensor((self.array.astype(np.uint32) << 16).view(np.float32), "float32")

    def __dlpack__(self, **options):
        assert self.dtype != "bfloat16", "NumPy has no such type"
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (1 if self.device == "cpu" else 2), 0


def test_tensors(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(bfloat16="bfloat16"))
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    assert np.shares_memory(as_rows(Tensor(X, "float32")).read(), X)
    bits = (X.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)
    rows = as_rows(Tensor(bits, "bfloat16"))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.read(), X, rtol=2**-7)
    same_bits(rows.take([1, 39]), rows.read()[[1, 39]])
    with pytest.raises(TypeError, match=r"a tensor on cuda.*X\.cpu\(\)"):
        as_rows(Tensor(X, "float32", "cuda"))
