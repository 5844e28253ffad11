"""Density-based clustering and its competitors at their defaults: quality on labeled and on drawn sets.

Goes on where it was ended: what the folder of results has is not run again. --page writes the page of what is there.
"""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean, median
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

OURS, LAYER, PEER = "coterie", "coterie, most persistent layer", "HDBSCAN (scikit-learn)"
SHOWN = OURS, PEER  # methods for drawn sets


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
    PEER: Contender("sklearn", partial(_of, "sklearn.cluster.HDBSCAN", copy=True)),
    "fast_hdbscan": Contender("fast_hdbscan", partial(_of, "fast_hdbscan.HDBSCAN")),
    "PLSCAN": Contender("fast_plscan", partial(_of, "fast_plscan.PLSCAN")),
    "Leiden": Contender("leidenalg", _leiden),
}


def _normal(random: np.random.RandomState, shape: Any) -> np.ndarray:
    return random.normal(size=shape)


def _unequal(noise: Any = _normal, gap: float = 6.5, columns: Any = (2, 3, 5, 10), change: Any = None) -> Any:
    """Return a function that draws 2 to 5 clusters, the largest 3, 8 or 20 times the smallest, gap apart at least."""

    def draw(random: np.random.RandomState) -> Rows:
        k, n_columns, ratio = random.randint(2, 6), random.choice(columns), random.choice([3, 8, 20])
        sizes = np.maximum(30, random.randint(500, 2001) / ratio ** np.linspace(0, 1, k)).astype(int)
        centers = np.zeros((1, n_columns))
        while len(centers) < k:
            step = random.normal(size=n_columns)
            step *= gap * random.uniform(1, 1.5) / np.linalg.norm(step)
            center = centers[random.randint(len(centers))] + step
            if np.linalg.norm(centers - center, axis=1).min() >= gap:
                centers = np.vstack([centers, center])
        classes = np.repeat(np.arange(k), sizes)
        rows = centers[classes] + noise(random, (len(classes), n_columns))
        return rows if change is None else change(random, rows, classes).astype(float), classes

    return draw


def _moons(random: np.random.RandomState) -> Rows:
    n_rows = random.randint(500, 2001)
    sizes = n_rows, max(30, n_rows // random.choice([3, 8, 20]))
    one, other = (random.uniform(0, np.pi, size) for size in sizes)
    rows = np.vstack([np.c_[np.cos(one), np.sin(one)], np.c_[1 - np.cos(other), 0.5 - np.sin(other)]])
    return rows + random.normal(scale=random.uniform(0.05, 0.12), size=rows.shape), np.repeat([0, 1], sizes)


def _one(kind: str, n_columns: int) -> Any:
    return lambda random: (getattr(random, kind)(size=(1000, n_columns)), np.zeros(1000, dtype=int))


# Columns of repeated values: functions of a random state, rows and classes, for clusters in 2 or 3 columns.
REPEATED: dict[str, Callable[[Any, np.ndarray, np.ndarray], np.ndarray]] = {
    "column of whole numbers": lambda _, x, y: np.c_[x[:, 0].round(), x[:, 1:]],
    "rounded to 0.1": lambda _, x, y: x.round(1),
    "15% medians": lambda r, x, y: np.where(r.uniform(size=x.shape) < 0.15, np.median(x, axis=0), x),
    "2 random flags": lambda r, x, y: np.c_[x, r.uniform(size=(len(x), 2)) < 0.3],
    "random category": lambda r, x, y: np.c_[x, np.eye(4)[r.randint(4, size=len(x))]],
    "2 random answers": lambda r, x, y: np.c_[x, r.binomial(4, 0.5, (len(x), 2))],
    "counts, 40% zeros": lambda r, x, y: np.c_[x, r.poisson(6, len(x)) * (r.uniform(size=len(x)) > 0.4)],
    "half copies": lambda r, x, y: np.where(r.uniform(size=(len(x), 1)) < 0.5, np.roll(x, 1, axis=0), x),
    "ages alone": lambda r, x, y: np.round(25 * y + r.normal(0, 2, len(y)))[:, None],
    "flags alone": lambda r, x, y: r.random_sample((len(y), 10)) < 0.03 + 0.94 * np.eye(5)[y].repeat(2, 1),
}

DRAWN: dict[str, tuple[Callable[[np.random.RandomState], Rows], int]] = {
    "normal": (_unequal(), 17),
    "t, 4 degrees of freedom": (_unequal(lambda random, shape: random.standard_t(4, shape), 10), 17),
    "moons": (_moons, 16),
    "900 and 45": (
        lambda r: (r.normal(size=(945, 2)) + np.c_[[0] * 900 + [6] * 45], np.arange(945) > 899),
        10,
    ),
    **{kind: (_unequal(columns=(2, 3), change=change), 5) for kind, change in REPEATED.items()},
    "one normal, 2 columns": (_one("normal", 2), 10),
    "one normal, 10 columns": (_one("normal", 10), 10),
    "uniform square": (_one("uniform", 2), 10),
}


# --- what runs in a process of its own -------------------------------------------------------------------------------


@cache
def warm_up(method: str) -> None:
    CONTENDERS[method].call(np.random.RandomState(0).normal(size=(500, 5)).astype(np.float32))


def quality(method: str, data: Path) -> Cell:
    """Score the labels, noise as a cluster of its own, and with noise in the cluster of the nearest labeled row."""
    with np.load(data) as arrays:
        rows, classes = np.asarray(arrays["X"], dtype=np.float64), arrays["y"]
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
    }


def drawn(method: str, kind: str) -> Cell:
    """Cluster sets of a kind: indices to the classes, and numbers of clusters."""
    draw, n_sets = DRAWN[kind]
    aris, clusters = [], []
    for seed in range(n_sets):
        rows, classes = draw(np.random.RandomState(seed))
        labels = CONTENDERS[method].call(rows)
        aris.append(float(adjusted_rand_score(classes, labels)))
        clusters.append(int(labels.max()) + 1)
    return {"aris": aris, "clusters": clusters}


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

All methods have their defaults; Leiden maximizes modularity on the graph of 15 neighbors. The sets are those of
[quality](graphs_quality.md), sampled to {most_rows} rows.

{machines}

## Quality

Mean adjusted Rand index (ARI) to the classes, noise being one more cluster. Noise assigned: to the cluster of the
nearest row in a cluster.

{quality}

## Drawn sets: unequal sizes, repeated values, and no clusters

Median ARI, in brackets the least, of 5 to 17 sets: the largest of 2 to 5 clusters has 3, 8 or 20 times the rows of the
smallest. From "column of whole numbers" on, columns of normal clusters are rounded, discrete, imputed or added. Of one
normal distribution or uniform square of 1,000 rows: how many of 10 have at most one cluster, and the largest number.

{drawn}
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
        shown = [method for method in methods if part == "quality" or method in SHOWN]
        for name, method in product(DRAWN if part == "drawn" else names, shown):
            results.made(f"{part} {name}", method, 0, partial(run, part, name, method))
    process.close()


def _cells(results: Results, method: str) -> dict[str, Cell]:
    """Return the cells of a method by labeled set, without those that failed."""
    found = {name: results.read(f"quality {name}", method, 0) for name in SETS}
    return {name: cell for name, cell in found.items() if cell is not None and FAILED not in cell}


def _quality(results: Results) -> list[str]:
    """Return the table of the labeled sets: a line for each method, its means."""
    lines, ours = [], pd.Series({name: cell["ari"] for name, cell in _cells(results, OURS).items()})
    for method in CONTENDERS:
        table = pd.DataFrame.from_dict(_cells(results, method), orient="index")
        if len(table):
            table["ours"] = ours
            means = table[["ari", "ours", "coverage", "assigned ari", "assigned accuracy"]].mean()
            lines.append([_name(method), str(len(table)), *(f"{mean:.3f}" for mean in means)])
    headers = ["", "sets", "ARI", "coterie on these sets", "coverage", "ARI, noise assigned",
               "accuracy, noise assigned"]  # fmt: skip
    return markdown_table(headers, lines)


def _drawn(results: Results) -> list[str]:
    """Return the table of the drawn sets: a line for each kind."""
    lines = [
        [kind, *(_scores(kind, results.read(f"drawn {kind}", method, 0)) for method in SHOWN)]
        for kind in DRAWN
    ]
    return markdown_table(["", *map(_name, SHOWN)], lines)


def _scores(kind: str, cell: Cell | None) -> str:
    if cell is None or FAILED in cell:
        return "-"
    if kind.startswith(("one", "uniform")):
        return f"{sum(n <= 1 for n in cell['clusters'])} ({max(cell['clusters'])})"
    return f"{median(cell['aris']):.3f} ({min(cell['aris']):.2f})"


def _name(method: str) -> str:
    return f"**{method}**" if method == OURS else method


def written_page(results: Results) -> str:
    """Return the page of all cells that are there."""
    machines = {machine_line({**cell["machine"]}) for cell in _cells(results, OURS).values()}
    return _TEMPLATE.format(
        machines="\n".join(sorted(machines)), quality="\n".join(_quality(results)),
        drawn="\n".join(_drawn(results)), most_rows=f"{MOST_ROWS:,}",
        ari_ours=_mean_ari(results, OURS), ari_peer=_mean_ari(results, PEER),
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
