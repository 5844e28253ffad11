"""Files that declare more than they hold are refused before memory is allocated."""

import numpy as np
import pytest

from coterie import MiniBatchKMeans
from coterie.rows import open_rows
from tests.rows.bombs import BOMBS
from tests.support.errors import tried
from tests.support.limited import run_measured
from tests.support.memory import limited_memory
from tests.support.processes import forks


@forks
def test_bombs_are_refused_and_take_no_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, (write, _) in BOMBS.items():
        write(tmp_path / name)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5e6
    messages, grown = run_measured(lambda: [tried(open_and_fit, name)[1] for name in BOMBS])
    for (name, (_, said)), message in zip(BOMBS.items(), messages):
        assert message.startswith(f"Cannot read {name}: "), message
        assert said in message
        assert "\n" not in message
        assert len(message) < 320
    assert grown < 100e6


def open_and_fit(name):
    MiniBatchKMeans(2, max_iter=1).fit(open_rows(name))


def test_one_chunk_of_all_rows_is_no_more_than_there_is_memory_for(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = {"chunks": (2_000_000, 4), "compression": "gzip"}
        file.create_dataset("X", shape=(2_000_000, 4), dtype="f8", **options)[:3] = 1.0
    with limited_memory(1000), pytest.raises(MemoryError, match=r"single chunk.*64 MB .*smaller chunks"):
        open_rows(tmp_path / "x.h5")
    assert open_rows(tmp_path / "x.h5").take([0]).tolist() == [[1.0] * 4]


def test_correctly_declared_arrays_are_read(tmp_path):
    X = np.arange(60.0).reshape(15, 4)
    for name, save in (("stored.npz", np.savez), ("zipped.npz", np.savez_compressed)):
        save(tmp_path / name, X, names=np.array(["a", "b"]))
        np.testing.assert_array_equal(open_rows(tmp_path / name).read(), X)
