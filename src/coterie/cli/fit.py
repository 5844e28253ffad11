"""`coterie fit`: from a file of rows to labels, a table of the clusters, a model and a summary."""

from __future__ import annotations

import inspect
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

import coterie
from coterie.arrays import Array
from coterie.cli.errors import about
from coterie.cli.inputs import input_facts, local_file, open_input, read_graph, read_known_labels
from coterie.cli.output import file_lines, recorded_warnings, table_lines, tell
from coterie.cli.parameters import find_offered, make_model, offered_methods, settable, texts_of
from coterie.cli.results import (
    asked_share,
    labels_name,
    outlier_facts,
    outlier_lines,
    write_csv,
    write_labels,
)
from coterie.cli.runs import MODEL, REPORT, SUMMARY, hash_of_rows, hashes_of, run_folder, write_summary
from coterie.estimators import Estimator, persistence
from coterie.figures import counted, short
from coterie.methods import Method, method_of, usual_method
from coterie.outputs import OutputFolder
from coterie.reports.describe import Clusters, cluster_columns, describe, example_of
from coterie.reports.subject import Subject, read_subject
from coterie.results import mark_outliers, outlier_threshold, place_rows
from coterie.rows import Rows
from coterie.rows.remote import without_secrets
from coterie_command import Stop, stopping
from coterie_command.app import running
from coterie_command.options import FitOptions, UsageError
from coterie_command.progress import Progress as Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.fitting.report import FitProgress

CLUSTERS = "clusters.csv"

# Clusters that the terminal shows, letters of their names, and letters of a line beside what is told about them.
_SHOWN, _NAME, _BESIDE = 10, 36, 64

NO_COUNT = (
    "The number of clusters is missing: add -k NUMBER. --method multilevel and --method density find one, and so does "
    "coterie path."
)


def run_fit(file: str, options: FitOptions) -> int:
    """Fit, print the summary, and return the exit code."""
    if options.report:
        from coterie.reports import require_report

        require_report()
    models = candidates(options)
    with (
        Screen(options.quiet) as screen,
        run_folder(options.out, "fit", file, force=options.force) as outputs,
        local_file(file, screen) as (path, name),
    ):
        facts = fit_file(outputs, options, path, name, models, screen)
    tell(facts, lines_of_run, options)
    if facts["interrupted"]:
        print(f"coterie: interrupted; {options.out} has the best result so far", file=sys.stderr)
    return 130 if facts["interrupted"] else 0


def candidates(options: FitOptions) -> list[tuple[Method, Any]]:
    """Return the methods that a job asks for with their models; the number of rows decides between several."""
    texts = texts_of(options.parameters)
    if options.method is not None:
        chosen = [find_offered(options.method)]
    else:
        usual = [method for method in offered_methods() if method.usual_above is not None]
        chosen = [method for method in usual if settable(method).keys() >= texts.keys()] or usual[:1]
    for method in chosen:
        if options.labels is not None and not method.takes_labels:
            able = [other.name for other in offered_methods() if other.takes_labels]
            raise UsageError(f"The method {method.name} takes no --labels: add --method {' or '.join(able)}.")
        estimator: Any = method.estimator
        if options.graph is not None and "graph" not in inspect.signature(estimator.fit).parameters:
            raise UsageError(f"The method {method.name} takes no --graph.")
        if options.outliers is not None and not hasattr(method.estimator, "cluster_scales_"):
            raise UsageError(f"The method {method.name} has no outlier scores, which --outliers needs.")
        if options.k is None and method.needs_clusters:
            raise UsageError(NO_COUNT)
        if options.k is not None and method.clusters is None:
            raise UsageError(f"The method {method.name} takes no -k: it finds the number of clusters.")
    asked_share(options.outliers)
    return [(method, make_model(method, texts, options, k=options.k)) for method in chosen]


def fit_file(
    outputs: OutputFolder,
    options: FitOptions,
    path: str,
    name: str,
    models: list[tuple[Method, Any]],
    screen: Screen,
) -> dict[str, Any]:
    """Cluster the rows of a file, write all results, and return the summary."""
    opened = open_input(path, name, options, labels=options.labels, columns_out=options.columns_out)
    rows = opened.rows
    method = usual_method([method for method, _ in models], rows.shape[0])
    model = next(model for known, model in models if known is method)
    check_rows(name, rows, method, options.k)
    known, classes = None, list[str]()
    if options.labels is not None:
        known, classes = read_known_labels(options.labels, opened, int(options.k or 0))
    graph = None if options.graph is None else read_graph(options.graph, rows.shape[0])
    files = {"labels": options.out / labels_name(path, opened), "clusters": options.out / CLUSTERS}
    files |= {"summary": options.out / SUMMARY, "model": options.out / MODEL}
    files |= {"report": options.out / REPORT} if options.report else {}
    outputs.check(*(file.name for file in files.values()))
    screen.begin(f"fitting {method.name}")
    with recorded_warnings() as warned, about(name):
        seconds, interrupted = fit_model(model, rows, known, graph, screen)
    screen.begin("describing clusters")
    with about(name), recorded_warnings():
        scores, share = getattr(model, "outlier_scores_", None), asked_share(options.outliers)
        placement = place_rows(model, rows, model.labels_, scores)
        threshold = None if share is None else outlier_threshold(model.outlier_scores_, share)
        subject = read_subject(model, rows, labels=model.labels_, id=options.id, placement=placement)
        clusters = describe(subject)
    facts = {
        "coterie": coterie.__version__,
        "command": "fit",
        "command_line": command_line(),
        "interrupted": interrupted,
        **facts_of(method, model, rows, options.k, outlier_facts(scores, threshold, share)),
        "input": input_facts(name, rows),
        "parameters": settings_of(model, texts_of(options.parameters)),
        "known_labels": options.labels,
        "known_classes": classes,
        "graph": options.graph,
        "columns": {
            key: getattr(options, key)
            for key in ("columns", "exclude", "id", "missing", "scale", "categories")
        },
        "reading": options.reading,
        "used": opened.used,
        "seconds": round(seconds, 6),
        "folder": str(options.out),
        "table_of_clusters": cluster_facts(subject, clusters),
        "warnings": [*opened.warnings, *warned],
        "files": {kind: str(file) for kind, file in files.items()},
    }
    screen.begin("writing results")
    with outputs.writing(files["labels"].name) as place:
        labels = mark_outliers(model.labels_, scores, threshold)
        write_labels(place, opened, placement, labels, dict(enumerate(clusters.names)), options.csv_escape)
    with outputs.writing(CLUSTERS) as place:
        columns = cluster_columns(subject, clusters)
        write_csv(place, columns, [columns.values()], rows.dialect, csv_escape=options.csv_escape)
    with outputs.writing(MODEL) as place:
        metadata = {"method": method.name} | ({} if share is None else {"outlier_threshold": threshold})
        persistence.save(model, place, metadata=metadata)
    write_summary(outputs, facts)
    if options.report:
        from coterie.reports import report

        screen.begin("drawing the report")
        with about(name):
            page = report(model, rows, summary=facts, known=known, id=options.id)
        outputs.write({REPORT: page.html.encode()})
    return facts


def facts_of(
    method: Method, model: Any, rows: Rows, k: int | None, outliers: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the facts of a fit that the same fit gives again, bit by bit."""
    objective = method.objective
    value = getattr(model, objective.attribute, None)
    n_iter = getattr(model, "n_iter_", None)
    labels = np.asarray(model.labels_)
    left = n_clusters_of(model)
    sizes = np.bincount(labels[labels >= 0], minlength=max(1, left))
    return {
        "method": method.name,
        "clusters": left if k is None else k,
        "clusters_left": left,
        "objective": None if value is None else float(value),
        "objective_name": objective.name,
        "higher_is_better": objective.higher_is_better,
        "iterations": None if n_iter is None else int(n_iter),
        "cluster_sizes": {
            "smallest": int(sizes.min()),
            "median": float(np.median(sizes)),
            "largest": int(sizes.max()),
        },
        "noise": int(np.count_nonzero(labels < 0)),
        "outliers": outliers,
        "hashes": {"rows": hash_of_rows(rows), **hashes_of(model)},
    }


def fit_model(model: Any, rows: Rows, known: Array | None, graph: Any, screen: Screen) -> tuple[float, bool]:
    """Fit a model and show the progress; return the seconds, and whether Ctrl-C has ended the fit."""
    more = {} if graph is None else {"graph": graph}
    # Estimators of other libraries know arrays, not sources of rows.
    data: Any = rows if isinstance(model, Estimator) else rows.read()
    started = time.perf_counter()
    with watched(model, screen) as stop:
        model.fit(data, known, **more) if known is not None else model.fit(data, **more)
    if rows.preparation and not isinstance(model, Estimator):
        model.preparation_ = rows.preparation  # which is saved with it
    return time.perf_counter() - started, stop.is_asked


@contextmanager
def watched(model: Any, screen: Screen) -> Iterator[Any]:
    """Show each iteration of a fit, and stop it after the first Ctrl-C, if the model takes a callback."""
    settings = model.get_params(deep=False)
    if "callback" not in settings:
        yield Stop()
        return
    method = method_of(model) or Method("", type(model), "")
    limit = None if method.limit is None else settings.get(method.limit)
    done = 0

    with stopping() as stop:

        def show(progress: FitProgress) -> bool:
            nonlocal done
            done += 1
            total = limit if done == progress.iteration else None  # of several runs the number is not known
            direction = " (higher is better)" if method.objective.higher_is_better else ""
            detail = f"{method.reports or method.objective.name} {progress.objective:.6g}{direction}"
            screen.step(done, total, method.step, detail)
            return stop.is_asked

        model.set_params(callback=show)
        try:
            yield stop
        finally:
            model.set_params(callback=None)


def check_rows(file: str, rows: Rows, method: Method, k: int | None) -> None:
    """Raise an error if a method cannot cluster these rows."""
    if k is not None and k > rows.shape[0]:
        raise UsageError(f"-k {k} is more than the {rows.shape[0]} rows of {file}.")
    if rows.is_sparse and not method.takes_sparse:
        able = [other.name for other in offered_methods() if other.takes_sparse]
        raise ValueError(
            f"{file} has sparse rows, and the method {method.name} takes only dense ones. Methods that take sparse "
            f"rows: {', '.join(able)}."
        )


def settings_of(model: Any, texts: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the parameters of an estimator; those that were read from files have the names of these."""
    found = {name: value for name, value in model.get_params(deep=False).items() if name != "callback"}
    are_files = {name for name, value in found.items() if isinstance(value, np.ndarray | BaseEstimator)}
    return {name: texts.get(name, "given") if name in are_files else value for name, value in found.items()}


def n_clusters_of(model: Any) -> int:
    """Return the number of clusters of a model, empty ones included."""
    memberships = getattr(model, "memberships_", None)
    if memberships is not None:
        return int(memberships.shape[1])
    centers = getattr(model, "cluster_centers_", None)
    return int(np.max(model.labels_, initial=-1)) + 1 if centers is None else int(np.shape(centers)[0])


def command_line() -> str:
    """Return the command that runs as it can be typed again, without secrets."""
    return shlex.join(["coterie", *map(without_secrets, running)])


def cluster_facts(subject: Subject, clusters: Clusters) -> list[dict[str, Any]]:
    """Return facts about the ten largest clusters: size, name, and an example text or the features that differ."""
    found = []
    for cluster in np.argsort(-subject.sizes, kind="stable")[:_SHOWN].tolist():
        features = clusters.features(cluster, 3)
        example, size = example_of(subject, clusters, cluster), int(subject.sizes[cluster])
        quoted = f'"{example}"' if subject.sample.texts is not None else f"example: {example}"
        about_it = "; ".join(features) or (quoted if size else "empty")
        found.append({
            "cluster": cluster, "rows": size, "share": size / max(len(subject.labels), 1),
            "name": clusters.names[cluster], "about": about_it,
        })  # fmt: skip
    return found


def lines_of_run(facts: Mapping[str, Any]) -> list[str]:
    """Return what a fit prints."""
    source, sizes, left = facts["input"], facts["cluster_sizes"], facts["clusters_left"]
    steps, noise = facts["iterations"], facts["noise"]
    lost = facts["clusters"] - left
    lines = [
        f"{source['file']}: {counted(source['rows'], 'row')} x {counted(source['columns'], 'column')} in "
        f"{counted(left, 'cluster')} by {facts['method']}" + (f" ({lost:,} dropped)" if lost > 0 else "")
    ]
    if facts["interrupted"]:
        lines.append("interrupted: the best result so far")
    if facts["used"]:
        lines.append(facts["used"])
    if source["dropped"]:
        lines.append(f"{counted(source['dropped'], 'row')} dropped, with missing numbers: no cluster")
    if noise:
        lines.append(f"{counted(noise, 'row')} in no cluster ({noise / source['rows']:.1%}), cluster -1")
    result = [f"{facts['seconds']:.3g} s"]
    if facts["objective"] is not None:
        direction = " (higher is better)" if facts["higher_is_better"] else ""
        result.append(f"{facts['objective_name']} {facts['objective']:.8g}{direction}")
    result.append(f"{sizes['smallest']:,} to {counted(sizes['largest'], 'row')} a cluster")
    lines.append(("" if steps is None else f"{counted(steps, 'iteration')} in ") + ", ".join(result))
    cells = [["cluster", "rows", "share", "name", ""]]
    width = max(30, shutil.get_terminal_size((120, 24)).columns - _BESIDE)
    for one in facts["table_of_clusters"]:
        cells.append([
            str(one["cluster"]), f"{one['rows']:,}", f"{one['share']:.1%}",
            short(one["name"], _NAME), short(one["about"], width),
        ])  # fmt: skip
    others = left - len(facts["table_of_clusters"])
    more = [f"and {others:,} more in {facts['files']['clusters']}"] if others > 0 else []
    lines += ["", *table_lines(cells, ">>><<"), *more, "", *outlier_lines(facts)]
    if facts["known_classes"]:
        numbered = ", ".join(f"{n} {name}" for n, name in enumerate(facts["known_classes"]))
        lines.append(f"clusters of the known classes: {numbered}")
    hint = [] if "report" in facts["files"] else [f"next: coterie report {shlex.quote(facts['folder'])}"]
    return [*lines, *file_lines(facts), *hint]
