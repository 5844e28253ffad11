"""Build the folder of real data from files that anybody can download, and compare it with what was measured with.

    python -m benchmarks.prepare FOLDER [NAME ...]

FOLDER becomes `COTERIE_DATA`. The original files, decompressed, are in it or below; those that are missing are named.
Sets that are there are compared, not built again. `benchmarks/README.md` has the addresses.
"""

import argparse
import hashlib
from collections.abc import Callable, Mapping
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

from coterie.outputs import replacing


class MissingFilesError(Exception):
    """Files that are not below the folder."""


def read(folder: Path, *names: str) -> list[bytes]:
    """Return the contents of files below a folder, by their names; the error names all that are missing."""
    paths = {name: next(filter(Path.is_file, sorted(folder.rglob(name))), None) for name in names}
    if missing := [name for name, path in paths.items() if path is None]:
        raise MissingFilesError(", ".join(missing))
    return [path.read_bytes() for path in paths.values() if path is not None]


def read_idx(data: bytes) -> np.ndarray:
    """Return the array of unsigned bytes of an IDX file (MNIST)."""
    if data[:3] != b"\0\0\x08":
        raise ValueError("no IDX file of unsigned bytes.")
    shape = np.frombuffer(data, ">u4", data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


Arrays = Mapping[str, np.ndarray]

CIFAR_BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
RCV1_COLUMNS = 47_236
RCV1_SUBSETS = tuple(
    f"rcv1subset_topics_{part}_{number}.svm" for number in range(1, 6) for part in ("train", "test")
)
KDDC98_COLUMNS = (
    "GiftCnt36", "GiftCntAll", "GiftCntCard36", "GiftCntCardAll", "GiftAvgLast", "GiftAvg36", "GiftAvgAll",
    "GiftAvgCard36", "GiftTimeLast", "GiftTimeFirst", "PromCnt12", "PromCnt36", "PromCntAll", "PromCntCard12",
    "PromCntCard36", "PromCntCardAll", "StatusCatStarAll", "DemAge", "DemMedHomeValue", "DemPctVeterans",
    "DemMedIncome",
)  # fmt: skip
GRAPH_NEIGHBORS = 10


def build_mnist(folder: Path) -> Arrays:
    """Return the training images and then the test images of MNIST, from its four IDX files."""
    kinds = ("images-idx3-ubyte", "labels-idx1-ubyte")
    names = [f"{part}-{kind}" for kind in kinds for part in ("train", "t10k")]
    train, test, train_labels, test_labels = map(read_idx, read(folder, *names))
    X = np.concatenate([train, test])
    return {"X": X.reshape(len(X), -1), "y": np.concatenate([train_labels, test_labels])}


def _table(folder: Path, *names: str) -> np.ndarray:
    """Return the numbers of text files, between commas or blanks, one file after the other."""
    text = b"\n".join(read(folder, *names)).replace(b",", b" ")
    return np.loadtxt(BytesIO(text), ndmin=2)


def build_shuttle(folder: Path) -> Arrays:
    """Return Statlog's shuttle, classes from 0."""
    table = _table(folder, "shuttle.trn", "shuttle.tst")
    return {"X": table[:, :-1].astype(np.int16), "y": (table[:, -1] - 1).astype(np.uint8)}


def build_digits(folder: Path, name: str) -> Arrays:
    """Return UCI's optical digits (optdigits), or those written with a pen (pendigits)."""
    table = _table(folder, f"{name}.tra", f"{name}.tes").astype(np.uint8)
    return {"X": table[:, :-1], "y": table[:, -1]}


def _svm(data: bytes, n_columns: int, **options: Any) -> tuple[sp.csr_array, Any]:
    """Return the rows and the labels of a LIBSVM file, whose columns count from 1."""
    rows, labels = load_svmlight_file(BytesIO(data), n_features=n_columns, zero_based=False, **options)
    return sp.csr_array(rows), labels


def build_cod_rna(folder: Path) -> Arrays:
    """Return LIBSVM's cod-rna and cod-rna.t, in their own units."""
    parts = [_svm(data, 8) for data in read(folder, "cod-rna", "cod-rna.t")]
    return {
        "X": np.concatenate([rows.toarray() for rows, _ in parts]).astype(np.float32),
        "y": np.concatenate([labels > 0 for _, labels in parts]).astype(np.uint8),
        "part": np.repeat(np.arange(2, dtype=np.uint8), [len(labels) for _, labels in parts]),
    }


def build_cifar10(folder: Path) -> Arrays:
    """Return 12,000 images of CIFAR-10, drawn from all 60,000, from the files for C."""
    data = read(folder, *CIFAR_BATCHES)
    records = np.frombuffer(b"".join(data), np.uint8).reshape(-1, 3073)
    size = len(records) // 5
    row = np.sort(np.random.default_rng(20240601).choice(len(records), size, replace=False))
    images = records[row, 1:].reshape(size, 3, 32, 32).transpose(0, 2, 3, 1)
    is_train = row < len(records) - len(data[-1]) // 3073
    return {
        "X": np.ascontiguousarray(images.reshape(size, -1)), "y": records[row, 0],
        "is_train": is_train.astype(np.uint8), "row": row.astype(np.int32),
    }  # fmt: skip


def build_cifar10_jpegs(folder: Path) -> Arrays:
    """Return the images of CIFAR-10 as JPEG files, one after the other: those for tests first, by class and number."""
    files = sorted(folder.rglob("CIFAR-10-images/*/*/*.jpg"))
    if not files:
        raise MissingFilesError("CIFAR-10-images/*/*/*.jpg")
    data = [path.read_bytes() for path in files]
    _, classes = np.unique([path.parent.name for path in files], return_inverse=True)
    return {
        "jpeg": np.frombuffer(b"".join(data), np.uint8),
        "offsets": np.cumsum([0, *map(len, data)], dtype=np.int64),
        "y": classes.astype(np.uint8),
        "is_train": np.array([path.parents[1].name == "train" for path in files], dtype=np.uint8),
    }


def build_rcv1(folder: Path) -> Arrays:
    """Return documents of RCV1: LIBSVM's five multi-label subsets without repetitions."""
    parts = [_svm(one, RCV1_COLUMNS, multilabel=True)[0] for one in read(folder, *RCV1_SUBSETS)]
    rows = sp.csr_array(sp.vstack(parts)).astype(np.float32)
    rows.sort_indices()
    seen: dict[bytes, int] = {}
    for at, (low, high) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:])):
        seen.setdefault(rows.indices[low:high].tobytes() + rows.data[low:high].tobytes(), at)
    return _csr_arrays(rows[list(seen.values())])


def _csr_arrays(rows: Any, indices: type = np.uint16, **others: np.ndarray) -> Arrays:
    """Return the parts of a matrix in CSR format, indices in order."""
    rows = sp.csr_array(rows)
    rows.sort_indices()
    return {
        "data": rows.data, "indices": rows.indices.astype(indices), "indptr": rows.indptr.astype(np.int32),
        "shape": np.array(rows.shape, dtype=np.int64), **others,
    }  # fmt: skip


def build_kddc98(folder: Path) -> Arrays:
    """Return the numeric columns of the PVA97NK extract of KDD Cup 1998."""
    table = pd.read_csv(BytesIO(*read(folder, "kddcup98.csv")), dtype=str, encoding="utf-8-sig")
    table.columns = table.columns.str.replace("_", "").str.lower()
    table = table[[name.lower() for name in KDDC98_COLUMNS] + ["targetb"]]
    table = table.replace(r"[$,\s]", "", regex=True).replace(["", "."], np.nan).astype(np.float64)
    numbers = table.to_numpy()
    return {"X": numbers[:, :-1].astype(np.float32), "y": numbers[:, -1].astype(np.uint8)}


def _matlab(folder: Path, name: str) -> dict[str, Any]:
    return loadmat(BytesIO(*read(folder, name)))


def build_news_graph(folder: Path) -> Arrays:
    """Return the graph of 20 Newsgroups of the authors' product cut: A and C of 20NEWS.mat."""
    found = _matlab(folder, "20NEWS.mat")
    classes = np.asarray(found["C"])
    numbers = classes.ravel() if 1 in classes.shape else classes.argmax(axis=1)
    return _csr_arrays(found["A"].astype(np.uint8), y=(numbers - numbers.min()).astype(np.uint8))


def build_news_counts(folder: Path) -> Arrays:
    """Return the term counts of 20 Newsgroups by date: fea, gnd and trainIdx of 20Newsgroups.mat (D. Cai's)."""
    found = _matlab(folder, "20Newsgroups.mat")
    y = (found["gnd"].ravel() - 1).astype(np.uint8)
    is_train = np.zeros(len(y), dtype=np.uint8)
    is_train[found["trainIdx"].ravel().astype(int) - 1] = 1
    return _csr_arrays(found["fea"].astype(np.uint16), y=y, is_train=is_train)


def build_webkb4(folder: Path) -> Arrays:
    """Return term counts of the stemmed pages of WebKB: a class, a tab, and words a line."""
    (text,) = read(folder, "webkb.txt")
    lines = [line.partition("\t") for line in text.decode("utf-8").splitlines() if line.strip()]
    counts = CountVectorizer(analyzer=str.split, dtype=np.uint16).fit_transform(
        [words for _, _, words in lines]
    )
    _, y = np.unique([name for name, _, _ in lines], return_inverse=True)
    return _csr_arrays(counts, y=y.astype(np.uint8))


def build_four_moons(folder: Path) -> Arrays:
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
    build: Callable[[Path], Arrays]
    content: str  # `content_hash` of what was measured with

    def prepare(self, folder: Path) -> str:
        """Build the file unless it is there; return what is to be said of it."""
        path, state = folder / self.file, "there"
        if not path.is_file():
            try:
                arrays = self.build(folder)
            except MissingFilesError as error:
                return f"missing: {error}"
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.savez_compressed(file, **arrays)
            state = "built"
        with np.load(path, allow_pickle=False) as stored:
            is_same = content_hash({key: stored[key] for key in self.keys.split()}) == self.content
        return f"{state}: {'the content' if is_same else 'OTHER NUMBERS, types or order than'} measured with"


def build_graph(folder: Path, name: str) -> Arrays:
    """Return the graph of a set that is built first, or of scikit-learn's digits."""
    if name == "digits1797":
        return neighbor_graph(*load_digits(return_X_y=True))
    rows = folder / f"{name}.npz"
    if not rows.is_file():
        raise MissingFilesError(f"{rows.name}, which is built first")
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
    *(
        DataSet(f"graphs/{name}.npz", f"{CSR} y", partial(build_graph, name=name), content)
        for name, content in (
            ("mnist", "50a35ca8b6c299f5"),
            ("optdigits", "f2514af417751c05"),
            ("pendigits", "de97956747a25be7"),
            ("digits1797", "01d3c2cb2eeb7adf"),
        )
    ),
)


def main(arguments: list[str] | None = None) -> None:
    known = {one.file.removesuffix(".npz"): one for one in SETS}
    parser = argparse.ArgumentParser("python -m benchmarks.prepare", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where original files are, and what becomes COTERIE_DATA")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these sets, of {', '.join(known)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - known.keys():
        parser.error(f"no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in options.names or known:
        print(f"{known[name].file}: {known[name].prepare(options.folder)}", flush=True)


if __name__ == "__main__":
    main()
