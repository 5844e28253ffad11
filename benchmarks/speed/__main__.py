"""Print the table: `python -m benchmarks.speed`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import benchmarks.speed
from benchmarks.graphs import runs as graphs
from benchmarks.harness.benchmark import Benchmark, Run, run_steps
from benchmarks.harness.contenders import Contender, is_peer
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import Result, Summaries, milliseconds_cell, seconds_cell
from benchmarks.kmeans import fits as kmeans
from benchmarks.mixture import contenders as mixture
from benchmarks.mixture.rows import run_fit as run_mixture
from benchmarks.speed.small import SMALL, run_small, run_trials


@dataclass(frozen=True)
class SpeedRow:
    """One line of the table; the first of the contenders is ours."""

    work: str
    contenders: Mapping[str, Contender]
    prepare: Callable[[Benchmark], Run]  # writes the data and returns what runs a contender
    quality: str = ""  # the number that says how good a result is
    rounds: int = 99  # at most

    @property
    def ours(self) -> str:
        """The contender that the row is about."""
        return next(iter(self.contenders))


def _k_means(key: str) -> Callable[[Benchmark], Run]:
    def prepare(benchmark: Benchmark) -> Run:
        row = kmeans.FIT_ROWS[key].for_options(benchmark)
        fit = benchmark.each(kmeans.run_fit, *row.files(benchmark), row.max_iter, False)

        def run(name: str, seed: int) -> Result:
            result = fit(name, seed)
            # Labels of all rows are part of the work, where a package finds them in a pass of their own too.
            labels = {part: result.get(f"label_{part}", 0.0) for part in ("seconds", "cpu_seconds")}
            return result | {part: result[part] + labels[part] for part in labels}

        return run

    return prepare


def _mixture(key: str) -> Callable[[Benchmark], Run]:
    def prepare(benchmark: Benchmark) -> Run:
        row = mixture.ROWS[key].for_options(benchmark)
        return benchmark.each(run_mixture, row.file(benchmark, key), row.setting)

    return prepare


def _graph(data: str, n_rows: int) -> Callable[[Benchmark], Run]:
    return lambda benchmark: benchmark.each(
        graphs.run_graph, benchmark.data(data, 3000 if benchmark.quick else n_rows), 15
    )


def _seeding(benchmark: Benchmark) -> Run:
    row = kmeans.SEEDING_ROWS["g"][0].for_options(benchmark)
    return benchmark.each(kmeans.run_seeding, benchmark.data(row.data, row.n_rows), row.n_clusters)


def _trials(benchmark: Benchmark) -> Run:
    return benchmark.each(run_trials, *((2000, 3) if benchmark.quick else (20_000, 30)))


def _small(kind: str) -> Callable[[Benchmark], Run]:
    return lambda benchmark: benchmark.each(run_small, kind)


def _of(contenders: Mapping[str, Contender], *names: str) -> dict[str, Contender]:
    return {name: contenders[name] for name in names}


KMEANS, MIXTURES, AUTO = kmeans.FITS, mixture.FITS, kmeans.OURS
_EXACT = _of(KMEANS, AUTO, "coterie lloyd", "coterie yinyang", "superkmeans", "faiss SuperKmeans")
_TO_THE_END = _of(KMEANS, AUTO, "coterie lloyd", "coterie yinyang", "coterie elkan", "scikit-learn elkan")
_WITH_ELKAN = _EXACT | _of(KMEANS, "coterie elkan")
_ON_CORESET = _of(MIXTURES, mixture.VC_GMM, mixture.OWN_CHAIN)
_OURS = Contender("coterie", partial)


def _graphs(recall: str) -> dict[str, Contender]:
    return _of(graphs.GRAPHS, recall, "pynndescent", "hnswlib M=16 ef=100/64")


ROWS: dict[str, SpeedRow] = {
    "k-means-a": SpeedRow("MNIST 70,000 x 784, k = 50, to the end", _TO_THE_END, _k_means("a"), "inertia"),
    "k-means-b": SpeedRow(
        "1M x 32, k = 1,000, 25 iterations", _EXACT | _of(KMEANS, "faiss"), _k_means("b"), "inertia", 1
    ),
    "k-means-c": SpeedRow("MNIST 20,000 x 784, k = 1,000, 10 iterations", _WITH_ELKAN, _k_means("c"), "inertia"),
    "k-means-d": SpeedRow("embeddings 100,000 x 768, k = 1,000", _WITH_ELKAN, _k_means("d"), "inertia", 2),
    "mixture-aug90": SpeedRow("vc-GMM aug90, C = 4,000", _ON_CORESET, _mixture("aug90"), "error"),
    "mixture-blobs64": SpeedRow("vc-GMM blobs64, C = 2,048", _ON_CORESET, _mixture("blobs64"), "error"),
    "mixture-mnist": SpeedRow(
        "vc-GMM MNIST, C = 500", _ON_CORESET | _of(MIXTURES, mixture.PEER_CHAIN), _mixture("mnist"), "error"
    ),
    "mixture-all-rows": SpeedRow(
        "var-GMM-S aug90", _of(MIXTURES, mixture.VAR_GMM_S), _mixture("aug90"), "error", 1
    ),
    "graph-mnist": SpeedRow(
        "kNN graph, MNIST, k = 15", _graphs("coterie approximate"), _graph("mnist", 70_000), "recall", 1
    ),
    "graph-embeddings": SpeedRow(
        "kNN graph, embeddings 20,000 x 768, k = 15", _graphs("coterie recall=0.98"), _graph("embeddings", 20_000),
        "recall",
    ),
    "seeding": SpeedRow(
        "greedy k-means++, 250,000 x 32, k = 1,000",
        _of(kmeans.SEEDINGS, f"coterie {kmeans.GREEDY}", f"scikit-learn {kmeans.GREEDY}"), _seeding, "potential", 1,
    ),
    "total-variation": SpeedRow(
        "total variation, 20,000 rows, 20 clusters, 30 trials", {"coterie": _OURS}, _trials, "energy", 1
    ),
    "small-k-means": SpeedRow("k-means of 150 x 4, k = 3", SMALL, _small("k-means")),
    "small-mini-batch": SpeedRow("mini-batches of 150 x 4, k = 3", SMALL, _small("mini-batch")),
    "small-mixture": SpeedRow("mixture of 150 x 4, C = 3", SMALL, _small("mixture")),
    "predict-one": SpeedRow("labels of one row, k = 3", SMALL, _small("predict")),
    "first-fit": SpeedRow("first fit of a process", SMALL, _small("first")),
}  # fmt: skip

_HEADERS = [
    "row", "work", "now", "processor", "result", "best of the others", "seconds", "its result",
]  # fmt: skip
# What takes less is shown in milliseconds.
_IN_MILLISECONDS = 0.01
_NOTES = [
    "Seconds: medians of the rounds on the wall, ranges in brackets; processor: seconds of all threads. Result: what",
    "the row names, relative to our first contender's where it is a percentage. The best of the others: the fastest",
    "contender that is not ours, and ours of a fixed setting where there are any; each of these does the same work.",
    "! other processes used a tenth of a processor or more during at least one run.",
]


def measure(benchmark: Benchmark, key: str) -> None:
    """Measure a row, and keep its line for the table in the end."""
    row = ROWS[key]
    names, repeats = benchmark.select(row.contenders), min(row.rounds, benchmark.options.repeats)
    summaries = benchmark.measure(key, names, row.prepare(benchmark), repeats=repeats)
    line = ["not measured", *["-"] * 5]
    if row.ours in summaries:
        ours = summaries[row.ours]
        own = [_seconds(ours), f"{ours['cpu_seconds']:.3g}", _quality(row, ours, ours)]
        line = [*own, *cells_of_others(row, summaries)]
    benchmark.kept.append([key, row.work, *line])
    benchmark.report.save()


def finish(benchmark: Benchmark) -> None:
    benchmark.report.table("Speed", _HEADERS, benchmark.kept, 2)
    benchmark.say(*_NOTES)


def cells_of_others(row: SpeedRow, summaries: Summaries) -> list[str]:
    """Return who else does the work the fastest, in how many seconds, and how well."""
    others = {name: s for name, s in summaries.items() if name != row.ours}
    packages = [name for name in others if is_peer(name)]
    shown = [
        min(names, key=lambda name: others[name]["seconds"])
        for names in (packages, set(others) - set(packages))
        if names
    ]
    ours = summaries[row.ours]
    if not shown:
        return ["-"] * 3
    return [
        "; ".join(shown),
        "; ".join(_seconds(others[name]) for name in shown),
        "; ".join(_quality(row, others[name], ours) for name in shown),
    ]


def _seconds(result: Result) -> str:
    return seconds_cell(result) if result["seconds"] > _IN_MILLISECONDS else f"{milliseconds_cell(result)} ms"


def _quality(row: SpeedRow, result: Result, ours: Result) -> str:
    if not row.quality:
        return "-"
    if row.quality == "recall":
        return f"{result['recall']:.3f}"
    return row.quality if result is ours else f"{100 * (result[row.quality] / ours[row.quality] - 1):+.2f}%"


if __name__ == "__main__":
    parser = SystemParser("speed", benchmarks.speed.__doc__, list(ROWS))
    run_steps("speed", parser.read(), dict.fromkeys(ROWS, measure), finish)
