"""Row g: initial centroids."""

from __future__ import annotations

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import TIME_HEADERS, memory_cell, ratio_cell, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.rounds import Result
from benchmarks.harness.seedings import (
    chain_seeding,
    coterie_seeding,
    faiss_seeding,
    run_seeding,
    scikit_learn_seeding,
)
from benchmarks.kmeans.rows import FitRow

CHAIN_LENGTH = 200
GREEDY, PLAIN, CHAIN = "greedy k-means++", "plain D^2 sampling", f"AFK-MC2, chain {CHAIN_LENGTH}"

SEEDINGS: dict[str, Contender] = {
    f"scikit-learn {GREEDY}": scikit_learn_seeding(group=GREEDY),
    f"coterie {GREEDY}": coterie_seeding(group=GREEDY),
    f"coterie {PLAIN}": coterie_seeding(trials=1, group=PLAIN),
    f"scikit-learn {PLAIN}": scikit_learn_seeding(trials=1, group=PLAIN),
    f"faiss {PLAIN}": faiss_seeding(method="KMEANS_PLUS_PLUS", group=PLAIN),
    f"coterie {CHAIN}": chain_seeding(chain_length=CHAIN_LENGTH, group=CHAIN),
    f"faiss {CHAIN}": faiss_seeding(method="AFK_MC2", chain_length=CHAIN_LENGTH, group=CHAIN),
}
SEEDING_ROW = FitRow("blobs", 250_000, 1000, 0)
SEEDING_TARGETS = {
    f"scikit-learn {GREEDY}": 10.0,
    **{name: 1.0 for name in SEEDINGS if name.startswith("faiss")},
}


def measure_seedings(benchmark: Benchmark, key: str) -> None:
    """Compare seedings with those of their own kind."""
    benchmark.measure_limit()
    row = SEEDING_ROW.for_options(benchmark)
    data = benchmark.data(row.data, row.n_rows)
    title = f"seeding: {row.data}, {row.n_rows:,} rows, k = {row.n_clusters:,}"

    def run(name: str, seed: int) -> Result:
        return benchmark.isolated(
            run_seeding, SEEDINGS[name], data, row.n_clusters, seed, benchmark.options.threads
        )

    names = benchmark.select(SEEDINGS)
    summaries = benchmark.measure(f"{key}: {title}", names, run, group_of=lambda name: SEEDINGS[name].group)
    reference: Result = next(iter(summaries.values()), {})

    def cells(name: str, s: Result) -> list[str]:
        return [
            *time_cells(s),
            f"{s['potential'] / reference['potential']:.3f}",
            memory_cell(s),
            ratio_cell(s["seconds"], summaries, _ours(name)),
        ]

    benchmark.table(key, title, [*TIME_HEADERS, "potential", "memory", "ratio"], summaries, cells)
    benchmark.report.say("", "Potential: relative to the first line (median over the seeds).")
    for peer, wanted in SEEDING_TARGETS.items():
        if peer in summaries and _ours(peer) in summaries:
            benchmark.judge_ratio(key, _ours(peer), peer, wanted, summaries)


def _ours(name: str) -> str:
    return f"coterie {SEEDINGS[name].group}"
