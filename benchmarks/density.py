"""Density-based clustering and its competitors at their defaults: exactness, quality, stability, speed.

Goes on where it was ended: what the folder of results has is not run again. --page writes the page of what is there.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.contenders import Contender, leiden_on, model_of, selected
from benchmarks.harness.data.files import labeled, snippets
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import Processes, limit_threads, measured
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import DOCS, FAILED, RESULTS, Cell, Results, machine_line, markdown_table
from coterie import DensityClustering
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy

OURS, ROWS_ONLY = "coterie", 'coterie, space="rows"'
N_SUBSAMPLES, SHARE = 3, 0.8
_WARM_ROWS = 5000


def _of(path: str, rows: np.ndarray, **options: Any) -> np.ndarray:
    return np.asarray(model_of(path, **options).fit(rows).labels_)


_ours = partial(_of, "coterie.DensityClustering", random_state=0)


def _leiden(rows: np.ndarray) -> np.ndarray:
    """Leiden of modularity, at resolution 1, on the graph of 15 neighbors."""
    return leiden_on(knn_graph(rows, min(15, len(rows) - 1)))("ModularityVertexPartition", seed=0)


CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", _ours),
    "HDBSCAN (scikit-learn)": Contender("sklearn", partial(_of, "sklearn.cluster.HDBSCAN", copy=True)),
    "fast_hdbscan": Contender("fast_hdbscan", partial(_of, "fast_hdbscan.HDBSCAN")),
    "PLSCAN": Contender("fast_plscan", partial(_of, "fast_plscan.PLSCAN")),
    "EVoC": Contender(
        "evoc",
        lambda rows: model_of("evoc.EVoC", random_state=0).fit_predict(rows.astype(np.float32, order="C")),
    ),
    "Leiden": Contender("leidenalg", _leiden),
}
# Those of the table of times: ours also without the fit of diffused rows, which the others do not make.
TIMED = CONTENDERS | {ROWS_ONLY: Contender("coterie", partial(_ours, space="rows"))}
# These have min_samples.
DENSITIES = (OURS, "HDBSCAN (scikit-learn)", "fast_hdbscan", "PLSCAN")
LARGE: dict[str, tuple[Callable[[], np.ndarray], tuple[str, ...]]] = {
    "100,000 x 50": (lambda: _blobs(100_000, 50), (OURS, ROWS_ONLY, "fast_hdbscan", "PLSCAN")),
    "60,000 x 784": (lambda: labeled("mnist")[0][:60_000], (OURS, ROWS_ONLY, "fast_hdbscan")),
    "12,340 x 384": (lambda: snippets()[0], (OURS, ROWS_ONLY, "fast_hdbscan", "EVoC")),
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


def cliffs(method: str, data: Path) -> Cell:
    """Compare the labels of successive min_samples from 3 to 10."""
    rows = _set(data)[0]
    found = [CONTENDERS[method].call(rows, min_samples=least) for least in range(3, 11)]
    scores = [float(adjusted_rand_score(one, other)) for one, other in pairwise(found)]
    return {"mean": fmean(scores), "worst": min(scores)}


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


RUNS = {run.__name__: run for run in (exactness, quality, stability, cliffs, speed)}


PAGE = DOCS / "benchmarks" / "density.md"
MOST_ROWS, _EXACT_ROWS = 1000, 20_000

_TEMPLATE = """# Density-based clustering

How well clusters found with all defaults agree with known classes: the mean adjusted Rand index of coterie is
{ari_ours}, that of HDBSCAN in scikit-learn {ari_peer}.

```console
$ pip install fast_hdbscan fast-plscan evoc leidenalg igraph  # competitors; those that are missing are left out
$ COTERIE_DATA=folder python -m benchmarks.density --page
```

This page is written by that command. All methods have their defaults; Leiden maximizes modularity on the graph of 15
neighbors. The sets are those of [quality](graphs_quality.md), sampled to {most_rows} rows.

{machines}

## Exactness

On {n_exact} sets of at most {exact_rows} rows the weights of the spanning trees equal those of scikit-learn's HDBSCAN
by brute force, up to a fraction of {gap}; {n_certified} trees are certified exact. Labels can differ where heights are
equal (ties), because scikit-learn merges ties in the order of the rows. With `min_samples` 1 and a minimum cluster size
of 5 the labels are equal on {n_equal} sets. The others, with adjusted Rand index and share of ties: {different}.
With `min_samples` 5 and a minimum cluster size of 25 the mean index is {mean_5}.

## Quality

Mean adjusted Rand index (ARI) to the classes, noise being one more cluster. Noise assigned: to the cluster of the
nearest row in a cluster. EVoC takes no sets of two or three columns.

{quality}

{stability}{cliffs}{speed}## Adjusted Rand index by set

{by_set}
"""
_STABILITY = f"""## Stability

Mean adjusted Rand index of the labels of {N_SUBSAMPLES} subsamples of {SHARE:.0%} to those of all rows, and the sets on
which it is at least 0.8."""
_CLIFFS = """## Steps of min_samples

Adjusted Rand index of the labels for successive `min_samples` from 3 to 10, and the sets without a step below 0.5."""
_SPEED = """## Time and memory

Two threads, in a process that has compiled what it needs. Peak memory is above what was held before. By default coterie
fits a second time, to diffused rows, if less than 85% of the rows are in clusters; `space="rows"` does not."""


def measure(options: Any, results: Results) -> None:
    """Run all methods on all sets, those cells that are not there yet."""
    methods = selected(TIMED, options, print)
    names = [name for name, known in SETS.items() if known.is_here and not known.is_graph][: options.sets]
    process = Processes(kept=True)

    def run(part: str, name: str, method: str) -> Cell:
        data: Any = name
        if part != "speed":
            most = options.most_rows if part != "exactness" or options.quick else _EXACT_ROWS
            data = process.run(prepared, name, most, results.folder / "rows")
        process.run(warm_up, method)
        return process.run_within(options.limit, RUNS[part], method, data)

    users = {"exactness": (OURS,), "cliffs": DENSITIES}
    for part in options.rows:
        able = dict.fromkeys(names, users.get(part, tuple(CONTENDERS)))
        if part == "speed":
            able = {name: able for name, (_, able) in LARGE.items()}
        for name in able:
            for method in (method for method in able[name] if method in methods):
                results.made(f"{part} {name}", method, 0, partial(run, part, name, method))
    process.close()


def _cells(results: Results, part: str, method: str) -> dict[str, Cell]:
    """Return the cells of a method by set, without those that failed."""
    found = {name: results.read(f"{part} {name}", method, 0) for name in SETS}
    return {name: cell for name, cell in found.items() if cell is not None and FAILED not in cell}


def _means(results: Results, part: str, columns: dict[str, str | tuple[str, float]]) -> list[str]:
    """Return a table: a line for each method, and a column for a mean of its cells, or how many are from a value on."""
    lines, ours = [], _cells(results, part, OURS)
    for method in CONTENDERS:
        found = _cells(results, part, method)
        cells = pd.DataFrame(
            [cell | {"ours": ours[name].get("ari")} for name, cell in found.items() if name in ours]
        )
        if len(cells):
            shown = [
                f"{cells[what].mean():.3f}"
                if isinstance(what, str)
                else f"{(cells[what[0]] >= what[1]).sum()} of {len(cells)}"
                for what in columns.values()
            ]
            lines.append([f"**{method}**" if method == OURS else method, str(len(cells)), *shown])
    return markdown_table(["", "sets", *columns], lines)


def _exactness(results: Results) -> dict[str, str]:
    """Return what the page says of exactness."""
    cells = _cells(results, "exactness", OURS)
    unlike = {name: cell for name, cell in cells.items() if cell["labels 1"] < 1}
    different = [
        f"{name} ({cell['labels 1']:.3f}, {cell['ties 1']:.1%} ties)" for name, cell in unlike.items()
    ]
    return {
        "n_exact": str(len(cells)),
        "gap": f"{max((cell['weight'] for cell in cells.values()), default=0.0):.0e}",
        "n_certified": str(sum(cell["is_exact"] for cell in cells.values())),
        "n_equal": str(len(cells) - len(unlike)),
        "mean_5": f"{fmean([cell['labels 5'] for cell in cells.values()] or [1]):.3f}",
        "different": ", ".join(different) or "none",
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
                lines.append([name, f"**{method}**" if method == OURS else method, *shown])
    return markdown_table(["rows", "", "CPU s", "seconds", "peak MB", "rows MB", "coverage"], lines, 2)


def written_page(results: Results) -> str:
    """Return the page of all cells that are there."""
    found = [_cells(results, "quality", method) for method in CONTENDERS]
    by_set = [
        [name, *(f"{of_method[name]['ari']:.3f}" if name in of_method else "-" for of_method in found)]
        for name in SETS
        if any(name in of_method for of_method in found)
    ]
    quality = {
        "ARI": "ari", "coterie on these sets": "ours", "coverage": "coverage", "ARI, noise assigned": "assigned ari",
        "accuracy, noise assigned": "assigned accuracy",
    }  # fmt: skip
    subsamples = {"ARI": "mean", "from 0.8": ("mean", 0.8)}
    steps = {"mean": "mean", "mean worst step": "worst", "no step below 0.5": ("worst", 0.5)}
    cells = (results.read(f"{part} {name}", OURS, 0) for part in RUNS for name in (*SETS, *LARGE))
    machines = {machine_line({**cell["machine"]}) for cell in cells if cell is not None}
    tables = {
        "machines": sorted(machines),
        "quality": _means(results, "quality", quality),
        "stability": _section(_STABILITY, _means(results, "stability", subsamples)),
        "cliffs": _section(_CLIFFS, _means(results, "cliffs", steps)),
        "speed": _section(_SPEED, _speeds(results)),
        "by_set": markdown_table(["", *CONTENDERS], by_set),
    }
    return _TEMPLATE.format(
        ari_ours=_mean_ari(results, OURS), ari_peer=_mean_ari(results, "HDBSCAN (scikit-learn)"),
        most_rows=f"{MOST_ROWS:,}", exact_rows=f"{_EXACT_ROWS:,}",
        **_exactness(results), **{name: "\n".join(lines) for name, lines in tables.items()},
    )  # fmt: skip


def _mean_ari(results: Results, method: str) -> str:
    found = [cell["ari"] for cell in _cells(results, "quality", method).values()]
    return f"{fmean(found):.3f}" if found else "-"


def _section(text: str, table: list[str]) -> list[str]:
    """Return a section with a table, nothing where the table has no cells."""
    return [text, "", *table, "", ""] if len(table) > 2 else []


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
