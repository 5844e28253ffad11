"""Run what is not there yet, print the tables, and write the page if asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import benchmarks.density
from benchmarks.density.runs import (
    CONTENDERS,
    DENSITIES,
    LARGE,
    N_SUBSAMPLES,
    OURS,
    RUNS,
    SHARE,
    TIMED,
    Cell,
    warm_up,
)  # fmt: skip
from benchmarks.harness.contenders import selected
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.options import SystemParser
from benchmarks.harness.processes import Processes, limit_threads
from benchmarks.harness.reporting import RESULTS, machine_line, markdown_table
from benchmarks.harness.results import FAILED, Results

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "density.md"
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


def parser() -> SystemParser:
    """Return what reads the command line."""
    parser = SystemParser(
        "density", benchmarks.density.__doc__, list(RUNS), quick=list(RUNS)[:4], rounds=None
    )
    parser.add("--limit", default=150.0, help="seconds after which a cell is given up")
    parser.add("--most-rows", default=MOST_ROWS, quick=150, help="drawn of larger sets")
    parser.add("--sets", default=len(SETS), quick=2, help="only the first sets")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name} of what is there")
    return parser


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

    for part in options.rows:
        users = {"exactness": (OURS,), "cliffs": DENSITIES}.get(part, tuple(CONTENDERS))
        able = (
            {name: able for name, (_, able) in LARGE.items()}
            if part == "speed"
            else dict.fromkeys(names, users)
        )
        for name in able:
            for method in (method for method in able[name] if method in methods):
                results.made(f"{part} {name}", method, 0, partial(run, part, name, method))
    process.close()


def _cells(results: Results, part: str, method: str) -> dict[str, Cell]:
    """Return the cells of a method by set, without those that failed."""
    found = {name: results.read(f"{part} {name}", method, 0) for name in SETS}
    return {name: cell for name, cell in found.items() if cell is not None and FAILED not in cell}


def _means(results: Results, part: str, columns: dict[str, Callable[[list[Cell]], str]]) -> list[str]:
    """Return a table: a line for each method, and a column for what is made of its cells."""
    lines, ours = [], _cells(results, part, OURS)
    for method in CONTENDERS:
        found = _cells(results, part, method)
        cells = [cell | {"ours": ours[name].get("ari")} for name, cell in found.items() if name in ours]
        if cells:
            name = f"**{method}**" if method == OURS else method
            lines.append([name, str(len(cells)), *(made(cells) for made in columns.values())])
    return markdown_table(["", "sets", *columns], lines)


def _mean_of(name: str) -> Callable[[list[Cell]], str]:
    return lambda cells: f"{fmean(cell[name] for cell in cells):.3f}"


def _share_from(name: str, least: float) -> Callable[[list[Cell]], str]:
    return lambda cells: f"{sum(cell[name] >= least for cell in cells)} of {len(cells)}"


def _exactness(results: Results) -> dict[str, str]:
    """Return what the page says of exactness."""
    cells = _cells(results, "exactness", OURS)
    different = [
        f"{name} ({cell['labels 1']:.3f}, {cell['ties 1']:.1%} ties)"
        for name, cell in cells.items()
        if cell["labels 1"] < 1
    ]
    return {
        "n_exact": str(len(cells)),
        "gap": f"{max((cell['weight'] for cell in cells.values()), default=0.0):.0e}",
        "n_certified": str(sum(cell["is_exact"] for cell in cells.values())),
        "n_equal": str(sum(cell["labels 1"] == 1 for cell in cells.values())),
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
        "ARI": _mean_of("ari"), "coterie on these sets": _mean_of("ours"), "coverage": _mean_of("coverage"),
        "ARI, noise assigned": _mean_of("assigned ari"),
        "accuracy, noise assigned": _mean_of("assigned accuracy"),
    }  # fmt: skip
    subsamples = {"ARI": _mean_of("mean"), "from 0.8": _share_from("mean", 0.8)}
    steps = {
        "mean": _mean_of("mean"), "mean worst step": _mean_of("worst"), "no step below 0.5": _share_from("worst", 0.5),
    }  # fmt: skip
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


def main() -> None:
    """Do what was asked for."""
    options = parser().read()
    limit_threads(2)
    os.environ["NUMBA_NUM_THREADS"] = "2"
    results = Results(RESULTS / f"density-{options.most_rows}")
    measure(options, results)
    page = written_page(results)
    print(page)
    if options.page:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
