"""The figures and tables of Newling and Fleuret (2016)."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from benchmarks.harness.benchmark import Item, PaperRun, Result
from benchmarks.harness.contenders import Contender, threaded
from benchmarks.harness.data.tables import load_rows, mnist_split
from benchmarks.harness.measuring import inertia, measured
from benchmarks.harness.reporting import TIMES, bold_best, lines_of, number
from benchmarks.nested.contenders import (
    CURVES,
    LLOYD,
    NESTED,
    RHOS,
    SCULLEY,
    SETTINGS,
    STREAM,
    RunningMeans,
    Task,
    first_rows,
    setting_name,
)
from benchmarks.nested.curves import LEVELS, CurveRow, RowCurves, draw, measure_curves
from coterie.figures import new_figure

SAMPLE_ROUNDS, N_CLUSTERS, BATCH = 30, 50, 5000
OF_BATCH = "moved by a round on b rows"
OF_MORE = "distance to the result of 2b rows"
ESTIMATE = "its estimate, sigma_C / 2"


def make_figure_1(run: PaperRun) -> None:
    """Measure how far centroids move by a sample, and how much farther by one of twice the size."""
    batch, k, rounds = (500, 10, 12) if run.quick else (BATCH, N_CLUSTERS, SAMPLE_ROUNDS)
    rows = mnist_split(2 * batch, 1)[0]
    centers = first_rows(rows, k, 0)
    moves: dict[str, list[float]] = {OF_BATCH: [], OF_MORE: [], ESTIMATE: []}
    corners: list[np.ndarray] = []
    for _ in range(rounds):
        labels = pairwise_distances_argmin(rows, centers)
        of_batch, errors = _means(rows[:batch], labels[:batch], centers)
        of_more, _ = _means(rows, labels, centers)
        steps = (np.linalg.norm(step, axis=1) for step in (of_batch - centers, of_more - of_batch))
        for name, values in zip(moves, (*steps, 0.5 * errors)):
            moves[name].append(float(np.mean(values[np.isfinite(values)])))
        largest = int(np.bincount(labels[:batch], minlength=k).argmax())
        corners.append(np.array([centers[largest], of_batch[largest], of_more[largest]]))
        centers = of_batch
    _table_of_moves(run, moves, f"{2 * batch:,} rows of MNIST, b = {batch:,}, k = {k}")
    late = min(rounds - 1, 11)
    shown = [
        ("first round: redundant", _in_plane(corners[0])),
        (f"round {late + 1}", _in_plane(corners[late])),
    ]
    alt = (
        "Mean movement by a round on b rows, which falls below the distance to the result of 2b rows; both movements "
        "of one centroid in an early and in a late round"
    )
    run.draw("moves", _draw_moves(moves, shown), alt)


def _table_of_moves(run: PaperRun, moves: dict[str, list[float]], title: str) -> None:
    cells = []
    for at in (n for n in (1, 2, 3, 5, 8, 12, 20, 30) if n <= len(moves[OF_BATCH])):
        of_batch, of_more, estimate = (lengths[at - 1] for lengths in moves.values())
        case = "redundant" if of_more < of_batch else "premature fine-tuning"
        cells.append([str(at), *(f"{length:.1f}" for length in (of_batch, of_more, estimate)), case])
    run.report.table(f"Mean lengths, {title}", ["round", *moves, "name in the paper"], cells)
    run.report.data["moves"] = moves


def _means(rows: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each cluster, and sigma_C of Eq. 4, infinite for fewer than two rows."""
    found, errors = centers.copy(), np.full(len(centers), np.inf)
    for label in range(len(centers)):
        own = rows[labels == label]
        if len(own) > 0:
            found[label] = own.mean(axis=0, dtype=np.float64)
        if len(own) > 1:
            errors[label] = np.sqrt(np.sum((own - centers[label]) ** 2, dtype=np.float64)) / len(own)
    return found, errors


def _in_plane(points: np.ndarray) -> np.ndarray:
    """Return three points in their own plane, the first at 0."""
    away = (points - points[0]).astype(np.float64)
    axes = np.linalg.svd(away, full_matrices=False)[2][:2]
    return away @ axes.T


def make_revisits(run: PaperRun) -> None:
    """Count the visits of the first epoch of uniformly drawn batches that see a row again."""
    cells = []
    for n_rows, batch in ((400_000, 5000), (75_000, 5000), (20_000, 5000), (5000, 5000)):
        shares = [_share_of_revisits(n_rows, batch, seed) for seed in run.seeds(20)]
        expected = (1 - batch / n_rows) ** (n_rows // batch)
        cells.append(
            [f"{n_rows:,}", f"{batch:,}", f"{np.mean(shares):.4f}", f"{expected:.4f}", f"{np.exp(-1):.4f}"]
        )
    headers = ["rows", "batch", "repeated, share", "(1 - b / N)^(N / b)", "1 / e"]
    run.report.table("Draws of the first epoch that are repeated", headers, cells)


def _share_of_revisits(n_rows: int, batch: int, seed: int) -> float:
    random: Any = np.random.default_rng(seed)
    seen = np.zeros(n_rows, dtype=bool)
    for _ in range(n_rows // batch):
        seen[random.choice(n_rows, batch, replace=False)] = True
    return 1 - np.count_nonzero(seen) / (n_rows // batch * batch)


def _draw_moves(moves: Mapping[str, Sequence[float]], corners: Sequence[tuple[str, np.ndarray]]) -> Any:
    """Draw the lengths of moves by round, and the moves of one centroid in an early and a late round.

    A corner is a title, and the old centroid, that of the sample and that of twice the sample, in their own plane.
    """
    figure = new_figure((5.2 * (1 + len(corners)), 4.5))
    lengths, *others = figure.subplots(1, 1 + len(corners))
    for (name, values), color in zip(moves.items(), ("#0072b2", "#d55e00", "#009e73")):
        lengths.plot(1 + np.arange(len(values)), values, marker=".", color=color, label=name)
    lengths.set(yscale="log", xlabel="round on the same sample", ylabel="mean length")
    for axis, (title, points) in zip(others, corners):
        for end, color, name in ((1, "#0072b2", "by b rows"), (2, "#d55e00", "by 2b rows")):
            axis.annotate("", points[end], points[0], arrowprops={"arrowstyle": "->", "color": color})
            axis.plot(*points[end], "o", color=color, label=name)
        axis.plot(*points[0], "o", color="black", label="before")
        axis.set_aspect("equal", adjustable="datalim")
        axis.margins(0.25)
        axis.set_title(title, fontsize=10)
    for axis in figure.axes:
        axis.legend(fontsize=8)
    return figure


SEEDS, THRESHOLD_SEEDS = 20, 5
SECONDS, THRESHOLD_SECONDS = 15.0, 10.0
SHOWN_SECONDS = (1.0, 2.0, 10.0)  # the last two are the paper's
CONTENDERS = [NESTED, SCULLEY, LLOYD, STREAM]
# After Okabe and Ito; bounds on are solid, off dashed.
TIME_COLORS = ("#d55e00", "#0072b2")
RHO_COLORS = ("#f0e442", "#e69f00", "#cc79a7", "#0072b2", "#000000")

TIMES_LEGEND = (
    "CPU seconds until the excess is at most 2%, 1% and 0.5%: median and, in brackets, quartiles over the seeds; then "
    'the ratio of the medians to that of nested mini-batches. "never": half of the runs or more ended with a higher '
    "excess. The lowest values are bold. Batches, and the first nested batch, have 5,000 rows."
)

# The paper's sets, and what stands for them here: the same sizes where we can make so many rows.
PAPER_ROWS = {
    "KDDC98": CurveRow("kddc98", 7_686, 2_000, needs="kddc98_pva97nk.npz"),
    "INFMNIST": CurveRow("infmnist", 400_000, 40_000),
    "RCV1": CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
    "STL10P": CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
}
# Rows and seconds of the paper's implementations, one thread each.
PUBLISHED = {
    "INFMNIST": (400_000, {"authors": 12.4, "scikit-learn": 20.6}),
    "RCV1": (781_265, {"authors": 15.2, "scikit-learn": 63.6, "sofia": 23.3}),
}
ROUNDS = 3


def _running_means(
    n_clusters: int, *, init: Any, batch_size: int, random_state: int, **_: Any
) -> RunningMeans:
    return RunningMeans(Task(None, init, batch_size, n_clusters, random_state, 1))


STREAMS = {
    "coterie": Contender("coterie", _running_means),
    "scikit-learn": Contender("sklearn", partial(threaded, "sklearn.cluster.MiniBatchKMeans", n_threads=1)),
}


def run_pass(
    name: str, data: Path, valid: Path, n_clusters: int, batch_size: int, seed: int, _n_threads: int
) -> Result:
    """Show all rows once, in batches; return the cost and the validation energy afterwards."""
    rows = load_rows(data)
    start = first_rows(rows, n_clusters, seed)
    batches = [rows[at : at + batch_size] for at in range(0, rows.shape[0], batch_size)]
    options = {"init": start, "n_init": 1, "batch_size": batch_size, "random_state": 0}
    STREAMS[name].call(n_clusters, **options).partial_fit(batches[0])
    model = STREAMS[name].call(n_clusters, **options)
    with threadpool_limits(1), measured() as cost:
        for batch in batches:
            model.partial_fit(batch)
    held_out = load_rows(valid)
    return vars(cost) | {"energy": inertia(held_out, model.cluster_centers_) / held_out.shape[0]}


def make_table_1(run: PaperRun) -> None:
    """Time one pass, dense and sparse."""
    for name, (n_published, seconds) in PUBLISHED.items():
        row = PAPER_ROWS[name].for_options(run)
        files = row.files(run)
        if files is None:
            continue
        one = run.each(run_pass, *files, row.n_clusters, row.batch_size)
        title = f"{name}: {row.title}, batches of {row.batch_size:,}, one thread"
        summaries = run.measure(title, run.select(STREAMS), one, repeats=len(run.seeds(ROUNDS)))
        columns = {
            **TIMES,
            "microseconds per row": lambda s, n=row.n_train: f"{1e6 * s['seconds'] / n:.1f}",
            "held-out energy": number("energy", ".4g"),
        }
        lines = lines_of(columns, summaries) + [
            [f"published: {whose}", f"{theirs:g} for {n_published:,} rows", "", f"{1e6 * theirs / n_published:.1f}", ""]
            for whose, theirs in seconds.items()
        ]  # fmt: skip
        run.report.table(title, ["", *columns], lines)
    run.say("`!`: other processes used a tenth of a processor or more.")


def _within(run: PaperRun, seconds: float) -> float:
    return seconds / 100 if run.quick else seconds


def _curves(run: PaperRun, name: str, names: Sequence[str], n_seeds: int, budget: float) -> RowCurves | None:
    row, wanted = PAPER_ROWS[name].for_options(run), {key: (CURVES | SETTINGS)[key] for key in names}
    title, seconds = f"{name}: {row.title}", _within(run, budget)
    found = measure_curves(run, title, row, wanted, seconds, len(run.seeds(n_seeds)))
    return found[0] if found and found[1] else None


def make_figure_2(run: PaperRun) -> None:
    """Draw energy against seconds for exact k-means, mini-batches and nested mini-batches."""
    limit = run.limit(SECONDS)
    run.say(f"{TIMES_LEGEND} Time limit: {limit:g} s. Seeds: {len(run.seeds(SEEDS))}.")
    rows = []
    for name in PAPER_ROWS:
        curves = _curves(run, name, CONTENDERS, SEEDS, limit)
        if curves is not None:
            rows.append(curves)
            _table_of_times(run, curves)
    alt = "Excess of the held-out energy against seconds: a panel for each data set, a line for each method"
    run.draw("curves", draw(rows), alt)


def _table_of_times(run: PaperRun, curves: RowCurves) -> None:
    columns = []
    for level in LEVELS:
        times = [curves.time(name, level) for name in curves.curves]
        ratios = [
            curves.ratio(level, NESTED, name) if NESTED in curves.curves else "-" for name in curves.curves
        ]
        spans = [curves.time_cell(name, level) for name in curves.curves]
        cells = [span + f"; {ratio}" * (ratio != "-") for span, ratio in zip(spans, ratios)]
        columns.append(bold_best(cells, times))
    finals = [median(curves.excess_at(name)) for name in curves.curves]
    columns.append(bold_best([f"{100 * excess:.2f}%" for excess in finals], finals))
    headers = ["", *(f"seconds to {100 * level:g}%; ratio" for level in LEVELS), "final excess"]
    run.report.table(curves.title, headers, [[*line] for line in zip(curves.curves, *columns)])


def make_figure_3(run: PaperRun) -> None:
    """Draw the excess after some seconds against the threshold rho, with bounds and without; and all their curves."""
    run.say(
        'Mean excess in percent after these CPU seconds. The lowest values are bold. Bounds on: `bounds="auto"`; '
        f"sparse rows have none. Seeds: {len(run.seeds(THRESHOLD_SEEDS))}.",
    )
    rows = []
    for name, row in PAPER_ROWS.items():
        # Sparse rows have no bounds to leave off.
        kinds = ("off",) if row.sparse else ("auto", "off")
        names = [setting_name(rho, bounds) for bounds in kinds for rho in (RHOS[::2] if run.quick else RHOS)]
        curves = _curves(run, name, names, THRESHOLD_SEEDS, THRESHOLD_SECONDS)
        if curves is not None:
            rows.append(curves)
            _table_of_thresholds(run, curves)
    times = [_within(run, seconds) for seconds in SHOWN_SECONDS[-2:]]
    alt = "Excess against rho after 2 and 10 seconds, and against seconds: a panel for each data set"
    run.draw("thresholds", _draw_thresholds(rows, times), alt)


def _table_of_thresholds(run: PaperRun, curves: RowCurves) -> None:
    times = [_within(run, seconds) for seconds in SHOWN_SECONDS]
    columns = []
    for seconds in (*times, inf):
        cells = [f"{100 * mean(curves.excess_at(name, seconds)):.2f}" for name in curves.curves]
        columns.append(bold_best(cells, [float(cell) for cell in cells]))
    settings = [name.removeprefix("coterie nested, rho = ").split(", bounds ") for name in curves.curves]
    headers = ["rho", "bounds", *(f"at {seconds:g} s" for seconds in times), "in the end"]
    lines = [[*setting, *line] for setting, line in zip(settings, zip(*columns))]
    run.report.table(curves.title, headers, lines)


def _draw_thresholds(rows: Sequence[RowCurves], times: Sequence[float]) -> Any:
    """Draw a line of panels with the excess against rho, and one with all curves with bounds."""
    figure = new_figure((5.2 * len(rows), 8.4))
    axes = figure.subplots(2, len(rows), squeeze=False)
    for row, above, below in zip(rows, axes[0], axes[1]):
        _draw_excess(above, row, times)
        _draw_curves(below, row)
    for line in axes:
        line[0].set_ylabel("held-out energy above the best, %")
        handles = {label: handle for axis in line for handle, label in zip(*axis.get_legend_handles_labels())}
        line[-1].legend(handles.values(), handles, fontsize=8)
    return figure


def _draw_excess(axis: Any, row: RowCurves, times: Sequence[float]) -> None:
    for seconds, color in zip(times, TIME_COLORS):
        for bounds, word, dash in (("auto", "on", "-"), ("off", "off", "--")):
            names = {rho: setting_name(rho, bounds) for rho in RHOS}
            shown = {rho: row.excess_at(name, seconds) for rho, name in names.items() if name in row.curves}
            found = {rho: 100 * mean(excess) for rho, excess in shown.items()}
            if found:
                label = f"at {seconds:g} s, bounds {word}"
                axis.plot(list(found), list(found.values()), dash, marker="o", color=color, label=label)
    axis.set(xscale="log", title=row.title, xlabel="threshold rho")
    axis.set_ylim(bottom=0)


def _draw_curves(axis: Any, row: RowCurves) -> None:
    """Draw the curves of one kind of bounds: of the first seed, for they are of different lengths."""
    bounds = "auto" if setting_name(RHOS[0], "auto") in row.curves else "off"
    for rho, color in zip(RHOS, RHO_COLORS):
        fits = row.curves.get(setting_name(rho, bounds))
        if fits:
            seconds, energies = np.array(fits[0]).T
            axis.plot(seconds, 100 * (energies / row.best_energy - 1), color=color, label=f"rho = {rho:g}")
    axis.set(xscale="log", yscale="log", xlabel="seconds of the fit, first seed")
    axis.yaxis.set_major_formatter("{x:g}")


_DIGITS = "enlarged digits of scikit-learn"
_DATA = ("mnist.npz", "cifar10_12k.npz", "rcv1_27k.npz", "kddc98_pva97nk.npz")
_STANDS_IN = f"{_DIGITS} for MNIST; sets whose files are missing are left out"
ITEMS = {
    "figure-1": Item(
        make_figure_1, "Figure 1, SM-B", "When a batch of b rows should be doubled.", ("mnist.npz",), _DIGITS
    ),
    "sm-a": Item(
        make_revisits,
        "Section 1.3, SM-A",
        "How often independent mini-batches draw a row again within the first epoch.",
    ),
    "figure-2": Item(make_figure_2, "Figure 2", "Energy of held-out rows against time.", _DATA, _STANDS_IN),
    "figure-3": Item(
        make_figure_3,
        "Figure 3, SM-C",
        "Excess after 2 s and 10 s for thresholds rho from 0.1 to 1,000, with and without bounds.",
        _DATA,
        _STANDS_IN,
    ),
    "table-1": Item(
        make_table_1,
        "Table 1",
        "Seconds of mini-batches for one pass over all rows, dense and sparse, on one thread.",
        ("mnist.npz", "rcv1_27k.npz"),
        _STANDS_IN,
    ),
}
