"""Figure 1, SM-A and SM-B of the paper: what more rows would tell, and how often mini-batches see the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.harness.data.splits import mnist_split
from benchmarks.harness.papers import PaperRun
from benchmarks.nested.runs import first_rows
from coterie.figures import new_figure

ROUNDS, N_CLUSTERS, BATCH = 30, 50, 5000
OF_BATCH = "moved by a round on b rows"
OF_MORE = "distance to the result of 2b rows"
ESTIMATE = "its estimate, sigma_C / 2"


def make_figure_1(run: PaperRun) -> None:
    """Measure how far centroids move by a sample, and how much farther by one of twice the size."""
    batch, k, rounds = (500, 10, 12) if run.quick else (BATCH, N_CLUSTERS, ROUNDS)
    rows = mnist_split(2 * batch, 1)[0]
    centers = first_rows(rows, k, 0)
    moves: dict[str, list[float]] = {OF_BATCH: [], OF_MORE: [], ESTIMATE: []}
    corners: list[np.ndarray] = []
    for _ in range(rounds):
        labels = pairwise_distances_argmin(rows, centers)
        of_batch, errors = _means(rows[:batch], labels[:batch], centers)
        of_more, _ = _means(rows, labels, centers)
        lengths = [
            np.linalg.norm(of_batch - centers, axis=1),
            np.linalg.norm(of_more - of_batch, axis=1),
            0.5 * errors,
        ]
        for name, values in zip(moves, lengths):
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
    run.draw("moves", lambda path: _draw_moves(moves, shown, path), alt)


def _table_of_moves(run: PaperRun, moves: dict[str, list[float]], title: str) -> None:
    numbers = [n for n in (1, 2, 3, 5, 8, 12, 20, 30) if n <= len(moves[OF_BATCH])]
    cells = []
    for number in numbers:
        of_batch, of_more, estimate = (lengths[number - 1] for lengths in moves.values())
        case = "redundant" if of_more < of_batch else "premature fine-tuning"
        cells.append([str(number), *(f"{length:.1f}" for length in (of_batch, of_more, estimate)), case])
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


def _draw_moves(
    moves: Mapping[str, Sequence[float]], corners: Sequence[tuple[str, np.ndarray]], path: Path
) -> None:
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
    figure.savefig(path, dpi=110)
