"""Files that declare more than they hold are refused before memory is allocated."""

import json

import numpy as np
import pytest

from coterie.limits.memory import limited_memory
from coterie.rows import open_rows
from tests.rows.bombs import BOMBS
from tests.support.limited import run_limited

OPEN_AND_FIT = """
result = {{}}
for name in {names}:
    try:
        coterie.MiniBatchKMeans(2, max_iter=1).fit(coterie.open_rows(name))
        result[name] = "it was clustered"
    except Exception as error:
        result[name] = f"{{type(error).__name__}}: {{error}}"
"""


def test_bombs_are_refused_and_take_no_memory(tmp_path):
    for name, (write, _) in BOMBS.items():
        write(tmp_path / name)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5e6
    done = run_limited(OPEN_AND_FIT.format(names=json.dumps(list(BOMBS))), tmp_path)
    for name, (_, said) in BOMBS.items():
        message = done["result"][name]
        assert message.startswith(f"FileError: Cannot read {name}: "), message
        assert said in message
        assert "\n" not in message
        assert len(message) < 320
    assert done["grown"] < 100e6


def test_one_chunk_of_all_rows_is_no_more_than_there_is_memory_for(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = {"chunks": (2_000_000, 4), "compression": "gzip"}
        file.create_dataset("X", shape=(2_000_000, 4), dtype="f8", **options)[:3] = 1.0
    rows = open_rows(tmp_path / "x.h5")
    with limited_memory(1000), pytest.raises(MemoryError, match=r"64 MB .*single chunk.*smaller chunks"):
        rows.take([0])
    assert rows.take([0]).tolist() == [[1.0] * 4]


def test_columns_of_an_archive_are_no_more_than_there_is_memory_for(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, np.zeros((1000, 4), order="F"))
    rows = open_rows(path)
    with limited_memory(1000), pytest.raises(MemoryError, match=r"x\.npz.*64 kB.*ascontiguousarray"):
        rows.read()
    assert not rows.read().any()


def test_correctly_declared_arrays_are_read(tmp_path):
    X = np.arange(60.0).reshape(15, 4)
    for name, save in (("stored.npz", np.savez), ("zipped.npz", np.savez_compressed)):
        save(tmp_path / name, X, names=np.array(["a", "b"]))
        np.testing.assert_array_equal(open_rows(tmp_path / name).read(), X)
