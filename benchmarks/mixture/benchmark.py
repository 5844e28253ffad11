"""Mixtures with very many components against k-means, on all rows and on lightweight coresets, as in the papers.

    python -m benchmarks.mixture [--rows mnist,aug90] [--seeds 3] [--heavy-seeds 1] [--threads 2] [--budget 600]
                                 [--only vc-GMM,LWCS] [--skip scikit-learn] [--quick]
    python -m benchmarks.mixture [--scaling] [--estep] [--seeding] [--huge] [--huge-gb 20] [--folder FOLDER]
                                 [--plot PATH] [--rows ...]

Without options all rows but blobs64-8192 are run, with a table of what labels for all rows cost at the end. With
one of --scaling (seconds of an iteration against the number of components), --estep (rate of the kernels), --seeding
(initial centres) and --huge (a coreset of a generated file), only these are run, and the rows that --rows names.
Hirschberger, Forster and Lücke, A variational EM acceleration for efficient clustering at very large scales, 2022.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import real_file, save_huge, save_rows
from benchmarks.harness.measuring import interleave, isolated, isolated_within, limit_threads, summarise
from benchmarks.harness.reporting import Report
from benchmarks.kmeans.benchmark import MIB, TIME_HEADERS, Benchmark, Summaries, time_cells
from benchmarks.kmeans.fits import Contender
from benchmarks.mixture.fits import (
    CHAIN_REFERENCE,
    CORESET,
    CYCLE,
    ESTEP_KERNELS,
    FITS,
    FORECAST_ITERATIONS,
    ITERATIONS,
    LABEL_REPEATS,
    OWN_ALL_ROWS,
    OWN_ON_CORESET,
    PEER_ON_CORESET,
    PEER_SEEDING,
    READERS,
    REFERENCE,
    SEEDING,
    SEEDINGS,
    SETTLED_ITERATION,
    VAR_GMM_S,
    VC_GMM,
    Setting,
    run_estep,
    run_fit,
    run_forecast,
    run_huge,
    run_iterations,
    run_labels,
    run_seeding,
)

# What a run may take beside the fit: reading the rows, the parts once more, the error.
UNTIMED_SECONDS = 120.0


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
        """Return the heading of the row's table."""
        s = self.setting
        candidates = f"C' = {s.n_candidates}{' + 1' * s.random_candidate}, G = {s.n_neighbors}"
        sizes = f"C = {s.n_clusters:,}, N' = {s.coreset_size:,}"
        return f"{self.data}, {self.n_rows:,} rows, {sizes}, {candidates}, m = {s.chain_length}"


ROWS = {
    "mnist": MixtureRow("unit_mnist", 70_000, Setting(500, 4096), "mnist.npz"),
    "cod_rna": MixtureRow(
        "cod_rna", 331_152, Setting(500, 32_768, 3, 3, random_candidate=True, chain_length=20), "cod_rna.npz"
    ),
    "cifar10_12k": MixtureRow("cifar10_12k", 12_000, Setting(500, 4096), "cifar10_12k.npz"),
    "aug90": MixtureRow("aug90", 515_345, Setting(4000, 65_536), "mnist.npz", large=True),
    "blobs64": MixtureRow("blobs64", 1_000_000, Setting(2048, 65_536), large=True),
    "blobs64-8192": MixtureRow("blobs64", 1_000_000, Setting(8192, 65_536), large=True),
}
ON_DEMAND = ("blobs64-8192",)
REFERENCES = (REFERENCE, CHAIN_REFERENCE, OWN_ALL_ROWS)
HEAVY = (REFERENCE, VAR_GMM_S)
ALL_ROWS = (*REFERENCES, VAR_GMM_S)

SCALING_ROW = ROWS["blobs64"]
SCALING_CLUSTERS = (256, 512, 1024, 2048, 4096, 8192)
SLOPE_FROM = 512
ESTEP_ROWS = {
    "blobs64": ROWS["blobs64"],
    "aug90": ROWS["aug90"],
    "mnist": ROWS["mnist"],
    "mnist, N' = 65,536": replace(ROWS["mnist"], setting=Setting(500, 65_536)),
}
SEEDING_ROW = MixtureRow("blobs64", 200_000, Setting(8192, 0))
HUGE_COLUMNS, HUGE_CORESET = 64, 1_000_000
HUGE_MARGIN = 1 << 30  # free space that is left beside the file


class MixtureBenchmark(Benchmark):
    """One run; what is common with whole fits comes from `benchmarks.kmeans`."""

    def __init__(self, options: argparse.Namespace, folder: Path, report: Report) -> None:
        super().__init__(options, folder, report)
        self.labels: list[list[str]] = []
        report.data |= {"seeds": options.repeats, "heavy_seeds": options.heavy_seeds, "labels": {}}
        report.say(f"Seeds: {options.repeats}, of heavy fits {options.heavy_seeds}.")

    # --- rows

    def row(self, key: str) -> None:
        """Fit all contenders to a data set."""
        row = self._shrunk_row(ROWS[key])
        data = self._data(key, row)
        names = [
            name
            for name in self._select(FITS)
            if (name != CHAIN_REFERENCE or row.large)
            and not (name == REFERENCE and self._too_long(data, row))
        ]
        heavy = ALL_ROWS if row.large else HEAVY
        title = f"{key}: {row.title}"
        summaries = self._measure(
            title,
            names,
            lambda name, seed: self._within(run_fit, name, data, row.setting, seed, self.options.threads),
            most_rounds=dict.fromkeys(heavy, self.options.heavy_seeds),
        )
        if summaries:
            self._row_table(key, title, summaries)
        if VC_GMM in summaries:
            self._label(key, row, data)

    def _row_table(self, key: str, title: str, summaries: Summaries) -> None:
        name = next((name for name in REFERENCES if name in summaries), next(iter(summaries)))
        reference, runs = summaries[name], self.report.data["rows"][title]

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            return [
                _error_cell([run["error"] for run in runs[name]], reference["error"]),
                *time_cells(s),
                f"{reference['seconds'] / s['seconds']:.1f}",
                f"{s['n_distances']:.2e}",
                f"{reference['n_distances'] / s['n_distances']:.1f}",
                f"{s['n_iter']:.0f}",
                f"{s[CORESET] / s['seconds']:.0%}" if s[CORESET] else "-",
                f"{s[SEEDING] / s['seconds']:.0%}",
                f"{s['peak_bytes'] / MIB:.0f}",
            ]

        headers = [
            "error",
            *TIME_HEADERS,
            "speed-up",
            "distances",
            "fewer times",
            "iterations",
            "coreset",
            "seeding",
            "MiB",
        ]
        self._table(key, title.split(": ", 1)[1], headers, summaries, cells)
        facts = f"Reference: {name}, mean squared distance {reference['error']:.6g}, {reference['seconds']:.2f} s."
        self.report.say("", facts)
        if VC_GMM in summaries:
            ratios = [
                f"{summaries[peer]['seconds'] / summaries[VC_GMM]['seconds']:.2f} times as fast as {peer}"
                for peer in (PEER_ON_CORESET, OWN_ON_CORESET)
                if peer in summaries
            ]
            self.report.say(f"{VC_GMM}: {', '.join(ratios)}." if ratios else "")

    def _too_long(self, data: Path, row: MixtureRow) -> bool:
        budget = self.options.budget
        try:
            seconds = self._within(run_forecast, data, row.setting, self.options.threads)
        except TimeoutError:
            seconds = np.inf
        if seconds > budget:
            much = f"about {seconds:.0f} s" if seconds < np.inf else "very long"
            self.report.say(
                "", f"Not run: {REFERENCE}; it would take {much} or more, and --budget is {budget:g} s."
            )
        return seconds > budget

    def _label(self, key: str, row: MixtureRow, data: Path) -> None:
        print(f"{key}: labels", file=sys.stderr)
        try:
            s = self._within(run_labels, data, row.setting, 0, self.options.threads)
        except TimeoutError as error:
            self.report.say("", f"Labels of {key}: {error}")
            return
        self.report.data["labels"][key] = s
        self.labels.append(
            [
                f"{key}, {row.n_rows:,} rows, C = {row.setting.n_clusters:,}",
                f"{s['fit_seconds']:.2f}",
                f"{s['exact_seconds']:.3f}",
                f"{s['truncated_seconds']:.3f}",
                f"{s['peer_seconds']:.3f}",
                f"{s['exact_seconds'] / s['truncated_seconds']:.2f}",
                f"{s['peer_seconds'] / s['exact_seconds']:.2f}",
                f"{s['differing']:.2%}",
                f"{100 * s['energy_rise']:+.3f}%",
            ]
        )

    # --- seconds of an iteration

    def scaling(self) -> None:
        """Measure an iteration against the number of components."""
        row = self._shrunk_row(SCALING_ROW)
        data = self._data("scaling", row)
        sizes = [c for c in SCALING_CLUSTERS if not self.options.quick or 8 * c <= row.setting.coreset_size]
        settings = {
            f"{method}, C = {c:,}": (method, replace(row.setting, n_clusters=c))
            for c in sizes
            for method in self._select(ITERATIONS)
        }
        title = f"scaling: {row.data}, a coreset of {row.setting.coreset_size:,} rows, milliseconds of an iteration"

        def run(name: str, seed: int) -> dict[str, Any]:
            method, setting = settings[name]
            return self._within(run_iterations, method, data, setting, seed, self.options.threads)

        others = [name for name, (method, _) in settings.items() if method != VC_GMM]
        summaries = self._measure(
            title, list(settings), run, most_rounds=dict.fromkeys(others, self.options.heavy_seeds)
        )
        curves = {
            method: [
                (s.n_clusters, summaries[name]["seconds"])
                for name, (m, s) in settings.items()
                if m == method and name in summaries
            ]
            for method in ITERATIONS
        }
        self._scaling_table(title, row.setting.coreset_size, sizes, summaries)
        curves = {method: points for method, points in curves.items() if points}
        slopes = {method: _slope(points) for method, points in curves.items()}
        self.report.data["scaling"] = {"curves": curves, "slopes": slopes}
        self.report.say(
            "",
            f"Log-log slope from C = {SLOPE_FROM} on (least squares): "
            + ", ".join(f"{method} {slope:.2f}" for method, slope in slopes.items())
            + ".",
            f"Milliseconds: means of {CYCLE} iterations, one of which searches, medians of these from the",
            f"{SETTLED_ITERATION}th on; of Lloyd's algorithm medians of the iterations after the first, from random",
            "rows; then medians over the seeds.",
        )
        self._draw_scaling(curves, row)

    def _scaling_table(self, title: str, n_rows: int, sizes: Sequence[int], summaries: Summaries) -> None:
        rows = []
        for c in sizes:
            found = {method: summaries.get(f"{method}, C = {c:,}") for method in ITERATIONS}
            ours = found[VC_GMM]
            cells = [_milliseconds_cell(s) if s else "-" for s in found.values()]
            per_row = f"{ours['n_distances'] / n_rows:.1f}" if ours else "-"
            ratios = [
                f"{s['seconds'] / ours['seconds']:.1f}" if s and ours else "-"
                for method, s in found.items()
                if method != VC_GMM
            ]
            rows.append([f"C = {c:,}", *cells, per_row, *ratios])
        ratio_headers = [f"ratio {method}" for method in ITERATIONS if method != VC_GMM]
        headers = ["", *ITERATIONS, "distances per row", *ratio_headers]
        self.report.table(title, headers, rows)
        self._say_disturbed(summaries)

    def _draw_scaling(self, curves: Mapping[str, list[tuple[int, float]]], row: MixtureRow) -> None:
        path = self.options.plot or self.report.save().with_suffix(".png")
        try:
            from coterie.plotting import plot_curves

            axes = plot_curves(
                {
                    name: ([c for c, _ in points], [1000 * s for _, s in points])
                    for name, points in curves.items()
                },
                xlabel="components C",
                ylabel="milliseconds of an iteration",
                title=f"{row.data}, a coreset of {row.setting.coreset_size:,} rows, "
                f"{self.options.threads} threads",
            )
        except ImportError as error:
            self.report.say("", f"No picture: {error}.")
            return
        axes.set_xticks(SCALING_CLUSTERS, [str(c) for c in SCALING_CLUSTERS])
        path.parent.mkdir(parents=True, exist_ok=True)
        axes.figure.savefig(path)
        self.report.say("", f"Drawn to {path.name}")

    # --- kernels

    def estep(self) -> None:
        """Measure the kernels of an iteration late in a fit."""
        rows = {key: self._shrunk_row(row) for key, row in ESTEP_ROWS.items()}
        data = {key: self._data(key, row) for key, row in rows.items()}
        title = "kernels of an EM iteration on a coreset, late in the fit"
        summaries = self._measure(
            title,
            list(rows),
            lambda key, seed: self._within(
                run_estep, data[key], rows[key].setting, seed, self.options.threads
            ),
        )
        self.measure_limit()

        def cells(key: str, s: dict[str, Any]) -> list[str]:
            setting = rows[key].setting
            parts = [s[part] / s["seconds"] for part in ESTEP_KERNELS]
            return [
                f"{s['n_columns']:.0f}",
                f"{setting.n_clusters:,}",
                f"{setting.coreset_size:,}",
                _milliseconds_cell(s),
                *(f"{part:.0%}" for part in parts),
                f"{s['distances_per_row']:.1f}",
                f"{1e9 / s['distances_per_second']:.1f}",
                f"{s['gflops']:.1f}",
                f"{s['gflops'] / self.sgemm:.1%}",
            ]

        headers = ["D", "C", "N'", "ms of an iteration", "searches", "refreshes", "posteriors", "moments"]
        headers += ["distances per row", "ns each", "GFLOP/s", "of sgemm"]
        self._table("estep", title, headers, summaries, cells)
        self.report.say("", *ESTEP_NOTES, f"Limit: {self.sgemm:.0f} GFLOP/s.")

    # --- seeding

    def seeding(self) -> None:
        """Measure initial centres."""
        row = self._shrunk_row(SEEDING_ROW)
        data = self._data("seeding", row)
        n_clusters = row.setting.n_clusters
        title = f"{row.data}, {row.n_rows:,} rows, C = {n_clusters:,}"
        summaries = self._measure(
            f"seeding: {title}",
            self._select(SEEDINGS),
            lambda name, seed: self._within(run_seeding, name, data, n_clusters, seed, self.options.threads),
            most_rounds={PEER_SEEDING: self.options.heavy_seeds},
        )
        if not summaries:
            return
        first = next(iter(summaries))

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            return [
                *time_cells(s),
                f"{summaries[first]['seconds'] / s['seconds']:.1f}",
                f"{s['potential']:.4e}",
                f"{s['potential'] / summaries[first]['potential']:.3f}",
                f"{s['peak_bytes'] / MIB:.0f}",
            ]

        headers = [*TIME_HEADERS, "speed-up", "potential", "relative", "MiB"]
        self._table("seeding", title, headers, summaries, cells)
        self.report.say(
            "",
            f"Potential: sum of squared distances to the nearest centre. Speed-up and relative: to {first}.",
        )

    # --- a file larger than what may be held

    def huge(self) -> None:
        """Draw a coreset from a generated file."""
        gigabytes = 0.05 * self.options.huge_gb if self.options.quick else self.options.huge_gb
        n_rows = int(gigabytes * 1e9) // (4 * HUGE_COLUMNS)
        size = 4 * HUGE_COLUMNS * n_rows
        n_drawn = min(HUGE_CORESET, n_rows // 10)
        free = shutil.disk_usage(self.folder).free
        if size + HUGE_MARGIN > free:
            self.report.say(
                "",
                f"Huge file not written: it takes {size / 1e9:.1f} GB and a margin of {HUGE_MARGIN / 1e9:.1f} GB, and "
                f"{free / 1e9:.1f} GB are free. Give --huge-gb or --folder.",
            )
            return
        path = isolated(save_huge, self.folder, n_rows, HUGE_COLUMNS)
        try:
            self._huge_coresets(path, n_rows, n_drawn)
        finally:
            path.unlink()

    def _huge_coresets(self, path: Path, n_rows: int, n_drawn: int) -> None:
        size = path.stat().st_size
        title = f"a coreset of {n_drawn:,} rows from a file of {size / 1e9:.1f} GB, float32, {HUGE_COLUMNS} columns"
        summaries = self._measure(
            f"huge: {title}",
            self._select(dict.fromkeys(READERS, Contender("coterie", run_huge))),
            lambda reader, _: isolated(run_huge, path, reader, n_drawn, self.options.threads),
            repeats=self.options.heavy_seeds,
        )
        plain = summaries.get(READERS[0])

        def cells(reader: str, s: dict[str, Any]) -> list[str]:
            return [
                *time_cells(s),
                f"{n_rows / s['seconds'] / 1e6:.2f}",
                f"{2e-9 * size / s['seconds']:.2f}",
                f"{plain['seconds'] / s['seconds']:.0%}" if plain else "-",
                f"{s['peak_bytes'] / 1e6:.0f}",
                f"{s['coreset_bytes'] / 1e6:.0f}",
            ]

        headers = [*TIME_HEADERS, "million rows/s", "GB/s", "of plain reads"]
        headers += ["MB beyond the interpreter", "MB of the coreset"]
        self._table("huge", title, headers, summaries, cells)
        if plain:
            rates = [f"{size / plain[key] / 1e9:.2f} GB/s" for key in ("first_seconds", "second_seconds")]
            self.report.say(
                "", f"Plain reads, in pieces of 16 MiB: {rates[0]} the first time, {rates[1]} the second."
            )
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        fits = (
            "fits into memory, second readings may be" if size < memory else "is larger than memory: none is"
        )
        self.report.say(
            "",
            "Everybody reads the file twice from its beginning to its end; GB/s counts both, rows count once. Before",
            "each run the system was asked to drop what it had cached of the file (a virtual disk's host may still",
            f"have it). The file of {size / 2**30:.1f} GiB {fits} served from the cache of {memory / 2**30:.1f} GiB.",
        )

    # --- the end

    def finish(self) -> None:
        """Print what labels cost and what the tables mean."""
        if self.labels:
            headers = ["", "fit s", "exact s", "truncated s", "scikit-learn s", "truncated, times as fast"]
            headers += ["exact, times scikit-learn", "differ", "energy"]
            title = f"Labels of all rows after {VC_GMM}"
            self.report.table(title, headers, self.labels)
            self.report.say("", *LABEL_NOTES)
        if any(key in self.options.rows for key in ROWS):
            self.report.say("", *ROW_NOTES)
        super().finish()

    # --- helpers

    def _within(self, function: Callable[..., Any], *args: Any) -> Any:
        return isolated_within(self.options.budget + UNTIMED_SECONDS, function, *args)

    def _shrunk_row(self, row: MixtureRow) -> MixtureRow:
        if not self.options.quick:
            return row
        s = row.setting
        small = replace(s, n_clusters=max(10, s.n_clusters // 10), coreset_size=s.coreset_size // 10)
        return replace(row, n_rows=row.n_rows // 20, setting=small)

    def _data(self, key: str, row: MixtureRow) -> Path:
        if row.real and real_file(row.real) is None:
            self.report.say("", f"{key}: {row.real} is not in COTERIE_DATA, generated rows stand in for it.")
        return isolated(save_rows, row.data, row.n_rows, self.folder)

    def _select(self, contenders: dict[str, Contender], skip: Sequence[str] = ()) -> list[str]:
        left_out = [name for name in contenders if any(word in name for word in self.options.skip)]
        if left_out:
            self.report.say("", "Left out by --skip: " + "; ".join(left_out))
        return super()._select({name: c for name, c in contenders.items() if name not in left_out}, skip)

    def _measure(
        self,
        title: str,
        names: Sequence[str],
        run: Callable[[str, int], dict[str, Any]],
        repeats: int | None = None,
        group_of: Callable[[str], str] = lambda name: name,  # what is slow is just what is to be seen
        most_rounds: Mapping[str, int] | None = None,
    ) -> Summaries:
        print(title, file=sys.stderr)
        results = interleave(
            names, run, repeats=repeats or self.options.repeats, group_of=group_of, most_rounds=most_rounds
        )
        failed = [f"Not measured: {name}; {runs}" for name, runs in results.items() if isinstance(runs, str)]
        if failed:
            self.report.say("", *failed)
        self.report.data["rows"][title] = results
        return {name: summarise(runs) for name, runs in results.items() if not isinstance(runs, str)}

    def _say_disturbed(self, summaries: Summaries) -> None:
        if any(summary["disturbed"] for summary in summaries.values()):
            self.report.say(
                "", "! other processes used a tenth of a processor or more during at least one run."
            )
        self.report.save()


ROW_NOTES = [
    "Error: mean squared distance of all rows to the nearest centroid or mean, relative to the median of the",
    "reference; in parentheses the range over the seeds. Speed-up: seconds of the reference over these.",
    "Distances: those of the coreset (2 n), of the seeding (AFK-MC2: n + m C (C - 1) / 2; greedy k-means++: n for",
    "the first centre and 2 + floor(log C) times n for each other) and of the iterations (Lloyd: n C each, n",
    "being the rows that are fitted); fewer times: those of the reference over these. Of coterie's k-means that",
    "is what Lloyd would take: it evaluates fewer. Mixtures count what their E-steps evaluated; the one before",
    "the first iteration is not in the history and is counted as the first that is. Coreset, seeding: shares of",
    "the seconds, timed in the fit for scikit-learn, for coresets in front of k-means and for AFK-MC2 in front of",
    "k-means; otherwise run once more on the same rows after the fit, so that they may be more than 100%",
    "together. MiB: peak beside the input. LWCS: lightweight coreset. Forecasts: scikit-learn's seeding of a few",
    f"clusters, extrapolated, and {FORECAST_ITERATIONS} iterations.",
]
LABEL_NOTES = [
    f"Seed 0, medians of {LABEL_REPEATS}. Truncated: the best of the 4 sqrt(C) components around the nearest of 4",
    "sqrt(C) cells; finding the cells is counted. Differ: rows with another label than the exact one; energy:",
    "rise of the mean squared distance to the mean that is the label. scikit-learn: KMeans.predict with the same",
    "means.",
]
ESTEP_NOTES = [
    "Means over the last third of 27 iterations, one in three of which searches, then medians over the seeds. Shares:",
    "of the seconds of an iteration; the rest is Python and the M-step's end. Of sgemm: 2 D for each distance that the",
    "whole call of truncated_search evaluates, over its seconds and the machine's rate: gathering, selecting and the",
    "renewal of neighbourhoods count as nothing, so that the products alone reach more.",
]


def _error_cell(errors: Sequence[float], reference: float) -> str:
    relative = [100 * (error / reference - 1) for error in errors]
    text = f"{np.median(relative):+.2f}%"
    return text + (f" ({min(relative):+.2f} to {max(relative):+.2f})" if len(relative) > 1 else "")


def _milliseconds_cell(s: dict[str, Any]) -> str:
    """Return the median, the range and a mark for disturbed runs."""
    text = f"{1000 * s['seconds']:.1f}"
    if s["runs"] > 1:
        text += f" ({1000 * s['seconds_min']:.1f}-{1000 * s['seconds_max']:.1f})"
    return text + " !" * bool(s["disturbed"])


def _slope(points: Sequence[tuple[int, float]]) -> float:
    """Return the slope of log seconds against log C from `SLOPE_FROM` on (from the first where that is all)."""
    points = [point for point in points if point[1] > 0]  # differences may be lost in noise
    chosen = [point for point in points if point[0] >= SLOPE_FROM]
    if len(chosen) < 2:
        chosen = points
    if len(chosen) < 2:
        return float("nan")
    c, seconds = np.log(np.array(chosen)).T
    return float(np.polyfit(c, seconds, 1)[0])


PARTS: dict[str, Callable[[MixtureBenchmark], None]] = {
    "scaling": MixtureBenchmark.scaling,
    "estep": MixtureBenchmark.estep,
    "seeding": MixtureBenchmark.seeding,
    "huge": MixtureBenchmark.huge,
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixture", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rows", help=f"rows to run, of {', '.join(ROWS)} (default: all but {', '.join(ON_DEMAND)})")
    add("--seeds", dest="repeats", type=int, default=3, help="fits of each (default: 3)")
    add("--heavy-seeds", type=int, default=1, help="fits of each that takes long (default: 1)")
    add("--threads", type=int, default=2, help="threads of every contender (default: 2)")
    add("--budget", type=float, default=600.0, help="seconds a fit may take (default: 600)")
    add("--only", default="", help="run only contenders whose name has one of these words")
    add("--skip", default="", help="leave out contenders whose name has one of these words")
    add("--quick", action="store_true", help="small sizes, to see that everything runs")
    add("--scaling", action="store_true", help="seconds of an iteration against the number of components")
    add("--estep", action="store_true", help="the kernels, against the machine's sgemm rate")
    add("--seeding", action="store_true", help="initial centres: AFK-MC2 against greedy k-means++")
    add("--huge", action="store_true", help="a coreset of a generated file")
    add("--huge-gb", type=float, default=20.0, help="size of that file in GB (default: 20)")
    add(
        "--folder",
        type=Path,
        help="where data are written meanwhile (default: the system's temporary folder)",
    )
    add("--plot", type=Path, help="the picture of --scaling (default: beside the JSON file)")
    options = parser.parse_args(arguments)
    options.parts = [part for part in PARTS if getattr(options, part)]
    if options.rows is None:
        options.rows = "" if options.parts else ",".join(key for key in ROWS if key not in ON_DEMAND)
    options.rows = [key.strip() for key in options.rows.split(",") if key.strip()]
    options.skip = [word.strip() for word in options.skip.split(",") if word.strip()]
    unknown = [key for key in options.rows if key not in ROWS]
    if unknown or min(options.repeats, options.heavy_seeds, options.threads) < 1:
        parser.error(f"rows are {', '.join(ROWS)}; seeds and threads are at least 1")
    if not (options.budget > 0 and options.huge_gb > 0):
        parser.error("--budget and --huge-gb are above 0")
    return options


def main() -> None:
    """Run the rows and parts that were asked for."""
    options = parse()
    limit_threads(options.threads)
    report = Report("mixture", shlex.join(["python", "-m", "benchmarks.mixture", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory(prefix="coterie-benchmark-", dir=options.folder) as folder:
        benchmark = MixtureBenchmark(options, Path(folder), report)
        steps = [partial(benchmark.row, key) for key in options.rows]
        steps += [partial(PARTS[part], benchmark) for part in options.parts]
        for step in steps:
            step()
        benchmark.finish()


if __name__ == "__main__":
    main()
