"""The figures and tables of Hirschberger, Forster and Lücke (2019, 2022)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Item, PaperRun, Summaries
from benchmarks.harness.data.tables import save_images
from benchmarks.harness.measuring import clock, inertia, measured
from benchmarks.harness.reporting import MIB, lines_of, mib_cell, number
from benchmarks.mixture.contenders import (
    FITS,
    OWN_ALL_ROWS,
    OWN_CHAIN,
    PEER_CHAIN,
    PUBLISHED_STEPS,
    REFERENCE,
    ROWS,
    VAR_GMM_S,
    VC_GMM,
    MixtureRow,
    Setting,
)
from benchmarks.mixture.rows import error_cell, measure_points
from coterie import TruncatedGaussianMixture, open_rows
from coterie.coresets import lightweight_coreset
from coterie.seeding import afk_mc2

N_COLUMNS = 3072
# Clusters, and the paper's error, seeding and EM in minutes and seconds on 20 cores.
PUBLISHED_IMAGES = {8000: ("5.45e+12", "02:44", "26:32"), 16000: ("5.31e+12", "11:05", "46:26"),
             32000: ("5.22e+12", "27:03", "55:13")}  # fmt: skip
IMAGE_CHAIN, IMAGE_E_STEPS = 2, 4
TEST_SEED = 10**9


MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _sizes(run: PaperRun) -> tuple[int, int, int, tuple[int, ...]]:
    """Return the rows of the file, of the tests and of the coreset, and numbers of clusters.

    The file has a tenth more than the memory, the coreset a fifth of it.
    """
    if run.quick:
        return 4000, 500, 1000, (16, 32, 64)
    n_rows = int(1e9 * run.options.gb if run.options.gb else 1.1 * MEMORY) // N_COLUMNS
    return n_rows, 10_000, min(MEMORY // 5 // (4 * N_COLUMNS), n_rows), tuple(PUBLISHED_IMAGES)


def run_coreset(path: Path, n_drawn: int, n_threads: int) -> dict[str, Any]:
    """Draw a coreset from the file and save it."""
    with measured() as cost:
        drawn = lightweight_coreset(open_rows(path), n_drawn, random_state=0, n_threads=n_threads)
    for name, array in zip(("rows", "weights"), drawn):
        np.save(path.with_name(f"coreset-{name}.npy"), array)
    return vars(cost)


def run_clusters(folder: Path, n_clusters: int, n_threads: int) -> dict[str, Any]:
    """Seed on the coreset, fit, and measure the error of the test rows by comparing with all means."""
    rows, weights = (np.load(folder / f"coreset-{name}.npy") for name in ("rows", "weights"))
    options: dict[str, Any] = dict(chain_length=IMAGE_CHAIN, random_state=0, n_threads=n_threads)
    seconds = clock(n_threads)
    begin = seconds()
    seeds = afk_mc2(rows, n_clusters, sample_weight=weights, **options)[0]
    seeding = seconds() - begin
    model = TruncatedGaussianMixture(
        n_clusters, init=seeds, initial_e_steps=IMAGE_E_STEPS, compute_labels=False, **options
    )
    with measured(n_threads) as cost:
        model.fit(rows, sample_weight=weights)
    tested = np.load(folder / "test.npy").astype(np.float32)
    return vars(cost) | {
        "seeding_seconds": seeding,
        "error": inertia(tested, model.means_) / len(tested),
        "iterations": model.n_iter_,
        "distances per row": float(np.mean(model.history_["n_distances"])) / len(weights),
    }


def make_table_2(run: PaperRun) -> None:
    """Coreset, seeding, EM and held-out error."""
    n_rows, n_test, n_coreset, clusters = _sizes(run)
    path, folder = run.folder / "images.npy", run.folder
    run.isolated(save_images, path, n_rows)
    run.isolated(save_images, folder / "test.npy", n_test, TEST_SEED)
    size = path.stat().st_size
    coreset = run.isolated(run_coreset, path, n_coreset, run.threads)
    path.unlink()
    run.say(
        f"The file has {size / 1e9:.2f} GB, the machine {MEMORY / 1e9:.2f} GB of memory. The coreset of {n_coreset:,} "
        f"rows takes {_minutes(coreset['seconds'])} and {coreset['peak_bytes'] / MIB:.0f} MiB.",
    )
    columns = {
        "error": ".6g",
        "seeding, mm:ss": lambda s: _minutes(s["seeding_seconds"]),
        "EM, mm:ss": lambda s: _minutes(s["seconds"]),
        "iterations": "d",
        "distances per row": ".1f",
        "MiB": mib_cell,
    }
    found = {f"C = {n:,}": run.isolated(run_clusters, folder, n, run.threads) for n in clusters}
    lines = [[*ours, *theirs] for ours, theirs in zip(lines_of(columns, found), PUBLISHED_IMAGES.values())]
    headers = ["", *columns, "paper: error", "paper: seeding, mm:ss", "paper: EM, mm:ss"]
    title = f"{n_rows:,} generated images of {N_COLUMNS:,} numbers, a coreset of {n_coreset:,}"
    run.report.table(title, headers, lines)
    run.say(
        f"C' = G = 5, {IMAGE_E_STEPS} initial E-steps, AFK-MC2 chains of {IMAGE_CHAIN}; one fit each. Error: mean "
        "squared distance of held-out images to the nearest mean; the paper has the sum over other images, and times "
        "of 20 cores.",
    )


def _minutes(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60:02}:{whole % 60:02}" if seconds >= 10 else f"{seconds:.2f} s"


@dataclass(frozen=True)
class PaperSet:
    row: MixtureRow  # ours, and the paper's setting
    published: dict[str, list[str]]  # lines of Table 1


def _published(*lines: str) -> dict[str, list[str]]:
    """Return relative errors, relative speed-ups in time and in distances, and EM iterations."""
    return dict(zip(("k-means++", "var-GMM-S", "LWCS", "vc-GMM"), map(str.split, lines)))


SETS = {
    "KDD": PaperSet(
        MixtureRow("unit_mnist", 70_000, Setting(500, 2**13), "mnist.npz"),
        _published(
            "0.0% 1.0 1.0 13.0",
            "0.94% 6.4 23.4 17.0",
            "11.73% 27.8 24.2 10.2",
            "10.81% 91.5 361.0 17.9",
        ),
    ),
    "RNA": PaperSet(
        ROWS["cod_rna"],
        _published(
            "0.0% 1.0 1.0 18.0",
            "-1.59% 1.6 19.2 72.3",
            "11.24% 21.2 19.8 14.2",
            "7.28% 33.3 329.4 47.8",
        ),
    ),
    "CIFAR-10": PaperSet(
        MixtureRow("cifar10_split", 60_000, Setting(500, 2**12, n_test=10_000), "cifar10_jpeg.npz"),
        _published(
            "0.0% 1.0 1.0 10.7",
            "-0.75% 12.6 16.4 16.7",
            "10.34% 17.3 17.6 8.0",
            "8.98% 166.4 207.8 13.4",
        ),
    ),
    "SUSY": PaperSet(
        MixtureRow("blobs18", 1_000_000, Setting(2000, 2**15), large=True),
        _published(
            "0.0% 1.0 1.0 47.5",
            "0.76% 10.1 83.8 63.7",
            "9.89% 395.3 381.8 19.3",
            "9.55% 1300.4 9964.3 62.8",
        ),
    ),
    "SONG": PaperSet(
        ROWS["aug90"],
        _published(
            "0.0% 1.0 1.0 11.0",
            "0.99% 24.9 79.1 26.2",
            "10.42% 10.5 10.3 9.1",
            "9.23% 166.6 513.9 22.3",
        ),
    ),
}
# Headings name the data that are measured, where the paper has other ones.
HEADINGS = {"KDD": "MNIST", "RNA": "cod-rna", "SUSY": "Blobs", "SONG": "MNIST components"}
DATA = ("mnist.npz", "cod_rna.npz", "cifar10_jpeg.npz")


def chosen_sets(
    run: PaperRun, names: tuple[str, ...] = tuple(SETS)
) -> Iterator[tuple[str, PaperSet, MixtureRow]]:
    """Yield the headings, the data sets and their rows; with --quick smaller rows of those that are made soon."""
    for name in names:
        if name in ("KDD", "RNA") or not run.quick:
            yield HEADINGS.get(name, name), SETS[name], SETS[name].row.for_options(run)


SEEDS = 8


# The lines of Table 1, and their names there.
LINES = {
    REFERENCE: "k-means++, scikit-learn", OWN_ALL_ROWS: "k-means++, coterie", VAR_GMM_S: "var-GMM-S",
    PEER_CHAIN: "LWCS, scikit-learn", OWN_CHAIN: "LWCS, coterie", VC_GMM: "vc-GMM",
    PUBLISHED_STEPS: "vc-GMM, the papers' steps",
}  # fmt: skip


def make_table_1(run: PaperRun, names: tuple[str, ...] = ("KDD", "RNA", "CIFAR-10")) -> None:
    """Errors and speed-ups of all, above the paper's."""
    run.say(
        'Lines "paper" are published, for the data of the paper. Error and speed-ups are relative to '
        "k-means++ of coterie (one seed); in these lines, of the paper. Error: median and quartiles. All fits end when "
        "the error or the free energy changes by less than 1e-4 of itself. Distances of k-means: all N C of an "
        "iteration, also those that bounds skip. CPU seconds of one thread are without the labels of all rows. "
        "k-means++ and var-GMM-S fit all rows (one seed). k-means++ is greedy, all other fits are seeded by AFK-MC2. "
        f"Seeds: {len(run.seeds(SEEDS))}.",
    )
    wanted = run.select({name: FITS[name] for name in LINES})
    for key, chosen, row in chosen_sets(run, names):
        points = {name: (name, row.setting) for name in wanted if name != REFERENCE or not chosen.row.large}
        title = f"{key}. {row.title}"
        heavy, repeats = (REFERENCE, OWN_ALL_ROWS, VAR_GMM_S), len(run.seeds(SEEDS))  # those on all rows once
        summaries = measure_points(run, title, row.file(run, key), points, heavy=heavy, repeats=repeats)
        if OWN_ALL_ROWS in summaries:
            _table_1(run, title, chosen, summaries)


def _table_1(run: PaperRun, title: str, chosen: PaperSet, summaries: Summaries) -> None:
    own = summaries[OWN_ALL_ROWS]
    columns = {
        "error": error_cell(own["error"]),
        "speed-up": lambda s: f"{own['seconds'] / s['seconds']:.1f}",
        "speed-up in distances": lambda s: f"{own['n_distances'] / s['n_distances']:.1f}",
        "iterations": number("n_iter", ".0f"),
        "CPU s": number("seconds", ".3g"),
    }
    rows = lines_of(columns, {LINES[name]: summary for name, summary in summaries.items()})
    rows += [[f"paper: {name}", *line, ""] for name, line in chosen.published.items()]
    run.report.table(title, ["", *columns], rows)
    errors = {name: np.array([fit["error"] for fit in s["each"]]) for name, s in summaries.items()}
    for name in (VC_GMM, PUBLISHED_STEPS):
        if name in errors and OWN_CHAIN in errors:
            n_lower = np.count_nonzero(errors[name] < errors[OWN_CHAIN])
            run.say(f"{LINES[name]}: lower error than LWCS in {n_lower} of {len(errors[name])} seeds.")


ITEMS = {
    "table-1": Item(make_table_1, "Table 1", DATA),
    "table-1-large": Item(
        partial(make_table_1, names=("SUSY", "SONG")), "Table 1, large sets", ("mnist.npz",)
    ),
    "table-2": Item(make_table_2, "Table 2"),
}
