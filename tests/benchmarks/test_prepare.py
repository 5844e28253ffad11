"""From original files to the folder of real data: made-up files of the same formats, and files that are spoilt."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat
from sklearn.datasets import load_digits

from benchmarks.prepare import __main__ as main_module
from benchmarks.prepare import sets as builders
from benchmarks.prepare.sets import SETS, DataSet, Downloads, MissingFilesError, check, content_hash, read_idx

RANDOM = np.random.default_rng(0)


@pytest.fixture
def downloads(tmp_path):
    return Downloads(tmp_path)


def idx(array):
    """The bytes of an IDX file of unsigned bytes."""
    return b"\0\0\x08" + bytes([array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def text(rows, separator):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows.tolist()).encode()


def dense(found):
    parts = (found["data"], found["indices"].astype(int), found["indptr"])
    return sp.csr_array(parts, shape=found["shape"]).toarray()


def svm_lines(rows, labels):
    lines = (
        f"{label} "
        + " ".join(f"{column + 1}:{float(row[column])!r}" for column in np.flatnonzero(row))
        + "\n"
        for row, label in zip(rows, labels)
    )
    return "".join(lines).encode()


class TestImages:
    @pytest.mark.parametrize("dotted", [False, True])
    def test_mnist(self, tmp_path, downloads, dotted):
        images, labels = RANDOM.integers(0, 256, (5, 28, 28), np.uint8), np.arange(5, dtype=np.uint8)
        folder = tmp_path / "mnist" / "raw"
        folder.mkdir(parents=True)
        for part, own in (("train", slice(3)), ("t10k", slice(3, 5))):
            for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
                name = f"{part}-{kind}-ubyte".replace("-idx", ".idx" if dotted else "-idx")
                (folder / name).write_bytes(idx(array[own]))
        found = builders.build_mnist(downloads)
        np.testing.assert_array_equal(found["X"], images.reshape(5, 784))
        np.testing.assert_array_equal(found["y"], labels)

    def test_files_that_are_missing_are_all_named(self, tmp_path, downloads):
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(3, np.uint8)))
        with pytest.raises(MissingFilesError) as error:
            builders.build_mnist(downloads)
        assert error.value.names == (
            "train-images-idx3-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
        )  # fmt: skip

    def test_cifar10(self, tmp_path, downloads):
        """Planes of colors become pixels; a fifth of the images is drawn, in their order."""
        labels = np.arange(60, dtype=np.uint8) % 10
        images = RANDOM.integers(0, 256, (60, 3, 32, 32), np.uint8)
        records = np.column_stack([labels, images.reshape(60, -1)])
        for name, part in zip(builders.CIFAR_BATCHES, np.split(records, 6)):
            (tmp_path / name).write_bytes(part.tobytes())
        found = builders.build_cifar10(downloads)
        row = found["row"]
        assert len(row) == 12
        assert np.all(np.diff(row) > 0)
        np.testing.assert_array_equal(found["X"].reshape(12, 32, 32, 3), images[row].transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(found["y"], labels[row])
        np.testing.assert_array_equal(found["is_train"], row < 50)

    def test_jpegs_of_cifar10(self, tmp_path, downloads):
        files = {"train/cat/0002.jpg": b"ab", "train/cat/0001.jpg": b"c", "test/airplane/0001.jpg": b"def"}
        for name, data in files.items():
            path = tmp_path / "CIFAR-10-images" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        found = builders.build_cifar10_jpegs(downloads)
        assert found["jpeg"].tobytes() == b"defcab"
        np.testing.assert_array_equal(found["offsets"], [0, 3, 4, 6])
        np.testing.assert_array_equal(found["y"], [0, 1, 1])
        np.testing.assert_array_equal(found["is_train"], [0, 1, 1])
        with pytest.raises(MissingFilesError, match=r"CIFAR-10-images/\*/\*/\*.jpg"):
            builders.build_cifar10_jpegs(Downloads(tmp_path / "CIFAR-10-images" / "test"))


class TestTables:
    @pytest.mark.parametrize(("name", "separator"), [("optdigits", ","), ("pendigits", ", ")])
    def test_digits(self, tmp_path, downloads, name, separator):
        table = RANDOM.integers(0, 10, (7, 17))
        for suffix, part in (("tra", table[:4]), ("tes", table[4:])):
            (tmp_path / f"{name}.{suffix}").write_bytes(text(part, separator))
        found = builders.build_digits(downloads, name)
        np.testing.assert_array_equal(found["X"], table[:, :-1])
        np.testing.assert_array_equal(found["y"], table[:, -1])
        assert {array.dtype for array in found.values()} == {np.dtype(np.uint8)}
        (tmp_path / f"{name}.tes").write_bytes(text(table[4:, 1:], separator))
        with pytest.raises(ValueError, match="number of columns changed"):
            builders.build_digits(downloads, name)

    def test_shuttle(self, tmp_path, downloads):
        table = np.column_stack([RANDOM.integers(-4000, 4000, (6, 9)), [1, 2, 7, 4, 5, 1]])
        (tmp_path / "shuttle.trn").write_bytes(text(table[:4], " "))
        (tmp_path / "shuttle.tst").write_bytes(text(table[4:], " "))
        found = builders.build_shuttle(downloads)
        np.testing.assert_array_equal(found["X"], table[:, :-1])
        np.testing.assert_array_equal(found["y"], table[:, -1] - 1)
        assert found["X"].dtype == np.int16

    def test_an_extract_of_kdd_cup_1998(self, tmp_path, downloads):
        header = ["TARGET_B", "ID", *builders.KDDC98_COLUMNS]
        lines = [
            ["1", "14974", *("$1,234.50" if at == 4 else str(at) for at in range(21))],
            ["0", "6294", *("" if at == 17 else "." if at == 18 else "2.5" for at in range(21))],
        ]
        quoted = "\n".join(",".join(f'"{cell}"' for cell in line) for line in [header, *lines])
        (tmp_path / "kddcup98.csv").write_text(quoted, encoding="utf-8-sig")
        found = builders.build_kddc98(downloads)
        assert found["X"].shape == (2, 21)
        assert found["X"].dtype == np.float32
        assert found["X"][0, 4] == 1234.5
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(found["X"][1])), [17, 18])
        np.testing.assert_array_equal(found["y"], [1, 0])


class TestSparseFiles:
    def test_cod_rna(self, tmp_path, downloads):
        rows = RANDOM.normal(size=(5, 8)).round(3)
        rows[1, 2] = 0
        (tmp_path / "cod-rna").write_bytes(svm_lines(rows[:3], ["-1", "1", "-1"]))
        (tmp_path / "cod-rna.t").write_bytes(svm_lines(rows[3:], ["+1", "-1"]))
        found = builders.build_cod_rna(downloads)
        np.testing.assert_array_equal(found["X"], rows.astype(np.float32))
        np.testing.assert_array_equal(found["y"], [0, 1, 0, 1, 0])
        np.testing.assert_array_equal(found["part"], [0, 0, 0, 1, 1])

    @pytest.mark.parametrize("subsets", [False, True])
    def test_rcv1(self, tmp_path, downloads, monkeypatch, subsets):
        """Repetitions are left out, the first stays; no more rows than there are to be."""
        monkeypatch.setattr(builders, "RCV1_COLUMNS", 6)
        monkeypatch.setattr(builders, "RCV1_ROWS", 12 if subsets else 4)
        rows = np.round(RANDOM.random((10, 6)) * (RANDOM.random((10, 6)) < 0.6), 3)
        rows[:, 0] += np.arange(1, 11)
        rows[4] = rows[1]
        names = builders.RCV1_SUBSETS if subsets else ("rcv1_train.binary", "rcv1_test.binary")
        for name, part in zip(names, np.array_split(rows, len(names))):
            data = svm_lines(part, ["33,34,59" if subsets else "1"] * len(part))
            (tmp_path / name).write_bytes(data)
        found = builders.build_rcv1(downloads)
        expected = np.delete(rows, 4, axis=0)[: 12 if subsets else 4]
        np.testing.assert_array_equal(dense(found), expected.astype(np.float32))
        assert [found[key].dtype.name for key in ("data", "indices", "indptr")] == [
            "float32",
            "uint16",
            "int32",
        ]

    def test_webkb(self, tmp_path, downloads):
        pages = "student\thome page home\nfaculty\t\n", "course\tpage list\nstudent\tzebra\n"
        (tmp_path / "webkb-train-stemmed.txt").write_text(pages[0])
        (tmp_path / "webkb-test-stemmed.txt").write_text(pages[1])
        found = builders.build_webkb4(downloads)
        np.testing.assert_array_equal(found["y"], [2, 1, 0, 2])
        # home, list, page, zebra
        np.testing.assert_array_equal(dense(found), [[2, 0, 1, 0], [0] * 4, [0, 1, 1, 0], [0, 0, 0, 1]])

    def test_graphs(self, tmp_path, downloads):
        graph = (RANDOM.random((6, 6)) < 0.5).astype(float)
        graph = np.maximum(graph, graph.T)
        savemat(tmp_path / "20NEWS.mat", {"A": sp.csc_matrix(graph), "C": np.array([[1, 1, 2, 2, 3, 3]]).T})
        found = builders.build_news_graph(downloads)
        np.testing.assert_array_equal(found["y"], [0, 0, 1, 1, 2, 2])
        np.testing.assert_array_equal(dense(found), graph)

    def test_counts_of_news(self, tmp_path, downloads):
        counts = RANDOM.integers(0, 3, (4, 6)).astype(float)
        parts = {"gnd": np.array([[1, 2, 2, 20]]).T, "trainIdx": np.array([[1, 3]]).T}
        savemat(tmp_path / "20Newsgroups.mat", {"fea": sp.csc_matrix(counts), **parts})
        found = builders.build_news_counts(downloads)
        np.testing.assert_array_equal(dense(found), counts)
        np.testing.assert_array_equal(found["y"], [0, 1, 1, 19])
        np.testing.assert_array_equal(found["is_train"], [1, 0, 1, 0])

    def test_prepared_data_equal_those_of_the_measurements(self):
        content = {one.file: one.content for one in SETS}
        assert content_hash(builders.build_four_moons(Downloads())) == content["four_moons_regen.npz"]
        graph = builders.neighbor_graph(*load_digits(return_X_y=True))
        assert content_hash(graph) == content["graphs/digits1797.npz"]


@pytest.mark.parametrize("data", [b"", b"<!DOCTYPE html><html>", idx(np.zeros((3, 2, 2), np.uint8))[:-1]])
def test_spoilt_idx_files(data):
    with pytest.raises(ValueError, match=r"no IDX file|cannot reshape"):
        read_idx(data)


def toy(**changes):
    arrays = {"X": np.arange(6, dtype=np.uint8).reshape(3, 2), "y": np.arange(3, dtype=np.uint8)}
    return arrays | changes


TOY = DataSet("toy.npz", "X y", lambda downloads: toy(), content_hash(toy()))


def test_content_is_compared(tmp_path):
    path = tmp_path / "toy.npz"
    for arrays, said in (
        (toy(), "the content that was measured with"),
        (toy(other=np.zeros(2)), "the content that was measured with"),
        (toy(y=np.array([1, 0, 2], np.uint8)), "OTHER NUMBERS"),
        (toy(X=np.zeros((3, 2))), "OTHER NUMBERS, types"),
    ):
        np.savez(path, **arrays)
        assert said in check(path, TOY)
    np.savez(path, X=toy()["X"])
    with pytest.raises(ValueError, match="has no y"):
        check(path, TOY)
    path.write_bytes(b"PK\3\4 cut")
    with pytest.raises(ValueError, match="cannot be read"):
        check(path, TOY)


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Run the command on toy sets, and return what it printed and the status that it ended with."""
    lost = DataSet("graphs/lost.npz", "X", lambda downloads: {"X": downloads.read("lost.bin")}, "")
    wrong = DataSet("wrong.npz", "X y", lambda downloads: {"X": np.zeros(3)}, "")
    monkeypatch.setattr(main_module, "SETS", (TOY, lost, wrong))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["prepare", *map(str, arguments)])
        status = 0
        try:
            main_module.main()
        except SystemExit as error:
            status = error.code
        return capsys.readouterr(), status

    return run


@pytest.mark.parametrize("one", SETS, ids=lambda one: one.file)
def test_page_lists_every_data_set(one):
    page = (Path(main_module.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith(f"| `{one.file}` |"))
    assert f"| {', '.join(one.keys.split())} |" in line


def test_all_data_of_benchmarks_have_a_set():
    """What is read from the folder of real data, by the names in the code, but for a file of R that is not built."""
    folder = Path(main_module.__file__).parents[1]
    code = "".join(path.read_text() for path in folder.rglob("*.py") if path.parent.name != "prepare")
    named = set(re.findall(r'"([a-z0-9_]+[.]npz)"', code))
    assert named - {"two_half_moons_150.npz"} <= {one.file for one in SETS}


class TestCommand:
    def test_prepare_builds_available_sets_and_names_missing_ones(self, run, tmp_path):
        printed, status = run(tmp_path / "data", "--only", "toy,graphs/lost")
        assert status == 0
        assert "toy.npz: built: the content that was measured with" in printed.out
        assert "graphs/lost.npz: missing: lost.bin" in printed.out
        assert sorted(path.name for path in (tmp_path / "data").rglob("*")) == ["toy.npz"]
        printed, _ = run(tmp_path / "data", "--only", "toy")
        assert "toy.npz: there: " in printed.out

    def test_wrong_content_is_an_error(self, run, tmp_path):
        printed, status = run(tmp_path / "data", "--downloads", tmp_path)
        assert "WRONG" in printed.out
        assert "has no y" in printed.out
        assert status == "Cannot be used: wrong.npz"

    def test_a_check_builds_nothing(self, run, tmp_path):
        printed, status = run(tmp_path / "data", "--check")
        assert status == 0
        assert printed.out.count("missing") == 3
        assert not (tmp_path / "data").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--only", "letters"], "no letters; there are toy, graphs/lost, wrong"),
            (["--downloads", "/nowhere/at/all"], "there is no folder /nowhere/at/all"),
        ],
    )
    def test_wrong_arguments(self, run, tmp_path, arguments, message):
        printed, status = run(tmp_path, *arguments)
        assert status == 2
        assert message in printed.err
