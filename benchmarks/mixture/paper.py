"""The figures and tables of Hirschberger, Forster and Lücke (2019, 2022)."""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import NullFormatter
from sklearn.metrics import normalized_mutual_info_score, pairwise_distances_argmin

from benchmarks.harness.benchmark import Item, PaperRun, Result, Summaries
from benchmarks.harness.data.tables import save_images
from benchmarks.harness.measuring import clock, inertia, measured
from benchmarks.harness.reporting import MIB, legend_below, lines_of, mib_cell, number
from benchmarks.mixture.contenders import (
    FITS,
    OWN_ALL_ROWS,
    OWN_CHAIN,
    PEER_CHAIN,
    PUBLISHED,
    PUBLISHED_STEPS,
    REFERENCE,
    ROWS,
    SEEDS_ALONE,
    VAR_GMM_S,
    VC_GMM,
    MixtureRow,
    Setting,
    draw_coreset,
    draw_seeds,
)
from benchmarks.mixture.rows import Points, columns_of, error_cell, fitted, measure_points
from coterie import TruncatedGaussianMixture, open_rows
from coterie.coresets import lightweight_coreset
from coterie.figures import new_figure
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
STANDS_IN = "generated rows stand in, and the report says where"


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
STANDARD_CLUSTERS = 2000  # of SONG, in Figure S.2

# Colors that also the color-blind tell apart. Ours are solid, peers and seeds alone dashed.
STYLES = {
    OWN_ALL_ROWS: ("#000000", "*", "-"),
    SEEDS_ALONE: ("#888888", "v", "--"),
    VAR_GMM_S: ("#009e73", "s", "-"),
    PEER_CHAIN: ("#cc79a7", "^", "--"),
    OWN_CHAIN: ("#0072b2", "o", "-"),
    VC_GMM: ("#d55e00", "D", "-"),
    PUBLISHED_STEPS: ("#e69f00", "x", "-"),
}


def measure_set(
    run: PaperRun, title: str, key: str, row: MixtureRow, points: Points, **options: Any
) -> Summaries:
    """Fit all points, those on all rows once."""
    heavy, repeats = (REFERENCE, OWN_ALL_ROWS, VAR_GMM_S), len(run.seeds(SEEDS))
    return measure_points(run, title, row.file(run, key), points, heavy=heavy, repeats=repeats, **options)


def make_figure_1(run: PaperRun) -> None:
    """Error against seconds and against distances, for growing N', C' and m."""
    _sweeps(run, chosen_sets(run))


def make_figure_s2(run: PaperRun) -> None:
    """Make the same for SONG with the standard number of clusters."""
    song = SETS["SONG"]
    setting = replace(song.row.setting, n_clusters=STANDARD_CLUSTERS)
    # The rows of SONG take long to make.
    row = MixtureRow("blobs", 50_000, setting) if run.quick else replace(song.row, setting=setting)
    key = f"{HEADINGS['SONG']}, C = {STANDARD_CLUSTERS:,}"
    _sweeps(run, [(key, replace(song, row=row), row.for_options(run))])


def _sweeps(run: PaperRun, sets: Iterable[tuple[str, PaperSet, MixtureRow]]) -> None:
    """Measure the points of the data sets, print their tables, and draw them."""
    found = {}
    for key, chosen, row in sets:
        points, title = _points(row, chosen.swept(row), run.quick), f"{key}. {row.title}"
        summaries = measure_set(run, title, key, row, points)
        if OWN_ALL_ROWS in summaries:
            run.table(title, columns_of(summaries[OWN_ALL_ROWS]), summaries)
            _compare_with_lwcs(run, key, summaries)
            found[key] = {
                contender: [s for name, s in summaries.items() if points[name][0] == contender]
                for contender in STYLES
            }
    alt = "Error against seconds and against distances, a row of panels for each data set, a line for each method"
    run.draw("errors", _draw_sweeps(found), alt)


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


def _draw_sweeps(sweeps: Mapping[str, Mapping[str, Sequence[Result]]]) -> Any:
    """Draw the errors of each data set, by contender, against distances and against seconds."""
    figure = new_figure((10, 3.3 * len(sweeps) + 0.9))
    axes = figure.subplots(len(sweeps), 2, squeeze=False)
    for row, (key, found) in zip(axes, sweeps.items()):
        for axis, what in zip(row, ("n_distances", "seconds")):
            _draw_lines(axis, found, what)
            axis.set(xscale="log", title=key)
            axis.margins(x=0.1)
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.grid(color="#eeeeee", linewidth=0.8)
        row[0].set_ylabel("error above k-means++, %")
    axes[-1][0].set_xlabel("distances, coreset and seeding included")
    axes[-1][1].set_xlabel("seconds, coreset and seeding included")
    legend_below(figure, 3)
    return figure


def _draw_lines(axis: Any, found: Mapping[str, Sequence[Result]], what: str) -> None:
    """Draw all lines; seeds alone, whose errors are far above, at the upper edge with their number."""
    least = found[OWN_ALL_ROWS][0]["error"]
    errors = {contender: [100 * (s["error"] / least - 1) for s in line] for contender, line in found.items()}
    fits = [error for contender, line in errors.items() for error in line if contender != SEEDS_ALONE]
    low, high = min(fits), max(fits)
    margin = 0.08 * max(high - low, 1)
    for contender, (color, marker, dash) in STYLES.items():
        measured, shown = (
            [s[what] for s in found[contender]],
            np.minimum(errors[contender], high + 1.5 * margin),
        )
        label = contender.removeprefix("coterie ")
        axis.plot(measured, shown, dash, marker=marker, color=color, markersize=6, label=label)
        for x, y, error in zip(measured, shown, errors[contender]):
            if error > y:
                place = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
                axis.annotate(f"{error:.0f}%", (x, y), (0, -12), **place)
    axis.set_ylim(low - margin, high + 2.5 * margin)


N_CLUSTERS = (256, 512, 1024, 2048, 4096, 8192)
N_ITER = 7

# Distances of coreset, seeding and one iteration by the letters of the paper, n rows in all and s in the coreset. The
# least that an E-step can look at is C' (each neighborhood the same), the most C' G.
FORMULAS: dict[str, Callable[[int, Setting], tuple[float, float, float]]] = {
    SEEDS_ALONE: lambda n, s: (0, n + _chain(s), 0),
    OWN_CHAIN: lambda n, s: (2 * n, s.coreset_size + _chain(s), s.coreset_size * s.n_clusters),
    VAR_GMM_S: lambda n, s: (0, n + _chain(s), n * s.n_candidates * s.n_neighbors),
    VC_GMM: lambda n, s: (
        2 * n, s.coreset_size + _chain(s), s.coreset_size * s.n_candidates * s.n_neighbors
    ),
}  # fmt: skip
LETTERS = {
    SEEDS_ALONE: ("-", "N + m C²", "-", "N D + C D"),
    OWN_CHAIN: ("2 N", "N' + m C²", "N' C", "N' D + C D"),
    VAR_GMM_S: ("-", "N + m C²", "N C' G", "N (D + C') + C (D + G)"),
    VC_GMM: ("2 N", "N' + m C²", "N' C' G", "N' (D + C') + C (D + G)"),
}


def _chain(s: Setting) -> float:
    return s.chain_length * s.n_clusters**2 / 2


def run_costs(data: Path, setting: Setting, n_threads: int) -> dict[str, Any]:
    """Return seconds, distances and memory of coreset, seeding and EM iterations with the papers' steps."""
    X = np.load(data)
    random = np.random.RandomState(0)
    begin = time.perf_counter()
    coreset = draw_coreset(X, setting, random, n_threads)
    drawn = time.perf_counter()
    seeds = draw_seeds(coreset, setting, random, n_threads)
    seeded = time.perf_counter()
    model = setting.mixture(0, n_threads, init=seeds, max_iter=N_ITER, tol=0)
    with measured() as cost:
        model.fit(coreset[0], sample_weight=coreset[1])
    history = model.history_[1:]
    return {
        "coreset, s": drawn - begin,
        "seeding, s": seeded - drawn,
        "iteration_seconds": float(np.median(np.diff(history["seconds"]))),
        "n_distances": float(np.mean(history["n_distances"])),
        "peak_bytes": cost.peak_bytes,
    }


def make_costs(run: PaperRun) -> None:
    """Table S.1: the orders, and their numbers on a data set with the number of clusters growing."""
    rows = [[name.removeprefix("coterie "), *LETTERS[name]] for name in FORMULAS]
    headers = ["method", "coreset", "seeding", "an iteration", "memory, numbers"]
    run.report.table("Numbers of distances, and memory", headers, rows, 5)
    data, n_rows, settings = _settings(run)
    found = {f"C = {s.n_clusters:,}": run.isolated(run_costs, data, s, run.threads) for s in settings}
    columns = {
        "coreset, s": ".3f",
        "seeding, s": ".3f",
        "iteration, ms": lambda s: f"{1000 * s['iteration_seconds']:.1f}",
        "distances per row": lambda s: f"{s['n_distances'] / settings[0].coreset_size:.1f}",
        "EM, MiB": mib_cell,
    }
    sizes = f"{n_rows:,} rows, N' = {settings[0].coreset_size:,}"
    run.report.columns(f"vc-GMM with the papers' steps, generated blobs, {sizes}", columns, found)
    run.say(
        "An iteration evaluates at most C' G = 25 distances per row, for any number of clusters; means of "
        f"{N_ITER - 1} iterations. EM, MiB: peak memory of the iterations in addition to the coreset and the seeds.",
    )  # fmt: skip


def _settings(run: PaperRun) -> tuple[Path, int, list[Setting]]:
    row = ROWS["blobs64"].for_options(run)
    setting = replace(row.setting, **PUBLISHED)
    sizes = [c for c in N_CLUSTERS if not run.quick or 8 * c <= setting.coreset_size]
    return row.file(run, "blobs64"), row.n_rows, [replace(setting, n_clusters=c) for c in sizes]


def make_figure_s1(run: PaperRun) -> None:
    """Figure S.1: distances by formula, and those that were evaluated."""
    data, n_rows, settings = _settings(run)
    evaluated = {s.n_clusters: run.isolated(run_costs, data, s, run.threads)["n_distances"] for s in settings}
    run.say(
        f"{n_rows:,} rows. Lines: the formulas of Table S.1, with m C² / 2 for m C². Crosses: the distances that an "
        "iteration evaluated.",
    )
    alt = "Distances of coreset, seeding and one iteration against C, on logarithmic axes, a line for each method"
    run.draw("costs", _draw_costs(n_rows, settings, evaluated), alt)


def _draw_costs(n_rows: int, settings: list[Setting], evaluated: dict[int, float]) -> Any:
    figure = new_figure((11, 3.9))
    axes = figure.subplots(1, 3, sharey=True)
    sizes = [s.n_clusters for s in settings]
    for part, (axis, title) in enumerate(zip(axes, ("coreset", "seeding", "an iteration"))):
        for name, count in FORMULAS.items():
            color, marker, dash = STYLES[name]
            counts = [count(n_rows, s)[part] for s in settings]
            if any(counts):
                label = name.removeprefix("coterie ")
                axis.plot(sizes, counts, dash, marker=marker, color=color, label=label, alpha=0.8)
        axis.set(xscale="log", yscale="log", title=title, xlabel="clusters C")
        axis.minorticks_off()
        axis.set_xticks(sizes, [f"{c:,}" for c in sizes], rotation=30)
        axis.grid(color="#eeeeee", linewidth=0.8)
    axes[2].plot(sizes, [evaluated[c] for c in sizes], "k+", markersize=9, label="vc-GMM, evaluated")
    axes[0].set_ylabel("distances")
    legend_below(figure, 5)
    return figure


# The lines of Table 1, and their names there.
LINES = {
    REFERENCE: "k-means++, scikit-learn", OWN_ALL_ROWS: "k-means++, coterie", VAR_GMM_S: "var-GMM-S",
    PEER_CHAIN: "LWCS, scikit-learn", OWN_CHAIN: "LWCS, coterie", VC_GMM: "vc-GMM",
    PUBLISHED_STEPS: "vc-GMM, the papers' steps",
}  # fmt: skip
INITIAL_E_STEPS = (1, 2, 4, 8)
TOLERANCES = (1e-3, 1e-4, 1e-5)
REFERENCE_SEED = 1000  # of the partition that others are compared with, in Figure S.3


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


def make_algorithm(run: PaperRun) -> None:
    """Algorithms 1 and 2 as written, and what each of our deviations costs and gains."""
    variants = {
        "defaults: groups of 16 rows, search in every third E-step": {},
        "search_every=1": dict(search_every=1),
        "search_group_size=1": dict(search_group_size=1),
        "coreset_tol=0": dict(coreset_tol=0),
        "steps of the papers": PUBLISHED,
        "steps of the papers, 4 initial E-steps": PUBLISHED | dict(initial_e_steps=4),
    }
    for key, _, row in chosen_sets(run, ("KDD", "RNA", "SONG")):
        is_drawn = row.setting.random_candidate
        name = f"steps of the papers, {'no' if is_drawn else 'a'} candidate drawn at random"
        changes = variants | {name: PUBLISHED | dict(random_candidate=not is_drawn)}
        points = {name: (VC_GMM, replace(row.setting, **change)) for name, change in changes.items()}
        _options(run, f"{key}. vc-GMM, {row.title}", key, row, points)


def make_initial_e_steps(run: PaperRun) -> None:
    """E-steps before the first M-step, on RNA."""
    for key, _, row in chosen_sets(run, ("RNA",)):
        setting = replace(row.setting, **PUBLISHED, random_candidate=False)
        points = {OWN_ALL_ROWS: (OWN_ALL_ROWS, row.setting)}
        for name, change in {"C' = G = 3": {}, "C' = G = 5": dict(n_candidates=5, n_neighbors=5)}.items():
            for n in INITIAL_E_STEPS[: 2 if run.quick else None]:
                changed = replace(setting, initial_e_steps=n, **change)
                points[f"var-GMM-S, {name}, {n} E-steps"] = VAR_GMM_S, changed
        _options(run, f"{key}. the papers' steps, {row.title}", key, row, points)


def make_thresholds(run: PaperRun) -> None:
    """Smaller and larger thresholds of convergence."""
    for key, _, row in chosen_sets(run, ("KDD",)):
        points = {
            f"{name}, {tol:g}": (name, replace(row.setting, tol=tol, coreset_tol=0))
            for name in (OWN_ALL_ROWS, VC_GMM)
            for tol in TOLERANCES
        }
        _options(run, f"{key}. {row.title}", key, row, points)


def _options(run: PaperRun, title: str, key: str, row: MixtureRow, points: Points) -> None:
    """Print a table of settings; errors are relative to the first line's."""
    summaries = measure_set(run, title, key, row, points)
    if summaries:
        columns = columns_of(next(iter(summaries.values())))
        columns = {"error relative to the first line": columns.pop("error")} | columns
        del columns["seconds (range)"]
        run.report.columns(title, columns, summaries)


# --- Figure S.3


def run_partition(
    name: str, data: Path, setting: Setting, seed: int, n_threads: int, reference: Path
) -> dict[str, Any]:
    """Fit a contender and compare its hard partition of the tested rows with one that was saved."""
    X, tested = setting.split(np.load(data))
    fit, found = fitted(name, X, setting, seed, n_threads)
    labels = pairwise_distances_argmin(tested, fit.centers)
    return found | {"nmi": float(normalized_mutual_info_score(np.load(reference), labels))}


def save_partition(data: Path, setting: Setting, n_threads: int) -> Path:
    """Save the partition of the tested rows by k-means++ and Lloyd."""
    X, tested = setting.split(np.load(data))
    fit, _ = fitted(OWN_ALL_ROWS, X, setting, REFERENCE_SEED, n_threads)
    path = data.with_name(f"{data.stem}-partition.npy")
    np.save(path, pairwise_distances_argmin(tested, fit.centers))
    return path


def make_figure_s3(run: PaperRun) -> None:
    """Mutual information of partitions with that of k-means++."""
    for key, chosen, row in chosen_sets(run):
        reference = run.isolated(save_partition, run.data(row.data, row.n_rows), row.setting, run.threads)
        sizes = {f"N' = {size:,}": size for size in chosen.swept(row)[: 2 if run.quick else None]}
        # By line of the table and size.
        cells = {
            "k-means": {"all rows": OWN_ALL_ROWS, **dict.fromkeys(sizes, OWN_CHAIN)},
            "mixture": {"all rows": VAR_GMM_S, **dict.fromkeys(sizes, VC_GMM)},
        }
        points = {
            f"{cells[method][size]}, {size}": (
                cells[method][size], replace(row.setting, coreset_size=sizes.get(size, row.setting.coreset_size))
            )
            for size, method in product(["all rows", *sizes], cells)
        }  # fmt: skip
        call = partial(run_partition, reference=reference)
        summaries = measure_set(run, f"{key}. {row.title}", key, row, points, call=call)
        rows = [
            [method, *(number("nmi", ".4f")(summaries.get(f"{of[size]}, {size}", {})) for size in of)]
            for method, of in cells.items()
        ]
        run.report.table(f"{key}. NMI with k-means++", ["", "all rows", *sizes], rows)


ITEMS = {
    "algorithm": Item(
        make_algorithm,
        "Algorithms 1 and 2",
        "The published algorithm compared with the defaults, and with two of the differences alone.",
        ("mnist.npz", "cod_rna.npz"),
        STANDS_IN,
    ),
    "figure-1": Item(
        make_figure_1,
        "Figure 1",
        "Error against seconds and distances, for growing coresets, more candidates and longer chains.",
        DATA,
        STANDS_IN,
    ),
    "table-1": Item(
        make_table_1,
        "Table 1",
        "Error, speed-up in time and in distances, iterations, and the share of coreset and seeding in the time.",
        DATA,
        STANDS_IN,
    ),
    "table-1-large": Item(
        partial(make_table_1, names=("SUSY", "SONG")),
        "Table 1, large sets",
        "The same for a million rows, and for 4,000 clusters.",
        ("mnist.npz",),
        STANDS_IN,
    ),
    "table-2": Item(
        make_table_2,
        "Table 2",
        "Up to 32,000 clusters of images with D = 3,072, on a coreset of a file larger than memory.",
    ),
    "table-s1": Item(
        make_costs, "Table S.1", "Complexity in time and memory, and measured distances for growing C."
    ),
    "figure-s1": Item(make_figure_s1, "Figure S.1", "The distances of Table S.1 as a plot."),
    "thresholds": Item(
        make_thresholds,
        "Supplement F, thresholds",
        "Error and iterations for other thresholds of convergence.",
        ("mnist.npz",),
        STANDS_IN,
    ),
    "initial-e-steps": Item(
        make_initial_e_steps,
        "Supplement F, initial E-steps",
        "Several E-steps before the first M-step (`initial_e_steps`, default 1).",
        ("cod_rna.npz",),
        STANDS_IN,
    ),
    "figure-s2": Item(
        make_figure_s2,
        "Figure S.2",
        "Figure 1 for the MNIST components with fewer clusters.",
        ("mnist.npz",),
        STANDS_IN,
    ),
    "figure-s3": Item(
        make_figure_s3,
        "Figure S.3",
        "NMI of the clusters of vc-GMM and LWCS with those of k-means++, for growing coresets.",
        DATA,
        STANDS_IN,
    ),
}
