"""Density-based clustering and its competitors at their defaults: exactness, quality, stability, speed.

Goes on where it was ended: what the folder of results has is not run again. --page writes the page of what is there.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.contenders import Contender, leiden_on, model_of, selected
from benchmarks.harness.data.files import Rows, labeled, snippets
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import Processes, limit_threads, measured
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import DOCS, FAILED, RESULTS, Cell, Results, machine_line, markdown_table
from coterie import DensityClustering
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy

OURS, ROWS_ONLY, LAYER = "coterie", 'coterie, space="rows"', "coterie, most persistent layer"
N_SUBSAMPLES, SHARE = 3, 0.8
_WARM_ROWS = 5000


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
# Those of the table of times: ours also without the fit of diffused rows, which the others do not make.
TIMED = CONTENDERS | {ROWS_ONLY: Contender("coterie", partial(_ours, space="rows"))}
LARGE: dict[str, tuple[Callable[[], np.ndarray], tuple[str, ...]]] = {
    "100,000 x 50": (lambda: _blobs(100_000, 50), (OURS, ROWS_ONLY, "fast_hdbscan", "PLSCAN")),
    "60,000 x 784": (lambda: labeled("mnist")[0][:60_000], (OURS, ROWS_ONLY, "fast_hdbscan")),
    "12,340 x 384": (lambda: snippets()[0], (OURS, ROWS_ONLY, "fast_hdbscan")),
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


def _blobs(n_rows: int, n_columns: int) -> np.ndarray:
    random = np.random.RandomState(0)
    centers = random.normal(size=(100, n_columns)) * 2
    rows = centers[random.randint(100, size=n_rows)] + random.normal(size=(n_rows, n_columns))
    return rows.astype(np.float32)


# --- what runs in a process of its own -------------------------------------------------------------------------------


@cache
def warm_up(method: str) -> None:
    TIMED[method].call(np.random.RandomState(0).normal(size=(500, 5)).astype(np.float32))


def _set(data: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data) as arrays:
        return np.asarray(arrays["X"], dtype=np.float64), arrays["y"]


def exactness(method: str, data: Path) -> Cell:
    """Compare with scikit-learn's HDBSCAN by brute force: weights of trees, labels for two minimum cluster sizes.

    Core distances make equal heights, which scikit-learn merges in the order of rows; with min_samples=1 there are none
    but those of the data.
    """
    rows = _set(data)[0]
    found: Cell = {"n_rows": len(rows), "n_columns": rows.shape[1], "weight": 0.0, "is_exact": True}
    for least, size in ((1, 5), (5, 25)):
        theirs = HDBSCAN(min_cluster_size=size, min_samples=least, algorithm="brute", copy=True).fit(rows)
        ours = DensityClustering(min_samples=least, min_cluster_size=size, space="rows", search="exact").fit(
            rows
        )
        weight = float(theirs._single_linkage_tree_["value"].sum())
        found["weight"] = max(found["weight"], abs(ours.spanning_tree_.distance.sum() - weight) / weight)
        found["is_exact"] &= ours.is_exact_
        found[f"labels {least}"] = float(adjusted_rand_score(theirs.labels_, ours.labels_))
        found[f"ties {least}"] = float(np.mean(np.diff(ours.spanning_tree_.distance) == 0))
    return found


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


def stability(method: str, data: Path) -> Cell:
    """Compare the labels of subsamples with those of all rows, by the rows of both."""
    rows = _set(data)[0]
    whole = CONTENDERS[method].call(rows)
    scores = []
    for seed in range(N_SUBSAMPLES):
        some = np.random.RandomState(seed).permutation(len(rows))[: int(SHARE * len(rows))]
        scores.append(float(adjusted_rand_score(whole[some], CONTENDERS[method].call(rows[some]))))
    return {"mean": fmean(scores)}


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


def speed(method: str, name: str) -> Cell:
    """Measure a fit in a process that has compiled what it needs."""
    rows = LARGE[name][0]()
    TIMED[method].call(rows[:_WARM_ROWS])  # numba compiles for each dtype and search
    with measured() as cost:
        labels = TIMED[method].call(rows)
    return {
        "seconds": cost.seconds,
        "CPU s": cost.cpu_seconds,
        "peak MB": cost.peak_bytes / 1e6,
        "rows MB": rows.nbytes / 1e6,
        "clusters": int(labels.max()) + 1,
        "coverage": float(np.mean(labels >= 0)),
    }


RUNS = {run.__name__: run for run in (exactness, quality, drawn, stability, speed)}


PAGE = DOCS / "benchmarks" / "density.md"
MOST_ROWS, _EXACT_ROWS = 1000, 20_000

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
nearest row in a cluster.{stability}

{quality}

## Clusters of very unequal sizes, and none

Means of drawn sets: the largest of 2 to 5 clusters has 3, 8 or 20 times the rows of the smallest. Of one normal
distribution or uniform square of 1,000 rows: how many of 10 have at most one cluster, and the largest number of
clusters found.

{drawn}

Other rules for `labels_` find clusters in two columns where there are none: the most persistent layer, and excess of
mass, the rule of HDBSCAN, from 5 rows (scikit-learn) or 25.
{exactness}{timed}"""
_STABILITY = f""" Stability: the mean
index of the labels of {N_SUBSAMPLES} subsamples of {SHARE:.0%} to those of all rows."""
_EXACTNESS = """
## Exactness

On {n_exact} sets of at most {exact_rows} rows the weights of the spanning trees equal those of scikit-learn's HDBSCAN
by brute force, up to a fraction of {gap}; {n_certified} trees are certified exact. Labels can differ where heights are
equal (ties), because scikit-learn merges ties in the order of the rows. With `min_samples` 1 and a minimum cluster size
of 5 the labels are equal on {n_equal} sets; the others have {least_ties} ties or more. With `min_samples` 5 and a
minimum cluster size of 25 the mean index is {mean_5}.
"""
_TIMED = """
## Time and memory

Two threads, in a process that has compiled what it needs. Peak memory is above what was held before. By default coterie
fits a second time, to diffused rows, if less than 85% of the rows are in clusters; `space="rows"` does not.

{speed}
"""


def measure(options: Any, results: Results) -> None:
    """Run all methods on all sets, those cells that are not there yet."""
    methods = selected(TIMED, options, print)
    names = [name for name, known in SETS.items() if known.is_here and not known.is_graph][: options.sets]
    process = Processes(kept=True)

    def run(part: str, name: str, method: str) -> Cell:
        data: Any = name
        if part not in ("speed", "drawn"):
            most = options.most_rows if part != "exactness" or options.quick else _EXACT_ROWS
            data = process.run(prepared, name, most, results.folder / "rows")
        process.run(warm_up, method)
        return process.run_within(options.limit, RUNS[part], method, data)

    timed = {name: able for name, (_, able) in LARGE.items()}
    for part in options.rows:
        able = timed if part == "speed" else dict.fromkeys(
            DRAWN if part == "drawn" else names, (OURS,) if part == "exactness" else tuple(CONTENDERS)
        )  # fmt: skip
        for name in able:
            for method in (method for method in able[name] if method in methods):
                results.made(f"{part} {name}", method, 0, partial(run, part, name, method))
    process.close()


def _cells(results: Results, part: str, method: str) -> dict[str, Cell]:
    """Return the cells of a method by set, without those that failed."""
    found = {name: results.read(f"{part} {name}", method, 0) for name in SETS}
    return {name: cell for name, cell in found.items() if cell is not None and FAILED not in cell}


def _quality(results: Results) -> list[str]:
    """Return the table of the labeled sets: a line for each method, its means."""
    lines, ours = [], _cells(results, "quality", OURS)
    for method in CONTENDERS:
        found = _cells(results, "quality", method)
        stable = _cells(results, "stability", method)
        cells = pd.DataFrame(
            [cell | {"ours": ours[name]["ari"]} for name, cell in found.items() if name in ours]
        )
        if len(cells):
            means = [
                cells[what].mean()
                for what in ("ari", "ours", "coverage", "assigned ari", "assigned accuracy")
            ]
            means += [fmean(cell["mean"] for cell in stable.values())] if stable else []
            lines.append([_name(method), str(len(cells)), *(f"{mean:.3f}" for mean in means)])
    headers = ["", "sets", "ARI", "coterie on these sets", "coverage", "ARI, noise assigned",
               "accuracy, noise assigned", "stability"]  # fmt: skip
    return markdown_table(headers[: max(map(len, lines), default=0)], lines)


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


def _exactness(results: Results) -> dict[str, str]:
    """Return what the page says of exactness."""
    cells = _cells(results, "exactness", OURS)
    if not cells:
        return {}
    unlike = {name: cell for name, cell in cells.items() if cell["labels 1"] < 1}
    return {
        "n_exact": str(len(cells)),
        "gap": f"{max((cell['weight'] for cell in cells.values()), default=0.0):.0e}",
        "n_certified": str(sum(cell["is_exact"] for cell in cells.values())),
        "n_equal": str(len(cells) - len(unlike)),
        "mean_5": f"{fmean([cell['labels 5'] for cell in cells.values()] or [1]):.3f}",
        "least_ties": f"{min((cell['ties 1'] for cell in unlike.values()), default=0.0):.0%}",
    }


def _speeds(results: Results) -> list[str]:
    lines = []
    for name, (_, able) in LARGE.items():
        for method in able:
            cell = results.read(f"speed {name}", method, 0)
            if cell is not None:
                shown = [cell[FAILED], *[""] * 4] if FAILED in cell else [
                    f"{cell['CPU s']:.2f}", f"{cell['seconds']:.2f}", f"{cell['peak MB']:,.0f}",
                    f"{cell['rows MB']:,.0f}", f"{cell['coverage']:.2f}",
                ]  # fmt: skip
                lines.append([name, _name(method), *shown])
    return markdown_table(["rows", "", "CPU s", "seconds", "peak MB", "rows MB", "coverage"], lines, 2)


def written_page(results: Results) -> str:
    """Return the page of all cells that are there."""
    names = (*SETS, *LARGE, *DRAWN)
    cells = (results.read(f"{part} {name}", OURS, 0) for part in RUNS for name in names)
    machines = {machine_line({**cell["machine"]}) for cell in cells if cell is not None}
    tables = {
        "machines": sorted(machines),
        "quality": _quality(results),
        "drawn": _drawn(results),
    }
    exactness, speeds = _exactness(results), _speeds(results)
    return _TEMPLATE.format(
        exactness=_EXACTNESS.format(exact_rows=f"{_EXACT_ROWS:,}", **exactness) if exactness else "",
        timed=_TIMED.format(speed="\n".join(speeds)) if len(speeds) > 2 else "",
        ari_ours=_mean_ari(results, OURS), ari_peer=_mean_ari(results, "HDBSCAN (scikit-learn)"),
        most_rows=f"{MOST_ROWS:,}", stability=_STABILITY if _cells(results, "stability", OURS) else "",
        **{name: "\n".join(lines) for name, lines in tables.items()},
    )  # fmt: skip


def _mean_ari(results: Results, method: str) -> str:
    found = [cell["ari"] for cell in _cells(results, "quality", method).values()]
    return f"{fmean(found):.3f}" if found else "-"


if __name__ == "__main__":
    parser = SystemParser("density", __doc__, list(RUNS), quick=list(RUNS)[:4], rounds=None)
    parser.add("--limit", default=150.0, help="seconds after which a cell is given up")
    parser.add("--most-rows", default=MOST_ROWS, quick=150, help="drawn of larger sets")
    parser.add("--sets", default=len(SETS), quick=2, help="only the first sets")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name} of what is there")
    options = parser.read()
    limit_threads(2)
    os.environ["NUMBA_NUM_THREADS"] = "2"
    results = Results(RESULTS / f"density-{options.most_rows}")
    measure(options, results)
    page = written_page(results)
    print(page)
    if options.page:
        PAGE.write_text(page)
