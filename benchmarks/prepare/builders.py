"""From original files to arrays, a function a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from benchmarks.prepare.originals import Downloads, MissingFilesError, read_idx, read_numbers, read_svm

Arrays = Mapping[str, np.ndarray]

CIFAR_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
RCV1_COLUMNS, RCV1_ROWS = 47_236, 27_613
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


def build_mnist(downloads: Downloads) -> Arrays:
    """Return the training images and then the test images of MNIST, from its four IDX files."""
    names = [
        f"{part}-{kind}" for kind in ("images-idx3-ubyte", "labels-idx1-ubyte") for part in ("train", "t10k")
    ]
    # They are also about with a dot in place of the second dash.
    known = [dotted if downloads.has(dotted := name.replace("-idx", ".idx")) else name for name in names]
    downloads.paths(*known)
    *images, train_labels, test_labels = (read_idx(downloads.read(name), name) for name in known)
    X = np.concatenate([part.reshape(len(part), -1) for part in images])
    return {"X": X, "y": np.concatenate([train_labels, test_labels])}


def _train_and_test(downloads: Downloads, names: tuple[str, str], n_columns: int) -> np.ndarray:
    """Return the numbers of two text files, one after the other."""
    downloads.paths(*names)
    return np.concatenate([read_numbers(downloads.read(name), name, n_columns) for name in names])


def _in_range(table: np.ndarray, low: int, high: int, name: str) -> np.ndarray:
    """Return numbers that must be whole and from `low` to `high`, for they are kept in few bits."""
    wrong = np.flatnonzero(((table != np.round(table)) | (table < low) | (table > high)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"{name}: row {wrong[0] + 1} has numbers that are not whole or not in {low} to {high}."
        )
    return table


def build_shuttle(downloads: Downloads) -> Arrays:
    """Return Statlog's shuttle, classes from 0."""
    table = _train_and_test(downloads, ("shuttle.trn", "shuttle.tst"), 10)
    _in_range(table[:, :-1], -(2**15), 2**15 - 1, "shuttle.trn and shuttle.tst")
    _in_range(table[:, -1:], 1, 7, "classes of shuttle.trn and shuttle.tst")
    return {"X": table[:, :-1].astype(np.int16), "y": (table[:, -1] - 1).astype(np.uint8)}


def build_optdigits(downloads: Downloads) -> Arrays:
    """Return UCI's optical digits."""
    return _digits(_train_and_test(downloads, ("optdigits.tra", "optdigits.tes"), 65), 16, "optdigits")


def build_pendigits(downloads: Downloads) -> Arrays:
    """Return UCI's digits written with a pen."""
    return _digits(_train_and_test(downloads, ("pendigits.tra", "pendigits.tes"), 17), 100, "pendigits")


def _digits(table: np.ndarray, highest: int, name: str) -> Arrays:
    _in_range(table[:, :-1], 0, highest, name)
    _in_range(table[:, -1:], 0, 9, f"classes of {name}")
    return {"X": table[:, :-1].astype(np.uint8), "y": table[:, -1].astype(np.uint8)}


def build_cod_rna(downloads: Downloads) -> Arrays:
    """Return LIBSVM's cod-rna and cod-rna.t, in their own units."""
    names = ("cod-rna", "cod-rna.t")
    downloads.paths(*names)
    parts = [read_svm(downloads.lines(name), name, 8) for name in names]
    return {
        "X": np.concatenate([rows.toarray() for rows, _ in parts]).astype(np.float32),
        "y": np.array([float(label) > 0 for _, labels in parts for label in labels], dtype=np.uint8),
        "part": np.repeat(np.arange(2, dtype=np.uint8), [len(labels) for _, labels in parts]),
    }


def build_cifar10(downloads: Downloads) -> Arrays:
    """Return 12,000 images of CIFAR-10, drawn from all 60,000: from the archive for C, or its unpacked .bin files."""
    names = [f"{name}.bin" for name in CIFAR_BATCHES]
    members = downloads.members("cifar-10-binary.tar", names)
    records = np.concatenate([_cifar_records(members[name], name) for name in names])
    size = len(records) // 5
    row = np.sort(np.random.default_rng(20240601).choice(len(records), size, replace=False))
    images = records[row, 1:].reshape(size, 3, 32, 32).transpose(0, 2, 3, 1)
    is_train = row < len(records) - len(members[names[-1]]) // 3073
    return {
        "X": np.ascontiguousarray(images.reshape(size, -1)), "y": records[row, 0],
        "is_train": is_train.astype(np.uint8), "row": row.astype(np.int32),
    }  # fmt: skip


def build_cifar10_jpegs(downloads: Downloads) -> Arrays:
    """Return the images of CIFAR-10 as JPEG files, one after the other: those for tests first, by class and number."""
    files = downloads.below("CIFAR-10-images", "*/*/*.jpg")
    classes = sorted({path.parent.name for path in files})
    data = [path.read_bytes() for path in files]
    return {
        "jpeg": np.frombuffer(b"".join(data), np.uint8),
        "offsets": np.cumsum([0, *map(len, data)], dtype=np.int64),
        "y": np.array([classes.index(path.parent.name) for path in files], dtype=np.uint8),
        "is_train": np.array([path.parents[1].name == "train" for path in files], dtype=np.uint8),
    }


def _cifar_records(data: bytes, name: str) -> np.ndarray:
    if not data or len(data) % 3073:
        raise ValueError(f"{name} does not have records of 3,073 bytes: it is cut off.")
    return np.frombuffer(data, np.uint8).reshape(-1, 3073)


def build_rcv1(downloads: Downloads) -> Arrays:
    """Return documents of RCV1: LIBSVM's five multi-label subsets without repetitions, or its binary files."""
    if downloads.has(*RCV1_SUBSETS):
        names: tuple[str, ...] = RCV1_SUBSETS
    else:
        names = ("rcv1_train.binary", "rcv1_test.binary")
        try:
            downloads.paths(*names)
        except MissingFilesError as error:
            raise MissingFilesError(
                [*error.names, f"(or {RCV1_SUBSETS[0]}, ... {RCV1_SUBSETS[-1]})"]
            ) from None
    parts = [read_svm(downloads.lines(name, RCV1_ROWS), name, RCV1_COLUMNS)[0] for name in names]
    rows = sp.csr_array(sp.vstack(parts)).astype(np.float32)
    rows.sort_indices()
    rows = rows[_first_of_equal(rows)][:RCV1_ROWS]
    return _csr_arrays(rows, indices=np.uint16)


def _first_of_equal(rows: sp.csr_array) -> np.ndarray:
    keys = [
        rows.indices[low:high].tobytes() + rows.data[low:high].tobytes()
        for low, high in zip(rows.indptr[:-1], rows.indptr[1:])
    ]
    return np.array(sorted({key: at for at, key in reversed(list(enumerate(keys)))}.values()))


def _csr_arrays(rows: sp.csr_array, *, indices: type) -> dict[str, np.ndarray]:
    return {
        "data": rows.data, "indices": rows.indices.astype(indices), "indptr": rows.indptr.astype(np.int32),
        "shape": np.array(rows.shape, dtype=np.int64),
    }  # fmt: skip


def build_kddc98(downloads: Downloads) -> Arrays:
    """Return the numeric columns of the PVA97NK extract of KDD Cup 1998."""
    import csv
    import io

    reader = csv.DictReader(io.StringIO(downloads.read("kddcup98.csv").decode("utf-8-sig")))
    wanted = (*KDDC98_COLUMNS, "TARGET_B")
    named = {_plain(name): name for name in reader.fieldnames or ()}
    lacking = [name for name in wanted if _plain(name) not in named]
    if lacking:
        raise ValueError(f"kddcup98.csv has no column {', '.join(lacking)}.")
    table = np.array([[_number(line[named[_plain(name)]]) for name in wanted] for line in reader])
    return {"X": table[:, :-1].astype(np.float32), "y": table[:, -1].astype(np.uint8)}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _number(text: str) -> float:
    text = text.strip().lstrip("$").replace(",", "")
    return float(text) if text not in ("", ".", "NA") else float("nan")


def build_news_graph(downloads: Downloads) -> Arrays:
    """Return the graph of 20 Newsgroups of the authors' product cut: A and C of 20NEWS.mat."""
    from scipy.io import loadmat

    found = loadmat(downloads.path("20NEWS.mat"))
    graph, classes = sp.csr_array(found["A"]), np.asarray(found["C"])
    graph.sort_indices()
    graph.data = graph.data.astype(np.uint8)
    numbers = classes.ravel() if 1 in classes.shape else classes.argmax(axis=1)
    return {**_csr_arrays(graph, indices=np.uint16), "y": (numbers - numbers.min()).astype(np.uint8)}


def build_news_counts(downloads: Downloads) -> Arrays:
    """Return the term counts of 20 Newsgroups by date: fea, gnd and trainIdx of 20Newsgroups.mat (D. Cai's)."""
    from scipy.io import loadmat

    found = loadmat(downloads.path("20Newsgroups.mat"))
    counts = sp.csr_array(found["fea"])
    counts.sort_indices()
    counts.data = counts.data.astype(np.uint16)
    is_train = np.zeros(counts.shape[0], dtype=np.uint8)
    is_train[found["trainIdx"].ravel().astype(int) - 1] = 1
    y = (found["gnd"].ravel() - 1).astype(np.uint8)
    return {**_csr_arrays(counts, indices=np.uint16), "y": y, "is_train": is_train}


def build_webkb4(downloads: Downloads) -> Arrays:
    """Return term counts of the stemmed pages of WebKB: a class, a tab, and words a line."""
    names = (
        ("webkb.txt",)
        if downloads.has("webkb.txt")
        else ("webkb-train-stemmed.txt", "webkb-test-stemmed.txt")
    )
    downloads.paths(*names)
    lines = [
        line for name in names for line in downloads.read(name).decode("utf-8").splitlines() if line.strip()
    ]
    classes, texts = zip(*(line.partition("\t")[::2] for line in lines))
    counts = [Counter(text.split()) for text in texts]
    vocabulary = sorted(set().union(*counts))
    column = {word: at for at, word in enumerate(vocabulary)}
    rows = sp.coo_array(
        (
            np.array([number for words in counts for number in words.values()], dtype=np.uint16),
            (
                np.repeat(np.arange(len(counts)), [len(words) for words in counts]),
                np.array([column[word] for words in counts for word in words], dtype=np.int64),
            ),
        ),
        shape=(len(counts), len(vocabulary)),
    ).tocsr()
    rows.sort_indices()
    _, y = np.unique(classes, return_inverse=True)
    return {**_csr_arrays(rows, indices=np.uint16), "y": y.astype(np.uint8)}


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

    n = len(X)
    found = (
        NearestNeighbors(n_neighbors=GRAPH_NEIGHBORS)
        .fit(X.astype(np.float64))
        .kneighbors(return_distance=False)
    )
    heads = np.repeat(np.arange(n), GRAPH_NEIGHBORS)
    directed = sp.coo_array((np.ones(heads.size), (heads, found.ravel())), shape=(n, n)).tocsr()
    graph = sp.csr_array(directed.maximum(directed.T))
    graph.sort_indices()
    return {**_csr_arrays(graph, indices=np.int32), "y": y.astype(np.int64)}
