"""The figures and tables of Bresson, Laurent, Uminsky and von Brecht (2013); here the tables, and few labels."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import product
from queue import SimpleQueue
from statistics import stdev
from typing import Any

from joblib import Memory

import coterie
from benchmarks.harness.cells import number
from benchmarks.harness.papers import Item, PaperRun
from benchmarks.harness.processes import Processes
from benchmarks.harness.reporting import RESULTS
from benchmarks.total_variation.comparison import (
    PAPER,
    accuracy_cell,
    has_what_it_needs,
    run_contender,
    run_draw,
    share_in_words,
)
from benchmarks.total_variation.contenders import (
    CONTENDERS,
    LABELED,
    OURS,
    PAPER_STEPS,
    UNLABELED,
)
from benchmarks.total_variation.graphs import FILES, graph_file
from benchmarks.total_variation.paper_figures import make_figure_1, make_figure_2

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
# Table 2: shares of the labels (1: one of each class), and the seconds of MTV.
SHARES = (1.0, 0.01, 0.025, 0.05, 0.1)
PUBLISHED_SECONDS = {
    "4moons": (3.0, 3.1, 1.9, 1.2, 0.8),
    "webkb4": (1.8, 2.0, 1.7, 1.3, 1.2),
    "optdigits": (7, 4, 3, 2, 2),
    "pendigits": (14, 9, 7, 5, 4),
    "20news": (52, 54, 42, 32, 25),
    "mnist": (98, 54, 39, 31, 25),
}
FEW = (1.0, 2.0, 5.0, 10.0)
TRIALS, DRAWS = 30, 10
# With few labels: draws of each cell at least and at most. There are more than the least until the mean accuracy is
# known to this standard error (percent), or the fits of a cell have taken so many seconds.
LEAST_DRAWS, MOST_DRAWS, STANDARD_ERROR, BUDGET = 10, 100, 0.5, 150.0
LIMIT = 7200.0  # seconds after which a cell is given up


def make_table_1(run: PaperRun) -> None:
    """Purity without labels: the published rows, ours, and the peers of today on the same graphs."""
    names = run.select({name: CONTENDERS[name] for name in UNLABELED})
    data = _data(run, ALL_DATA)
    results = {name: [_result(run, name, each, 0.0, 1) for each in data] for name in names}
    for title, key, form in (
        ("Purity without labels, %", "purity_best", ".2f"),
        ("(P) of these clusters", "energy_best", ".4f"),
        ("Seconds of all runs, without the graph", "seconds", ".1f"),
    ):
        rows = [_published_row(name, data) for name in PUBLISHED if key == "purity_best"]
        rows += [[name, *(number(key, form)(one or {}) for one in found)] for name, found in results.items()]
        run.report.table(title, ["", *map(_title, data)], rows)
    _say_what_is_missing(run)


def make_table_2(run: PaperRun) -> None:
    """Purity with one label per class and with shares of all labels: the published figures, ours by both steps."""
    draws, shares = len(run.seeds(DRAWS)), (1.0, 0.1) if run.quick else SHARES
    names = run.select({name: CONTENDERS[name] for name in (OURS, PAPER_STEPS)})
    data = _data(run, ALL_DATA)
    run.say(
        f"Purity of the draw with the lowest (P) out of {draws}, as in the paper, and in brackets the mean over the "
        "draws. The highest is bold.",
    )
    purities, seconds = [], []
    for share in shares:
        found = {name: [_result(run, name, each, share, draws) for each in data] for name in names}
        by_data = zip(*(_purities(each, share, results) for each, results in zip(data, zip(*found.values()))))
        lines = zip([share_in_words(share), *[""] * len(names)], ["published", *names], by_data)
        purities += [[words, name, *cells] for words, name, cells in lines]
        published = (_published_seconds(each, share) for each in data)
        seconds.append([share_in_words(share), "published", *published])
        ours = (number("seconds", ".2f")(one or {}) for one in found.get(OURS, []))
        seconds.append(["", OURS, *ours])
    headers = ["labels", "", *map(_title, data)]
    run.report.table("Purity in %, with labels", headers, purities, 2)
    run.report.table("Seconds of one draw, without the graph", headers, seconds, 2)
    _say_what_is_missing(run)


def make_few_labels(run: PaperRun) -> None:
    """Accuracy on the rows without a label, for a few labels per class, beside peers on the same graph."""
    data, few = _data(run, (*DATA, "snippets")), FEW[:1] if run.quick else FEW
    names = run.select({name: CONTENDERS[name] for name in LABELED})
    found = _draws(run, [*product(names, data, few)])
    run.report.data["results"] = [[*cell, draws] for cell, draws in found.items()]
    for labels in few:
        rows = [[name, *(_accuracy(found[name, each, labels]) for each in data)] for name in names]
        title = f"{labels:.0f} label{'s' * (labels > 1)} per class: accuracy on the rows without a label, %, mean "
        run.report.table(f"{title}± standard deviation", ["", *map(_title, data)], rows)
    run.say(
        f"Means over {min(map(len, found.values()))} to {max(map(len, found.values()))} draws of the labels."
    )
    _say_what_is_missing(run)


def _draws(run: PaperRun, cells: Sequence[tuple[str, str, float]]) -> dict[tuple, list[dict[str, float]]]:
    """Return what contenders did from several draws of labels; --jobs fits run at a time.

    Draws are kept in a folder for each version of coterie: a run that was ended goes on where it was. A cell whose fit
    fails or takes too long has no more draws.
    """
    folder = None if run.quick else RESULTS / f"few-labels-{coterie.__version__}"
    draw = Memory(folder, verbose=0).cache(run_draw)
    most = len(run.seeds(MOST_DRAWS))
    found: dict[tuple, list[dict[str, float]]] = {cell: [] for cell in cells}
    trials = 2 if run.quick else TRIALS
    idle: SimpleQueue[Processes] = SimpleQueue()
    for _ in range(run.options.jobs):
        idle.put(Processes(kept=True))

    def fit(cell: tuple, seed: int) -> dict[str, float]:
        process = idle.get()
        try:
            return process.run_within(run.limit(LIMIT), draw, *cell, seed, trials, run.threads)
        finally:
            idle.put(process)

    with ThreadPoolExecutor(run.options.jobs) as pool:
        pending = {pool.submit(fit, cell, 0): cell for cell in cells}
        while pending:
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                cell = pending.pop(future)
                try:
                    found[cell].append(future.result())
                except Exception as error:
                    _note_failure(run, cell[0], cell[1], error)
                    continue
                if len(found[cell]) < most and _needs_more(found[cell]):
                    pending[pool.submit(fit, cell, len(found[cell]))] = cell
    while not idle.empty():
        idle.get().close()
    return found


def _needs_more(draws: Sequence[dict[str, float]]) -> bool:
    if len(draws) < LEAST_DRAWS:
        return True
    error = stdev(draw["accuracy"] for draw in draws) / len(draws) ** 0.5
    return error > STANDARD_ERROR and sum(draw["seconds"] for draw in draws) < BUDGET


def _accuracy(draws: Sequence[dict[str, float]]) -> str:
    return accuracy_cell({"accuracies": [draw["accuracy"] for draw in draws]})


def _data(run: PaperRun, full: Sequence[str]) -> Sequence[str]:
    """Return the data sets that are here; if there are none, or quickly, what stands in."""
    here = [name for name in full if graph_file(name) is not None]
    missing = [name for name in full if name not in here]
    if missing and not run.quick:
        run.say(f"Not at hand: {', '.join(missing)}.")
    return QUICK_DATA if run.quick or not here else here


def _result(run: PaperRun, name: str, data: str, share: float, draws: int) -> dict[str, Any] | None:
    """Return what a contender did, None where it cannot be done."""
    if not CONTENDERS[name].installed or not has_what_it_needs(name, data):
        return None
    trials = 2 if run.quick else TRIALS
    try:
        result = run.isolated_within(
            run.limit(LIMIT), run_contender, name, data, share, draws, trials, run.threads
        )
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


def _published_row(name: str, data: Sequence[str]) -> list[str]:
    values = dict(zip(DATA, PUBLISHED[name]))
    return [f"published: {name}", *(f"{values[each]:.2f}" if each in values else "-" for each in data)]


def _published_seconds(data: str, share: float) -> str:
    return f"{PUBLISHED_SECONDS[data][SHARES.index(share)]:g}" if data in PUBLISHED_SECONDS else "-"


def _purities(data: str, share: float, results: Sequence[dict[str, Any] | None]) -> list[str]:
    """Return the published purity of a data set and ours: of the lowest (P), and in brackets the mean."""
    is_published = data in PUBLISHED_SECONDS
    best = [f"{PAPER[data][1 + SHARES.index(share)]:.2f}" if is_published else "-"]
    best += ["-" if result is None else f"{result['purity_best']:.2f}" for result in results]
    means = ["", *("" if result is None else f" ({result['purity']:.2f})" for result in results)]
    highest = max((purity for purity in best if purity != "-"), key=float, default="")
    return [
        f"**{purity}**{mean}" if purity == highest else purity + mean for purity, mean in zip(best, means)
    ]


def _title(data: str) -> str:
    return data if graph_file(data) is not None else "scikit-learn's digits"


def _say_what_is_missing(run: PaperRun) -> None:
    """List the contenders that failed."""
    for contender, data in run.report.data.get("failed", {}).items():
        run.say(f"{contender} ({', '.join(data)})")


_GRAPHS = tuple(FILES.get(name, f"graphs/{name}.npz") for name in DATA)
_STANDS_IN = "what is missing is left out; scikit-learn's digits where nothing is there"
ITEMS = {
    "figure-1": Item(make_figure_1),
    "figure-2": Item(make_figure_2, ("graphs/optdigits.npz",), "scikit-learn's digits"),
    "table-1": Item(make_table_1, _GRAPHS, _STANDS_IN),
    "table-2": Item(make_table_2, _GRAPHS, _STANDS_IN),
    "few-labels": Item(make_few_labels, (*_GRAPHS, FILES["snippets"]), _STANDS_IN),
}
