"""Quality of the methods that `coterie.compare` recommends, beside the best of ours, Leiden and k-means.

    python -m benchmarks.graphs_quality.recommend [--sets iris,fresh-4300] [--most-rows 2000] [--page] [--quick]

Sets of rows of `benchmarks.graphs_quality`, and generated ones ("fresh-SEED") whose shapes, sizes, widths, columns and
noise are drawn. `compare` is given the rows and the number
of classes. Results of a set are kept in a file: a run that was ended goes on where it was. Leiden needs
`pip install leidenalg igraph` (GPL).
"""

import itertools
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import clone

import coterie
from benchmarks.graphs_quality.contenders import LEIDEN, run_cell, scores_of
from benchmarks.harness.data.quality_sets import GENERATED, REAL, SETS, drawn_shape, prepared
from benchmarks.harness.measuring import limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import DOCS, RESULTS, Cell, Results, machine_line, markdown_table

FRESH = {
    f"seeds {first} to {last}": [f"fresh-{seed}" for seed in range(first, last + 1)]
    for first, last in ((4300, 4329), (91000, 91039), (91040, 91119))
}
NAMES = [*(name for name in SETS if not SETS[name].is_graph), *itertools.chain(*FRESH.values())]
COMPARE, K_MEANS, NEW = "compare", "k-means", "seeds 91040 to 91119"
SCORES = {"accuracy": "accuracy", "nmi": "NMI"}
PAGE = DOCS / "benchmarks" / "compare.md"
_PAGE = """# Recommendations of compare

On {n_sets} data sets with known classes, the mean accuracy is {means[0]:.3f} for the method that `coterie.compare`
scores highest, {means[2]:.3f} for Leiden, {means[3]:.3f} for k-means, and {means[1]:.3f} for the best of the compared
methods, chosen by the known classes.

```console
$ pip install leidenalg igraph  # GPL
$ COTERIE_DATA=folder python -m benchmarks.graphs_quality.recommend --page
```

`coterie.compare` gets the rows and the number of classes, with `random_state=0`, on one thread. Of larger sets,
{most_rows:,} rows are sampled. 33 sets, real and generated, are those of [Quality](graphs_quality.md). The others are
generated: the number, shapes, sizes and widths of clusters, the columns and the noise are drawn from a seed.
`compare` was not tuned on those of the seeds 91040 to 91119.
[How methods are scored, and what "clear", "likely" and "open" mean](../how-to/compare_methods.md#read-the-result).

- Recommended: the method with the highest score, even if the confidence is "open" and `compare` recommends none. Best
  compared: the highest accuracy, or NMI, of the compared methods. Leiden: 15 neighbors, with the resolution that gives
  about k clusters. k-means: the best of ten restarts.
- Loss: best compared minus recommended. Rank correlation: Spearman's, between the scores and the accuracies of the
  methods on a set; mean over sets with three or more methods that differ in accuracy.

{machine}
{missing}
{tables}
"""


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
        **scores_of(y, labels), "clusters": len(np.unique(labels)),
        "best": found.best, "confidence": found.confidence, "reasons": found.reasons, "records": found.records,
        "agreement": found.agreement.tolist(), "cpu_seconds": seconds,
        "n_rows": len(X), "n_columns": X.shape[1], "classes": int(y.max()) + 1,
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
    """Return the scores of a set: recommended, best of ours, Leiden, k-means, and the rank correlation."""
    records = cells[COMPARE]["records"]
    chosen = next(record for record in records if record["method"] == cells[COMPARE]["best"])
    line: dict[str, Any] = {"best": chosen["method"], "confidence": cells[COMPARE]["confidence"]}
    for score in SCORES:
        values = [record[score] for record in records]
        line[score] = [chosen[score], max(values), cells[LEIDEN][score], cells[K_MEANS][score]]
        differ = np.ptp(values) > 0 and len(values) > 2
        ranks = spearmanr([record["score"] for record in records], values).statistic if differ else np.nan
        line[f"{score} correlation"] = float(ranks)
    return line


def tables(found: dict[str, dict[str, Cell]]) -> list[str]:
    """Return the means over kinds of sets, and the loss by confidence, as Markdown."""
    lines = {name: line_of(cells) for name, cells in found.items()}
    kinds = {"real sets": [*REAL], "generated sets": [*GENERATED], **FRESH}
    groups = {kind: [lines[name] for name in names if name in lines] for kind, names in kinds.items()}
    new = groups.pop(NEW)
    groups["the sets above"] = [line for group in groups.values() for line in group]
    groups |= {NEW: new, "all sets": list(lines.values())}
    who = ("recommended", "best compared", LEIDEN, K_MEANS)
    headers = ["", "sets", *(f"{score}, {one}" for score in SCORES.values() for one in who)]
    headers += ["largest loss, accuracy", "rank correlation"]
    summary = [_means(kind, group) for kind, group in groups.items() if group]
    by_confidence = []
    losses = pd.DataFrame({one: [line[one][1] - line[one][0] for line in lines.values()] for one in SCORES})
    confidences = np.array([line["confidence"] for line in lines.values()])
    for confidence in ("clear", "likely", "open"):
        some = losses[confidences == confidence]
        if len(some):
            cells = [f"{loss:.3f}" for loss in (*some.mean(), some["accuracy"].max())]
            by_confidence.append([confidence, str(len(some)), *cells])
    losing = ["confidence", "sets", "mean loss, accuracy", "mean loss, NMI", "largest loss, accuracy"]
    return [
        *("## Means", "", *markdown_table(headers, summary)),
        *("", "## Loss by confidence", "", *markdown_table(losing, by_confidence)),
    ]


def _means(kind: str, lines: list[dict[str, Any]]) -> list[str]:
    means = [value for score in SCORES for value in np.mean([line[score] for line in lines], axis=0)]
    losses = [line["accuracy"][1] - line["accuracy"][0] for line in lines]
    correlation = np.nanmean([line["accuracy correlation"] for line in lines])
    return [kind, str(len(lines)), *(f"{x:.3f}" for x in (*means, max(losses))), f"{correlation:.2f}"]


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
    page = _PAGE.format(
        n_sets=len(found),
        means=np.mean([line_of(cells)["accuracy"] for cells in found.values()], axis=0),
        most_rows=options.most_rows,
        machine=machine_line(),
        missing=f"\nNot measured: {missing}.\n" if missing else "",
        tables="\n".join(tables(found)),
    )
    print(page)
    if options.page:
        PAGE.write_text(page)
