"""`coterie fit`: from a file of rows to a model, labels and a summary."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from sklearn.base import BaseEstimator

import coterie
from coterie.blocks.kernel_rows import kept_on_disk
from coterie.cli.errors import UsageError, listed
from coterie.cli.inputs import (
    DASH,
    STANDARD_INPUT,
    about,
    check_format,
    input_facts,
    local_file,
    open_prepared,
    read_graph,
    read_known_labels,
)
from coterie.cli.models import (
    NO_COUNT,
    FitJob,
    check_neighbors,
    find_offered,
    fit_model,
    flag_of,
    make_model,
    n_clusters_of,
    names_of,
    offered_methods,
    size_facts,
    takers_of,
)
from coterie.cli.options import (
    INPUT,
    MORE,
    OUTPUT,
    Counted,
    File,
    FileIfAny,
    Force,
    Format,
    Json,
    MaxTime,
    OutIfAny,
    Quiet,
    Seed,
    Switch,
    TableOptions,
    Threads,
    given,
    method_options,
    values_of,
    with_options,
)
from coterie.cli.output import (
    check_label_file,
    file_lines,
    recorded_warnings,
    table_lines,
    tell,
)
from coterie.cli.report import REPORT, fit_report
from coterie.cli.results import (
    RowResults,
    asked_share,
    cluster_table,
    kept_column_names,
    kept_columns,
    outlier_facts,
    outlier_lines,
    result_files,
    sample_of,
)
from coterie.cli.runs import (
    MODEL,
    SUMMARY,
    command_line,
    hash_of_rows,
    hashes_of_fit,
    run_folder,
    settings_of,
    write_summary,
)
from coterie.estimators import OBJECTIVE, persistence
from coterie.estimators.outliers import OutlierScoring
from coterie.figures import counted
from coterie.fitting.threads import effective_n_threads
from coterie.methods import Method, usual_method
from coterie.outputs import OutputFolder
from coterie.reports import require_report
from coterie.results import Renaming, find_outliers
from coterie.rows import RowSource


def command(shown: Sequence[str] = ()) -> Callable[..., None]:
    """Return the command with the options of all methods; those of some methods, if any, are in its help."""

    def fit(
        file: File,
        /,
        *,
        k: Annotated[Counted, Parameter(name=["-k", "--clusters", "--n-clusters", "--n-components"])] = None,
        method: str | None = None,
        max_iter: Counted = None,
        max_time: MaxTime = None,
        seed: Seed = 0,
        n_threads: Threads = None,
        id: Annotated[str | None, Parameter(group=INPUT)] = None,
        keep: Annotated[str | None, Parameter(group=INPUT)] = None,
        labels: Annotated[FileIfAny, Parameter(group=INPUT)] = None,
        format: Format = None,
        out: OutIfAny = None,
        outliers: Annotated[str | None, Parameter(group=OUTPUT)] = None,
        report: Annotated[Switch, Parameter(group=OUTPUT)] = False,
        force: Force = False,
        json: Json = False,
        quiet: Quiet = False,
        graph: Annotated[FileIfAny, Parameter(group=MORE)] = None,
        verify: Annotated[Switch, Parameter(group=MORE)] = False,
        tables: TableOptions = TableOptions(),
        options: Any,
    ) -> None:
        """Cluster the rows of a file; write the model, the labels and a summary to a folder.

        - `coterie fit points.npy -k 10`
        - `coterie fit customers.csv -k 5 --scale standard -o customers`

        `coterie fit --method NAME --help` also shows the options of that method.

        Parameters
        ----------
        file
            A table or an array: .csv, .tsv, .jsonl, .parquet, .feather, .npy, .npz, .h5, .zarr, .svm, a folder or a
            quoted pattern of files, an address (s3://, https://, hf://), or - for the standard input.
        k
            Number of clusters.
        method
            Method: METHODS.
        max_iter
            Maximum number of iterations.
        id
            The column of a table that names the rows; it is not clustered.
        keep
            Columns of a table that the results keep, with commas between them; they are not clustered.
        labels
            Known classes of some rows for total-variation: a column, or a file of numbers from 0 to k - 1, -1 where
            unknown.
        out
            Folder for the results; by default coterie-out.
        outliers
            Label this share of the rows -1, such as 1%: those farthest from their clusters.
        report
            Also write report.html, and the names of clusters to a table of results.
        graph
            A file of a graph of the rows: a symmetric sparse matrix (.npz), or arrays `ids` and `distances` (.npz).
        verify
            Record the hash of all rows for coterie verify, which reads them once more; by default that of 20,000 rows.
        """
        limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
        job = FitJob(
            file=file,
            n_clusters=k,
            out=out or Path("coterie-out"),
            format=format,
            method=method,
            parameters=given({**limits, **values_of(options)}),
            seed=seed,
            tables=tables,
            quiet=quiet,
            force=force,
            labels=labels,
            graph=graph,
            kept=kept_columns(id, keep),
            outliers=asked_share(outliers),
            report={} if report else None,
            verify=verify,
        )
        _, summary = run_fit(job)
        tell(summary, fit_lines, json, quiet)

    offered = offered_methods()
    fit.__doc__ = str(fit.__doc__).replace("METHODS", ", ".join(known.name for known in offered))
    return with_options(fit, method_options(offered, shown))


def run_fit(job: FitJob) -> tuple[Any, dict[str, Any]]:
    """Cluster a file and write model, labels and summary; return the model and the summary."""
    models = _models(job)
    if job.report is not None:
        require_report()
    check_format(job.file, job.format)
    file = STANDARD_INPUT if job.file == DASH else job.file
    with run_folder(job.out, "fit", file, force=job.force) as outputs:
        outputs.check(MODEL, SUMMARY)
        with local_file(job.file, job.format) as (path, name):
            return _fit_file(outputs, replace(job, file=name), path, models)


def fit_into(outputs: OutputFolder, job: FitJob, path: str) -> tuple[Any, dict[str, Any]]:
    """Do as `run_fit` does with a file that is at this path until all outputs are at their places."""
    return _fit_file(outputs, job, path, _models(job))


def _models(job: FitJob) -> list[tuple[Method, Any]]:
    """Return the models one of which will be fitted, each with its method."""
    given_graph = {} if job.graph is None else {"weights": "precomputed"}
    parameters = {**given_graph, **job.parameters}
    return [
        (method, make_model(method, parameters, n_clusters=job.n_clusters, seed=job.seed))
        for method in _candidates(job)
    ]


def _fit_file(
    outputs: OutputFolder, job: FitJob, path: str, models: list[tuple[Method, Any]]
) -> tuple[Any, dict[str, Any]]:
    """Cluster the rows of a file that is there by one of several models."""
    reading = job.tables.for_jobs()
    affinities = job.parameters.get("affinity") == "precomputed"
    rows, reading_warnings, used = open_prepared(
        path, kept=job.kept.names, labels=job.labels, affinities=affinities, **reading
    )
    _check_rows(job, rows)
    method = usual_method([method for method, _ in models], rows.shape[0])
    model = next(model for known, model in models if known is method)
    _check_method(job, method, rows)
    check_neighbors(model, job.parameters, rows, job.file)
    known, classes = None, list[str]()
    if job.labels is not None:
        assert job.n_clusters is not None  # as of all methods that take labels
        known, classes = read_known_labels(job.labels, rows, job.n_clusters)
        if known.max() < 0:
            raise ValueError(f"{job.labels} has no class of any row.")
        if known.min() >= 0:
            raise ValueError(
                f"{job.labels} has a class for every row: none is left to cluster. Write -1 where the class is to be "
                "found, or measure how well clusters agree with classes by coterie compare --labels."
            )
    graph = None if job.graph is None else read_graph(job.graph, rows.shape[0])
    label_file = job.out / f"labels.{'parquet' if rows.is_table else 'npy'}"
    check_label_file(label_file)
    files = {"model": job.out / MODEL, **result_files(label_file), "summary": job.out / SUMMARY}
    files.update({} if job.report is None else {"report": job.out / REPORT})
    outputs.check(*(path.name for path in files.values()))
    kept = kept_column_names(rows, job.kept, label_file)

    # Writing the results takes a pass over the rows.
    with recorded_warnings() as disk_warnings, about(job.file):
        rows = kept_on_disk(rows, effective_n_threads(job.parameters.get("n_threads")))
    reading_warnings += disk_warnings
    with about(job.file):
        seconds, warned = fit_model(model, rows, known, graph=graph, quiet=job.quiet)
    scores = getattr(model, "outlier_scores_", None)
    outliers = None if job.outliers is None or scores is None else find_outliers(scores, job.outliers)
    seen, sample = sample_of(rows)
    summary = {
        **_fit_facts(job, method, model, rows, seconds),
        "outliers": outlier_facts(outliers, job.outliers),
        "known_labels": job.labels,
        **({"known_classes": classes} if classes else {}),
        "graph": job.graph,
        "used": used,
        "folder": str(job.out),
        "table_of_clusters": cluster_table(rows, model.labels_, seen, sample),
        "reading": {"sep": reading["sep"], "decimal": reading["decimal"]},
        "hashes": {
            "sample": hash_of_rows(rows, sample),
            **({"rows": hash_of_rows(rows)} if job.verify else {}),
            **hashes_of_fit(model),
        },
        "warnings": [*reading_warnings, *warned],
        "files": {name: str(path) for name, path in files.items()},
    }
    report = None
    if job.report is not None:
        options = {"id": job.kept.id, "keep": job.kept.keep, **job.report}
        # The classes that the fit has learned from, if it has.
        options |= {} if known is None else {"known": known}
        report = fit_report(model, rows, summary, options)
        for line in summary["table_of_clusters"]:
            line["name"] = report.names[line["cluster"]]
    renaming = Renaming(names=None if report is None else report.names)
    results = RowResults(model, rows, model.labels_, kept, scores, outliers, renaming)
    _write(outputs, method, model, results, summary)
    if report is not None:
        outputs.write(report.page.files(REPORT))
    return model, summary


def _candidates(job: FitJob) -> list[Method]:
    """Return the requested method; otherwise the usual methods, or the only other one, that have all parameters."""
    offered = offered_methods()
    if job.method is not None:
        method = find_offered(job.method)
        problem = _problem_of_method(job, method)
        if problem:
            raise UsageError(problem)
        return [method]
    able = [method for method in offered if not _problem_of_method(job, method)]
    fitting = [method for method in able if names_of(method) >= job.parameters.keys()]
    if job.n_clusters is None and job.graph is None:
        counted_names = [names_of(method) for method in offered if method.needs_clusters]
        if not any(all(name not in names for names in counted_names) for name in job.parameters):
            raise UsageError(NO_COUNT)  # no option is one of methods without a number of clusters only
    usual = [method for method in fitting if method.usual_above is not None]
    if usual or len(fitting) == 1:
        return usual or fitting
    if fitting:
        names = listed([method.name for method in fitting], "or")
        raise UsageError(f"Several methods have these options: add --method {names}.")
    common = set.intersection(*map(names_of, able))
    special = [name for name in job.parameters if name not in common]
    if job.n_clusters and len(special) == 1:
        names = listed(takers_of(special[0]), "and")
        raise UsageError(f"{flag_of(special[0])} is an option of {names}, which takes no -k.")
    takers = [f"{flag_of(name)} ({', '.join(takers_of(name))})" for name in special]
    raise UsageError(f"No method has all of the options {listed(takers, 'and')}.")


def _problem_of_method(job: FitJob, method: Method) -> str | None:
    """Return the error if a method lacks something that a job needs, or None."""
    if job.labels is not None and not method.takes_labels:
        return f"--method {method.name} takes no --labels."
    estimator: Any = method.estimator
    if job.graph is not None and "graph" not in inspect.signature(estimator.fit).parameters:
        instead = ": give it in place of the rows, with --affinity precomputed" * (
            "affinity" in names_of(method)
        )
        return f"--method {method.name} takes no --graph in addition to its rows{instead}."
    if job.n_clusters is None and method.needs_clusters:
        return NO_COUNT
    if job.n_clusters is not None and method.clusters is None:
        return f"--method {method.name} takes no -k: it finds the number of clusters."
    return None


def _check_rows(job: FitJob, rows: RowSource) -> None:
    n_rows = rows.shape[0]
    if job.n_clusters is not None and job.n_clusters > n_rows:
        raise UsageError(f"-k {job.n_clusters} is more than the {n_rows} rows of {job.file}.")


def _check_method(job: FitJob, method: Method, rows: RowSource) -> None:
    if job.outliers is not None and not issubclass(method.estimator, OutlierScoring):
        raise UsageError(f"--method {method.name} has no outlier scores, which --outliers needs.")
    if rows.is_sparse and not method.takes_sparse:
        able = [other.name for other in offered_methods() if other.takes_sparse]
        raise ValueError(
            f"{job.file} has sparse rows, and the method {method.name} takes only dense ones. "
            f"Methods that take sparse rows: {', '.join(able)}."
        )


def _fit_facts(job: FitJob, method: Method, model: Any, rows: RowSource, seconds: float) -> dict[str, Any]:
    objective = method.objective or OBJECTIVE
    value = getattr(model, objective.attribute, None)
    n_iter = getattr(model, "n_iter_", None)
    n_clusters = n_clusters_of(model) or job.n_clusters or 0
    reading = job.tables.for_jobs()
    # Parameters that were read from files have the names of these.
    texts = {name: value for name, value in job.parameters.items() if isinstance(value, str)}
    settings = {
        name: texts[name] if name in texts and isinstance(value, np.ndarray | BaseEstimator) else value
        for name, value in settings_of(model).items()
    }
    return {
        "coterie": coterie.__version__,
        "command": "fit",
        "command_line": command_line.get(),
        "method": method.name,
        "input": {**input_facts(job.file, rows), **({"format": job.format} if job.format else {})},
        "normalize": job.tables.normalize,
        "preparing": {name: value for name, value in reading["preparing"].items() if name != "normalize"},
        # As `predict` must choose them, too; None where all or the usual are.
        "columns": (rows.chosen or reading["columns"]) if reading["columns"] or reading["exclude"] else None,
        "parameters": settings,
        "clusters": n_clusters if job.n_clusters is None else job.n_clusters,
        "clusters_left": n_clusters,
        "objective": None if value is None else float(value),
        "objective_name": objective.name,
        "higher_is_better": objective.higher_is_better,
        "iterations": None if n_iter is None else int(n_iter),
        "seconds": round(seconds, 6),
        "cluster_sizes": size_facts(model.labels_, n_clusters),
        "noise": int(np.count_nonzero(model.labels_ < 0)),
    }


def _write(
    outputs: OutputFolder,
    method: Method,
    model: Any,
    results: RowResults,
    summary: dict[str, Any],
) -> None:
    # For `coterie info`.
    metadata = {"method": method.name, "normalize": summary["normalize"], "columns": summary["columns"]}
    if summary["outliers"] is not None:
        metadata["outlier_threshold"] = summary["outliers"]["threshold"]
    with outputs.writing(MODEL) as path:
        persistence.save(model, path, metadata=metadata)
    results.write({name: Path(path) for name, path in summary["files"].items()}, outputs)
    write_summary(outputs, summary)


def fit_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a fit."""
    source, sizes, left = facts["input"], facts["cluster_sizes"], facts["clusters_left"]
    names = facts.get("known_classes")
    requested, steps, noise = facts["clusters"], facts["iterations"], facts.get("noise", 0)
    dropped = f" ({requested - left:,} of {requested:,} dropped)" if left < requested else ""
    objective = ""
    if facts["objective"] is not None:
        direction = " (higher is better)" if facts["higher_is_better"] else ""
        objective = f"{facts['objective_name']} {facts['objective']:.8g}{direction}, "
    has_next = facts["command"] == "fit" and "report" not in facts["files"] and "hashes" in facts
    return [
        f"{source['file']}: {counted(source['rows'], 'row')} x {counted(source['columns'], 'column')} in "
        f"{counted(left, 'cluster')}{dropped} by {facts['method']}",
        *(
            [f"{counted(noise, 'row')} in no cluster ({noise / source['rows']:.1%}), label -1"]
            if noise
            else []
        ),
        *([facts["used"]] if facts.get("used") else []),
        f"{'' if steps is None else counted(steps, 'iteration') + ' in '}{facts['seconds']:.3g} s, {objective}"
        f"{sizes['smallest']:,} to {counted(sizes['largest'], 'row')} a cluster",
        *_cluster_lines(facts),
        *(
            ["clusters of the known classes: " + ", ".join(f"{n} {name}" for n, name in enumerate(names))]
            if names
            else []
        ),
        *outlier_lines(facts),
        *file_lines(facts),
        *([f"next: coterie report {shlex.quote(facts['folder'])}"] if has_next else []),
    ]


def _cluster_lines(facts: dict[str, Any]) -> list[str]:
    table = facts.get("table_of_clusters", [])
    if not table:
        return []
    cells = [["cluster", "rows", "share", "spread", "distinctive features (in standard deviations)"]]
    for row in table:
        features = ", ".join(f"{name} {score:+.1f}" for name, score in row.get("features", {}).items())
        spread = f"{row['spread']:.3g}" if "spread" in row else "-"
        cells.append([str(row["cluster"]), f"{row['rows']:,}", f"{row['share']:.1%}", spread, features])
    others = facts["clusters_left"] - len(table)
    return ["", *table_lines(cells, ">>>><"), *([f"and {others:,} more"] if others > 0 else []), ""]
