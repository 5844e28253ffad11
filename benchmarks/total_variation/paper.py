"""The figures and tables of Bresson, Laurent, Uminsky and von Brecht (2013), and few labels."""

from collections.abc import Sequence
from contextlib import closing
from itertools import product
from math import nan
from statistics import stdev
from typing import Any

from joblib import Memory

import coterie
from benchmarks.harness.benchmark import Item, PaperRun
from benchmarks.harness.measuring import Processes
from benchmarks.harness.reporting import RESULTS, bold_best, number
from benchmarks.total_variation.contenders import (
    CONTENDERS,
    FILES,
    LABELED,
    OURS,
    PAPER,
    PAPER_STEPS,
    PROPAGATIONS,
    UNLABELED,
    accuracy_cell,
    graph_file,
    has_what_it_needs,
    run_contender,
    run_draw,
    share_in_words,
)

DATA = ("4moons", "webkb4", "optdigits", "pendigits", "20news", "mnist")
# mnist-upright: a graph that is better constructed than that of the plain images, as the paper's may have been.
ALL_DATA = (*DATA, "mnist-upright")
QUICK_DATA = ("digits",)

# Table 1: purity in percent without labels. That of MTV is in `PAPER`.
PUBLISHED = {
    "NCC-TV": (88.75, 51.76, 95.91, 73.25, 23.20, 88.80),
    "1SPEC": (73.92, 39.68, 88.65, 82.42, 11.49, 88.17),
    "LSD": (99.40, 54.50, 97.94, 88.44, 41.25, 95.67),
    "NMFR": (77.80, 64.32, 97.92, 91.21, 63.93, 96.99),
    "MTV": (99.53, 59.15, 98.29, 89.06, 39.40, 97.60),
}
# Table 2: shares of the labels (1: one of each class).
SHARES = (1.0, 0.01, 0.025, 0.05, 0.1)
FEW = (1.0, 2.0, 5.0, 10.0)
TRIALS, DRAWS = 30, 10
# With few labels: draws of each cell at least and at most. There are more than the least until the mean accuracy is
# known to this standard error (percent), or the fits of a cell have taken so many seconds.
LEAST_DRAWS, MOST_DRAWS, STANDARD_ERROR, BUDGET = 10, 100, 0.5, 150.0
LIMIT = 7200.0  # seconds after which a cell is given up


def make_table_1(run: PaperRun) -> None:
    """Purity without labels: the published rows, ours, and the peers of today on the same graphs."""
    names = run.select(UNLABELED)
    data = _data(run, ALL_DATA)
    results = {name: [_result(run, name, each, 0.0, 1) for each in data] for name in names}
    rows = []
    for name, values in PUBLISHED.items():
        shown = {each: f"{value:.2f}" for each, value in zip(DATA, values)}
        rows.append([f"published: {name}", *(shown.get(each, "-") for each in data)])
    cell = number("of the lowest (P)", ".2f")
    rows += [[name, *(cell(one or {}) for one in found)] for name, found in results.items()]
    run.report.table("Purity without labels, %", ["", *map(_title, data)], rows)
    _say_what_is_missing(run)


def make_table_2(run: PaperRun) -> None:
    """Purity with one label per class and with shares of all labels: the published figures, ours by both steps."""
    draws, shares = len(run.seeds(DRAWS)), (1.0, 0.1) if run.quick else SHARES
    names = run.select({name: CONTENDERS[name] for name in (OURS, PAPER_STEPS, *PROPAGATIONS)})
    data = _data(run, ALL_DATA)
    run.say(
        f"Purity of the draw with the lowest (P) out of {draws}, as in the paper, and in brackets the mean over the "
        "draws. The highest is bold.",
    )
    purities = []
    for share in shares:
        found = {name: [_result(run, name, each, share, draws) for each in data] for name in names}
        by_data = zip(*(_purities(each, share, results) for each, results in zip(data, zip(*found.values()))))
        lines = zip([share_in_words(share), *[""] * len(names)], ["published", *names], by_data)
        purities += [[words, name, *cells] for words, name, cells in lines]
    headers = ["labels", "", *map(_title, data)]
    run.report.table("Purity in %, with labels", headers, purities, 2)
    _say_what_is_missing(run)


def make_few_labels(run: PaperRun) -> None:
    """Accuracy on the rows without a label, for a few labels per class, beside peers on the same graph."""
    data, few = _data(run, (*DATA, "snippets")), FEW[:1] if run.quick else FEW
    names = run.select(LABELED)
    found = _draws(run, [*product(names, data, few)])
    run.report.data["results"] = [[*cell, draws] for cell, draws in found.items()]
    for labels in few:
        rows = [
            [name, *(accuracy_cell([d["accuracy"] for d in found[name, each, labels]]) for each in data)]
            for name in names
        ]
        title = f"{labels:.0f} label{'s' * (labels > 1)} per class: accuracy on the rows without a label, %, mean "
        run.report.table(f"{title}± standard deviation", ["", *map(_title, data)], rows)
    run.say(
        f"Means over {min(map(len, found.values()))} to {max(map(len, found.values()))} draws of the labels."
    )
    _say_what_is_missing(run)


def _draws(run: PaperRun, cells: Sequence[tuple[str, str, float]]) -> dict[tuple, list[dict[str, float]]]:
    """Return what contenders did from several draws of labels.

    Draws are kept in a folder for each version of coterie: a run that was ended goes on where it was. A cell whose fit
    fails or takes too long has no more draws.
    """
    folder = None if run.quick else RESULTS / f"few-labels-{coterie.__version__}"
    draw = Memory(folder, verbose=0).cache(run_draw)
    most, trials = len(run.seeds(MOST_DRAWS)), _trials(run)
    found: dict[tuple, list[dict[str, float]]] = {cell: [] for cell in cells}
    with closing(Processes(kept=True)) as process:
        for cell, draws in found.items():
            while len(draws) < most and _needs_more(draws):
                options = (*cell, len(draws), trials, run.threads)
                try:
                    draws.append(process.run_within(run.limit(LIMIT), draw, *options))
                except Exception as error:
                    _note_failure(run, *cell[:2], error)
                    break
    return found


def _trials(run: PaperRun) -> int:
    return 2 if run.quick else TRIALS


def _needs_more(draws: Sequence[dict[str, float]]) -> bool:
    if len(draws) < LEAST_DRAWS:
        return True
    error = stdev(draw["accuracy"] for draw in draws) / len(draws) ** 0.5
    return error > STANDARD_ERROR and sum(draw["seconds"] for draw in draws) < BUDGET


def _data(run: PaperRun, full: Sequence[str]) -> Sequence[str]:
    """Return the data sets that are here; if there are none, or quickly, what stands in."""
    here = [name for name in full if graph_file(name) is not None]
    missing = [name for name in full if name not in here]
    if missing and not run.quick:
        run.say(f"Not at hand: {', '.join(missing)}.")
    return QUICK_DATA if run.quick or not here else here


def _result(run: PaperRun, name: str, data: str, share: float, draws: int) -> dict[str, Any] | None:
    """Return what a contender did, None where it cannot be done."""
    if not has_what_it_needs(name, data):
        return None
    options = (name, data, share, draws, _trials(run), run.threads)
    try:
        result = run.isolated_within(run.limit(LIMIT), run_contender, *options)
    except Exception as error:
        _note_failure(run, name, data, error)
        return None
    kept = {"data": data, "labels": share, "name": name, **result}
    run.report.data.setdefault("results", []).append(kept)
    return result


def _note_failure(run: PaperRun, name: str, data: str, error: Exception) -> None:
    failed = run.report.data.setdefault("failed", {}).setdefault(f"{name}: {error}", [])
    if data not in failed:
        failed.append(data)


def _purities(data: str, share: float, results: Sequence[dict[str, Any] | None]) -> list[str]:
    """Return the published purity of a data set and ours: of the lowest (P), and in brackets the mean."""
    best = [f"{PAPER[data][1 + SHARES.index(share)]:.2f}" if data in DATA else "-"]
    best += [number("of the lowest (P)", ".2f")(result or {}) for result in results]
    means = ["", *("" if result is None else f" ({result['purity']:.2f})" for result in results)]
    bold = bold_best(best, [nan if cell == "-" else float(cell) for cell in best], max)
    return [cell + mean for cell, mean in zip(bold, means)]


def _title(data: str) -> str:
    return data if graph_file(data) is not None else "scikit-learn's digits"


def _say_what_is_missing(run: PaperRun) -> None:
    """List the contenders that failed."""
    for contender, data in run.report.data.get("failed", {}).items():
        run.say(f"{contender} ({', '.join(data)})")


_GRAPHS = tuple(FILES.get(name, f"graphs/{name}.npz") for name in DATA)
ITEMS = {
    "table-1": Item(make_table_1, "Section 5, first table", _GRAPHS),
    "table-2": Item(make_table_2, "Section 5, second table", _GRAPHS),
    "few-labels": Item(make_few_labels, "Few labels, not in the paper", (*_GRAPHS, FILES["snippets"])),
}
