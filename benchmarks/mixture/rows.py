"""Whole fits on a data set, and the labels of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.rounds import Result, Summaries, apart
from benchmarks.mixture.benchmark import MixtureBenchmark
from benchmarks.mixture.contenders import (
    CHAIN_REFERENCE,
    CORESET,
    FITS,
    OWN_ALL_ROWS,
    OWN_CHAIN,
    PEER_CHAIN,
    REFERENCE,
    SEEDING,
    VAR_GMM_S,
    VC_GMM,
)
from benchmarks.mixture.labels import measure_labels
from benchmarks.mixture.runs import LABELS, run_fit, run_forecast
from benchmarks.mixture.settings import ROWS, MixtureRow

REFERENCES = (REFERENCE, CHAIN_REFERENCE, OWN_ALL_ROWS)
HEAVY = (REFERENCE, VAR_GMM_S)
ALL_ROWS = (*REFERENCES, VAR_GMM_S)


def measure_row(benchmark: MixtureBenchmark, key: str) -> None:
    """Fit all contenders to a data set."""
    row = ROWS[key].for_options(benchmark)
    data = row.file(benchmark, key)
    names = [
        name
        for name in benchmark.select(FITS)
        if (name != CHAIN_REFERENCE or row.large)
        and not (name == REFERENCE and _too_long(benchmark, data, row))
    ]
    title = f"{key}: {row.title}"

    def run(name: str, seed: int) -> Result:
        return benchmark.within_budget(run_fit, name, data, row.setting, seed, benchmark.options.threads)

    heavy = dict.fromkeys(ALL_ROWS if row.large else HEAVY, benchmark.options.heavy_seeds)
    # Apart: what is slow is just what is to be seen.
    summaries = benchmark.measure(title, names, run, group_of=apart, most_rounds=heavy)
    if summaries:
        _table(benchmark, key, title, summaries)
    if VC_GMM in summaries:
        measure_labels(benchmark, key, row, data)


def _too_long(benchmark: MixtureBenchmark, data: Path, row: MixtureRow) -> bool:
    budget = benchmark.options.budget
    try:
        seconds = benchmark.within_budget(run_forecast, data, row.setting, benchmark.options.threads)
    except TimeoutError:
        seconds = np.inf
    if seconds > budget:
        much = f"about {seconds:.0f} s" if seconds < np.inf else "very long"
        benchmark.report.say(
            "", f"Not run: {REFERENCE}; it would take {much} or more, and --budget is {budget:g} s."
        )
    return seconds > budget


def _table(benchmark: MixtureBenchmark, key: str, title: str, summaries: Summaries) -> None:
    name = next((name for name in REFERENCES if name in summaries), next(iter(summaries)))
    reference, runs = summaries[name], benchmark.report.data["rows"][title]

    def cells(name: str, s: Result) -> list[str]:
        return [
            FITS[name].seeded_by,
            error_cell([run["error"] for run in runs[name]], reference["error"]),
            *time_cells(s),
            f"{reference['seconds'] / s['seconds']:.1f}",
            f"{s['n_distances']:.2e}",
            f"{reference['n_distances'] / s['n_distances']:.1f}",
            f"{s['n_iter']:.0f}",
            f"{s[CORESET] / s['seconds']:.0%}" if s[CORESET] else "-",
            f"{s[SEEDING] / s['seconds']:.0%}",
            f"{s[LABELS]:.3f}" if s[LABELS] else "-",
            mib_cell(s),
        ]

    headers = ["seeded by", "error", *TIME_HEADERS, "speed-up", "distances", "fewer times", "iterations"]
    headers += ["coreset", "seeding", "labels s", "MiB"]
    benchmark.table(key, title.split(": ", 1)[1], headers, summaries, cells)
    facts = (
        f"Reference: {name}, mean squared distance {reference['error']:.6g}, {reference['seconds']:.2f} s."
    )
    benchmark.report.say("", facts)
    if VC_GMM in summaries:
        ratios = [
            f"{summaries[peer]['seconds'] / summaries[VC_GMM]['seconds']:.2f} times as fast as {peer}"
            for peer in (PEER_CHAIN, OWN_CHAIN)
            if peer in summaries
        ]
        benchmark.report.say(
            f"From the same coreset and the same initial centers {VC_GMM} is {', '.join(ratios)}."
            if ratios
            else ""
        )


def error_cell(errors: Sequence[float], reference: float) -> str:
    """Return the median of errors relative to the reference, and their range."""
    relative = [100 * (error / reference - 1) for error in errors]
    text = f"{np.median(relative):+.2f}%"
    return text + (f" ({min(relative):+.2f} to {max(relative):+.2f})" if len(relative) > 1 else "")
