"""The tables of all cells that are there, and the page that is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.graphs_quality.contenders import CONTENDERS, LEIDEN, METHODS_OF_OURS, SLK_BO, TV_3, TV_30
from benchmarks.graphs_quality.results import FAILED, Results
from benchmarks.graphs_quality.runs import Cell
from benchmarks.graphs_quality.sets import GENERATED, REAL, SETS
from benchmarks.harness.reporting import machine_line, markdown_table

__all__ = ["GUIDE", "MOST_ROWS", "PAGE", "tables", "with_table", "written_page"]

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "graphs_quality.md"
# The page that says which method to take, and the lines in it between which a table is written.
GUIDE = Path(__file__).parents[2] / "docs" / "start" / "which_method.md"
_BEGIN, _END = "<!-- written by python -m benchmarks.graphs_quality --page -->", "<!-- up to here -->"
SCORES = {"accuracy": "Accuracy", "nmi": "NMI", "ari": "ARI"}
# What is a clear margin between means over sets.
CLEAR = 0.02
# A loss worth a line: so far behind the best of a set.
LOSS = 0.1
_AIMED = (SLK_BO, TV_3, TV_30)
Table = Mapping[str, Mapping[str, Cell]]
# Of larger sets so many are drawn unless told otherwise.
MOST_ROWS = 5000

_INTRODUCTION = """# Quality on labelled sets

```console
$ pip install leidenalg igraph genieclust evoc  # peers, GPL, AGPL and BSD; those that are missing are left out
$ COTERIE_DATA=folder python -m benchmarks.graphs_quality{option} --page
```

This page is written by that command: {n_cells} cells, {dates}. Every method is told the number of classes, otherwise
left to its defaults, and run once (seed 0) on one thread, beside other processes at low priority; so what is compared
are processor seconds, not those of a clock.

- Of sets with more than {most_rows} rows so many are drawn at random, the same for all methods: Ward needs the
  square of the rows, HDBSCAN and spectral clustering much time. Rows come as they are; where columns have units of
  their own, also with standardised columns. Texts (webkb4, 20news, rcv1) are given to all as 100 columns of latent
  semantic analysis, of length 1, as most of these methods take no sparse rows. Left out are the one row of a class
  (votes) and rows without a single topic (rcv1); missing numbers are medians (donors).
- k-means of both kinds: ten starts. Total variation: 3 and 30 trials, and 3 with `class_priors="estimate"`. Laplacian
  K-modes, mixture: defaults. Spectral:
  `cluster_qr`, neighbours. Leiden: 15 neighbours, at the first resolution of a bisection that gives k, else the one
  that comes nearest. HDBSCAN (scikit-learn's) has no number of clusters: at least a tenth of n / k rows a cluster, and
  rows that it calls noise count as one cluster more. Genie: its defaults. EVoC: `approx_n_clusters`.
- Behind the best: the best score that any of these methods has on a set minus the method's, mean over sets. CPU s: sum.
- Nothing is tuned here. But some sets (iris, wine, breast cancer, digits, moons, blobs, mnist, shuttle, pendigits,
  optdigits, four moons, snippets) were looked at when the defaults of Laplacian K-modes were chosen, and all of them
  when it was decided where these keep k-means, on this draw of rows; of
  [other draws](../decisions/laplacian_kmodes.md) 7 of 244 fits end more than 0.03 below it.

{machines}"""


def _cells(results: Results) -> Table:
    """Return the cells by set and method, scores and seconds being means over seeds; failures as they are."""
    found: dict[str, dict[str, Cell]] = {}
    for name in SETS:
        for method in CONTENDERS:
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
    means = {
        key: fmean(run[key] for run in runs)
        for key in (*SCORES, "cpu_seconds", "peak_bytes", "clusters", "noise")
    }
    return runs[0] | means


def _shortfalls(cells: Table, names: Sequence[str], method: str, score: str) -> list[float]:
    """Return how far a method is behind the best of each of these sets, of those on which it ended."""
    return [
        max(run[score] for run in cells[name].values() if FAILED not in run) - cells[name][method][score]
        for name in names
        if method in cells[name] and FAILED not in cells[name][method]
    ]


def tables(results: Results, most_rows: int) -> list[str]:
    """Return what the page shows, beginning with means over all sets, as lines of Markdown."""
    cells = _cells(results)
    return [
        *_summary(cells, "All sets of rows", [name for name in cells if not SETS[name].is_graph]),
        *_summary(cells, "Real sets", [name for name in cells if name in REAL and not SETS[name].is_graph]),
        *_summary(cells, "Generated sets", [name for name in cells if name in GENERATED]),
        *_aim(cells),
        *_losses(cells),
        *(line for score, title in SCORES.items() for line in _scores(cells, score, title)),
        *_seconds(cells),
        *_not_as_asked(cells),
        *_failures(cells),
    ]


def _methods(cells: Table) -> list[str]:
    return [method for method in CONTENDERS if any(method in row for row in cells.values())]


def _summary(cells: Table, title: str, names: Sequence[str]) -> Iterator[str]:
    if not names:
        return
    headers = ["", "sets", "accuracy", "NMI", "ARI", "behind the best: accuracy", "NMI", "ARI", "at worst, accuracy",
               "k found", "CPU s"]  # fmt: skip
    lines = []
    for method in _methods(cells):
        runs = [cells[name][method] for name in names if method in cells[name]]
        runs = [run for run in runs if FAILED not in run]
        if not runs:
            continue
        behind = {score: _shortfalls(cells, names, method, score) for score in SCORES}
        n_right = sum(run["clusters"] == run["classes"] for run in runs)
        lines.append([
            f"**{method}**" if method in METHODS_OF_OURS else method,
            str(len(runs)),
            *(f"{fmean(run[score] for run in runs):.3f}" for score in SCORES),
            *(f"{fmean(behind[score]):.3f}" for score in SCORES),
            f"{max(behind['accuracy']):.3f}",
            str(n_right),
            f"{sum(run['cpu_seconds'] for run in runs):.0f}",
        ])  # fmt: skip
    lines.sort(key=lambda line: float(line[5]))
    yield from ("", f"## {title}", "", *markdown_table(headers, lines))


def _aim(cells: Table) -> Iterator[str]:
    """Say whether ours have the smallest mean shortfall, at less time than Leiden's."""
    names = [name for name in cells if not SETS[name].is_graph]
    yield from ("", "## What was aimed at", "")
    for score, word in {"accuracy": "accuracy", "nmi": "NMI"}.items():
        means = {
            method: fmean(behind)
            for method in _methods(cells)
            if len(behind := _shortfalls(cells, names, method, score)) > len(names) / 2
        }
        ours, peers = (
            min(
                (method for method in means if (method in METHODS_OF_OURS) == is_ours),
                key=means.__getitem__,
                default="",
            )
            for is_ours in (True, False)
        )
        if ours and peers:
            ahead = means[peers] - means[ours]
            verdict = "met" if ahead >= CLEAR else "ahead, but **missed**" if ahead > 0 else "**missed**"
            yield (
                f"- The smallest mean shortfall in {word}, by {CLEAR}: {ours} {means[ours]:.3f}, the best peer, "
                f"{peers}, {means[peers]:.3f}: {verdict}."
            )
    both = [
        name
        for name in names
        if all(m in cells[name] and FAILED not in cells[name][m] for m in (LEIDEN, *_AIMED))
    ]
    if both:
        seconds = {m: sum(cells[name][m]["cpu_seconds"] for name in both) for m in (LEIDEN, *_AIMED)}
        told = ", ".join(f"{method} {total:.0f}" for method, total in seconds.items())
        yield f"- Less time than Leiden's, CPU seconds over {len(both)} sets: {told}."


def _losses(cells: Table) -> Iterator[str]:
    """Name for each of ours the sets on which another method is much better."""
    yield from ("", "## Where ours lose", "", f"By more than {LOSS} in accuracy, and to which method:", "")
    for method in METHODS_OF_OURS:
        lost = []
        for name, row in cells.items():
            ended = {other: run["accuracy"] for other, run in row.items() if FAILED not in run}
            best = max(ended, key=ended.__getitem__, default=None)
            if best is not None and method in ended and ended[best] - ended[method] > LOSS:
                lost.append(
                    (ended[best] - ended[method], f"{name} ({ended[best] - ended[method]:.2f}, {best})")
                )
        text = ", ".join(text for _, text in sorted(lost, reverse=True)) or "nowhere"
        yield f"- **{method}**: {text}."


def _scores(cells: Table, score: str, title: str) -> Iterator[str]:
    methods = _methods(cells)
    lines = []
    for name, row in cells.items():
        best = max((run[score] for run in row.values() if FAILED not in run), default=0.0)
        lines.append([_described(name, row), *(_score(row.get(method), score, best) for method in methods)])
    yield from ("", f"## {title}", "", *markdown_table(["", *methods], lines))


def _described(name: str, row: Mapping[str, Cell]) -> str:
    """Return the set with its shape and its number of classes."""
    run = next((run for run in row.values() if FAILED not in run), None)
    if run is None:
        return name
    shape = f"{run['n_rows']:,}" + ("" if SETS[name].is_graph else f" x {run['n_columns']:,}")
    return f"{name}, {shape}, {run['classes']}"


def _score(run: Cell | None, score: str, best: float) -> str:
    if run is None or FAILED in run:
        return "-"
    text = f"{run[score]:.3f}"
    return f"**{text}**" if run[score] >= best - 5e-4 else text


def _seconds(cells: Table) -> Iterator[str]:
    methods = _methods(cells)
    lines = [
        [
            name,
            *(f"{row[m]['cpu_seconds']:.2f}" if m in row and FAILED not in row[m] else "-" for m in methods),
        ]
        for name, row in cells.items()
    ]
    yield from (
        "",
        "## CPU seconds, graphs of neighbours included",
        "",
        *markdown_table(["", *methods], lines),
    )
    peaks = [
        [
            name,
            *(
                f"{row[m]['peak_bytes'] / 2**20:.0f}" if m in row and FAILED not in row[m] else "-"
                for m in methods
            ),
        ]
        for name, row in cells.items()
    ]
    yield from ("", "## Peak memory beside the rows, MiB", "", *markdown_table(["", *methods], peaks))


def _not_as_asked(cells: Table) -> Iterator[str]:
    """Name the methods that found another number of clusters than was asked, or left rows out."""
    yield from ("", "## Clusters found, where not as many as classes", "")
    for method in _methods(cells):
        others = []
        for name, row in cells.items():
            run = row.get(method)
            if run is None or FAILED in run or (run["clusters"] == run["classes"] and not run["noise"]):
                continue
            noise = f", {run['noise']:.0%} noise" if run["noise"] else ""
            others.append(f"{name} {run['clusters']:g} of {run['classes']}{noise}")
        if others:
            yield f"- {method}: {'; '.join(others)}."


def _failures(cells: Table) -> Iterator[str]:
    failed = [
        f"- {method}, {name}: {run[FAILED]}."
        for name, row in cells.items()
        for method, run in row.items()
        if FAILED in run
    ]
    if failed:
        yield from ("", "## Not measured", "", *failed)


def written_page(results: Results, most_rows: int) -> str:
    """Return the whole page."""
    cells = _cells(results)
    runs = [run for row in cells.values() for run in row.values()]
    dates = sorted({run["date"] for run in runs})
    machines = sorted({machine_line(run["machine"]) for run in runs})
    absent = [name for name in SETS if name not in cells]
    introduction = _INTRODUCTION.format(
        n_cells=sum(FAILED not in run for run in runs),
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "none",
        most_rows=f"{most_rows:,}",
        option="" if most_rows == MOST_ROWS else f" --most-rows {most_rows}",
        machines="\n".join(machines),
    )
    missing = ["", f"Not here: {', '.join(absent)}."] if absent else []
    return "\n".join([introduction, *missing, *tables(results, most_rows)]) + "\n"


def with_table(text: str, results: Results) -> str:
    """Return the text of the guide with its table written anew."""
    before, rest = text.split(_BEGIN)
    after = rest.split(_END)[1]
    return "\n".join([before + _BEGIN, "", *_guide(_cells(results)), "", _END + after])


def _guide(cells: Table) -> list[str]:
    """Return how far each method is behind the best, for real sets and generated ones, and what it takes."""
    kinds = [
        [name for name in cells if name in some and not SETS[name].is_graph] for some in (REAL, GENERATED)
    ]
    headers = ["", *(f"{len(names)} {kind}" for names, kind in zip(kinds, ("real sets", "generated sets"))),
               "at worst", "CPU s, mean"]  # fmt: skip
    lines = []
    for method in _methods(cells):
        behind = [_shortfalls(cells, names, method, "accuracy") for names in kinds]
        if not all(behind):
            continue
        seconds = [
            cells[name][method].get("cpu_seconds")
            for names in kinds
            for name in names
            if method in cells[name]
        ]
        mean_seconds = fmean(one for one in seconds if one is not None)
        means = [f"{fmean(some):.3f}" for some in behind]
        name = f"**{method}**" if method in METHODS_OF_OURS else method
        lines.append([name, *means, f"{max(map(max, behind)):.3f}", f"{mean_seconds:.2f}"])
    return markdown_table(headers, sorted(lines, key=lambda line: float(line[1]) + float(line[2])))
