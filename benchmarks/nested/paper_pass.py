"""Table 1 of the paper: seconds of mini-batches to see every row once, on one thread."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import TIME_HEADERS, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.splits import load_rows, save_split
from benchmarks.harness.measuring import measured
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result, apart
from benchmarks.nested.energies import energies, first_rows
from benchmarks.nested.paper_curves import PAPER_ROWS
from benchmarks.nested.rows import CurveRow

# Rows and seconds of the paper's implementations, one thread each.
PUBLISHED = {
    "INFMNIST": (400_000, {"authors": 12.4, "scikit-learn": 20.6}),
    "RCV1": (781_265, {"authors": 15.2, "scikit-learn": 63.6, "sofia": 23.3}),
}
ROUNDS = 3


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


def make_table_1(run: PaperRun) -> None:
    """Time one pass, dense and sparse."""
    for name, (n_published, seconds) in PUBLISHED.items():
        row = PAPER_ROWS[name].for_options(run)
        if row.needs and real_file(row.needs) is None:
            run.report.say("", f"{name} is left out: {row.needs} is not in COTERIE_DATA.")
            continue
        train, valid = run.isolated(save_split, row.data, row.n_train, row.n_valid, run.folder)
        title = f"{name}: {row.size_title}, batches of {row.batch_size:,}, one thread"
        summaries = run.measure(
            title, run.select(STREAMS), partial(_pass, run, row, train, valid), repeats=len(run.seeds(ROUNDS)),
            group_of=apart,
        )  # fmt: skip
        cells = [
            [
                package,
                *time_cells(found),
                f"{1e6 * found['seconds'] / row.n_train:.1f}",
                f"{found['energy']:.4g}",
            ]
            for package, found in summaries.items()
        ]
        cells += [
            [
                f"published: {whose}",
                f"{theirs:g} for {n_published:,} rows",
                "",
                f"{1e6 * theirs / n_published:.1f}",
                "",
            ]
            for whose, theirs in seconds.items()
        ]
        run.report.table(title, ["", *TIME_HEADERS, "microseconds per row", "held-out energy"], cells)
    run.report.say("", "`!`: other processes used a tenth of a processor or more.")


def _pass(run: PaperRun, row: CurveRow, train: Path, valid: Path, package: str, seed: int) -> Result:
    options = (row.n_clusters, row.batch_size, seed, 1)
    return run.isolated(run_pass, package, train, valid, *options)
