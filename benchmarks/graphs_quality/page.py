"""The tables of all cells that are there, and the page that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.graphs_quality.contenders import CONTENDERS, METHODS_OF_OURS
from benchmarks.graphs_quality.recommend import COMPARE
from benchmarks.graphs_quality.runs import Cell
from benchmarks.harness.data.quality_sets import GENERATED, REAL, SETS
from benchmarks.harness.reporting import machine_line, markdown_table
from benchmarks.harness.results import FAILED, Results

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "graphs_quality.md"
# The page that says which method to take, and the lines in it between which a table is written.
GUIDE = Path(__file__).parents[2] / "docs" / "start" / "which_method.md"
_BEGIN, _END = "<!-- written by python -m benchmarks.graphs_quality --page -->", "<!-- up to here -->"
SCORES = ("accuracy", "nmi", "ari")
Table = Mapping[str, Mapping[str, Cell]]
METHODS, OURS = (COMPARE, *CONTENDERS), {COMPARE, *METHODS_OF_OURS}
# More than any set has: unless told otherwise sets are whole.
MOST_ROWS = 1_000_000

_INTRODUCTION = """# Quality on labeled data sets

How well clusters agree with known classes. Of the methods that ended on nine tenths of the sets, the least behind the
best accuracy are {ours} of coterie and {peer} of the others, on the {n_common} sets on which all of these ended.

```console
$ pip install leidenalg igraph genieclust evoc  # competitors; those that are missing are left out
$ COTERIE_DATA=folder python -m benchmarks.graphs_quality{option} --page
```

The command writes this page ({n_cells} fits, {dates}). Every method is given the number of classes k, otherwise has its
defaults, and runs once (seed 0) on one thread. Methods of coterie are bold. Accuracy, normalized mutual information
(NMI) and adjusted Rand index (ARI) compare the clusters with the classes.

- {sets} "(scaled)": standardized columns. Texts (webkb4, 20news, rcv1) are 100
  columns of latent semantic analysis, normalized to length 1.
- compare: the method that `coterie.compare` recommends ([page](compare.md)), fitted to all rows. CPU s: of the
  comparison.
- k-means: ten restarts. Total variation: 3 and 30 restarts, and 3 with `class_priors="estimate"`. Spectral clustering:
  `cluster_qr` on a graph of nearest neighbors. Multilevel and Leiden: 15 neighbors, Leiden at the resolution that
  gives about k clusters. HDBSCAN takes no number of clusters; its noise counts as one cluster. EVoC:
  `approx_n_clusters`.
- The defaults of Laplacian K-modes were chosen on some of these sets.

{machines}"""


def _cells(results: Results) -> Table:
    """Return the cells by set and method, scores and seconds being means over seeds; failures as they are."""
    found: dict[str, dict[str, Cell]] = {}
    for name in SETS:
        for method in METHODS:
            runs: list[Cell] = []
            while (cell := results.read(name, method, len(runs))) is not None:
                runs.append(cell)
            if runs:
                found.setdefault(name, {})[method] = _mean(runs)
    return found


def _mean(runs: Sequence[Cell]) -> Cell:
    failed = [run for run in runs if FAILED in run]
    if failed:
        return failed[0]
    return runs[0] | {key: fmean(run[key] for run in runs) for key in (*SCORES, "cpu_seconds", "clusters")}


def _ended(cells: Table, names: Iterable[str]) -> dict[str, dict[str, Cell]]:
    """Return the cells of sets without those that failed."""
    return {name: {method: run for method, run in cells[name].items() if FAILED not in run} for name in names}


def _shortfalls(cells: Table, names: Iterable[str], method: str, score: str = "accuracy") -> list[float]:
    """Return how far a method is behind the best score of each of these sets, of those on which it ended."""
    rows = [row for row in _ended(cells, names).values() if method in row]
    return [max(run[score] for run in row.values()) - row[method][score] for row in rows]


def _shown(method: str) -> str:
    return f"**{method}**" if method in OURS else method


def tables(results: Results) -> list[str]:
    """Return what the page shows, beginning with means over all sets, as lines of Markdown."""
    cells = _cells(results)
    return [
        *_summary(cells),
        *_accuracies(cells),
        *_failures(cells),
    ]


def _methods(cells: Table) -> list[str]:
    return [method for method in METHODS if any(method in row for row in cells.values())]


def _summary(cells: Table) -> Iterator[str]:
    names = [name for name in cells if not SETS[name].is_graph]
    lines = []
    for method in _methods(cells):
        ended = {name: row[method] for name, row in _ended(cells, names).items() if method in row}
        if not ended:
            continue
        runs, behind = ended.values(), _shortfalls(cells, names, method)
        behind_nmi = _shortfalls(cells, names, method, "nmi")
        kinds = (
            [run["accuracy"] for name, run in ended.items() if name in kind] for kind in (REAL, GENERATED)
        )
        lines.append([
            _shown(method), str(len(runs)),
            *(f"{fmean(run[score] for run in runs):.3f}" for score in SCORES),
            *(f"{fmean(values):.3f}" if values else "-" for values in kinds),
            *(f"{of(some):.3f}" for some in (behind, behind_nmi) for of in (fmean, max)),
            str(sum(run["clusters"] == run["classes"] for run in runs)),
            f"{sum(run['cpu_seconds'] for run in runs):.0f}",
        ])  # fmt: skip
    lines.sort(key=lambda line: float(line[7]))
    headers = ["", "sets", "accuracy", "NMI", "ARI", "accuracy, real sets", "accuracy, generated sets",
               "behind the best, accuracy", "at worst", "behind the best, NMI", "at worst", "k found",
               "CPU s"]  # fmt: skip
    yield from ("", "## Means", "", *markdown_table(headers, lines), "")
    yield from (
        "Behind the best: the best score of any method on a set minus that of the method, mean over the sets on which",
        "the method ended; at worst: the largest of these differences. k found: sets with k clusters. CPU s: sum.",
    )


def _comparable(cells: Table) -> tuple[list[str], list[str]]:
    """Return the methods that ended on nine tenths of the sets of rows, and the sets on which all of them ended."""
    names = [name for name in cells if not SETS[name].is_graph]
    rows = _ended(cells, names)
    methods = [m for m in _methods(cells) if sum(m in row for row in rows.values()) >= 0.9 * len(names)]
    return methods, [name for name in names if all(method in rows[name] for method in methods)]


def _closest(cells: Table, is_ours: bool) -> str:
    """Return the comparable method that is the least behind the best accuracy."""
    methods, names = _comparable(cells)
    means = {m: fmean(_shortfalls(cells, names, m)) for m in methods if (m in OURS) == is_ours}
    return f"{min(means, key=means.__getitem__)} ({min(means.values()):.3f})" if means else "-"


def _accuracies(cells: Table) -> Iterator[str]:
    methods, lines = _methods(cells), []
    for name, row in _ended(cells, cells).items():
        best = max((run["accuracy"] for run in row.values()), default=0.0)
        found = {method: f"{run['accuracy']:.3f}" for method, run in row.items()}
        found |= {m: f"**{found[m]}**" for m, run in row.items() if run["accuracy"] >= best - 5e-4}
        lines.append([_described(name, row), *(found.get(method, "-") for method in methods)])
    yield from ("", "## Accuracy", "", *markdown_table(["", *methods], lines))


def _described(name: str, ended: Mapping[str, Cell]) -> str:
    """Return the set with its shape and its number of classes."""
    if not ended:
        return name
    run = next(iter(ended.values()))
    shape = f"{run['n_rows']:,}" + ("" if SETS[name].is_graph else f" x {run['n_columns']:,}")
    return f"{name}, {shape}, {run['classes']}"


def _failures(cells: Table) -> Iterator[str]:
    failed: dict[tuple[str, str], list[str]] = {}
    for name, row in cells.items():
        for method, run in row.items():
            if FAILED in run:
                failed.setdefault((method, run[FAILED]), []).append(name)
    if failed:
        lines = [f"- {method}, {', '.join(names)}: {why}." for (method, why), names in failed.items()]
        yield from ("", "## Not measured", "", *lines)


def written_page(results: Results, most_rows: int) -> str:
    """Return the whole page."""
    cells = _cells(results)
    runs = [run for row in cells.values() for run in row.values()]
    dates = sorted({run["machine"]["date"][:10] for run in runs})
    machines = sorted({machine_line(run["machine"]) for run in runs})
    absent = [name for name in SETS if name not in cells]
    introduction = _INTRODUCTION.format(
        ours=_closest(cells, True),
        peer=_closest(cells, False),
        n_common=len(_comparable(cells)[1]),
        n_cells=sum(FAILED not in run for run in runs),
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "none",
        sets="Sets are whole."
        if most_rows == MOST_ROWS
        else f"Larger sets are sampled to {most_rows:,} rows.",
        option="" if most_rows == MOST_ROWS else f" --most-rows {most_rows}",
        machines="\n".join(machines),
    )
    missing = ["", f"Not here: {', '.join(absent)}."] if absent else []
    return "\n".join([introduction, *missing, *tables(results)]) + "\n"


def with_table(text: str, results: Results) -> str:
    """Return the text of the guide with its table written anew."""
    before, rest = text.split(_BEGIN)
    after = rest.split(_END)[1]
    return "\n".join([before + _BEGIN, "", *_guide(_cells(results)), "", _END + after])


def _guide(cells: Table) -> list[str]:
    """Return how far each method is behind the best, for real sets and generated ones, and what it takes."""
    methods, common = _comparable(cells)
    kinds = [[name for name in common if name in some] for some in (REAL, GENERATED)]
    lines = []
    for method in methods:
        behind = [_shortfalls(cells, names, method) for names in kinds]
        if all(behind):
            rows = _ended(cells, (name for names in kinds for name in names)).values()
            seconds = fmean(row[method]["cpu_seconds"] for row in rows if method in row)
            means = [f"{fmean(some):.3f}" for some in behind]
            lines.append([_shown(method), *means, f"{max(map(max, behind)):.3f}", f"{seconds:.2f}"])
    lines.sort(key=lambda line: float(line[1]) + float(line[2]))
    counts = [f"{len(names)} {kind} sets" for names, kind in zip(kinds, ("real", "generated"))]
    return markdown_table(["", *counts, "at worst", "CPU s, mean"], lines)
