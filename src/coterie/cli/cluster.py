"""`coterie fit --scheduler`: clusters of rows that workers of a Dask cluster read; model, labels and a summary here."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import coterie
from coterie.cli.errors import UsageError
from coterie.cli.inputs import DASH, about
from coterie.cli.models import (
    AUTO,
    NO_COUNT,
    FitJob,
    find_offered,
    flag_of,
    make_model,
    n_clusters_of,
    names_of,
    size_facts,
)
from coterie.cli.options import given
from coterie.cli.output import recorded_warnings
from coterie.cli.progress import display, watch
from coterie.cli.run_file import run_files, write_run_file
from coterie.cli.runs import MODEL, SUMMARY, run_folder, settings_of, write_summary
from coterie.dask import rows
from coterie.dask.pool import distributed
from coterie.estimators.method import Method
from coterie.rows.remote import without_secrets

_LABELS = "labels.npy"

# Columns that are summed over the passes.
_TRAFFIC = ("n_tasks", "n_sent", "n_received", "n_exchanged")

# The methods that run on a cluster; the first is the usual one.
_METHODS = ("k-means", "nested", "gmm", "laplacian-kmodes")


def fit_on_cluster(job: FitJob, address: str) -> tuple[Any, dict[str, Any]]:
    """Cluster files by the workers of a scheduler, and write the results here; return model and summary."""
    method = _method(job)
    model = _model(job, method)
    files = {"model": job.out / MODEL, "labels": job.out / _LABELS, "summary": job.out / SUMMARY}
    files.update(run_files(job.out))
    with run_folder(job.out, "fit", job.file, force=job.force) as outputs:
        outputs.check(*(path.name for path in files.values()))
        with _client(address), about(job.file):
            started = time.perf_counter()
            with display(job.quiet) as screen, recorded_warnings() as warned, watch(model, screen):
                reading = given({**job.tables.for_jobs(), "preparing": None})
                on_workers = rows(job.file, **reading)
                model.fit(on_workers)
                traffic = on_workers.traffic
            seconds = time.perf_counter() - started
            with outputs.writing(_LABELS) as path:
                np.save(path, model.labels_)
        objective = method.objective
        assert objective is not None
        summary = {
            "coterie": coterie.__version__,
            "command": "fit",
            "scheduler": address,
            "method": method.name,
            "input": {
                "file": without_secrets(job.file),
                "rows": int(model.labels_.shape[0]),
                "columns": model.n_features_in_,
            },
            "parameters": settings_of(model),
            "clusters": job.n_clusters,
            "clusters_left": n_clusters_of(model),
            "objective": float(getattr(model, objective.attribute)),
            "objective_name": objective.name,
            "higher_is_better": objective.higher_is_better,
            "iterations": int(model.n_iter_),
            "seconds": round(seconds, 6),
            "cluster_sizes": size_facts(model.labels_, n_clusters_of(model) or 0),
            "traffic": {name: int(traffic[name].sum()) for name in _TRAFFIC},
            "outliers": None,
            "files": {name: str(path) for name, path in files.items()},
            "warnings": warned,
        }
        with outputs.writing(MODEL) as path:
            model.save(path)
        write_summary(outputs, summary)
        write_run_file(outputs, method=method.name, seed=job.seed)
    return model, summary


def _method(job: FitJob) -> Method:
    name = job.method or _METHODS[0]
    name = name if name == AUTO else find_offered(name).name
    if name not in _METHODS:
        raise UsageError(
            f"--scheduler takes no --method {name}, which reads all rows in one process: use "
            f"{', '.join(_METHODS)}, or fit a sample of the rows."
        )
    return find_offered(name)


def _model(job: FitJob, method: Method) -> Any:
    """Return the model of a job, whose options must be such that a cluster has."""
    for is_asked, option in (
        (job.file == DASH, "rows from the standard input"),
        (job.tables.for_jobs()["preparing"], "--missing, --scale, --categories and --normalize"),
        (job.labels, "--labels"),
        (job.graph, "--graph"),
        (job.image_shape, "--image"),
        (job.outliers is not None, "--outliers"),
        (job.kept.id or job.kept.keep, "--id and --keep"),
        (job.report is not None, "--report"),
        (job.continued, "--continue"),
        (job.results not in (None, "npy"), f"--results {job.results}"),
    ):
        if is_asked:
            raise UsageError(
                f"--scheduler takes no {option}: prepare the rows first, or fit without a cluster."
            )
    if job.n_clusters is None:
        raise UsageError(NO_COUNT)
    for name in job.parameters.keys() - names_of(method):
        raise UsageError(f"--method {method.name} takes no {flag_of(name)} with --scheduler.")
    return make_model(method, job.parameters, n_clusters=job.n_clusters, seed=job.seed)


def _client(address: str) -> Any:
    try:
        return distributed().Client(address)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"No Dask scheduler answers at {address}: {error}") from None
