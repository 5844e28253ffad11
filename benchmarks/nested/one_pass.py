"""Row p: one pass over sparse rows by partial_fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import TIME_HEADERS, ratio_cell, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.splits import load_rows
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result, apart
from benchmarks.nested.benchmark import NestedBenchmark
from benchmarks.nested.energies import energies, first_rows
from benchmarks.nested.rows import CURVE_ROWS

PASS_ROW, PASS_RATIO, PASS_REPEATS = CURVE_ROWS["d"], 3.0, 5
PASS_BATCHES = (5000, 1000)


def _coterie_stream(start: np.ndarray, batch_size: int, n_threads: int) -> Any:
    from coterie import MiniBatchKMeans

    return MiniBatchKMeans(
        len(start), init=start, n_init=1, batch_size=batch_size, random_state=0, n_threads=n_threads
    )


def _scikit_learn_stream_model(start: np.ndarray, batch_size: int, n_threads: int) -> Any:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(len(start), init=start, n_init=1, batch_size=batch_size, random_state=0)


STREAMS = {
    "coterie": Contender("coterie", _coterie_stream),
    "scikit-learn": Contender("sklearn", _scikit_learn_stream_model),
}


def run_pass(
    name: str, data: Path, valid: Path, n_clusters: int, batch_size: int, seed: int, n_threads: int
) -> dict[str, Any]:
    """Show all rows once, in batches; return the cost and the validation energy afterwards."""
    rows = load_rows(data)
    start = first_rows(rows, n_clusters, seed)
    batches = [rows[at : at + batch_size] for at in range(0, rows.shape[0], batch_size)]
    make = STREAMS[name].call
    make(start, batch_size, n_threads).partial_fit(batches[0])
    model = make(start, batch_size, n_threads)
    with threadpool_limits(n_threads), measured() as cost:
        for batch in batches:
            model.partial_fit(batch)
    return vars(cost) | {"energy": energies(load_rows(valid), [model.cluster_centers_])[0]}


# --- tables


def measure_pass(benchmark: NestedBenchmark, key: str) -> None:
    """Compare passes."""
    row = PASS_ROW.for_options(benchmark)
    if not benchmark.has_data(key, row):
        return
    train, valid = benchmark.split(row)
    quick = benchmark.options.quick
    sizes = [size // 10 if quick else size for size in PASS_BATCHES]
    names = {_pass_name(package, size): (package, size) for size in sizes for package in STREAMS}
    contenders: dict[str, Contender] = {name: STREAMS[package] for name, (package, _) in names.items()}
    title = f"one pass of partial_fit: {row.data}, {row.n_train:,} rows, k = {row.n_clusters}"

    def run(name: str, seed: int) -> Result:
        package, size = names[name]
        options = (row.n_clusters, size, seed, benchmark.options.threads)
        return benchmark.isolated(run_pass, package, train, valid, *options)

    repeats = benchmark.options.repeats
    summaries = benchmark.measure(
        f"{key}: {title}",
        benchmark.select(contenders),
        run,
        repeats=repeats if quick else max(PASS_REPEATS, repeats),
        group_of=apart,
    )

    def cells(name: str, s: Result) -> list[str]:
        ours = _pass_name("coterie", names[name][1])
        return [*time_cells(s), f"{s['energy']:.4f}", ratio_cell(s["seconds"], summaries, ours)]

    benchmark.table(key, title, [*TIME_HEADERS, "energy", "ratio"], summaries, cells)
    for size in sizes:
        ours, peer = _pass_name("coterie", size), _pass_name("scikit-learn", size)
        if ours in summaries and peer in summaries:
            benchmark.judge_ratio(key, ours, peer, PASS_RATIO, summaries)


def _pass_name(package: str, batch_size: int) -> str:
    return f"{package}, batches of {batch_size:,}"
