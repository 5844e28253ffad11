"""The work behind the commands: fit, predict and describe, from files to files."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

import coterie
from coterie import persistence
from coterie.cli import UsageError
from coterie.cli.output import (
    check_label_file,
    check_writable,
    recorded_warnings,
    staged_files,
    to_json,
    write_labels,
)
from coterie.cli.progress import Step, display, fit_callback
from coterie.fitting.threads import effective_n_threads
from coterie.plotting import check_image_shape, plot_modes, require_matplotlib
from coterie.rows import RowSource, open_rows
from coterie.rows.normalized import NormalizedRows

__all__ = [
    "METHODS",
    "FitJob",
    "describe_file",
    "describe_model",
    "fit",
    "input_facts",
    "is_model",
    "predict",
    "settings_of",
]

MODEL, SUMMARY, PICTURE = "model.coterie", "summary.json", "modes.png"


@dataclass(frozen=True, slots=True)
class Method:
    """How the command line makes an estimator, and what its objective is called.

    `watched_name` is what its iterations report, where that is not the objective of the result; `watched_unit` what the
    fit reports one after the other, where those are not the iterations that `max_iter` limits.
    """

    estimator: str
    clusters: str = "n_clusters"
    objective: str = "inertia_"
    objective_name: str = "inertia"
    higher_is_better: bool = False
    watched_name: str = ""
    watched_unit: str = "iteration"
    takes_labels: bool = False


METHODS = {
    "k-means": Method("KMeans"),
    "nested": Method("NestedMiniBatchKMeans"),
    "mini-batch": Method("MiniBatchKMeans"),
    "gmm": Method("TruncatedGaussianMixture", "n_components", "lower_bound_", "free energy", True),
    "laplacian-kmodes": Method(
        "LaplacianKModes",
        objective="objective_",
        objective_name="objective",
        watched_name="relaxed objective",
    ),
    "total-variation": Method(
        "TotalVariationClustering",
        objective="energy_",
        objective_name="balanced cut",
        watched_name="relaxed cut",
        watched_unit="outer step",
        takes_labels=True,
    ),
}

# Without --method, the number of rows decides between these, where both have the parameters that are set.
_USUAL = ("k-means", "nested")

# Without --method, files of more rows than this are clustered by nested mini-batches.
NESTED_ROWS = 100_000


@dataclass(slots=True)
class FitJob:
    """What to fit, how, and where the results go. `parameters` holds only what the user set.

    Without a method the parameters decide, and then the number of rows: of "k-means" and "nested" the one that has all
    parameters; if both have, "nested" above `NESTED_ROWS`; if neither has, the one other method that has.
    """

    file: str
    n_clusters: int
    out: Path
    method: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    normalize: bool = False
    columns: list[str | int] | None = None
    image_shape: tuple[int, ...] | None = None
    quiet: bool = False
    labels: str | None = None
    evaluate: Callable[[np.ndarray], Mapping[str, float]] | None = None


def fit(job: FitJob) -> tuple[Any, dict[str, Any]]:
    """Cluster a file and write model, labels and summary.

    Returns
    -------
    model : estimator
    summary : dict
        What `summary.json` holds.
    """
    if job.n_clusters < 1:
        raise UsageError(f"-k must be at least 1, got {job.n_clusters}.")
    coreset_size = job.parameters.get("coreset_size", job.n_clusters)
    if 0 < coreset_size < job.n_clusters:
        raise UsageError(f"--coreset {coreset_size} is fewer rows than -k {job.n_clusters}.")
    candidates = _candidates(job)
    models = {name: _estimator(name, job) for name in candidates}
    if job.image_shape is not None:
        require_matplotlib()
    check_writable(job.out)
    rows = _open(job.file, columns=job.columns, normalize=job.normalize)
    name = candidates[0] if rows.shape[0] <= NESTED_ROWS else candidates[-1]
    job, method, model = replace(job, method=name), METHODS[name], models[name]
    if job.n_clusters > rows.shape[0]:
        raise UsageError(f"-k {job.n_clusters} is more than the {rows.shape[0]} rows of {job.file}.")
    if job.image_shape is not None:
        _check_image(job.image_shape, rows.shape[1])
    if rows.is_sparse and not _takes_sparse(model):
        able = [other for other in METHODS if _takes_sparse(_estimator_class(other)())]
        raise ValueError(
            f"{job.file} has sparse rows, and the method {name} takes only dense ones. "
            f"Methods that take sparse rows: {', '.join(able)}."
        )
    known = None if job.labels is None else _known_labels(job.labels, rows.shape[0], job.n_clusters)
    label_name = "labels.parquet" if rows.is_table else "labels.npy"
    check_label_file(job.out / label_name)

    started = time.perf_counter()
    with display(job.quiet) as screen, recorded_warnings() as warned:
        limited = method.watched_unit == "iteration"
        max_iter = model.get_params().get("max_iter") if limited else None
        watched = method.watched_name or method.objective_name
        show = fit_callback(screen, max_iter, watched, method.higher_is_better, method.watched_unit)
        model.set_params(callback=show)
        model.fit(rows, known) if known is not None else model.fit(rows)
    model.set_params(callback=None)
    seconds = time.perf_counter() - started

    picture = None if job.image_shape is None else plot_modes(rows, model, job.image_shape)
    names = [MODEL, label_name, SUMMARY, *([PICTURE] if picture else [])]
    summary = {**_fit_summary(job, method, model, rows, seconds), "warnings": warned}
    summary["files"] = {name.split(".")[0]: str(job.out / name) for name in names}
    with staged_files(job.out, names) as paths:
        # The rows must be prepared in the same way for `predict`, so the model file says how.
        metadata = {"method": job.method, "normalize": job.normalize, "columns": job.columns}
        persistence.save(model, paths[MODEL], metadata=metadata)
        write_labels(paths[label_name], model.labels_)
        paths[SUMMARY].write_text(to_json(summary) + "\n", encoding="utf-8")
        if picture:
            picture.savefig(paths[PICTURE])
    return model, summary


def predict(
    model_file: str, file: str, out: Path | None, *, threads: int | None = None, quiet: bool = False
) -> dict[str, Any]:
    """Label the rows of a file with a saved model, block by block.

    Returns
    -------
    dict
        The report: what was read and written.
    """
    if out is not None:
        check_label_file(out)
    header = persistence.read_header(model_file)
    model = persistence.load(model_file)
    if threads is not None:
        model.set_params(n_threads=threads)
    preparation = header.metadata
    rows = _open(
        file, columns=preparation.get("columns"), normalize=bool(preparation.get("normalize", False))
    )
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{file} has {rows.shape[1]} columns, but {model_file} was fitted to {model.n_features_in_}."
        )
    if rows.is_sparse and not _takes_sparse(model):
        raise ValueError(
            f"{file} has sparse rows, but {model_file} ({header.estimator}) takes only dense ones."
        )
    if out is None:
        out = Path("labels.parquet" if rows.is_table else "labels.npy")
        check_label_file(out)

    started = time.perf_counter()
    labels = np.empty(rows.shape[0], dtype=np.int32)
    with display(quiet) as screen, recorded_warnings() as warned:
        for start, block in rows.blocks():
            stop = start + block.shape[0]
            labels[start:stop] = model.predict(block)
            done = time.perf_counter() - started
            rate = stop / max(done, 1e-9)
            screen.show(Step(stop, len(labels), "row", done, rate, (len(labels) - stop) / rate))
    with staged_files(out.parent, [out.name]) as paths:
        write_labels(paths[out.name], labels)
    return {
        "coterie": coterie.__version__,
        "command": "predict",
        "model": model_file,
        "input": input_facts(file, rows),
        "seconds": round(time.perf_counter() - started, 6),
        "clusters": _n_clusters_of(model),
        "cluster_sizes": _size_facts(labels, _n_clusters_of(model)),
        "warnings": warned,
        "files": {"labels": str(out)},
    }


def is_model(file: str) -> bool:
    """Whether `info` should treat a file as a model."""
    if file.endswith(".coterie"):
        return True
    if not os.path.isfile(file) or not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return "coterie.json" in archive.namelist()


def describe_model(file: str) -> dict[str, Any]:
    """Facts about a saved model."""
    header = persistence.read_header(file)
    model = persistence.load(file)
    facts: dict[str, Any] = {
        "file": file,
        "kind": "model",
        "estimator": header.estimator,
        "format_version": header.format_version,
        "coterie": header.coterie_version,
        "bytes": os.path.getsize(file),
        **header.metadata,
        "parameters": settings_of(model),
    }
    for name, label in (
        ("n_features_in_", "columns_in"),
        ("cluster_centers_", "clusters"),
        ("inertia_", "inertia"),
        ("lower_bound_", "free_energy"),
        ("energy_", "balanced_cut"),
        ("n_iter_", "iterations"),
    ):
        value = getattr(model, name, None)
        if name == "cluster_centers_" and hasattr(model, "labels_"):
            value = _n_clusters_of(model)
        if value is not None:
            facts[label] = len(value) if isinstance(value, np.ndarray) else value
    left = getattr(model, "n_components_", None)
    if left is not None:
        facts["clusters_dropped"] = model.n_components - left
    return facts


def describe_file(file: str) -> dict[str, Any]:
    """Facts about a file of rows; the rows themselves are not read."""
    rows = open_rows(file)
    facts: dict[str, Any] = {"kind": "rows", **input_facts(file, rows)}
    if os.path.isfile(file):
        facts["bytes"] = os.path.getsize(file)
    if rows.column_names is not None:
        facts["column_names"] = list(rows.column_names)
    return facts


def _candidates(job: FitJob) -> list[str]:
    """The method asked for; else those of the usual ones, or the one other, that have all parameters."""
    if job.method is not None:
        if job.method not in METHODS:
            raise UsageError(f"--method {job.method!r} is unknown. Choose from: {', '.join(METHODS)}.")
        if job.labels is not None and not METHODS[job.method].takes_labels:
            raise UsageError(f"The method {job.method} takes no --labels.")
        return [job.method]
    able = [name for name, method in METHODS.items() if method.takes_labels or job.labels is None]
    known = {name: set(_estimator_class(name)().get_params()) for name in able}
    fitting = [name for name in able if known[name] >= job.parameters.keys()]
    usual = [name for name in fitting if name in _USUAL]
    if not usual and len(fitting) != 1:
        special = [name for name in job.parameters if not all(name in names for names in known.values())]
        if not fitting:
            raise UsageError(f"No method has all of the parameters {', '.join(special)}.")
        raise UsageError(f"Say which --method is meant: {' or '.join(fitting)}.")
    return usual or fitting


def _n_clusters_of(model: Any) -> int:
    memberships = getattr(model, "memberships_", None)
    return len(model.cluster_centers_) if memberships is None else memberships.shape[1]


def _known_labels(file: str, n_rows: int, n_clusters: int) -> np.ndarray:
    """Classes of the rows out of a file, -1 where they are not known."""
    try:
        labels = np.load(file) if file.endswith(".npy") else np.loadtxt(file, delimiter=",", ndmin=1)
    except ValueError as error:
        raise ValueError(
            f"{file} must have one integer on each line, -1 where a class is not known."
        ) from error
    if labels.shape != (n_rows,):
        raise ValueError(f"{file} must have {n_rows} labels, one for each row, got shape {labels.shape}.")
    if np.any(labels != np.floor(labels)) or labels.min() < -1 or labels.max() >= n_clusters:
        raise ValueError(
            f"{file} must hold classes from 0 to {n_clusters - 1}, and -1 where they are not known."
        )
    return labels.astype(np.int32)


def _estimator_class(method: str) -> Any:
    return getattr(coterie, METHODS[method].estimator)


def _estimator(method: str, job: FitJob) -> Any:
    """The estimator with the user's parameters; unknown and impossible ones are a usage error."""
    estimator_class = _estimator_class(method)
    known = estimator_class().get_params()
    for name in job.parameters:
        if name not in known:
            raise UsageError(f"The method {method} has no parameter {name}.")
    model = estimator_class(**{METHODS[method].clusters: job.n_clusters}, **job.parameters)
    try:
        _check_seed(model.random_state)
        effective_n_threads(model.n_threads)
        model.check_parameters()
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    return model


def _check_image(image_shape: tuple[int, ...], n_columns: int) -> None:
    try:
        check_image_shape(image_shape, n_columns)
    except ValueError as error:
        raise UsageError(f"--image: {error}") from error


def _takes_sparse(model: Any) -> bool:
    return bool(get_tags(model).input_tags.sparse)


def _check_seed(seed: int | None) -> None:
    if seed is not None and not 0 <= seed < 2**32:
        raise ValueError(f"--seed must be from 0 to 2**32 - 1, got {seed}.")


def _open(file: str, *, columns: list[str | int] | None, normalize: bool) -> RowSource:
    rows = open_rows(file, columns)
    return NormalizedRows(rows) if normalize else rows


def _fit_summary(job: FitJob, method: Method, model: Any, rows: RowSource, seconds: float) -> dict[str, Any]:
    return {
        "coterie": coterie.__version__,
        "command": "fit",
        "method": job.method,
        "input": input_facts(job.file, rows),
        "normalize": job.normalize,
        "columns": job.columns,
        "parameters": settings_of(model),
        "clusters": job.n_clusters,
        "clusters_left": _n_clusters_of(model),
        "objective": float(getattr(model, method.objective)),
        "objective_name": method.objective_name,
        "higher_is_better": method.higher_is_better,
        "iterations": int(model.n_iter_),
        "seconds": round(seconds, 6),
        "cluster_sizes": _size_facts(model.labels_, _n_clusters_of(model)),
        **({"scores": dict(job.evaluate(model.labels_))} if job.evaluate else {}),
    }


def settings_of(model: Any) -> dict[str, Any]:
    """Parameters of an estimator, without its callback."""
    return {name: value for name, value in model.get_params(deep=False).items() if name != "callback"}


def input_facts(file: str, rows: RowSource) -> dict[str, Any]:
    """Facts about a file of rows, for reports."""
    return {
        "file": file,
        "rows": rows.shape[0],
        "columns": rows.shape[1],
        "dtype": rows.dtype.name,
        "sparse": rows.is_sparse,
        "source": rows.description,
    }


def _size_facts(labels: np.ndarray, n_clusters: int) -> dict[str, float]:
    sizes = np.bincount(labels, minlength=n_clusters)
    return {"smallest": int(sizes.min()), "median": float(np.median(sizes)), "largest": int(sizes.max())}
