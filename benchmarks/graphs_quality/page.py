"""The tables of all cells that are there, and the page that is made of them."""

from collections.abc import Iterator
from itertools import count, product, takewhile
from math import isnan
from statistics import fmean

import pandas as pd

from benchmarks.graphs_quality.contenders import (
    CONTENDERS,
    LEIDEN,
    METHODS_OF_OURS,
    MULTILEVEL,
    SLK_BO,
    SPECTRAL,
    TV,
)
from benchmarks.graphs_quality.recommend import COMPARE
from benchmarks.harness.data.quality_sets import GENERATED, REAL, SETS
from benchmarks.harness.reporting import DOCS, FAILED, Results, machine_line, markdown_table, write_parts

PAGE = DOCS / "benchmarks" / "graphs_quality.md"
# The page that says which method to take, and the lines in it between which a table is written.
GUIDE = DOCS / "start" / "which_method.md"
SCORES = ("accuracy", "nmi", "ari")
FACTS = ("set", "method", FAILED, *SCORES, "cpu_seconds", "machine")
METHODS, OURS = (COMPARE, *CONTENDERS), {COMPARE, *METHODS_OF_OURS}
# Methods whose accuracy is shown for each set.
_BY_SET = ("k-means", "mixture", SLK_BO, TV, MULTILEVEL, SPECTRAL, LEIDEN, "Genie")
# More than any set has: unless told otherwise sets are whole.
MOST_ROWS = 1_000_000

_INTRODUCTION = """# Quality on labeled data sets

The tables show how well clusters agree with known classes. The loss is the best accuracy of all methods on a set minus
that of a method. Its mean is lowest for {ours} among coterie's methods, and for {peer} among the
competitors. Both are means over the {n_common} sets that nearly all methods finished.

```console
$ pip install leidenalg igraph genieclust evoc  # competitors; those that are missing are left out
$ COTERIE_DATA=folder python -m benchmarks.graphs_quality{option} --page
```

The command writes this page ({n_cells} fits, {dates}). Unless stated below, every method is given
the number of classes k, has its defaults otherwise, and runs once (seed 0) on one thread. Clusters are compared with
the classes by accuracy (clusters matched to classes one to one), normalized mutual information (NMI) and adjusted
Rand index (ARI).

- {sets} Sets marked "(scaled)" have standardized columns. Texts (webkb4, 20news, rcv1) have 100 columns
  from latent semantic analysis, and rows of length 1.
- compare: the method that [`coterie.compare`](compare.md) scores highest, with the time of the whole comparison.
- SLK-BO, SLK-MS (scalable Laplacian K-modes): `LaplacianKModes` with `mode_update="byproduct"` and "mean_shift";
  its defaults were tuned on some sets. Mixture: `TruncatedGaussianMixture`.
- Total variation: `TotalVariationClustering`. Multilevel: `MultilevelGraphClustering`. Binary:
  `weights="binary"`, all edges weigh 1.
- k-means: the best of ten restarts. Spectral: `SpectralClustering(assign_labels="cluster_qr")` on a neighbor graph.
  Leiden: 15 neighbors, with the resolution that gives about k clusters. HDBSCAN finds the number of clusters, with
  `min_cluster_size` n / (10 k); noise counts as one cluster. EVoC: `approx_n_clusters=k`.

{machines}"""


def _cells(results: Results) -> pd.DataFrame:
    """Return the cells by set and method, scores and seconds being means over seeds; failures as they are."""
    found = []
    for name, method in product(SETS, METHODS):
        runs = [*takewhile(bool, (results.read(name, method, seed) for seed in count()))]
        failed = [run for run in runs if FAILED in run]
        if runs and not failed:
            means = {key: fmean(run[key] for run in runs) for key in (*SCORES, "cpu_seconds")}
            found.append({"set": name, "method": method} | runs[0] | means)
        elif runs:
            found.append({"set": name, "method": method} | failed[0])
    return pd.DataFrame(found, columns=list(FACTS))


def _ended(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[cells[FAILED].isna()]


def _by_set(cells: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return a score by set and method, in their order; missing where a fit did not end."""
    return cells.pivot(index="set", columns="method", values=score).reindex(
        index=cells["set"].unique(),
        columns=[method for method in METHODS if (cells["method"] == method).any()],
    )


def _of_rows(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[~cells["set"].isin([name for name, known in SETS.items() if known.is_graph])]


def _behind(cells: pd.DataFrame, score: str = "accuracy") -> pd.DataFrame:
    """Return how far each method is behind the best score of each set of rows."""
    scores = _by_set(_of_rows(cells), score)
    return scores.rsub(scores.max(axis=1), axis=0)


def _shown(method: str) -> str:
    return f"**{method}**" if method in OURS else method


def tables(results: Results) -> list[str]:
    """Return what the page shows, beginning with means over all sets, as lines of Markdown."""
    cells = _cells(results)
    return [*_summary(cells), *_accuracies(cells), *_failures(cells)]


def _summary(cells: pd.DataFrame) -> Iterator[str]:
    lines, behind = [], _behind(cells)
    ended = dict(iter(_ended(_of_rows(cells)).groupby("method")))
    for method, own in ((method, ended[method]) for method in METHODS if method in ended):
        kinds = (own["accuracy"][own["set"].isin(kind)] for kind in (REAL, GENERATED))
        lines.append([
            _shown(method), str(len(own)),
            *(f"{own[score].mean():.3f}" for score in SCORES),
            *(f"{values.mean():.3f}" if len(values) else "-" for values in kinds),
            f"{behind[method].mean():.3f}", f"{behind[method].max():.3f}", f"{own['cpu_seconds'].sum():.0f}",
        ])  # fmt: skip
    lines.sort(key=lambda line: float(line[7]))
    headers = ["", "sets", "accuracy", "NMI", "ARI", "accuracy, real sets", "accuracy, generated sets",
               "mean loss", "largest loss", "CPU s"]  # fmt: skip
    yield from ("", "## Means", "", "Methods of coterie are bold.", "", *markdown_table(headers, lines), "")
    yield from (
        "Each line has only the sets its method finished; CPU s is the sum over these. 20news graph, which has no",
        f"rows, is left out. The generated sets are those from {next(iter(GENERATED))} on in the next table.",
    )


def _comparable(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how far those methods are behind that ended on nine tenths of the sets, where all of them ended."""
    behind = _behind(cells)
    return behind.loc[:, behind.notna().mean() >= 0.9].dropna()


def _closest(behind: pd.DataFrame, is_ours: bool) -> str:
    """Return the method that is the least behind the best accuracy."""
    means = behind.loc[:, [(method in OURS) == is_ours for method in behind]].mean()
    return f"{means.idxmin()} ({means.min():.3f})" if len(means) else "-"


def _accuracies(cells: pd.DataFrame) -> Iterator[str]:
    accuracy, lines = _by_set(cells, "accuracy"), []
    accuracy = accuracy[[name for name in accuracy if name in _BY_SET]]
    for name, row in accuracy.iterrows():
        found = ["-" if isnan(value) else f"{value:.3f}" for value in row]
        best = [f"**{cell}**" if value >= row.max() - 5e-4 else cell for cell, value in zip(found, row)]
        lines.append([name, *best])
    bold = "Bold: the best accuracy of each line. Dash: not measured or not finished."
    yield from ("", "## Accuracy", "", bold, "", *markdown_table(["", *accuracy], lines))


def _failures(cells: pd.DataFrame) -> Iterator[str]:
    failed = cells.dropna(subset=FAILED).groupby("method", sort=False)["set"]
    if len(failed):
        sets = "; ".join(f"{method} on {', '.join(names)}" for method, names in failed)
        yield from ("", f"Stopped by the time limit, or failed with an error: {sets}.")


def written_page(results: Results, most_rows: int) -> str:
    cells = _cells(results)
    behind = _comparable(cells)
    dates = sorted({machine["date"][:10] for machine in cells["machine"]})
    absent = [name for name in SETS if name not in set(cells["set"])]
    is_whole = most_rows == MOST_ROWS
    introduction = _INTRODUCTION.format(
        ours=_closest(behind, True),
        peer=_closest(behind, False),
        n_common=len(behind),
        n_cells=len(_ended(cells)),
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "none",
        sets="All rows are used." if is_whole else f"Of larger sets, {most_rows:,} rows are sampled.",
        option="" if is_whole else f" --most-rows {most_rows}",
        machines="\n".join(sorted({machine_line(machine) for machine in cells["machine"]})),
    )
    missing = ["", f"Not here: {', '.join(absent)}."] if absent else []
    return "\n".join([introduction, *missing, *tables(results)]) + "\n"


def write_guide(results: Results) -> None:
    """Write the table of the guide again."""
    table = "\n".join(["", *_guide(_cells(results)), ""])
    write_parts(GUIDE, {"written by python -m benchmarks.graphs_quality --page": table})


def _guide(cells: pd.DataFrame) -> list[str]:
    """Return how far each method is behind the best, for real sets and generated ones, and what it takes."""
    behind = _comparable(cells)
    kinds = [behind[behind.index.isin(kind)] for kind in (REAL, GENERATED)]
    seconds = _by_set(cells, "cpu_seconds").loc[behind.index]
    lines = [
        [
            _shown(method), *(f"{kind[method].mean():.3f}" for kind in kinds), f"{behind[method].max():.3f}",
            f"{seconds[method].mean():.2f}",
        ]
        for method in (behind if all(map(len, kinds)) else ())
    ]  # fmt: skip
    lines.sort(key=lambda line: float(line[1]) + float(line[2]))
    counts = [f"{len(names)} {kind} sets" for names, kind in zip(kinds, ("real", "generated"))]
    return markdown_table(["", *counts, "largest loss", "CPU s, mean"], lines)
