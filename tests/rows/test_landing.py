"""Where rows and metadata land: in memory, or in a mapped temporary file, with the same bits."""

import gc
import os

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import KMeans
from coterie.rows import landing, prepare_rows
from coterie.rows.landing import LandingArray, LandingMetadata
from tests.support.bits import same_bits


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """All rows and metadata go to files in this folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("_SMALL_BYTES", "_METADATA_BYTES"):
        monkeypatch.setattr(landing, name, 0)
    monkeypatch.setattr(landing, "available_memory", lambda: 0)
    return tmp_path


def landed(X, cuts, n_rows, dtype=None):
    array = LandingArray(X.shape[1], np.dtype(dtype or X.dtype), n_rows)
    for part in np.split(X, sorted(cuts)):
        array.add(part)
    return array.array()


@given(
    st.integers(1, 40),
    st.integers(1, 4),
    st.lists(st.integers(0, 40), max_size=5),
    st.sampled_from([None, 0, -1, 3]),
    st.sampled_from([1, 200, 10**6]),
)
def test_arrays_of_any_pieces(n_rows, n_columns, cuts, surplus, most):
    """The number of rows may be unknown, right, too large or too small; they may change over to a file at any time."""
    X = np.random.default_rng(n_rows).normal(size=(n_rows, n_columns))
    declared = None if surplus is None else max(0, n_rows + surplus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landing, "_SMALL_BYTES", most)
        patch.setattr(landing, "available_memory", lambda: 0)
        found = landed(X, [min(cut, n_rows) for cut in cuts], declared)
    assert isinstance(found, np.memmap) == (8 * X.size > most and any(cuts))  # a single block stays as it is
    same_bits(np.asarray(found), X)


@pytest.mark.parametrize("n_rows", [None, 6])
def test_other_types_and_orders_are_converted(n_rows):
    X = np.asfortranarray(np.arange(12).reshape(6, 2))
    same_bits(landed(X, [1, 4], n_rows, np.float32), np.arange(12, dtype=np.float32).reshape(6, 2))
    large = np.array([[1e300, 1.0]])
    assert np.isinf(landed(large, [], n_rows, np.float32)[0, 0])


def test_a_quarter_of_the_free_memory_is_taken(monkeypatch):
    monkeypatch.setattr(landing, "_SMALL_BYTES", 100)
    monkeypatch.setattr(landing, "available_memory", lambda: 4 * 800)
    assert not isinstance(landed(np.zeros((100, 1)), [50], None), np.memmap)
    assert isinstance(landed(np.zeros((101, 1)), [50], None), np.memmap)


def test_a_full_disk(on_disk, monkeypatch):
    monkeypatch.setattr(landing, "_LEFT_BYTES", 1 << 60)
    with pytest.raises(OSError, match="No space for a copy of the rows") as caught:
        landed(np.zeros((5, 2)), [3], None)
    assert caught.value.filename == str(on_disk)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_metadata_of_several_batches(is_on_disk, request):
    """Types of later batches may be wider."""
    if is_on_disk:
        request.getfixturevalue("on_disk")
    metadata = LandingMetadata()
    for texts, numbers, kind in (
        (["a", None], [1, 2], pyarrow.string()),
        (["b", "c"], [2.5, 3], pyarrow.large_string()),
    ):
        cells = {"category": pyarrow.array(texts).dictionary_encode(), "text": pyarrow.array(texts, kind)}
        metadata.add(pyarrow.record_batch(cells | {"number": pyarrow.array(numbers)}))
    found = metadata.table().to_pydict()
    assert found["category"] == found["text"] == ["a", None, "b", "c"]
    assert found["number"] == [1, 2, 2.5, 3]


def test_a_fit_has_the_same_bits_in_memory_and_from_a_file(on_disk, monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 4))
    table = pyarrow.Table.from_batches(pyarrow.table({f"c{i}": X[:, i] for i in range(4)}).to_batches(100))
    options = {"scale": "robust", "missing": "median"}
    mapped = KMeans(3, random_state=0).fit(prepare_rows(table, **options))
    gc.collect()
    assert os.listdir(on_disk) == []
    monkeypatch.undo()
    held = KMeans(3, random_state=0).fit(prepare_rows(table, **options))
    same_bits(mapped.cluster_centers_, held.cluster_centers_)
