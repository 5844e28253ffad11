"""The rows: which contenders of which benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks.graphs.runs import GRAPHS, run_graph
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.contenders import Contender
from benchmarks.harness.rounds import Result
from benchmarks.kmeans.fits import FITS as KMEANS
from benchmarks.kmeans.fits import OURS as KMEANS_AUTO
from benchmarks.kmeans.fits import run_fit as run_k_means
from benchmarks.kmeans.rows import FIT_ROWS
from benchmarks.kmeans.seedings import GREEDY, SEEDING_ROWS, SEEDINGS, run_seeding
from benchmarks.mixture.contenders import FITS as MIXTURES
from benchmarks.mixture.contenders import OWN_CHAIN, PEER_CHAIN, VAR_GMM_S, VC_GMM
from benchmarks.mixture.fits import run_fit as run_mixture
from benchmarks.mixture.settings import ROWS as MIXTURE_ROWS
from benchmarks.speed.small import SMALL, run_small, run_trials

Run = Callable[[str, int], Result]


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
        row = FIT_ROWS[key].for_options(benchmark)
        files = row.files(benchmark)

        def run(name: str, _: int) -> Result:
            result = benchmark.isolated(run_k_means, name, *files, row.max_iter, benchmark.threads)
            # Labels of all rows are part of the work, where a package finds them in a pass of their own too.
            labels = {part: result.get(f"label_{part}", 0.0) for part in ("seconds", "cpu_seconds")}
            return result | {part: result[part] + labels[part] for part in labels}

        return run

    return prepare


def _mixture(key: str) -> Callable[[Benchmark], Run]:
    def prepare(benchmark: Benchmark) -> Run:
        row = MIXTURE_ROWS[key].for_options(benchmark)
        data = row.file(benchmark, key)
        return lambda name, seed: benchmark.isolated(
            run_mixture, name, data, row.setting, seed, benchmark.threads
        )

    return prepare


def _graph(data: str, n_rows: int) -> Callable[[Benchmark], Run]:
    def prepare(benchmark: Benchmark) -> Run:
        path = benchmark.data(data, 3000 if benchmark.quick else n_rows)
        return lambda name, _: benchmark.isolated(run_graph, name, path, 15, benchmark.threads)

    return prepare


def _seeding(benchmark: Benchmark) -> Run:
    row = SEEDING_ROWS["g"][0].for_options(benchmark)
    data = benchmark.data(row.data, row.n_rows)
    return lambda name, seed: benchmark.isolated(
        run_seeding, name, data, row.n_clusters, seed, benchmark.threads
    )


def _trials(benchmark: Benchmark) -> Run:
    sizes = (2000, 3) if benchmark.quick else (20_000, 30)
    return lambda _, seed: benchmark.isolated(run_trials, *sizes, seed, benchmark.threads)


def _small(kind: str) -> Callable[[Benchmark], Run]:
    return lambda benchmark: lambda name, _: benchmark.isolated(run_small, kind, name, benchmark.threads)


def _of(contenders: Mapping[str, Contender], *names: str) -> dict[str, Contender]:
    return {name: contenders[name] for name in names}


_EXACT = _of(KMEANS, KMEANS_AUTO, "coterie lloyd", "coterie yinyang", "superkmeans", "faiss SuperKmeans")
_TO_THE_END = _of(
    KMEANS, KMEANS_AUTO, "coterie lloyd", "coterie yinyang", "coterie elkan", "scikit-learn elkan"
)
_WITH_ELKAN = _EXACT | _of(KMEANS, "coterie elkan")
_ON_CORESET = _of(MIXTURES, VC_GMM, OWN_CHAIN)
_OURS = Contender("coterie", partial)


def _graphs(recall: str) -> dict[str, Contender]:
    return _of(GRAPHS, recall, "pynndescent", "hnswlib M=16 ef=100/64")


ROWS: dict[str, SpeedRow] = {
    "k-means-a": SpeedRow("MNIST 70,000 x 784, k = 50, to the end", _TO_THE_END, _k_means("a"), "inertia"),
    "k-means-b": SpeedRow(
        "1M x 32, k = 1,000, 25 iterations", _EXACT | _of(KMEANS, "faiss"), _k_means("b"), "inertia", 1
    ),
    "k-means-c": SpeedRow(
        "MNIST 20,000 x 784, k = 1,000, 10 iterations", _WITH_ELKAN, _k_means("c"), "inertia"
    ),
    "k-means-d": SpeedRow("embeddings 100,000 x 768, k = 1,000", _WITH_ELKAN, _k_means("d"), "inertia", 2),
    "mixture-aug90": SpeedRow("vc-GMM aug90, C = 4,000", _ON_CORESET, _mixture("aug90"), "error"),
    "mixture-blobs64": SpeedRow("vc-GMM blobs64, C = 2,048", _ON_CORESET, _mixture("blobs64"), "error"),
    "mixture-mnist": SpeedRow(
        "vc-GMM MNIST, C = 500",
        _ON_CORESET | _of(MIXTURES, PEER_CHAIN),
        _mixture("mnist"),
        "error",
    ),
    "mixture-all-rows": SpeedRow("var-GMM-S aug90", _of(MIXTURES, VAR_GMM_S), _mixture("aug90"), "error", 1),
    "graph-mnist": SpeedRow(
        "kNN graph, MNIST, k = 15", _graphs("coterie approximate"), _graph("mnist", 70_000), "recall", 1
    ),
    "graph-embeddings": SpeedRow(
        "kNN graph, embeddings 20,000 x 768, k = 15",
        _graphs("coterie recall=0.98"),
        _graph("embeddings", 20_000),
        "recall",
    ),
    "seeding": SpeedRow(
        "greedy k-means++, 250,000 x 32, k = 1,000",
        _of(SEEDINGS, f"coterie {GREEDY}", f"scikit-learn {GREEDY}"),
        _seeding,
        "potential",
        1,
    ),
    "total-variation": SpeedRow(
        "total variation, 20,000 rows, 20 clusters, 30 trials",
        {"coterie": _OURS},
        _trials,
        "energy",
        1,
    ),
    "small-k-means": SpeedRow("k-means of 150 x 4, k = 3", SMALL, _small("k-means")),
    "small-mini-batch": SpeedRow("mini-batches of 150 x 4, k = 3", SMALL, _small("mini-batch")),
    "small-mixture": SpeedRow("mixture of 150 x 4, C = 3", SMALL, _small("mixture")),
    "predict-one": SpeedRow("labels of one row, k = 3", SMALL, _small("predict")),
    "first-fit": SpeedRow("first fit of a process", SMALL, _small("first")),
}
