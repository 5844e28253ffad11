"""The data sets of the paper, and its Table 1: seconds of mini-batches to see every row once, on one thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import TIMES, number
from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.data.splits import load_rows
from benchmarks.harness.measuring import measured
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.quality import inertia
from benchmarks.harness.reporting import lines_of
from benchmarks.harness.rounds import Result
from benchmarks.nested.curves import CurveRow
from benchmarks.nested.runs import first_rows

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
STREAMS = {
    "coterie": Contender(
        "coterie", lambda *k, **o: model_of("coterie.MiniBatchKMeans", *k, n_threads=1, **o)
    ),
    "scikit-learn": Contender(
        "sklearn", lambda *k, **o: model_of("sklearn.cluster.MiniBatchKMeans", *k, **o)
    ),
}


def run_pass(
    name: str, data: Path, valid: Path, n_clusters: int, batch_size: int, seed: int
) -> dict[str, Any]:
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

        def one(package: str, seed: int, files: Any = files, row: CurveRow = row) -> Result:
            return run.isolated(run_pass, package, *files, row.n_clusters, row.batch_size, seed)

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
