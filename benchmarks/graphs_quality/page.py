"""The page on quality, made of all cells that are there."""

from collections.abc import Container
from itertools import count, product, takewhile
from math import isnan
from statistics import fmean

import pandas as pd

from benchmarks.graphs_quality.contenders import CONTENDERS, METHODS_OF_OURS
from benchmarks.graphs_quality.recommend import COMPARE
from benchmarks.harness.data.quality_sets import GENERATED, REAL, SETS
from benchmarks.harness.reporting import FAILED, Results, bold_best, machine_line, markdown_table

SCORES = ("accuracy", "nmi", "ari")
METHODS, OURS = (COMPARE, *CONTENDERS), {COMPARE, *METHODS_OF_OURS}
_BY_SET = (COMPARE, "k-means", "SLK-BO", "total variation", "multilevel", "Leiden")  # by data set
_NAMES = {"SLK-BO": "Laplacian K-modes", "SLK-MS": "Laplacian K-modes, mean shift"}
MOST_ROWS = 1_000_000  # more than any set has

_PAGE = """# Quality on labeled data sets

Which method finds the known classes of a data set, given only the rows and the number of classes k? On {n_common} data
sets, coterie's best method, {ours[0]}, is on average {ours[1]} less accurate than the best method of each set, and
{peer[0]}, the best competitor, {peer[1]}. `compare` was tuned on these sets: see its [results on others](compare.md).

- **Accuracy** is the share of rows in the cluster of their class; clusters are matched to classes one to one.
- The **loss** of a method on a data set is the best accuracy of all methods on this page, minus its own. If the best
  method has an accuracy of 0.95 and k-means 0.80, the loss of k-means is 0.15.
- **compare** is the method that [`coterie.compare`](../how-to/compare_methods.md) chooses without known classes.

## Loss of accuracy

These are the {n_common} of {n_sets} data sets that all methods of the table finished (not: {unfinished}).
Binary variants, and methods that finished under 90% of the sets, are left out. Bold: [coterie](../guide/index.md).

{losses}

CPU s: k-means with ten restarts; Leiden with its search for k clusters; compare without the last fit to all rows (add
about that of the chosen method).

Methods that cluster a graph of nearest neighbors (total variation, multilevel, Laplacian K-modes, Leiden) are ahead on
handwritten digits and curved shapes, k-means and mixture on some tables and texts.

## All methods

Means over the data sets that the method finished, comparable only for the same number of sets. Slower methods were
not run on some sets of more than 11,000 rows. On the sets of each row, compare has a mean loss of at most {most:.2f}.
NMI: normalized mutual information; ARI: adjusted Rand index; binary: all edges weigh 1 (default: long ones less).

{means}

## Accuracy on real data

Bold: best of a row. compare may differ from all: it restarts up to three times, or chooses mixture. k-means is
coterie's. Dash: not finished or run. Handwritten: digits, optdigits, pendigits, mnist. Photos: cifar-10. Texts:
snippets, webkb4, 20news, rcv1. Graph, not counted above: 20news graph. Others: tables (scaled: standardized columns).

{accuracies[0]}

## Accuracy on generated data

890 to 4,000 rows. Blobs are normally distributed, heavy tails have Student's t distribution; "many columns" has 50.

{accuracies[1]}

## How it was measured

```console
$ pip install leidenalg igraph genieclust evoc  # competitors, if wanted
$ COTERIE_DATA=folder python -m benchmarks.graphs_quality --page
```

The [data sets](index.md) are in `folder`. {n_cells} fits, {dates}, {sets}
Each method runs once (seed 0) on one thread, with its defaults and k. Exceptions and names:

- compare: run `python -m benchmarks.graphs_quality.recommend --most-rows {most_rows}` first. Its fits use 20,000
  rows at most, its last fit all rows.
- k-means: best of ten restarts. Leiden: 15 neighbors, the resolution of about k clusters.
- total variation: `TotalVariationClustering`; multilevel: `MultilevelGraphClustering`; binary: `weights="binary"`.
- mixture: `TruncatedGaussianMixture`. Laplacian K-modes: `LaplacianKModes`, whose defaults were tuned on some sets.
- mean shift: `mode_update="mean_shift"`. HDBSCAN: `min_cluster_size=n/(10 k)`, noise counted as one cluster, no k.
- Ward: `AgglomerativeClustering`; spectral: `SpectralClustering(assign_labels="cluster_qr")`, graph of neighbors.
- [Genie](https://genieclust.gagolewski.com); [EVoC](https://github.com/TutteInstitute/evoc): `approx_n_clusters=k`.
- webkb4, 20news, rcv1: 100 columns from latent semantic analysis, rows of length 1. snippets: embeddings.

{machines}
{missing}"""


def _cells(results: Results) -> pd.DataFrame:
    """Return the cells by set and method, scores and seconds being means over seeds; failures as they are."""
    found = []
    for name, method in product(SETS, METHODS):
        runs = [*takewhile(bool, (results.read(name, method, seed) for seed in count()))]
        failed = [run for run in runs if FAILED in run]
        known = () if failed else (*SCORES, "cpu_seconds")
        for run in (failed or runs)[:1]:
            means = {key: fmean(run[key] for run in runs) for key in known}
            found.append({"set": name, "method": method} | run | means)
    return pd.DataFrame(found, columns=["set", "method", FAILED, *SCORES, "cpu_seconds", "machine"])


def _by_set(cells: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return a score by set and method, in their order; missing where a fit did not end."""
    return cells.pivot(index="set", columns="method", values=score).reindex(
        index=cells["set"].unique(),
        columns=[method for method in METHODS if (cells["method"] == method).any()],
    )


def _of_rows(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[~cells["set"].isin([name for name, known in SETS.items() if known.is_graph])]


def _behind(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how far each method is behind the best accuracy on each set of rows."""
    scores = _by_set(_of_rows(cells), "accuracy")
    return scores.rsub(scores.max(axis=1), axis=0)


def _shown(method: str) -> str:
    name = _NAMES.get(method, method)
    return f"**{name}**" if method in OURS else name


def _means(cells: pd.DataFrame) -> list[str]:
    """Return the table of the losses and scores of all methods."""
    lines, behind = [], _behind(cells)
    for method, own in _of_rows(cells).dropna(subset="accuracy").groupby("method"):
        numbers = (behind[method].mean(), *(own[score].mean() for score in SCORES))
        lines.append([_shown(method), str(len(own)), *(f"{value:.3f}" for value in numbers)])
    lines.sort(key=lambda line: (-int(line[1]), float(line[2])))
    return markdown_table(["method", "sets", "mean loss", "accuracy", "NMI", "ARI"], lines)


def _comparable(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how far those methods are behind that ended on nine tenths of the sets, where all of them ended."""
    behind = _behind(cells)
    return behind.loc[:, behind.notna().mean() >= 0.9].dropna()


def _closest(behind: pd.DataFrame, is_ours: bool) -> tuple[str, str]:
    """Return the method that is the least behind the best accuracy, and how far on average."""
    means = behind.loc[:, [(method in OURS) == is_ours for method in behind]].mean()
    return (means.idxmin(), f"{means.min():.3f}") if len(means) else ("-", "-")


def _accuracies(cells: pd.DataFrame, sets: Container[str]) -> list[str]:
    """Return the table of the accuracies of some methods on some sets."""
    accuracy, lines = _by_set(cells[cells["set"].isin(sets)], "accuracy"), []
    accuracy = accuracy[[name for name in accuracy if name in _BY_SET]]
    for name, row in accuracy.iterrows():
        found = ["-" if isnan(value) else f"{value:.3f}" for value in row]
        lines.append([name, *bold_best(found, row.round(3), max)])
    return markdown_table(["data set", *(_NAMES.get(name, name) for name in accuracy)], lines)


def _missing(cells: pd.DataFrame) -> str:
    """Return which methods failed on which sets, and which sets are not there."""
    failed = cells.dropna(subset=FAILED).groupby("method", sort=False)["set"]
    failures = "; ".join(f"{method} on {', '.join(names)}" for method, names in failed)
    absent = ", ".join(name for name in SETS if name not in set(cells["set"]))
    found = {"Stopped by the limit of 300 s, or failed": failures, "Not measured": absent}
    return "".join(f"\n{what}: {names}.\n" for what, names in found.items() if names)


def written_page(results: Results, most_rows: int) -> str:
    cells = _cells(results)
    behind, of_all = _comparable(cells), _behind(cells).reindex(columns=METHODS)
    dates = sorted({machine["date"][:10] for machine in cells["machine"]})
    return _PAGE.format(
        ours=_closest(behind, True),
        peer=_closest(behind, False),
        n_common=len(behind),
        n_sets=len(of_all),
        unfinished=", ".join(of_all.index.difference(behind.index, sort=False)) or "none",
        most=pd.Series(of_all.loc[own.notna(), COMPARE].mean() for _, own in of_all.items()).max(),
        most_rows=most_rows,
        losses=losses(results),
        means="\n".join(_means(cells)),
        accuracies=["\n".join(_accuracies(cells, sets)) for sets in (REAL, GENERATED)],
        n_cells=cells[FAILED].isna().sum(),
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))),
        sets="to 99 to 331,152 rows." if most_rows >= MOST_ROWS else f"larger sets: {most_rows:,} rows.",
        machines="\n".join(sorted({machine_line(machine) for machine in cells["machine"]})),
        missing=_missing(cells),
    )


def losses(results: Results) -> str:
    """Return the table of the losses on real sets and on generated ones, and what a fit takes."""
    cells = _cells(results)
    behind = _comparable(cells)
    kinds = [behind[behind.index.isin(kind)] for kind in (REAL, GENERATED)]
    seconds = _by_set(cells, "cpu_seconds").loc[behind.index]
    lines = [
        [
            _shown(method), *(f"{kind[method].mean():.3f}" for kind in kinds), f"{behind[method].max():.3f}",
            f"{seconds[method].mean():.2f}",
        ]
        for method in (behind if all(map(len, kinds)) else ())
        if "binary" not in method
    ]  # fmt: skip
    lines.sort(key=lambda line: float(line[1]) + float(line[2]))
    counts = [f"mean loss, {len(names)} {kind} sets" for names, kind in zip(kinds, ("real", "generated"))]
    return "\n".join(markdown_table(["method", *counts, "largest loss", "mean CPU s"], lines))
