"""The data sets of the paper as far as they are at hand, its settings on them, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.papers import PaperRun
from benchmarks.mixture.settings import ROWS, MixtureRow, Setting

# Line of Table 1: relative error, relative speed-up in time and in distances, EM iterations, share of coreset and
# seeding.
Line = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper."""

    row: MixtureRow  # ours, and the paper's setting
    sizes: tuple[int, ...]  # coreset sizes N' that are swept
    published: dict[str, Line]  # lines of Table 1
    is_quick: bool = False  # made soon, so that --quick has it

    def prepared(self, run: PaperRun, key: str) -> tuple[Path, MixtureRow]:
        """Return the file and the row, smaller with --quick."""
        row = self.row.for_options(run)
        return row.file(run, key), row

    def swept(self, row: MixtureRow) -> list[int]:
        """Return the coreset sizes of a row of this set, in proportion to its own."""
        setting, whole = row.setting, self.row.setting
        sizes = [size * setting.coreset_size // whole.coreset_size for size in self.sizes]
        return [size for size in sizes if size > setting.n_clusters]


def _published(kmeans: Line, var_gmm_s: Line, lwcs: Line, vc_gmm: Line) -> dict[str, Line]:
    return {"k-means++": kmeans, "var-GMM-S": var_gmm_s, "LWCS": lwcs, "vc-GMM": vc_gmm}


SETS = {
    "KDD": PaperSet(
        MixtureRow("unit_mnist", 70_000, Setting(500, 2**13), "mnist.npz"),
        tuple(2**i for i in range(11, 16)),
        _published(
            ("0.0%", "1.0", "1.0", "13.0", "22%"),
            ("0.94%", "6.4", "23.4", "17.0", "1%"),
            ("11.73%", "27.8", "24.2", "10.2", "3%"),
            ("10.81%", "91.5", "361.0", "17.9", "12%"),
        ),
        is_quick=True,
    ),
    "RNA": PaperSet(
        ROWS["cod_rna"],
        tuple(2**i for i in range(12, 18)),
        _published(
            ("0.0%", "1.0", "1.0", "18.0", "15%"),
            ("-1.59%", "1.6", "19.2", "72.3", "1%"),
            ("11.24%", "21.2", "19.8", "14.2", "3%"),
            ("7.28%", "33.3", "329.4", "47.8", "5%"),
        ),
        is_quick=True,
    ),
    "CIFAR-10": PaperSet(
        MixtureRow("cifar10_split", 60_000, Setting(500, 2**12, n_test=10_000), "cifar10_jpeg.npz"),
        tuple(2**i for i in range(10, 15)),
        _published(
            ("0.0%", "1.0", "1.0", "10.7", "9%"),
            ("-0.75%", "12.6", "16.4", "16.7", "1%"),
            ("10.34%", "17.3", "17.6", "8.0", "2%"),
            ("8.98%", "166.4", "207.8", "13.4", "20%"),
        ),
    ),
    "SUSY": PaperSet(
        MixtureRow("blobs18", 1_000_000, Setting(2000, 2**15), large=True),
        tuple(2**i for i in range(13, 19)),
        _published(
            ("0.0%", "1.0", "1.0", "47.5", "7%"),
            ("0.76%", "10.1", "83.8", "63.7", "1%"),
            ("9.89%", "395.3", "381.8", "19.3", "3%"),
            ("9.55%", "1300.4", "9964.3", "62.8", "11%"),
        ),
    ),
    "SONG": PaperSet(
        ROWS["aug90"],
        tuple(2**i for i in range(14, 19)),
        _published(
            ("0.0%", "1.0", "1.0", "11.0", "19%"),
            ("0.99%", "24.9", "79.1", "26.2", "1%"),
            ("10.42%", "10.5", "10.3", "9.1", "1%"),
            ("9.23%", "166.6", "513.9", "22.3", "11%"),
        ),
    ),
}
# Headings name the data that are measured, where the paper has other ones.
HEADINGS = {"KDD": "MNIST", "RNA": "cod-rna", "SUSY": "Blobs", "SONG": "MNIST components"}
DATA = ("mnist.npz", "cod_rna.npz", "cifar10_jpeg.npz")
STANDS_IN = "generated rows stand in, and the report says where"


def chosen_sets(run: PaperRun, names: tuple[str, ...] = tuple(SETS)) -> dict[str, PaperSet]:
    """Return the data sets of an item by their headings; with --quick those that are made soon."""
    return {HEADINGS.get(name, name): SETS[name] for name in names if SETS[name].is_quick or not run.quick}
