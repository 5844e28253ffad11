"""Seconds of coterie, of scikit-learn and of the fastest other package, one line for each kind of work.

    COTERIE_DATA=folder python -m benchmarks.speed [--rows communities,neighbors-mnist] [--limit 120] [--page]

The first rows are k-means of each package with its defaults, the labels of all rows included. Contenders take turns in
fresh processes; one that takes more than four times as long as the fastest is run once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import kmeans, neighbors
from benchmarks.harness.benchmark import Benchmark, Run, run_steps
from benchmarks.harness.contenders import Contender, is_peer, model_of
from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import (
    DOCS,
    TIMES,
    Result,
    Summaries,
    bold_best,
    markdown_table,
    memory_cell,
    write_parts,
)
from coterie.graphs import knn_graph
from coterie.graphs.cuts import modularity


@dataclass(frozen=True)
class Row:
    """One kind of work; the first of the contenders is ours."""

    work: str
    contenders: Mapping[str, Contender]
    prepare: Callable[[Benchmark], Run]  # writes the data and returns what runs a contender
    quality: str = ""  # the number that says how good a result is

    @property
    def ours(self) -> str:
        return next(iter(self.contenders))


DEFAULTS = {
    name: kmeans.FITS[name]
    for name in (
        "coterie", "coterie MiniBatchKMeans", "scikit-learn", "scikit-learn-intelex", "faiss", "faiss, all rows",
        "faiss SuperKmeans", "superkmeans, all rows", "superkmeans hierarchical, all rows",
    )
}  # fmt: skip
SAME_CENTERS = {
    name: kmeans.FITS[name]
    for name in (
        "coterie",
        "scikit-learn",
        "scikit-learn-intelex",
        "faiss",
        "faiss SuperKmeans",
        "superkmeans",
    )
}


def _k_means(data: str, n_rows: int, n_clusters: int, max_iter: int = 0) -> Callable[[Benchmark], Run]:
    def prepare(benchmark: Benchmark) -> Run:
        scale = 50 if benchmark.quick else 1
        file, k = benchmark.data(data, n_rows // scale), max(10, n_clusters // scale)
        return benchmark.each(kmeans.run_fit, file, k, max_iter, limit=benchmark.options.limit)

    return prepare


def _neighbors(data: str, n_rows: int) -> Callable[[Benchmark], Run]:
    return lambda benchmark: benchmark.each(
        neighbors.run_graph, benchmark.data(data, 3000 if benchmark.quick else n_rows), 15
    )


def _communities(graph: Any, seed: int, n_threads: int) -> Callable[[], np.ndarray]:
    path, options = "coterie.MultilevelGraphClustering", {"affinity": "precomputed", "n_threads": n_threads}
    return lambda: model_of(path, **options).fit(graph).labels_


def _networkit(graph: Any, seed: int, n_threads: int) -> Callable[[], np.ndarray]:
    import networkit

    networkit.setSeed(seed, False)
    networkit.setNumberOfThreads(n_threads)
    upper = graph.tocoo()
    half = upper.row < upper.col
    edges = upper.data[half].astype(float), (upper.row[half], upper.col[half])
    network = networkit.GraphFromCoo(edges, n=graph.shape[0], weighted=True, directed=False)
    return lambda: np.array(networkit.community.ParallelLeiden(network).run().getPartition().getVector())


COMMUNITIES = {
    "coterie": Contender("coterie", _communities), "NetworKit ParallelLeiden": Contender("networkit", _networkit)
}  # fmt: skip


def run_communities(name: str, data: Path, seed: int, n_threads: int) -> Result:
    """Find the communities of a graph of 15 nearest neighbors, which is made before the clock starts."""
    graph = knn_graph(np.load(data), 15, random_state=0, n_threads=n_threads)
    find = COMMUNITIES[name].call(graph, seed, n_threads)
    with measured(n_threads) as cost:
        labels = find()
    return vars(cost) | {"modularity": modularity(graph, np.unique(labels, return_inverse=True)[1])}


_REPEATS = 200


def _small_model(package: str, kind: str, n_threads: int) -> Any:
    if package == "coterie":
        names = {"mini-batch": "MiniBatchKMeans", "mixture": "TruncatedGaussianMixture"}
        return model_of(f"coterie.{names.get(kind, 'KMeans')}", 3, random_state=0, n_threads=n_threads)
    if kind == "mixture":
        return model_of("sklearn.mixture.GaussianMixture", 3, covariance_type="spherical", random_state=0)
    name = "MiniBatchKMeans" if kind == "mini-batch" else "KMeans"
    return model_of(f"sklearn.cluster.{name}", 3, n_init=1, random_state=0)


SMALL = {"coterie": Contender("coterie", _small_model), "scikit-learn": Contender("sklearn", _small_model)}


def run_small(name: str, kind: str, _seed: int, n_threads: int, repeats: int = _REPEATS) -> Result:
    """Fit 150 rows of 4 columns with 3 clusters, or label one of them; the median of many, or the first of all."""
    X = np.random.default_rng(0).normal(size=(150, 4)) + np.repeat([[0.0], [3.0], [6.0]], 50, axis=0)
    model, row = _small_model(name, kind, n_threads), X[:1].copy()
    if kind != "first":
        model.fit(X)
    task: Callable[[], object] = (lambda: model.predict(row)) if kind == "predict" else (lambda: model.fit(X))
    n_calls = 1 if kind == "first" else repeats
    with measured() as cost:
        seconds = [seconds_of(task) for _ in range(n_calls)]
    return vars(cost) | {"seconds": median(seconds), "cpu_seconds": cost.cpu_seconds / n_calls}


def _small(kind: str) -> Callable[[Benchmark], Run]:
    return lambda benchmark: benchmark.each(run_small, kind)


def _graphs(recall: str) -> dict[str, Contender]:
    return {name: neighbors.GRAPHS[name] for name in (recall, "pynndescent", "hnswlib M=16 ef=100/64")}


ROWS: dict[str, Row] = {
    f"{data}-{k}-of-{n}": Row(
        f"k-means, defaults: {name}, {n:,} rows, k = {k:,}", DEFAULTS, _k_means(data, n, k), "inertia"
    )
    for data, name, n, k in (
        ("mnist", "MNIST", 20_000, 100),
        ("mnist", "MNIST", 20_000, 1000),
        ("mnist", "MNIST", 70_000, 50),
        ("embeddings384", "embeddings of 384 columns", 80_000, 1000),
        ("blobs", "blobs of 32 columns", 300_000, 10),
        ("blobs", "blobs of 32 columns", 300_000, 1000),
    )
} | {
    "centers-blobs": Row(
        "k-means, same centers: blobs, 1M x 32, k = 1,000, 25 iterations", SAME_CENTERS,
        _k_means("blobs", 1_000_000, 1000, 25), "inertia",
    ),
    "centers-embeddings": Row(
        "k-means, same centers: embeddings, 100,000 x 768, k = 1,000, 10 iterations", SAME_CENTERS,
        _k_means("embeddings", 100_000, 1000, 10), "inertia",
    ),
    "neighbors-mnist": Row(
        "15 nearest neighbors, MNIST, 70,000 x 784", _graphs("coterie approximate"), _neighbors("mnist", 70_000),
        "recall",
    ),
    "neighbors-embeddings": Row(
        "15 nearest neighbors, embeddings, 20,000 x 768", _graphs("coterie recall=0.98"),
        _neighbors("embeddings", 20_000), "recall",
    ),
    "communities": Row(
        "communities, 15-neighbor graph of MNIST", COMMUNITIES,
        lambda benchmark: benchmark.each(run_communities, benchmark.data("mnist", 3000 if benchmark.quick else 70_000)),
        "modularity",
    ),
    "small-k-means": Row("k-means, 150 x 4, k = 3", SMALL, _small("k-means")),
    "small-mini-batch": Row("mini-batch k-means, 150 x 4, k = 3", SMALL, _small("mini-batch")),
    "small-mixture": Row("mixture, 150 x 4, 3 components", SMALL, _small("mixture")),
    "predict-one": Row("labels of one row, k = 3", SMALL, _small("predict")),
    "first-fit": Row("first fit of a process", SMALL, _small("first")),
}  # fmt: skip

# The lines of the README, which are also measured by default.
FRONT = (
    "mnist-1000-of-20000", "embeddings384-1000-of-80000", "mnist-50-of-70000", "blobs-1000-of-300000", "centers-blobs",
    "centers-embeddings", "neighbors-mnist", "neighbors-embeddings", "communities", "small-k-means",
)  # fmt: skip
_SCIKIT_LEARN = ("scikit-learn", "scikit-learn-intelex")
_HEADERS = [
    "work", "coterie, s", "scikit-learn, s", "scikit-learn-intelex, s", "fastest other, s", "package", "its quality"
]  # fmt: skip
_MARK = "written by python -m benchmarks.speed --page"
_README, _PAGE = DOCS.parent / "README.md", DOCS / "benchmarks" / "speed.md"


def measure(benchmark: Benchmark, key: str) -> None:
    """Measure a row, and keep what was found for the table in the end."""
    row = ROWS[key]
    names = benchmark.select(row.contenders)
    summaries = benchmark.measure(key, names, row.prepare(benchmark), repeat_slow=False)
    columns: dict[str, Any] = {**TIMES}
    if row.ours in summaries:
        benchmark.kept.append((key, summaries))
        columns |= {row.quality: lambda s: quality_cell(row, s, summaries[row.ours])} if row.quality else {}
        columns |= {"memory": memory_cell} if row.contenders is DEFAULTS else {}
    benchmark.table(f"{key}. {row.work}", columns, summaries)


def finish(benchmark: Benchmark) -> None:
    """Print the table, and write it to the pages if that is asked for."""
    lines = {key: [ROWS[key].work, *cells_of(ROWS[key], found)] for key, found in benchmark.kept}
    benchmark.report.table("Speed", _HEADERS, list(lines.values()))
    benchmark.say(
        "Quality: inertia of the fastest other package relative to ours, recall and modularity minus ours."
    )
    if benchmark.options.page:
        for path, chosen in ((_README, FRONT), (_PAGE, ROWS)):
            table = markdown_table(_HEADERS, [line for key, line in lines.items() if key in chosen])
            write_parts(path, {_MARK: "\n".join(["", *table, ""])})


def cells_of(row: Row, summaries: Summaries) -> list[str]:
    """Return our seconds, scikit-learn's with and without its extension, and those of the fastest other package.

    An inertia more than 5% above ours does not count as the same work.
    """
    known = [name if name in summaries else "" for name in _SCIKIT_LEARN]
    others = [name for name in summaries if is_peer(name) and name not in known]
    if row.quality == "inertia":
        limit = 1.05 * summaries[row.ours]["inertia"]
        others = [name for name in others if summaries[name]["inertia"] <= limit]
    fastest = min(others, key=lambda name: summaries[name]["seconds"], default="")
    seconds = [summaries[name]["seconds"] if name else nan for name in (row.ours, *known, fastest)]
    shown = bold_best(["-" if isnan(value) else f"{value:.3g}" for value in seconds], seconds)
    quality = quality_cell(row, summaries[fastest], summaries[row.ours]) if fastest and row.quality else "-"
    return [*shown, fastest.removesuffix(", all rows") or "-", quality]


def quality_cell(row: Row, result: Result, ours: Result) -> str:
    """Return how much better or worse a result is than ours."""
    value, own = result[row.quality], ours[row.quality]
    return f"{100 * (value / own - 1):+.1f}%" if row.quality == "inertia" else f"{value - own:+.3f}"


def parser() -> SystemParser:
    reader = SystemParser("speed", __doc__, list(ROWS), usual=FRONT)
    reader.add("--limit", default=120.0, help="seconds after which a fit is given up")
    reader.add_argument(
        "--page", action="store_true", help="write the tables of README.md and of the page on speed"
    )
    return reader


if __name__ == "__main__":
    run_steps("speed", parser().read(), dict.fromkeys(ROWS, measure), finish)
