"""`coterie path`: a path of convex clustering, its labels and plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie.cli.errors import about
from coterie.cli.fit import check_rows, command_line, fit_model, settings_of
from coterie.cli.inputs import Opened, input_facts, local_file, open_input, read_graph
from coterie.cli.output import file_lines, recorded_warnings, tell
from coterie.cli.parameters import make_model, path_method, texts_of
from coterie.cli.results import labels_name, write_table
from coterie.cli.runs import REPORT, SUMMARY, run_folder, write_summary
from coterie.plotting import require_matplotlib
from coterie.reports import report as make_report
from coterie.reports import require_report
from coterie_command.options import PathOptions
from coterie_command.progress import Progress

PATH = "path.npz"

# For more rows, only the labels of gammas with at most this number of clusters are written, and no centroids.
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
        local_file(file) as (path, name),
        run_folder(out, "path", file, force=options.force) as outputs,
    ):
        opened = open_input(path, name, options)
        rows = opened.rows
        check_rows(name, rows, method, k)
        labels = labels_name(path, opened).replace(".npy", ".csv")
        drawn = [kind for kind in method.pictures if rows.shape[0] > 1 or kind not in _OF_SEVERAL_ROWS]
        pages = [REPORT] if options.report else []
        names = [PATH, labels, *(f"{kind}.png" for kind in drawn), SUMMARY, *pages]
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
        is_whole = rows.shape[0] <= _FEW_ROWS
        labeled = np.flatnonzero(is_whole | (model.n_clusters_path_ <= _FEW_CLUSTERS))
        with outputs.writing(PATH) as place, open(place, "wb") as archive:
            np.savez_compressed(archive, allow_pickle=False, **_arrays(model, labeled, is_whole))
        with outputs.writing(labels) as place:
            _write_labels(place, model, labeled, opened)
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
    tell(facts, _lines, options)
    return 130 if interrupted else 0


def _arrays(model: Any, labeled: Any, is_whole: bool) -> dict[str, Any]:
    found = {
        "gammas": model.gammas_, "labels": model.labels_path_[labeled], "labeled": labeled,
        "n_clusters": model.n_clusters_path_, "objectives": model.objectives_, "dual_gaps": model.dual_gaps_,
        "n_splits": model.n_splits_, "linkage": model.linkage_, "edges": model.edges_,
        "edge_weights": model.edge_weights_,
    }  # fmt: skip
    return found | ({"centroids": model.centroids_path_} if is_whole else {})


def _write_labels(place: Path, model: Any, labeled: Any, opened: Opened) -> None:
    """Write a column for each of these gammas, named after it, in the rows of the input."""
    import pyarrow

    names = [f"gamma={gamma:.6g}" for gamma in model.gammas_[labeled]]
    names = [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names)]
    kept = opened.rows.kept
    arrays = []
    for labels in model.labels_path_[labeled]:
        whole = labels
        if kept is not None:
            whole = np.zeros(len(kept), dtype=labels.dtype)
            whole[kept] = labels
        arrays.append(pyarrow.array(whole, mask=None if kept is None else ~kept))
    write_table(place, pyarrow.table(arrays, names), opened.rows.dialect)


def _lines(facts: Mapping[str, Any]) -> list[str]:
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
