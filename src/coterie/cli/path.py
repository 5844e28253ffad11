"""`coterie path`: a path of convex clustering, its labels and plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie.arrays import BoolArray
from coterie.cli.errors import about
from coterie.cli.fit import check_rows, command_line, fit_model, settings_of
from coterie.cli.inputs import input_facts, local_file, open_input, read_graph
from coterie.cli.output import file_lines, recorded_warnings, tell
from coterie.cli.parameters import make_model, path_method, texts_of
from coterie.cli.results import write_csv
from coterie.cli.runs import MODEL, REPORT, SUMMARY, run_folder, write_summary
from coterie.estimators import persistence
from coterie.plotting import require_matplotlib
from coterie.reports import report as make_report
from coterie.reports import require_report
from coterie_command.options import PathOptions
from coterie_command.progress import Progress

LABELS = "labels.csv"

# For more rows, only the labels of gammas with at most this number of clusters are written.
_FEW_ROWS, _FEW_CLUSTERS = 100_000, 1000

# A single row has a path, but no tree.
_OF_SEVERAL_ROWS = ("dendrogram",)


def run_path(file: str, options: PathOptions) -> int:
    """Follow the path, write the results, print them, and return the exit code."""
    require_matplotlib()
    if options.report:
        require_report()
    method, out, graph, k = path_method(), options.out, options.graph, options.k
    texts = texts_of(options.parameters)
    model = make_model(method, texts, options, k=None)
    with (
        Progress(options.quiet) as screen,
        local_file(file, screen) as (path, name),
        run_folder(out, "path", file, force=options.force) as outputs,
    ):
        opened = open_input(path, name, options)
        rows = opened.rows
        check_rows(name, rows, method, k)
        drawn = [kind for kind in method.pictures if rows.shape[0] > 1 or kind not in _OF_SEVERAL_ROWS]
        pages = [REPORT] if options.report else []
        names = [MODEL, LABELS, *(f"{kind}.png" for kind in drawn), SUMMARY, *pages]
        outputs.check(*names)
        matrix = None if graph is None else read_graph(graph, rows.shape[0])
        screen.begin("following the path")
        with recorded_warnings() as warned, about(name):
            seconds, interrupted = fit_model(model, rows, None, matrix, screen)
        facts = {
            "coterie": coterie.__version__,
            "command": "path",
            "command_line": command_line(),
            "interrupted": interrupted,
            "input": input_facts(name, rows),
            "used": opened.used,
            "graph": graph,
            "parameters": settings_of(model, texts),
            "gammas": model.gammas_.tolist(),
            "clusters": model.n_clusters_path_.tolist(),
            "splits": model.n_splits_.tolist(),
            "largest_gap": float(np.max(model.relative_gaps_)),
            "iterations": model.n_iter_,
            "seconds": round(seconds, 6),
            "warnings": [*opened.warnings, *warned],
            "files": {kind: str(out / kind) for kind in names},
        }
        screen.begin("writing results")
        with outputs.writing(MODEL) as place:
            persistence.save(model, place, metadata={"method": method.name})
        with outputs.writing(LABELS) as place:
            columns = _labels(model, rows.kept)
            write_csv(place, columns, [columns.values()], rows.dialect, csv_escape=False)
        for kind in drawn:
            axes = method.pictures[kind](model, n_clusters=k)
            axes.set_title(f"{Path(name).name}, {axes.get_title()}", fontsize=10)
            with outputs.writing(f"{kind}.png") as place:
                axes.figure.savefig(place)
        write_summary(outputs, facts)
        if options.report:
            with about(name):
                page = make_report(model, rows, summary=facts, n_clusters=k, id=options.id)
            outputs.write({REPORT: page.html.encode()})
    tell(facts, lines_of_run, options)
    return 130 if interrupted else 0


def _labels(model: Any, kept: BoolArray | None) -> dict[str, list[int | None]]:
    """Return the labels of all rows of the input for each gamma, None for dropped rows."""
    is_whole = model.labels_path_.shape[1] <= _FEW_ROWS
    labeled = np.flatnonzero(is_whole | (model.n_clusters_path_ <= _FEW_CLUSTERS))
    names = [f"gamma={gamma:.6g}" for gamma in model.gammas_[labeled]]
    names = [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names)]
    labels = model.labels_path_[labeled]
    if kept is not None:
        labels = np.full((len(labeled), len(kept)), None)
        labels[:, kept] = model.labels_path_[labeled]
    return dict(zip(names, labels.tolist()))


def lines_of_run(facts: Mapping[str, Any]) -> list[str]:
    source, counts = facts["input"], facts["clusters"]
    return [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns, "
        f"{len(facts['gammas']):,} gammas up to {facts['gammas'][-1]:.4g}, {counts[0]:,} to {counts[-1]:,} clusters",
        *(["interrupted: the path so far"] if facts["interrupted"] else []),
        *([facts["used"]] if facts["used"] else []),
        f"{facts['iterations']:,} iterations in {facts['seconds']:.3g} s, "
        f"duality gaps up to {facts['largest_gap']:.2g} of the objective",
        *(["clusters split at some gammas: see splits in summary.json"] if any(facts["splits"]) else []),
        *file_lines(facts),
    ]
