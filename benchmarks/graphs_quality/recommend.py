"""Quality of the methods that `coterie.compare` recommends, beside the best of ours, Leiden and k-means.

    python -m benchmarks.graphs_quality.recommend [--sets iris,fresh-4300] [--most-rows 2000] [--page] [--quick]

Sets of rows of `benchmarks.graphs_quality`, and generated ones ("fresh-SEED"). `compare` is given the rows and the
number of classes. What is there is not measured again. Leiden needs `pip install leidenalg igraph` (GPL).
"""

import itertools
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import coterie
from benchmarks.graphs_quality.contenders import LEIDEN, run_cell, scores_of
from benchmarks.harness.data.quality_sets import GENERATED, REAL, SETS, drawn_shape, prepared
from benchmarks.harness.measuring import limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import DOCS, RESULTS, Cell, Results, machine_line, markdown_table

HELD_OUT = "random, held out"
FRESH = {
    kind: [f"fresh-{seed}" for seed in range(first, last + 1)]
    for kind, first, last in (("random, first", 4300, 4329), ("random, second", 91000, 91039), (HELD_OUT, 91040, 91119))
}  # fmt: skip
NAMES = [*(name for name in SETS if not SETS[name].is_graph), *itertools.chain(*FRESH.values())]
COMPARE, K_MEANS = "compare", "k-means"
SCORES, WHO = ("accuracy", "nmi"), (COMPARE, LEIDEN, K_MEANS, "best of the five")
PAGE = DOCS / "benchmarks" / "compare.md"
_PAGE = """# Recommendations of compare

[`coterie.compare`](../how-to/compare_methods.md) fits k-means, Gaussian mixtures and three graph methods, and scores
their clusters without known classes. On {n_held} generated data sets that were not used to tune it, the method with
the highest score has a mean accuracy of {held[accuracy, compare]:.3f}, Leiden (communities of a graph of neighbors,
not one of the five) {held[accuracy, Leiden]:.3f}, and k-means {held[accuracy, k-means]:.3f}. On the real sets, used
to tune it: {real[accuracy, compare]:.3f}, Leiden {real[accuracy, Leiden]:.3f}, k-means {real[accuracy, k-means]:.3f}.

## Accuracy

Accuracy is the share of rows in the cluster of their class; clusters are matched to classes one to one. "compare" is
the method with the highest score, also where none is recommended; "best of the five" is the most accurate by the known
classes. The **loss** is the accuracy of the best of the five, minus that of compare.

{tables[0]}

- Accuracies are means, the largest loss is that of one set. All but the held-out sets were used to tune `compare`.
- Real and generated data sets are those of [Quality](graphs_quality.md). For random ones, the number, shapes, sizes and
  widths of clusters, the columns and the noise are drawn.
- Normalized mutual information (NMI), all sets: compare {mean[nmi, compare]:.3f}, Leiden {mean[nmi, Leiden]:.3f},
  k-means {mean[nmi, k-means]:.3f}, best of the five {mean[nmi, best of the five]:.3f}.

## Loss by confidence

By [confidence](../how-to/compare_methods.md#confidence); {n_held} sets were not tuned on. "open": none recommended.

{tables[1]}

## How it was measured

```console
$ pip install leidenalg igraph  # license: GPL
$ COTERIE_DATA=folder python -m benchmarks.graphs_quality.recommend --page
```

The [data sets](index.md) are in `folder`; larger ones are sampled to {most_rows:,} rows. Each method gets
the rows and the number of classes. Leiden and k-means: as for [Quality](graphs_quality.md#how-it-was-measured).
compare: `random_state=0`, one thread. Random sets have the seeds 4300 to 4329, 91000 to 91039 and 91040 to 91119.

{machine}
{missing}"""


def path_of(name: str, most_rows: int, folder: Path) -> Path:
    """Return the file of a set; that of a generated one is written."""
    if not name.startswith("fresh-"):
        return prepared(name, most_rows, folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    rows, classes = drawn_shape(np.random.RandomState(int(name.removeprefix("fresh-"))))
    np.savez(path, X=rows, y=classes)
    return path


def compared(path: Path) -> Cell:
    """Compare our methods on a set; known classes add accuracy and NMI to their records."""
    with np.load(path) as arrays:
        X, y = arrays["X"], arrays["y"]
    began = time.process_time()
    found = coterie.compare(X, int(y.max()) + 1, labels=y, random_state=0, n_threads=1)
    seconds = time.process_time() - began
    labels = found.best_model_.labels_
    if len(labels) < len(X):
        labels = clone(found.best_model_).fit(X).labels_
    return {
        **scores_of(y, labels), "cpu_seconds": seconds,
        "best": found.best, "confidence": found.confidence, "records": found.records,
    }  # fmt: skip


def measured(name: str, results: Results, most_rows: int) -> dict[str, Cell]:
    """Return what the comparison and its competitors reach on a set; run what is not there yet."""

    def run(method: str) -> Cell:
        path = path_of(name, most_rows, results.folder / "rows")
        return compared(path) if method == COMPARE else run_cell(method, path, 0)

    return {
        method: results.made(name, method, 0, partial(run, method)) for method in (COMPARE, K_MEANS, LEIDEN)
    }


def line_of(cells: dict[str, Cell]) -> dict[str, Any]:
    """Return the scores of a set by score and method, and the confidence."""
    records = pd.DataFrame(cells[COMPARE]["records"])
    chosen = records.set_index("method").loc[cells[COMPARE]["best"]]
    line: dict[str, Any] = {"confidence": cells[COMPARE]["confidence"]}
    for score in SCORES:
        values = (chosen[score], cells[LEIDEN][score], cells[K_MEANS][score], records[score].max())
        line |= {f"{score}, {who}": value for who, value in zip(WHO, values)}
        line[f"{score}, loss"] = records[score].max() - chosen[score]
    return line


def tables(lines: pd.DataFrame) -> list[str]:
    """Return the mean accuracies by kind of set, and the losses by confidence, as Markdown."""
    kinds = {"real": [*REAL], "generated": [*GENERATED], **FRESH, "all sets": [*lines.index]}
    by_kind = ((kind, lines[lines.index.isin(names)]) for kind, names in kinds.items())
    losing = ["confidence", "sets", "mean loss, accuracy", "mean loss, NMI", "largest loss, accuracy"]
    return [
        _table(["kind of data", "sets", *WHO, "largest loss"], by_kind, [f"accuracy, {who}" for who in WHO]),
        _table(losing, lines.groupby("confidence"), [f"{score}, loss" for score in SCORES]),
    ]


def _table(headers: list[str], groups: Iterable[tuple[Any, pd.DataFrame]], columns: list[str]) -> str:
    """Return the number of sets, means of columns, and the largest loss of accuracy of each group."""
    lines = [
        [name, str(len(own)), *(f"{x:.3f}" for x in (*own[columns].mean(), own["accuracy, loss"].max()))]
        for name, own in groups
        if len(own)
    ]
    return "\n".join(markdown_table(headers, lines))


if __name__ == "__main__":
    parser = SystemParser(
        "graphs_quality.recommend", __doc__, NAMES, quick=["iris", "fresh-4300"], rows_option="--sets", rounds=None
    )  # fmt: skip
    parser.add("--most-rows", default=2000, quick=200, help="drawn of larger sets")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    options = parser.read()
    limit_threads(1)
    results = Results(RESULTS / f"graphs_quality-{options.most_rows}")
    here = [name for name in options.rows if name not in SETS or SETS[name].is_here]
    found = {name: measured(name, results, options.most_rows) for name in here}
    missing = ", ".join(name for name in NAMES if name not in found)
    lines = pd.DataFrame.from_dict({name: line_of(cells) for name, cells in found.items()}, orient="index")
    held, real = (lines[lines.index.isin(names)] for names in (FRESH[HELD_OUT], REAL))
    page = _PAGE.format(
        n_held=len(held),
        held=held.mean(numeric_only=True),
        real=real.mean(numeric_only=True),
        mean=lines.mean(numeric_only=True),
        most_rows=options.most_rows,
        machine=machine_line(),
        missing=f"\nNot measured: {missing}.\n" if missing else "",
        tables=tables(lines),
    )
    print(page)
    if options.page:
        PAGE.write_text(page)
