"""Tasks of the contenders: data sets, and numbers of components, candidates and rows of a coreset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.contenders import model_of
from benchmarks.harness.data.files import real_file

Coreset = tuple[np.ndarray, np.ndarray | None]

# Algorithm 2 as written.
PUBLISHED: dict[str, int] = dict(search_group_size=1, search_every=1, coreset_tol=0)


@dataclass(frozen=True)
class Setting:
    """What is asked of the contenders of a row; the letters are those of the paper."""

    n_clusters: int  # C
    coreset_size: int  # N'
    n_candidates: int = 5  # C'
    n_neighbors: int = 5  # G
    random_candidate: bool = False
    init: str = "afk-mc2"
    chain_length: int = 2  # m
    search_group_size: int = 16
    search_every: int = 3
    initial_e_steps: int = 1
    tol: float = 1e-4
    coreset_tol: float = 0.1
    n_test: int = 0  # the last rows, which are not fitted: errors are theirs

    def split(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to be fitted, and those whose error is measured: the same unless some are held out."""
        return (X[: -self.n_test], X[-self.n_test :]) if self.n_test else (X, X)

    def mixture(self, seed: int, n_threads: int, **others: Any) -> Any:
        """Return the unfitted estimator, without a coreset."""
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in ("n_clusters", "coreset_size", "n_test")
        }
        options = own | {"compute_labels": False, "random_state": seed, "n_threads": n_threads} | others
        return model_of("coterie.TruncatedGaussianMixture", self.n_clusters, **options)

    @property
    def tiny(self) -> Setting:
        """One for few rows, to load packages and start their threads."""
        return replace(self, n_clusters=20, coreset_size=500, n_test=0)


def draw_coreset(
    X: np.ndarray, setting: Setting, seed: int | np.random.RandomState, n_threads: int
) -> Coreset:
    """Return rows and weights of a lightweight coreset."""
    from coterie.coresets import lightweight_coreset

    return lightweight_coreset(X, setting.coreset_size, random_state=seed, n_threads=n_threads)[:2]


def draw_seeds(
    coreset: Coreset, setting: Setting, random: np.random.RandomState, n_threads: int
) -> np.ndarray:
    """Return initial centers by AFK-MC2: after `draw_coreset` with the same source, those that vc-GMM begins with."""
    from coterie.seeding import afk_mc2

    rows, weights = coreset
    options = {"chain_length": setting.chain_length, "sample_weight": weights}
    return afk_mc2(rows, setting.n_clusters, random_state=random, n_threads=n_threads, **options)[0]


@dataclass(frozen=True)
class MixtureRow:
    """One data set and what is asked of the contenders; `real` is the file without which a stand-in is made."""

    data: str
    n_rows: int
    setting: Setting
    real: str = ""
    large: bool = False  # every fit on all rows is heavy, and has AFK-MC2 as its reference too

    @property
    def title(self) -> str:
        """Data and setting."""
        s = self.setting
        candidates = f"C' = {s.n_candidates}{' + 1' * s.random_candidate}, G = {s.n_neighbors}"
        sizes = f"C = {s.n_clusters:,}, N' = {s.coreset_size:,}"
        held_out = f", errors of the last {s.n_test:,}" if s.n_test else ""
        return f"{self.n_rows:,} rows{held_out}, {sizes}, {candidates}, m = {s.chain_length}"

    def for_options(self, benchmark: Benchmark) -> MixtureRow:
        """Return the row, smaller with --quick."""
        if not benchmark.quick:
            return self
        s = self.setting
        sizes = {"n_clusters": max(10, s.n_clusters // 10), "coreset_size": s.coreset_size // 10}
        return replace(self, n_rows=self.n_rows // 100, setting=replace(s, n_test=s.n_test // 100, **sizes))

    def file(self, benchmark: Benchmark, key: str) -> Path:
        """Return the file of the rows; say so if they are a stand-in."""
        if self.real and real_file(self.real) is None:
            benchmark.say(f"{key}: {self.real} is not in COTERIE_DATA, generated rows stand in for it.")
        return benchmark.data(self.data, self.n_rows)


ROWS = {
    "mnist": MixtureRow("unit_mnist", 70_000, Setting(500, 4096), "mnist.npz"),
    "cod_rna": MixtureRow(
        "cod_rna", 331_152, Setting(500, 32_768, 3, 3, random_candidate=True, chain_length=20), "cod_rna.npz"
    ),
    "cifar10_12k": MixtureRow("cifar10_12k", 12_000, Setting(500, 4096), "cifar10_12k.npz"),
    "aug90": MixtureRow("aug90", 515_345, Setting(4000, 65_536), "mnist.npz", large=True),
    "blobs64": MixtureRow("blobs64", 1_000_000, Setting(2048, 65_536), large=True),
}
# What --quick leaves out: photographs are as images of digits are, and aug90 is made from all of these.
QUICK = ("mnist", "cod_rna", "blobs64")
