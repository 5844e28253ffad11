"""Table 2: tens of thousands of clusters of images, from a file that is larger than memory."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.cells import MIB, mib_cell, number
from benchmarks.harness.data.tables import save_images
from benchmarks.harness.measuring import clock, measured
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.quality import inertia
from benchmarks.harness.reporting import lines_of

N_COLUMNS = 3072
PUBLISHED_ROWS = 79_000_000  # about: 80 million less those for tests
# Clusters, and the paper's error, seeding and EM in minutes and seconds on 20 cores.
PUBLISHED = {8000: ("5.45e+12", "02:44", "26:32"), 16000: ("5.31e+12", "11:05", "46:26"),
             32000: ("5.22e+12", "27:03", "55:13")}  # fmt: skip
CHAIN_LENGTH, INITIAL_E_STEPS = 2, 4
MARGIN = 4 << 30  # free space that is left beside the file
TEST_SEED = 10**9


@dataclass(frozen=True)
class Sizes:
    """Rows of the file, of the tests and of the coreset, and numbers of clusters."""

    n_rows: int
    n_test: int
    n_coreset: int
    n_clusters: tuple[int, ...]

    @classmethod
    def of(cls, run: PaperRun) -> Sizes:
        """Return what fits: a file of a tenth more than the memory, a coreset of a fifth of it as floats."""
        if run.quick:
            return cls(4000, 500, 1000, (16, 32, 64))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        n_coreset = memory // 5 // (4 * N_COLUMNS)
        free = shutil.disk_usage(run.folder).free - MARGIN - 4 * N_COLUMNS * n_coreset
        wanted = 1e9 * run.options.gb if run.options.gb else min(1.1 * memory, free)
        least = 2 * max(PUBLISHED) * N_COLUMNS
        if not least <= wanted <= free:
            raise ValueError(
                f"a file of {wanted / 1e9:.2f} GB is not from {least / 1e9:.2f}, two images a cluster, to the "
                f"{free / 1e9:.2f} that are free beside the coreset. Give --gb or --folder."
            )
        n_rows = int(wanted) // N_COLUMNS
        return cls(n_rows, 10_000, min(n_coreset, n_rows), tuple(PUBLISHED))


def _forget(path: Path) -> None:
    """Ask the system to drop what its cache holds of a file, where it can be asked."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def run_coreset(path: Path, n_drawn: int, n_threads: int) -> dict[str, Any]:
    """Draw a coreset from the file, which the system was asked to forget, and save it."""
    from coterie import open_rows
    from coterie.coresets import lightweight_coreset

    _forget(path)
    # By the wall's clock: the disk counts.
    with measured() as cost:
        drawn = lightweight_coreset(open_rows(path), n_drawn, random_state=0, n_threads=n_threads)
    for name, array in zip(("rows", "weights"), drawn):
        np.save(path.with_name(f"coreset-{name}.npy"), array)
    return vars(cost)


def run_clusters(folder: Path, n_clusters: int, n_threads: int) -> dict[str, Any]:
    """Seed on the coreset, fit, and measure the error of the test rows by comparing with all means."""
    from coterie import TruncatedGaussianMixture
    from coterie.seeding import afk_mc2

    rows, weights = (np.load(folder / f"coreset-{name}.npy") for name in ("rows", "weights"))
    options: dict[str, Any] = dict(chain_length=CHAIN_LENGTH, random_state=0, n_threads=n_threads)
    seconds = clock(n_threads)
    begin = seconds()
    seeds = afk_mc2(rows, n_clusters, sample_weight=weights, **options)[0]
    seeding = seconds() - begin
    model = TruncatedGaussianMixture(
        n_clusters, init=seeds, initial_e_steps=INITIAL_E_STEPS, compute_labels=False, **options
    )
    with measured(n_threads) as cost:
        model.fit(rows, sample_weight=weights)
    tested = np.load(folder / "test.npy").astype(np.float32)
    return vars(cost) | {
        "seeding_seconds": seeding,
        "error": inertia(tested, model.means_) / len(tested),
        "n_iter": model.n_iter_,
        "distances_per_row": float(np.mean(model.history_["n_distances"])) / len(weights),
    }


def make_table_2(run: PaperRun) -> None:
    """Coreset, seeding, EM and held-out error; what 80 million rows would take."""
    try:
        sizes = Sizes.of(run)
    except ValueError as error:
        run.say(f"Not made: {error}")
        return
    path, folder = run.folder / "images.npy", run.folder
    run.isolated(save_images, path, sizes.n_rows)
    run.isolated(save_images, folder / "test.npy", sizes.n_test, TEST_SEED)
    size = path.stat().st_size
    try:
        coreset = run.isolated(run_coreset, path, sizes.n_coreset, run.threads)
    finally:
        path.unlink()
    _say_coreset(run, sizes, size, coreset)
    columns = {
        "error": number("error", ".6g"),
        "seeding, mm:ss": lambda s: _minutes(s["seeding_seconds"]),
        "EM, mm:ss": lambda s: _minutes(s["seconds"]),
        "iterations": number("n_iter", "d"),
        "distances per row": number("distances_per_row", ".1f"),
        "MiB": mib_cell,
    }
    found = {f"C = {n:,}": run.isolated(run_clusters, folder, n, run.threads) for n in sizes.n_clusters}
    lines = [[*ours, *theirs] for ours, theirs in zip(lines_of(columns, found), PUBLISHED.values())]
    headers = ["", *columns, "paper: error", "paper: seeding, mm:ss", "paper: EM, mm:ss"]
    title = f"{sizes.n_rows:,} generated images of {N_COLUMNS:,} numbers, a coreset of {sizes.n_coreset:,}"
    run.report.table(title, headers, lines)
    run.say(
        f"C' = G = 5, {INITIAL_E_STEPS} initial E-steps, AFK-MC2 chains of {CHAIN_LENGTH}; one fit each. Error: mean "
        "squared distance of held-out images to the nearest mean; the paper has the sum over other images, and times "
        "of 20 cores.",
    )


def _minutes(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60:02}:{whole % 60:02}" if seconds >= 10 else f"{seconds:.2f} s"


def _say_coreset(run: PaperRun, sizes: Sizes, size: int, cost: dict[str, Any]) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    forecast = cost["seconds"] * PUBLISHED_ROWS / sizes.n_rows
    run.say(
        f"The file has {size / 1e9:.2f} GB, the machine {memory / 1e9:.2f} GB of memory. The coreset of "
        f"{sizes.n_coreset:,} rows takes {_minutes(cost['seconds'])} and {cost['peak_bytes'] / MIB:.0f} MiB, of which "
        f"the coreset itself has {4 * N_COLUMNS * sizes.n_coreset / MIB:.0f}. At this rate {PUBLISHED_ROWS:,} rows "
        f"would take {_minutes(forecast)}.",
    )
