"""Figure 1, and Figures S.2 and S.3 of the supplement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.harness.papers import PaperRun
from benchmarks.mixture.contenders import OWN_ALL_ROWS, OWN_CHAIN, VAR_GMM_S, VC_GMM
from benchmarks.mixture.paper_sets import HEADINGS, SETS, PaperSet, chosen_sets
from benchmarks.mixture.paper_sweeps import STYLES, Point, Sweep, draw_sweeps, measure_points, sweep
from benchmarks.mixture.runs import fitted, nearest_means
from benchmarks.mixture.settings import MixtureRow, Setting
from coterie.figures import new_figure

REFERENCE_SEED = 1000  # of the partition that others are compared with
STANDARD_CLUSTERS = 2000  # of SONG, in Figure S.2


def make_figure_1(run: PaperRun) -> None:
    """Error against seconds and against distances, for growing N', C' and m."""
    _sweeps(run, chosen_sets(run), "errors")


def make_figure_s2(run: PaperRun) -> None:
    """Make the same for SONG with the standard number of clusters."""
    song = SETS["SONG"]
    setting = replace(song.row.setting, n_clusters=STANDARD_CLUSTERS)
    chosen = replace(song, row=replace(song.row, setting=setting))
    if run.quick:  # the rows of SONG take long to make
        chosen = replace(chosen, row=MixtureRow("blobs", 50_000, setting))
    _sweeps(run, {f"{HEADINGS['SONG']}, C = {STANDARD_CLUSTERS:,}": chosen}, "errors")


def _sweeps(run: PaperRun, sets: Mapping[str, PaperSet], name: str) -> None:
    found: dict[str, Sweep] = {}
    for key, chosen in sets.items():
        measured = sweep(run, key, chosen)
        if measured is not None:
            found[key] = measured
    alt = "Error against seconds and against distances, a row of panels for each data set, a line for each method"
    run.draw(name, lambda path: draw_sweeps(found, path), alt)


# --- Figure S.3


def run_partition(
    name: str, data: Path, setting: Setting, seed: int, n_threads: int, reference: Path
) -> dict[str, Any]:
    """Fit a contender and compare its hard partition of the tested rows with one that was saved."""
    X, tested = setting.split(np.load(data))
    fit, found = fitted(name, X, setting, seed, n_threads)
    labels = nearest_means(tested, fit.centers)
    return found | {"nmi": float(normalized_mutual_info_score(np.load(reference), labels))}


def save_partition(data: Path, setting: Setting, n_threads: int) -> Path:
    """Save the partition of the tested rows by k-means++ and Lloyd."""
    X, tested = setting.split(np.load(data))
    fit, _ = fitted(OWN_ALL_ROWS, X, setting, REFERENCE_SEED, n_threads)
    path = data.with_name(f"{data.stem}-partition.npy")
    np.save(path, nearest_means(tested, fit.centers))
    return path


def make_figure_s3(run: PaperRun) -> None:
    """Mutual information of partitions with that of k-means++."""
    found = {key: _partitions(run, key, chosen) for key, chosen in chosen_sets(run).items()}
    run.draw("nmi", lambda path: _draw_partitions(found, path))


def _partitions(run: PaperRun, key: str, chosen: PaperSet) -> dict[str, list[tuple[int, float]]]:
    data, row = chosen.prepared(run, key)
    reference = run.isolated(save_partition, data, row.setting, run.threads)
    sizes = {f"N' = {size:,}": size for size in chosen.swept(row)[: 2 if run.quick else None]}
    on_coresets = [
        Point(contender, words, replace(row.setting, coreset_size=size))
        for words, size in sizes.items()
        for contender in (OWN_CHAIN, VC_GMM)
    ]
    listed = [*(Point(name, "", row.setting) for name in (OWN_ALL_ROWS, VAR_GMM_S)), *on_coresets]
    points = {point.name: point for point in listed}
    title = f"{key}: {row.title}"
    summaries = measure_points(run, title, data, points, run_partition, reference)
    nmi = {
        (point.contender, point.parameter): summaries[line]["nmi"]
        for line, point in points.items()
        if line in summaries
    }
    rows = [
        [name, *(f"{nmi[cell]:.4f}" if cell in nmi else "-" for cell in cells)]
        for name, cells in (
            ("k-means", [(OWN_ALL_ROWS, ""), *((OWN_CHAIN, each) for each in sizes)]),
            ("mixture", [(VAR_GMM_S, ""), *((VC_GMM, each) for each in sizes)]),
        )
    ]
    run.report.table(f"{key}. NMI with k-means++", ["", "all rows", *sizes], rows)
    run.report.save()
    return {
        name: [
            (point.setting.coreset_size, summaries[line]["nmi"])
            for line, point in points.items()
            if point.contender == name and line in summaries
        ]
        for name in (OWN_ALL_ROWS, VAR_GMM_S, OWN_CHAIN, VC_GMM)
    }


def _draw_partitions(found: Mapping[str, Mapping[str, list[tuple[int, float]]]], path: Path) -> None:

    n_columns = min(3, len(found))
    n_lines = -(-len(found) // n_columns)
    figure = new_figure((max(6.0, 4.0 * n_columns), 3.4 * n_lines + 0.7))
    axes = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axis, (key, lines) in zip(axes, found.items()):
        for name, measured in lines.items():
            color, marker, dash = STYLES[name]
            label = name.removeprefix("coterie ")
            if name in (OWN_CHAIN, VC_GMM):
                axis.plot(*zip(*measured), dash, marker=marker, color=color, label=label)
            elif measured:
                axis.axhline(measured[0][1], color=color, linestyle=":", label=label)
        axis.set(xscale="log", title=key, xlabel="rows of the coreset N'")
        axis.minorticks_off()
        sizes = [size for size, _ in lines[VC_GMM]]
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        axis.grid(color="#eeeeee", linewidth=0.8)
    for axis in axes[len(found) :]:
        axis.set_axis_off()
    axes[0].set_ylabel("NMI with k-means++")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=110)
