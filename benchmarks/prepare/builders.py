"""From original files to arrays, a function a set."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.prepare.originals import Downloads, MissingFilesError, read_idx

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
    from sklearn.datasets import load_svmlight_file

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
    """Return 12,000 images of CIFAR-10, drawn from all 60,000, from the archive for C."""
    data = downloads.members("cifar-10-binary.tar", CIFAR_BATCHES)
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
    import pandas as pd

    table = pd.read_csv(BytesIO(*downloads.read("kddcup98.csv")), dtype=str, encoding="utf-8-sig")
    table.columns = table.columns.str.replace("_", "").str.lower()
    table = table[[name.lower() for name in KDDC98_COLUMNS] + ["targetb"]]
    table = table.replace(r"[$,\s]", "", regex=True).replace(["", "."], np.nan).astype(np.float64)
    numbers = table.to_numpy()
    return {"X": numbers[:, :-1].astype(np.float32), "y": numbers[:, -1].astype(np.uint8)}


def _matlab(downloads: Downloads, name: str) -> dict[str, Any]:
    from scipy.io import loadmat

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
    from sklearn.feature_extraction.text import CountVectorizer

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
    from sklearn.neighbors import NearestNeighbors

    directed = NearestNeighbors(n_neighbors=GRAPH_NEIGHBORS).fit(X.astype(np.float64)).kneighbors_graph()
    return _csr_arrays(directed.maximum(directed.T), np.int32, y=y.astype(np.int64))
