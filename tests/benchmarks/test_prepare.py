"""From original files to the folder of real data: made-up files of formats whose originals were not at hand."""

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from benchmarks import prepare as builders
from benchmarks.prepare import SETS, DataSet, content_hash

RANDOM = np.random.default_rng(0)


def idx(array):
    """The bytes of an IDX file of unsigned bytes."""
    return b"\0\0\x08" + bytes([array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def test_mnist(tmp_path):
    images, labels = RANDOM.integers(0, 256, (5, 28, 28), np.uint8), np.arange(5, dtype=np.uint8)
    for part, own in (("train", slice(3)), ("t10k", slice(3, 5))):
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            (tmp_path / f"{part}-{kind}-ubyte").write_bytes(idx(array[own]))
    found = builders.build_mnist(tmp_path)
    np.testing.assert_array_equal(found["X"], images.reshape(5, 784))
    np.testing.assert_array_equal(found["y"], labels)


def test_jpegs_of_cifar10(tmp_path):
    files = {"train/cat/0002.jpg": b"ab", "train/cat/0001.jpg": b"c", "test/airplane/0001.jpg": b"def"}
    for name, data in files.items():
        path = tmp_path / "CIFAR-10-images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    found = builders.build_cifar10_jpegs(tmp_path)
    assert found["jpeg"].tobytes() == b"defcab"
    np.testing.assert_array_equal(found["offsets"], [0, 3, 4, 6])
    np.testing.assert_array_equal(found["y"], [0, 1, 1])
    np.testing.assert_array_equal(found["is_train"], [0, 1, 1])


def test_rcv1(tmp_path, monkeypatch):
    """Repetitions are left out, the first stays."""
    monkeypatch.setattr(builders, "RCV1_COLUMNS", 6)
    rows = np.round(RANDOM.random((10, 6)) * (RANDOM.random((10, 6)) < 0.6), 3)
    rows[:, 0] += np.arange(1, 11)
    rows[4] = rows[1]
    names = builders.RCV1_SUBSETS
    for name, part in zip(names, np.array_split(rows, len(names))):
        cells = ([f"{column + 1}:{float(row[column])!r}" for column in np.flatnonzero(row)] for row in part)
        (tmp_path / name).write_text("".join(f"33,34,59 {' '.join(row)}\n" for row in cells))
    found = builders.build_rcv1(tmp_path)
    parts = (found["data"], found["indices"].astype(int), found["indptr"])
    dense = sp.csr_array(parts, shape=found["shape"]).toarray()
    np.testing.assert_array_equal(dense, np.delete(rows, 4, axis=0).astype(np.float32))


def test_prepared_data_equal_those_of_the_measurements():
    content = {one.file: one.content for one in SETS}
    assert content_hash(builders.build_four_moons(Path())) == content["four_moons_regen.npz"]
    graph = builders.neighbor_graph(*load_digits(return_X_y=True))
    assert content_hash(graph) == content["graphs/digits1797.npz"]


ARRAYS = {"X": np.arange(6, dtype=np.uint8).reshape(3, 2), "y": np.arange(3, dtype=np.uint8)}
TOY = DataSet("toy.npz", "X y", lambda folder: ARRAYS, content_hash(ARRAYS))
LOST = DataSet("graphs/lost.npz", "X", lambda folder: {"X": builders.read(folder, "lost.bin")}, "")


def test_the_command_builds_what_it_can_and_names_the_rest(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(builders, "SETS", (TOY, LOST))
    builders.main([str(tmp_path)])
    assert capsys.readouterr().out.splitlines() == [
        "toy.npz: built: the content measured with", "graphs/lost.npz: missing: lost.bin"
    ]  # fmt: skip
    np.savez(tmp_path / "toy.npz", X=ARRAYS["X"], y=np.array([1, 0, 2], np.uint8))
    builders.main([str(tmp_path), "toy"])
    assert "toy.npz: there: OTHER NUMBERS" in capsys.readouterr().out


def test_all_data_of_benchmarks_have_a_set():
    """What is read from the folder of real data, by the names in the code, but for a file of R that is not built."""
    folder = Path(builders.__file__).parent
    code = "".join(path.read_text() for path in folder.rglob("*.py") if path.name != "prepare.py")
    named = set(re.findall(r'"([a-z0-9_]+[.]npz)"', code))
    assert named - {"two_half_moons_150.npz"} <= {one.file for one in SETS}
