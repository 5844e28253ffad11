"""The sets of the benchmarks: original files, what builds arrays of them, and hashes of the arrays."""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.io import loadmat
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import NearestNeighbors


class MissingFilesError(FileNotFoundError):
    """Files that are not among the downloads."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = tuple(names)


class Downloads:
    """The files below some folders, decompressed, by their names."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders

    def find(self, name: str) -> Path | None:
        found = [path for folder in self._folders for path in sorted(folder.rglob(name))]
        return next((path for path in found if path.is_file()), None)

    def has(self, *names: str) -> bool:
        return all(self.find(name) is not None for name in names)

    def read(self, *names: str) -> list[bytes]:
        """Return the contents of files; the error names all that are missing."""
        paths = {name: self.find(name) for name in names}
        if missing := [name for name, path in paths.items() if path is None]:
            raise MissingFilesError(missing)
        return [path.read_bytes() for path in paths.values() if path is not None]

    def below(self, folder: str, pattern: str) -> list[Path]:
        """Return the files of a folder of this name that match a pattern, in order."""
        found = [path for root in self._folders for path in root.rglob(f"{folder}/{pattern}")]
        if not found:
            raise MissingFilesError([f"{folder}/{pattern}"])
        return sorted(found)


def read_idx(data: bytes) -> np.ndarray:
    """Return the array of unsigned bytes of an IDX file (MNIST)."""
    if data[:3] != b"\0\0\x08":
        raise ValueError("no IDX file of unsigned bytes.")
    shape = np.frombuffer(data, ">u4", data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


Arrays = Mapping[str, np.ndarray]

CIFAR_BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
RCV1_COLUMNS, RCV1_ROWS = 47_236, 27_613
RCV1_SUBSETS = tuple(
    f"rcv1subset_topics_{part}_{number}.svm" for number in range(1, 6) for part in ("train", "test")
)
RCV1_BINARY = ("rcv1_train.binary", "rcv1_test.binary")
KDDC98_COLUMNS = (
    "GiftCnt36", "GiftCntAll", "GiftCntCard36", "GiftCntCardAll", "GiftAvgLast", "GiftAvg36", "GiftAvgAll",
    "GiftAvgCard36", "GiftTimeLast", "GiftTimeFirst", "PromCnt12", "PromCnt36", "PromCntAll", "PromCntCard12",
    "PromCntCard36", "PromCntCardAll", "StatusCatStarAll", "DemAge", "DemMedHomeValue", "DemPctVeterans",
    "DemMedIncome",
)  # fmt: skip
GRAPH_NEIGHBORS = 10


def build_mnist(downloads: Downloads) -> Arrays:
    """Return the training images and then the test images of MNIST, from its four IDX files."""
    names = [
        f"{part}-{kind}" for kind in ("images-idx3-ubyte", "labels-idx1-ubyte") for part in ("train", "t10k")
    ]
    # Mirrors have a dot in place of the second dash.
    known = [dotted if downloads.has(dotted := name.replace("-idx", ".idx")) else name for name in names]
    train, test, train_labels, test_labels = map(read_idx, downloads.read(*known))
    X = np.concatenate([train, test])
    return {"X": X.reshape(len(X), -1), "y": np.concatenate([train_labels, test_labels])}


def _table(downloads: Downloads, *names: str) -> np.ndarray:
    """Return the numbers of text files, between commas or blanks, one file after the other."""
    text = b"\n".join(downloads.read(*names)).replace(b",", b" ")
    return np.loadtxt(BytesIO(text), ndmin=2)


def build_shuttle(downloads: Downloads) -> Arrays:
    """Return Statlog's shuttle, classes from 0."""
    table = _table(downloads, "shuttle.trn", "shuttle.tst")
    return {"X": table[:, :-1].astype(np.int16), "y": (table[:, -1] - 1).astype(np.uint8)}


def build_digits(downloads: Downloads, name: str) -> Arrays:
    """Return UCI's optical digits (optdigits), or those written with a pen (pendigits)."""
    table = _table(downloads, f"{name}.tra", f"{name}.tes").astype(np.uint8)
    return {"X": table[:, :-1], "y": table[:, -1]}


def _svm(data: bytes, n_columns: int, **options: Any) -> tuple[sp.csr_array, Any]:
    """Return the rows and the labels of a LIBSVM file, whose columns count from 1."""
    rows, labels = load_svmlight_file(BytesIO(data), n_features=n_columns, zero_based=False, **options)
    return sp.csr_array(rows), labels


def build_cod_rna(downloads: Downloads) -> Arrays:
    """Return LIBSVM's cod-rna and cod-rna.t, in their own units."""
    parts = [_svm(data, 8) for data in downloads.read("cod-rna", "cod-rna.t")]
    return {
        "X": np.concatenate([rows.toarray() for rows, _ in parts]).astype(np.float32),
        "y": np.concatenate([labels > 0 for _, labels in parts]).astype(np.uint8),
        "part": np.repeat(np.arange(2, dtype=np.uint8), [len(labels) for _, labels in parts]),
    }


def build_cifar10(downloads: Downloads) -> Arrays:
    """Return 12,000 images of CIFAR-10, drawn from all 60,000, from the files for C."""
    data = downloads.read(*CIFAR_BATCHES)
    records = np.frombuffer(b"".join(data), np.uint8).reshape(-1, 3073)
    size = len(records) // 5
    row = np.sort(np.random.default_rng(20240601).choice(len(records), size, replace=False))
    images = records[row, 1:].reshape(size, 3, 32, 32).transpose(0, 2, 3, 1)
    is_train = row < len(records) - len(data[-1]) // 3073
    return {
        "X": np.ascontiguousarray(images.reshape(size, -1)), "y": records[row, 0],
        "is_train": is_train.astype(np.uint8), "row": row.astype(np.int32),
    }  # fmt: skip


def build_cifar10_jpegs(downloads: Downloads) -> Arrays:
    """Return the images of CIFAR-10 as JPEG files, one after the other: those for tests first, by class and number."""
    files = downloads.below("CIFAR-10-images", "*/*/*.jpg")
    data = [path.read_bytes() for path in files]
    _, classes = np.unique([path.parent.name for path in files], return_inverse=True)
    return {
        "jpeg": np.frombuffer(b"".join(data), np.uint8),
        "offsets": np.cumsum([0, *map(len, data)], dtype=np.int64),
        "y": classes.astype(np.uint8),
        "is_train": np.array([path.parents[1].name == "train" for path in files], dtype=np.uint8),
    }


def build_rcv1(downloads: Downloads) -> Arrays:
    """Return documents of RCV1: LIBSVM's five multi-label subsets without repetitions, or its binary files."""
    names = RCV1_SUBSETS if downloads.has(*RCV1_SUBSETS) else RCV1_BINARY
    try:
        data = downloads.read(*names)
    except MissingFilesError as error:
        wanted = f"(or {RCV1_SUBSETS[0]}, ... {RCV1_SUBSETS[-1]})"
        raise MissingFilesError([*error.names, wanted]) from None
    parts = [_svm(one, RCV1_COLUMNS, multilabel=names == RCV1_SUBSETS)[0][:RCV1_ROWS] for one in data]
    rows = sp.csr_array(sp.vstack(parts)).astype(np.float32)
    rows.sort_indices()
    seen: dict[bytes, int] = {}
    for at, (low, high) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:])):
        seen.setdefault(rows.indices[low:high].tobytes() + rows.data[low:high].tobytes(), at)
    return _csr_arrays(rows[list(seen.values())][:RCV1_ROWS])


def _csr_arrays(rows: Any, indices: type = np.uint16, **others: np.ndarray) -> Arrays:
    """Return the parts of a matrix in CSR format, indices in order."""
    rows = sp.csr_array(rows)
    rows.sort_indices()
    return {
        "data": rows.data, "indices": rows.indices.astype(indices), "indptr": rows.indptr.astype(np.int32),
        "shape": np.array(rows.shape, dtype=np.int64), **others,
    }  # fmt: skip


def build_kddc98(downloads: Downloads) -> Arrays:
    """Return the numeric columns of the PVA97NK extract of KDD Cup 1998."""
    table = pd.read_csv(BytesIO(*downloads.read("kddcup98.csv")), dtype=str, encoding="utf-8-sig")
    table.columns = table.columns.str.replace("_", "").str.lower()
    table = table[[name.lower() for name in KDDC98_COLUMNS] + ["targetb"]]
    table = table.replace(r"[$,\s]", "", regex=True).replace(["", "."], np.nan).astype(np.float64)
    numbers = table.to_numpy()
    return {"X": numbers[:, :-1].astype(np.float32), "y": numbers[:, -1].astype(np.uint8)}


def _matlab(downloads: Downloads, name: str) -> dict[str, Any]:
    return loadmat(BytesIO(*downloads.read(name)))


def build_news_graph(downloads: Downloads) -> Arrays:
    """Return the graph of 20 Newsgroups of the authors' product cut: A and C of 20NEWS.mat."""
    found = _matlab(downloads, "20NEWS.mat")
    classes = np.asarray(found["C"])
    numbers = classes.ravel() if 1 in classes.shape else classes.argmax(axis=1)
    return _csr_arrays(found["A"].astype(np.uint8), y=(numbers - numbers.min()).astype(np.uint8))


def build_news_counts(downloads: Downloads) -> Arrays:
    """Return the term counts of 20 Newsgroups by date: fea, gnd and trainIdx of 20Newsgroups.mat (D. Cai's)."""
    found = _matlab(downloads, "20Newsgroups.mat")
    y = (found["gnd"].ravel() - 1).astype(np.uint8)
    is_train = np.zeros(len(y), dtype=np.uint8)
    is_train[found["trainIdx"].ravel().astype(int) - 1] = 1
    return _csr_arrays(found["fea"].astype(np.uint16), y=y, is_train=is_train)


def build_webkb4(downloads: Downloads) -> Arrays:
    """Return term counts of the stemmed pages of WebKB: a class, a tab, and words a line."""
    parts = ("webkb-train-stemmed.txt", "webkb-test-stemmed.txt")
    text = b"\n".join(downloads.read(*(("webkb.txt",) if downloads.has("webkb.txt") else parts)))
    lines = [line.partition("\t") for line in text.decode("utf-8").splitlines() if line.strip()]
    counts = CountVectorizer(analyzer=str.split, dtype=np.uint16).fit_transform(
        [words for _, _, words in lines]
    )
    _, y = np.unique([name for name, _, _ in lines], return_inverse=True)
    return _csr_arrays(counts, y=y.astype(np.uint8))


def build_four_moons(downloads: Downloads) -> Arrays:
    """Draw four half moons in 100 dimensions: nobody has the authors' own, and these are the same for everybody."""
    random = np.random.default_rng(20130601)
    X = np.zeros((4000, 100))
    for moon, (right, up, sign) in enumerate([(0, 0, 1), (1, 0.5, -1), (3.5, 0, 1), (4.5, 0.5, -1)]):
        own = slice(1000 * moon, 1000 * (moon + 1))
        angle = random.uniform(0, np.pi, 1000)
        X[own, 0], X[own, 1] = right + np.cos(angle), up + sign * np.sin(angle)
    X += random.normal(0, np.sqrt(0.02), X.shape)
    order = random.permutation(len(X))
    return {"X": X[order].astype(np.float32), "y": (order // 1000).astype(np.uint8)}


def neighbor_graph(X: np.ndarray, y: np.ndarray) -> Arrays:
    """Return the graph of ten nearest neighbors of either end, all weights 1."""
    directed = NearestNeighbors(n_neighbors=GRAPH_NEIGHBORS).fit(X.astype(np.float64)).kneighbors_graph()
    return _csr_arrays(directed.maximum(directed.T), np.int32, y=y.astype(np.int64))


def check(path: Path, one: "DataSet") -> str:
    """Return whether a file has the content that was measured with; a ValueError says why it cannot be used."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in one.keys.split() if key in file.files}
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"cannot be read: {error}") from error
    if missing := set(one.keys.split()) - arrays.keys():
        raise ValueError(f"has no {', '.join(sorted(missing))}")
    same = content_hash(arrays) == one.content
    return (
        "the content that was measured with" if same else "OTHER NUMBERS, types or order than measured with"
    )


def content_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of names, types, shapes and numbers."""
    total = hashlib.sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        total.update(f"{key} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return total.hexdigest()[:16]


@dataclass(frozen=True)
class DataSet:
    """A file of the folder of real data."""

    file: str
    keys: str  # of its arrays
    build: Callable[[Downloads], Arrays] | None  # None: the graph of a set that was built before
    content: str  # `content_hash` of what was measured with

    def built(self, downloads: Downloads, folder: Path) -> Arrays:
        return self.build(downloads) if self.build else _graph_of(folder / Path(self.file).name)


def _graph_of(rows: Path) -> Arrays:
    if rows.stem == "digits1797":
        return neighbor_graph(*load_digits(return_X_y=True))
    if not rows.is_file():
        raise MissingFilesError([f"{rows.name}, which is built first"])
    with np.load(rows) as file:
        return neighbor_graph(file["X"], file["y"])


CSR = "data indices indptr shape"
SETS = (
    DataSet("mnist.npz", "X y", build_mnist, "7616ce9b7b0f5778"),
    DataSet("shuttle.npz", "X y", build_shuttle, "d4eadfa6900a2b89"),
    DataSet("optdigits.npz", "X y", partial(build_digits, name="optdigits"), "b14090953b7d91d0"),
    DataSet("pendigits.npz", "X y", partial(build_digits, name="pendigits"), "287744a35740ee45"),
    DataSet("cod_rna.npz", "X y part", build_cod_rna, "86423f83989a30bf"),
    DataSet("cifar10_12k.npz", "X y is_train row", build_cifar10, "7c42c71c5b6641c3"),
    DataSet("cifar10_jpeg.npz", "jpeg offsets y is_train", build_cifar10_jpegs, "d63191b1ab8caca4"),
    DataSet("rcv1_27k.npz", CSR, build_rcv1, "f72b6222a1bcbef3"),
    DataSet("kddc98_pva97nk.npz", "X y", build_kddc98, "a4f7309db5cc8056"),
    DataSet("20news_graph.npz", f"{CSR} y", build_news_graph, "4735ed3d45b2abca"),
    DataSet("20news_bydate_counts.npz", f"{CSR} y is_train", build_news_counts, "c92f9f2704c1db37"),
    DataSet("webkb4.npz", f"{CSR} y", build_webkb4, "ebb2543edb91cf07"),
    DataSet("four_moons_regen.npz", "X y", build_four_moons, "6ad7c49e5e57e9c6"),
    DataSet("graphs/mnist.npz", f"{CSR} y", None, "50a35ca8b6c299f5"),
    DataSet("graphs/optdigits.npz", f"{CSR} y", None, "f2514af417751c05"),
    DataSet("graphs/pendigits.npz", f"{CSR} y", None, "de97956747a25be7"),
    DataSet("graphs/digits1797.npz", f"{CSR} y", None, "01d3c2cb2eeb7adf"),
)
