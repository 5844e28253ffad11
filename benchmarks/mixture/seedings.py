"""Initial centers: AFK-MC2 against greedy k-means++."""

from __future__ import annotations

from benchmarks.harness.cells import TIME_HEADERS, mib_cell, time_cells
from benchmarks.harness.contenders import Contender
from benchmarks.harness.rounds import Result, apart
from benchmarks.harness.seedings import (
    chain_seeding,
    coterie_seeding,
    faiss_seeding,
    run_seeding,
    scikit_learn_seeding,
)
from benchmarks.mixture.benchmark import MixtureBenchmark
from benchmarks.mixture.settings import MixtureRow, Setting

SEEDING_ROW = MixtureRow("blobs64", 200_000, Setting(8192, 0))
CHAIN_LENGTHS = (2, 20, 200)
PEER_SEEDING = "scikit-learn greedy k-means++"
SEEDINGS: dict[str, Contender] = {
    PEER_SEEDING: scikit_learn_seeding(),
    "coterie greedy k-means++": coterie_seeding(),
    **{f"coterie AFK-MC2, m = {m}": chain_seeding(chain_length=m) for m in CHAIN_LENGTHS},
    **{f"faiss AFK-MC2, m = {m}": faiss_seeding(method="AFK_MC2", chain_length=m) for m in CHAIN_LENGTHS},
}
ROWS_PER_BLOCK = 2048  # of the potential, which compares rows with many centers


def measure_seedings(benchmark: MixtureBenchmark, key: str) -> None:
    """Compare seedings."""
    row = SEEDING_ROW.for_options(benchmark)
    data = row.file(benchmark, key)
    n_clusters = row.setting.n_clusters
    title = f"{row.data}, {row.n_rows:,} rows, C = {n_clusters:,}"

    def run(name: str, seed: int) -> Result:
        sizes = (n_clusters, seed, benchmark.options.threads, ROWS_PER_BLOCK)
        return benchmark.within_budget(run_seeding, SEEDINGS[name], data, *sizes)

    summaries = benchmark.measure(
        f"{key}: {title}",
        benchmark.select(SEEDINGS),
        run,
        group_of=apart,
        most_rounds={PEER_SEEDING: benchmark.options.heavy_seeds},
    )
    if not summaries:
        return
    first = next(iter(summaries))

    def cells(name: str, s: Result) -> list[str]:
        return [
            *time_cells(s),
            f"{summaries[first]['seconds'] / s['seconds']:.1f}",
            f"{s['potential']:.4e}",
            f"{s['potential'] / summaries[first]['potential']:.3f}",
            mib_cell(s),
        ]

    headers = [*TIME_HEADERS, "speed-up", "potential", "relative", "MiB"]
    benchmark.table(key, title, headers, summaries, cells)
    benchmark.report.say(
        "",
        f"Potential: sum of squared distances to the nearest center. Speed-up and relative: to {first}.",
    )
