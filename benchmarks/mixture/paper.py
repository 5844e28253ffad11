"""The figures and tables of Hirschberger, Forster and Lücke (2019, 2022)."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
    SEEDS_ALONE,
    VAR_GMM_S,
    VC_GMM,
    MixtureRow,
    Setting,
)
from benchmarks.mixture.rows import Points, columns_of, error_cell, measure_points
from coterie import TruncatedGaussianMixture, open_rows
from coterie.coresets import lightweight_coreset
from coterie.seeding import afk_mc2

N_COLUMNS = 3072
PUBLISHED_ROWS = 79_000_000  # about: 80 million less those for tests
# Clusters, and the paper's error, seeding and EM in minutes and seconds on 20 cores.
PUBLISHED_IMAGES = {8000: ("5.45e+12", "02:44", "26:32"), 16000: ("5.31e+12", "11:05", "46:26"),
             32000: ("5.22e+12", "27:03", "55:13")}  # fmt: skip
IMAGE_CHAIN, IMAGE_E_STEPS = 2, 4
MARGIN = 4 << 30  # free space that is left beside the file
TEST_SEED = 10**9


MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Sizes(NamedTuple):
    """Rows of the file, of the tests and of the coreset, and numbers of clusters."""

    n_rows: int
    n_test: int
    n_coreset: int
    n_clusters: tuple[int, ...]


def _sizes(run: PaperRun) -> Sizes:
    """Return what fits: a file of a tenth more than the memory, a coreset of a fifth of it as floats."""
    if run.quick:
        return Sizes(4000, 500, 1000, (16, 32, 64))
    n_coreset = MEMORY // 5 // (4 * N_COLUMNS)
    free = shutil.disk_usage(run.folder).free - MARGIN - 4 * N_COLUMNS * n_coreset
    wanted = 1e9 * run.options.gb if run.options.gb else min(1.1 * MEMORY, free)
    least = 2 * max(PUBLISHED_IMAGES) * N_COLUMNS
    if not least <= wanted <= free:
        raise ValueError(
            f"a file of {wanted / 1e9:.2f} GB is not from {least / 1e9:.2f}, two images a cluster, to the "
            f"{free / 1e9:.2f} that are free beside the coreset. Give --gb or --folder."
        )
    n_rows = int(wanted) // N_COLUMNS
    return Sizes(n_rows, 10_000, min(n_coreset, n_rows), tuple(PUBLISHED_IMAGES))


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
    _forget(path)
    # By the wall's clock: the disk counts.
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
    """Coreset, seeding, EM and held-out error; what 80 million rows would take."""
    try:
        sizes = _sizes(run)
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
    forecast = coreset["seconds"] * PUBLISHED_ROWS / sizes.n_rows
    run.say(
        f"The file has {size / 1e9:.2f} GB, the machine {MEMORY / 1e9:.2f} GB of memory. The coreset of "
        f"{sizes.n_coreset:,} rows takes {_minutes(coreset['seconds'])} and {coreset['peak_bytes'] / MIB:.0f} MiB, of "
        f"which the coreset itself has {4 * N_COLUMNS * sizes.n_coreset / MIB:.0f}. At this rate {PUBLISHED_ROWS:,} "
        f"rows would take {_minutes(forecast)}.",
    )
    columns = {
        "error": ".6g",
        "seeding, mm:ss": lambda s: _minutes(s["seeding_seconds"]),
        "EM, mm:ss": lambda s: _minutes(s["seconds"]),
        "iterations": "d",
        "distances per row": ".1f",
        "MiB": mib_cell,
    }
    found = {f"C = {n:,}": run.isolated(run_clusters, folder, n, run.threads) for n in sizes.n_clusters}
    lines = [[*ours, *theirs] for ours, theirs in zip(lines_of(columns, found), PUBLISHED_IMAGES.values())]
    headers = ["", *columns, "paper: error", "paper: seeding, mm:ss", "paper: EM, mm:ss"]
    title = f"{sizes.n_rows:,} generated images of {N_COLUMNS:,} numbers, a coreset of {sizes.n_coreset:,}"
    run.report.table(title, headers, lines)
    run.say(
        f"C' = G = 5, {IMAGE_E_STEPS} initial E-steps, AFK-MC2 chains of {IMAGE_CHAIN}; one fit each. Error: mean "
        "squared distance of held-out images to the nearest mean; the paper has the sum over other images, and times "
        "of 20 cores.",
    )


def _minutes(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60:02}:{whole % 60:02}" if seconds >= 10 else f"{seconds:.2f} s"


# Line of Table 1: relative error, relative speed-up in time and in distances, EM iterations, share of coreset and
# seeding.
Line = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class PaperSet:
    row: MixtureRow  # ours, and the paper's setting
    sizes: range  # logarithms of the coreset sizes N' that are swept
    published: dict[str, Line]  # lines of Table 1
    is_quick: bool = False  # made soon, so that --quick has it

    def swept(self, row: MixtureRow) -> list[int]:
        """Return the coreset sizes of a row of this set, in proportion to its own."""
        own, whole = row.setting, self.row.setting
        sizes = [2**size * own.coreset_size // whole.coreset_size for size in self.sizes]
        return [size for size in sizes if size > own.n_clusters]


def _published(kmeans: Line, var_gmm_s: Line, lwcs: Line, vc_gmm: Line) -> dict[str, Line]:
    return {"k-means++": kmeans, "var-GMM-S": var_gmm_s, "LWCS": lwcs, "vc-GMM": vc_gmm}


SETS = {
    "KDD": PaperSet(
        MixtureRow("unit_mnist", 70_000, Setting(500, 2**13), "mnist.npz"),
        range(11, 16),
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
        range(12, 18),
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
        range(10, 15),
        _published(
            ("0.0%", "1.0", "1.0", "10.7", "9%"),
            ("-0.75%", "12.6", "16.4", "16.7", "1%"),
            ("10.34%", "17.3", "17.6", "8.0", "2%"),
            ("8.98%", "166.4", "207.8", "13.4", "20%"),
        ),
    ),
    "SUSY": PaperSet(
        MixtureRow("blobs18", 1_000_000, Setting(2000, 2**15), large=True),
        range(13, 19),
        _published(
            ("0.0%", "1.0", "1.0", "47.5", "7%"),
            ("0.76%", "10.1", "83.8", "63.7", "1%"),
            ("9.89%", "395.3", "381.8", "19.3", "3%"),
            ("9.55%", "1300.4", "9964.3", "62.8", "11%"),
        ),
    ),
    "SONG": PaperSet(
        ROWS["aug90"],
        range(14, 19),
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


def chosen_sets(
    run: PaperRun, names: tuple[str, ...] = tuple(SETS)
) -> Iterator[tuple[str, PaperSet, MixtureRow]]:
    """Yield the headings, the data sets and their rows; with --quick smaller rows of those that are made soon."""
    for name in names:
        if SETS[name].is_quick or not run.quick:
            yield HEADINGS.get(name, name), SETS[name], SETS[name].row.for_options(run)


SEEDS = 8
CANDIDATES = (2, 3, 5, 8)
CHAIN_LENGTHS = (2, 20, 200)


def measure_set(run: PaperRun, title: str, key: str, row: MixtureRow, points: Points) -> Summaries:
    """Fit all points, those on all rows once."""
    heavy, repeats = (REFERENCE, OWN_ALL_ROWS, VAR_GMM_S), len(run.seeds(SEEDS))
    return measure_points(run, title, row.file(run, key), points, heavy=heavy, repeats=repeats)


def make_figure_1(run: PaperRun) -> None:
    """Error against seconds and against distances, for growing N', C' and m."""
    for key, chosen, row in chosen_sets(run):
        points, title = _points(row, chosen.swept(row), run.quick), f"{key}. {row.title}"
        summaries = measure_set(run, title, key, row, points)
        if OWN_ALL_ROWS in summaries:
            run.table(title, columns_of(summaries[OWN_ALL_ROWS]), summaries)
            _compare_with_lwcs(run, key, summaries)


def _points(row: MixtureRow, sizes: Sequence[int], is_quick: bool) -> Points:
    """Return the points of the paper's Figure 1 on a data set."""
    setting = row.setting
    points = {OWN_ALL_ROWS: (OWN_ALL_ROWS, setting)}
    for m in CHAIN_LENGTHS[: 1 if is_quick else None]:
        points[f"{SEEDS_ALONE}, m = {m}"] = SEEDS_ALONE, replace(setting, chain_length=m)
    for n in CANDIDATES[1:2] if is_quick else CANDIDATES:
        points[f"{VAR_GMM_S}, C' = {n}"] = VAR_GMM_S, replace(setting, n_candidates=n, n_neighbors=n)
    for size in sizes[:2] if is_quick else sizes:
        for contender in (PEER_CHAIN, OWN_CHAIN, VC_GMM, PUBLISHED_STEPS):
            points[f"{contender}, N' = {size:,}"] = contender, replace(setting, coreset_size=size)
    return points


def _compare_with_lwcs(run: PaperRun, key: str, summaries: Summaries) -> None:
    """Add a table of the mixture's error relative to that of k-means on the same coreset and seeds."""
    before = f"{OWN_CHAIN}, "
    lwcs = {name.removeprefix(before): s for name, s in summaries.items() if name.startswith(before)}
    rows = []
    for contender in (VC_GMM, PUBLISHED_STEPS):
        cells = [contender.removeprefix("coterie ")]
        for size, theirs in lwcs.items():
            pairs = zip(summaries.get(f"{contender}, {size}", {"each": []})["each"], theirs["each"])
            gaps = [100 * (one["error"] / other["error"] - 1) for one, other in pairs]
            cells.append(f"{np.median(gaps):+.2f}%" if gaps else "-")
        rows.append(cells)
    run.report.table(f"{key}. Error relative to LWCS, same coreset and seeds", ["", *lwcs], rows)


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
        summaries = measure_set(run, title, key, row, points)
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
    rows += [[f"paper: {name}", *line[:4], ""] for name, line in chosen.published.items()]
    run.report.table(title, ["", *columns], rows)
    errors = {name: np.array([fit["error"] for fit in s["each"]]) for name, s in summaries.items()}
    for name in (VC_GMM, PUBLISHED_STEPS):
        if name in errors and OWN_CHAIN in errors:
            n_lower = np.count_nonzero(errors[name] < errors[OWN_CHAIN])
            run.say(f"{LINES[name]}: lower error than LWCS in {n_lower} of {len(errors[name])} seeds.")


ITEMS = {
    "figure-1": Item(make_figure_1, "Figure 1", DATA),
    "table-1": Item(make_table_1, "Table 1", DATA),
    "table-1-large": Item(
        partial(make_table_1, names=("SUSY", "SONG")), "Table 1, large sets", ("mnist.npz",)
    ),
    "table-2": Item(make_table_2, "Table 2"),
}
