"""Density-based clustering and its competitors at their defaults: quality on labeled and on drawn sets.

Goes on where it was ended: what the folder of results has is not run again. --page writes the page of what is there.
"""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.contenders import Contender, leiden_on, model_of, selected
from benchmarks.harness.data.files import Rows
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import Processes, limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import DOCS, FAILED, RESULTS, Cell, Results, machine_line, markdown_table
from coterie import DensityClustering
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy

OURS, LAYER = "coterie", "coterie, most persistent layer"


def _of(path: str, rows: np.ndarray, **options: Any) -> np.ndarray:
    return np.asarray(model_of(path, **options).fit(rows).labels_)


_ours = partial(_of, "coterie.DensityClustering", random_state=0)


def _layer(rows: np.ndarray) -> np.ndarray:
    model = DensityClustering(random_state=0).fit(rows)
    return model.layers_[np.argmax(model.persistences_)]


def _leiden(rows: np.ndarray) -> np.ndarray:
    """Leiden of modularity, at resolution 1, on the graph of 15 neighbors."""
    return leiden_on(knn_graph(rows, min(15, len(rows) - 1)))("ModularityVertexPartition", seed=0)


CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", _ours),
    LAYER: Contender("coterie", _layer),
    "coterie, excess of mass from 25": Contender("coterie", partial(_ours, min_cluster_size=25)),
    "HDBSCAN (scikit-learn)": Contender("sklearn", partial(_of, "sklearn.cluster.HDBSCAN", copy=True)),
    "fast_hdbscan": Contender("fast_hdbscan", partial(_of, "fast_hdbscan.HDBSCAN")),
    "PLSCAN": Contender("fast_plscan", partial(_of, "fast_plscan.PLSCAN")),
    "Leiden": Contender("leidenalg", _leiden),
}


def _unequal(noise: Callable[[np.random.RandomState, Any], np.ndarray], gap: float) -> Any:
    """Return a function that draws 2 to 5 clusters, the largest 3, 8 or 20 times the smallest, gap apart at least."""

    def draw(random: np.random.RandomState) -> Rows:
        k, n_columns, ratio = random.randint(2, 6), random.choice([2, 3, 5, 10]), random.choice([3, 8, 20])
        sizes = np.maximum(30, random.randint(500, 2001) / ratio ** np.linspace(0, 1, k)).astype(int)
        centers = np.zeros((1, n_columns))
        while len(centers) < k:
            step = random.normal(size=n_columns)
            step *= gap * random.uniform(1, 1.5) / np.linalg.norm(step)
            center = centers[random.randint(len(centers))] + step
            if np.linalg.norm(centers - center, axis=1).min() >= gap:
                centers = np.vstack([centers, center])
        classes = np.repeat(np.arange(k), sizes)
        return centers[classes] + noise(random, (len(classes), n_columns)), classes

    return draw


def _moons(random: np.random.RandomState) -> Rows:
    n_rows = random.randint(500, 2001)
    sizes = n_rows, max(30, n_rows // random.choice([3, 8, 20]))
    one, other = (random.uniform(0, np.pi, size) for size in sizes)
    rows = np.vstack([np.c_[np.cos(one), np.sin(one)], np.c_[1 - np.cos(other), 0.5 - np.sin(other)]])
    return rows + random.normal(scale=random.uniform(0.05, 0.12), size=rows.shape), np.repeat([0, 1], sizes)


def _one(kind: str, n_columns: int) -> Any:
    return lambda random: (getattr(random, kind)(size=(1000, n_columns)), np.zeros(1000, dtype=int))


def _two(random: np.random.RandomState) -> Rows:
    rows = random.normal(size=(945, 2))
    rows[900:] += 6
    return rows, np.repeat([0, 1], [900, 45])


# Kinds of drawn sets, and how many of each.
DRAWN: dict[str, tuple[Callable[[np.random.RandomState], Rows], int]] = {
    "normal": (_unequal(lambda random, shape: random.normal(size=shape), 6.5), 17),
    "t, 4 degrees of freedom": (_unequal(lambda random, shape: random.standard_t(4, shape), 10), 17),
    "moons": (_moons, 16),
    "900 and 45": (_two, 10),
    "one normal, 2 columns": (_one("normal", 2), 10),
    "one normal, 10 columns": (_one("normal", 10), 10),
    "uniform square": (_one("uniform", 2), 10),
}


# --- what runs in a process of its own -------------------------------------------------------------------------------


@cache
def warm_up(method: str) -> None:
    CONTENDERS[method].call(np.random.RandomState(0).normal(size=(500, 5)).astype(np.float32))


def _set(data: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data) as arrays:
        return np.asarray(arrays["X"], dtype=np.float64), arrays["y"]


def quality(method: str, data: Path) -> Cell:
    """Score the labels, noise as a cluster of its own, and with noise in the cluster of the nearest labeled row."""
    rows, classes = _set(data)
    labels = CONTENDERS[method].call(rows)
    inside = labels >= 0
    assigned = labels - labels.min()
    if 0 < inside.sum() < len(rows):
        assigned = KNeighborsClassifier(1).fit(rows[inside], labels[inside]).predict(rows)
    return {
        "ari": float(adjusted_rand_score(classes, labels)),
        "coverage": float(inside.mean()),
        "assigned ari": float(adjusted_rand_score(classes, assigned)),
        "assigned accuracy": float(clustering_accuracy(classes, assigned)),
        "clusters": int(labels.max()) + 1,
    }


def drawn(method: str, kind: str) -> Cell:
    """Cluster sets of a kind: the mean index to the classes, and how many have at most one cluster."""
    draw, n_sets = DRAWN[kind]
    aris, clusters = [], []
    for seed in range(n_sets):
        rows, classes = draw(np.random.RandomState(seed))
        labels = CONTENDERS[method].call(rows)
        aris.append(float(adjusted_rand_score(classes, labels)))
        clusters.append(int(labels.max()) + 1)
    return {"ari": fmean(aris), "clusters": clusters}


RUNS = {run.__name__: run for run in (quality, drawn)}


PAGE = DOCS / "benchmarks" / "density.md"
MOST_ROWS = 1000

_TEMPLATE = """# Density-based clustering

How well clusters found with all defaults agree with known classes: the mean adjusted Rand index of coterie is
{ari_ours}, that of HDBSCAN in scikit-learn {ari_peer}. One normal distribution and a uniform square have no clusters.

```console
$ pip install fast_hdbscan fast-plscan leidenalg igraph  # competitors; those that are missing are left out
$ COTERIE_DATA=folder python -m benchmarks.density --page
```

This page is written by that command. All methods have their defaults; Leiden maximizes modularity on the graph of 15
neighbors. The sets are those of [quality](graphs_quality.md), sampled to {most_rows} rows.

{machines}

## Quality

Mean adjusted Rand index (ARI) to the classes, noise being one more cluster. Noise assigned: to the cluster of the
nearest row in a cluster.

{quality}

## Clusters of very unequal sizes, and none

Means of drawn sets: the largest of 2 to 5 clusters has 3, 8 or 20 times the rows of the smallest. Of one normal
distribution or uniform square of 1,000 rows: how many of 10 have at most one cluster, and the largest number of
clusters found.

{drawn}

Other rules for `labels_` find clusters in two columns where there are none: the most persistent layer, and excess of
mass, the rule of HDBSCAN, from 5 rows (scikit-learn) or 25.
"""


def measure(options: Any, results: Results) -> None:
    """Run all methods on all sets, those cells that are not there yet."""
    methods = selected(CONTENDERS, options, print)
    names = [name for name, known in SETS.items() if known.is_here and not known.is_graph][: options.sets]
    process = Processes(kept=True)

    def run(part: str, name: str, method: str) -> Cell:
        data: Any = name
        if part == "quality":
            data = process.run(prepared, name, options.most_rows, results.folder / "rows")
        process.run(warm_up, method)
        return process.run_within(options.limit, RUNS[part], method, data)

    for part in options.rows:
        for name, method in product(DRAWN if part == "drawn" else names, methods):
            results.made(f"{part} {name}", method, 0, partial(run, part, name, method))
    process.close()


def _cells(results: Results, method: str) -> dict[str, Cell]:
    """Return the cells of a method by labeled set, without those that failed."""
    found = {name: results.read(f"quality {name}", method, 0) for name in SETS}
    return {name: cell for name, cell in found.items() if cell is not None and FAILED not in cell}


def _quality(results: Results) -> list[str]:
    """Return the table of the labeled sets: a line for each method, its means."""
    lines, ours = [], _cells(results, OURS)
    for method in CONTENDERS:
        found = _cells(results, method)
        cells = pd.DataFrame(
            [cell | {"ours": ours[name]["ari"]} for name, cell in found.items() if name in ours]
        )
        if len(cells):
            means = [
                cells[what].mean()
                for what in ("ari", "ours", "coverage", "assigned ari", "assigned accuracy")
            ]
            lines.append([_name(method), str(len(cells)), *(f"{mean:.3f}" for mean in means)])
    headers = ["", "sets", "ARI", "coterie on these sets", "coverage", "ARI, noise assigned",
               "accuracy, noise assigned"]  # fmt: skip
    return markdown_table(headers, lines)


def _drawn(results: Results) -> list[str]:
    lines = []
    for method in CONTENDERS:
        shown = []
        for kind in DRAWN:
            cell = results.read(f"drawn {kind}", method, 0)
            if cell is None or FAILED in cell:
                shown.append("-")
            elif kind.startswith(("one", "uniform")):
                n_few = sum(n <= 1 for n in cell["clusters"])
                shown.append(f"{n_few} ({max(cell['clusters'])})")
            else:
                shown.append(f"{cell['ari']:.3f}")
        if set(shown) != {"-"}:
            lines.append([_name(method), *shown])
    return markdown_table(["", *DRAWN], lines)


def _name(method: str) -> str:
    return f"**{method}**" if method == OURS else method


def written_page(results: Results) -> str:
    """Return the page of all cells that are there."""
    names = [*(f"quality {name}" for name in SETS), *(f"drawn {name}" for name in DRAWN)]
    cells = (results.read(name, OURS, 0) for name in names)
    machines = {machine_line({**cell["machine"]}) for cell in cells if cell is not None}
    return _TEMPLATE.format(
        machines="\n".join(sorted(machines)), quality="\n".join(_quality(results)),
        drawn="\n".join(_drawn(results)), most_rows=f"{MOST_ROWS:,}",
        ari_ours=_mean_ari(results, OURS), ari_peer=_mean_ari(results, "HDBSCAN (scikit-learn)"),
    )  # fmt: skip


def _mean_ari(results: Results, method: str) -> str:
    found = [cell["ari"] for cell in _cells(results, method).values()]
    return f"{fmean(found):.3f}" if found else "-"


if __name__ == "__main__":
    parser = SystemParser("density", __doc__, list(RUNS), rounds=None)
    parser.add("--limit", default=150.0, help="seconds after which a cell is given up")
    parser.add("--most-rows", default=MOST_ROWS, quick=150, help="drawn of larger sets")
    parser.add("--sets", default=len(SETS), quick=2, help="only the first sets")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name} of what is there")
    options = parser.read()
    limit_threads(2)
    results = Results(RESULTS / f"density-{options.most_rows}")
    measure(options, results)
    page = written_page(results)
    print(page)
    if options.page:
        PAGE.write_text(page)
