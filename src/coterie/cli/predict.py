"""`coterie predict`: label the rows of a file with a saved model."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from sklearn.utils import get_tags

import coterie
from coterie.arrays import Array, IntArray
from coterie.cli.errors import UsageError
from coterie.cli.inputs import DASH, about, check_format, input_facts, local_file, open_for_model
from coterie.cli.models import n_clusters_of, size_facts
from coterie.cli.options import (
    File,
    FileIfAny,
    Force,
    Format,
    Json,
    OutIfAny,
    Quiet,
    Threads,
    column_names,
    separator_of,
)
from coterie.cli.output import (
    check_annotated,
    check_label_file,
    file_lines,
    recorded_warnings,
    tell,
    tell_warnings,
    write_label_text,
)
from coterie.cli.progress import Step, display
from coterie.cli.results import (
    RowResults,
    asked_share,
    kept_column_names,
    kept_columns,
    outlier_facts,
    outlier_lines,
    result_files,
)
from coterie.cli.runs import check_files_of_no_run, find_model, output_folder
from coterie.estimators import Estimator, persistence
from coterie.estimators.outliers import OutlierScoring, relative_to_scales
from coterie.figures import counted
from coterie.methods import load as load_model
from coterie.names import read_merges, read_names, relabel
from coterie.results import Outliers, Renaming, find_outliers
from coterie.rows import RowSource
from coterie.rows.derived import part_of


def predict(
    model: File,
    file: File,
    /,
    *,
    out: OutIfAny = None,
    format: Format = None,
    columns_left_out: Annotated[str | None, Parameter(name="--exclude")] = None,
    sep: str | None = None,
    decimal: str | None = None,
    id: str | None = None,
    keep: str | None = None,
    outliers: str | None = None,
    merge: FileIfAny = None,
    names: FileIfAny = None,
    n_threads: Threads = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label the rows of a file with a saved model.

    Parameters
    ----------
    model
        A model.coterie that `coterie fit` or `save` wrote, or the folder of the run.
    file
        The rows: any file that `coterie fit` reads, or - for the standard input.
    out
        File for the labels: .npy, .parquet, .csv, .h5ad (a copy of an .h5ad file with labels in obs), or - for one
        label a line on the standard output. By default labels.npy, or for a table labels.parquet with examples.parquet
        beside it.
    columns_left_out
        Leave out these columns of a table, which the model does not use.
    sep
        Separator of a .csv file; by default it is detected.
    decimal
        Decimal sign of a .csv file, '.' or ','; by default it is detected.
    id
        The column of a table that names the rows; by default one that is called id, _id or uuid, or the index.
    keep
        Columns of a table that the results keep, with commas between them; by default all that the model does not use.
    outliers
        Label this share of the rows -1, such as 1% or 0.01; by default by the threshold of the fit, if it had one.
    merge
        Clusters to merge: merges.csv of a report, a .csv file with the columns cluster and into.
    names
        Names of clusters: names.csv of a report, a .csv file with the columns cluster and name; a table gets the column
        cluster_name, the standard output names in place of numbers.
    """
    if str(out) == DASH and json:
        raise UsageError("--json and --out - both write to the standard output: give one of them.")
    kept, share = kept_columns(id, keep), asked_share(outliers)
    renaming = Renaming(
        {} if merge is None else read_merges(merge), None if names is None else read_names(names)
    )
    excluded, separator = column_names(columns_left_out, "--exclude"), separator_of(sep)
    if out is not None and str(out) != DASH:
        check_label_file(out)
        check_annotated(str(out), file)
    check_format(file, format)
    model_file = find_model(model)
    fitted = load_model(model_file)
    if n_threads is not None:
        fitted.set_params(n_threads=n_threads)
    with local_file(file, format) as (path, name):
        with recorded_warnings() as warned:
            rows = open_for_model(
                fitted, path, kept=kept.names, exclude=excluded, sep=separator, decimal=decimal
            )
        _check_rows(rows, name, fitted, model_file)
        _check_clusters(renaming, n_clusters_of(fitted))
        threshold = None if share is not None else _threshold_of(model_file)
        has_scores = isinstance(fitted, OutlierScoring) and hasattr(fitted, "cluster_scales_")
        if share is not None and not has_scores:
            raise ValueError(
                f"{model_file} ({type(fitted).__name__}) has no outlier scores, which --outliers needs."
            )
        started = time.perf_counter()
        if str(out) == DASH:
            with recorded_warnings() as more_warned, about(name):
                labels, scores = _label(rows, fitted, has_scores=has_scores, quiet=quiet)
            far = _outliers(scores, share, threshold)
            labels = renaming.labels(labels if far is None else far.marked(labels))
            named = labels if renaming.names is None else relabel(labels, names=renaming.names)
            write_label_text(sys.stdout, named)
            if not quiet:
                tell_warnings(list(dict.fromkeys([*warned, *more_warned])))
            return
        if out is None:
            out = Path("labels.parquet" if rows.is_table else "labels.npy")
            check_label_file(out)
        is_table = out.suffix in (".parquet", ".csv")
        if renaming.names is not None and not is_table:
            raise UsageError(
                f"--names needs a table: --out must end in .parquet or .csv, or be -, got {str(out)!r}."
            )
        if not force:
            check_files_of_no_run([path.name for path in result_files(out).values()], out.parent)
        columns = kept_column_names(rows, kept, out)
        files = result_files(out)
        with output_folder(out.parent, out.name) as outputs:
            outputs.check(*(path.name for path in files.values()))
            with recorded_warnings() as more_warned, about(name):
                is_wanted = has_scores and (is_table or share is not None or threshold is not None)
                labels, scores = _label(rows, fitted, has_scores=is_wanted, quiet=quiet)
            far = _outliers(scores, share, threshold)
            RowResults(fitted, rows, labels, columns, scores, far, renaming).write(files, outputs)
    left = np.setdiff1d(np.arange(n_clusters_of(fitted) or int(labels.max()) + 1), list(renaming.merges))
    merged = renaming.labels(labels)
    facts = {
        "coterie": coterie.__version__,
        "command": "predict",
        "model": model_file,
        "input": input_facts(name, rows),
        "seconds": round(time.perf_counter() - started, 6),
        "clusters": len(left),
        "cluster_sizes": size_facts(np.where(merged < 0, -1, np.searchsorted(left, merged)), len(left)),
        "outliers": outlier_facts(far, share),
        "warnings": list(dict.fromkeys([*warned, *more_warned])),
        "files": {name: str(path) for name, path in files.items()},
    }
    tell(facts, _lines, json, quiet)


def _outliers(scores: Array | None, share: float | None, threshold: float | None) -> Outliers | None:
    """Return the outliers: a share of the rows, or else those above the threshold of the fit."""
    if scores is None or (share is None and threshold is None):
        return None
    if share is not None:
        return find_outliers(scores, share)
    assert threshold is not None
    return Outliers(threshold, scores > threshold)  # NaN is none


def _check_rows(rows: RowSource, file: str, model: Any, model_file: str) -> None:
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{model_file} ({type(model).__name__}) has clusters for the rows of its fit only, and cannot predict "
            "others."
        )
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{file} has {rows.shape[1]} columns, but {model_file} was fitted to {model.n_features_in_}."
        )
    if rows.is_sparse and not get_tags(model).input_tags.sparse:
        raise ValueError(
            f"{file} has sparse rows, but {model_file} ({type(model).__name__}) takes only dense ones."
        )


def _check_clusters(renaming: Renaming, n_clusters: int | None) -> None:
    named = {"--names": renaming.names or {}, "--merge": [*renaming.merges, *renaming.merges.values()]}
    for flag, clusters in named.items():
        unknown = [cluster for cluster in clusters if n_clusters is not None and cluster >= n_clusters]
        if unknown:
            raise ValueError(
                f"{flag} has cluster {unknown[0]}, and the model has {n_clusters} clusters, numbered from 0."
            )


def _threshold_of(model_file: str) -> float | None:
    """Return the outlier score above which the fit of a model has marked its rows; None if it marked none."""
    noted = persistence.read_header(model_file).metadata.get("outlier_threshold")
    if noted is not None and (
        isinstance(noted, bool) or not isinstance(noted, int | float) or noted != noted
    ):
        raise ValueError(f"{model_file}: outlier_threshold of its metadata must be a number.")
    return None if noted is None else float(noted)


def _label(rows: RowSource, model: Any, *, has_scores: bool, quiet: bool) -> tuple[IntArray, Array | None]:
    """Return the labels of all rows, and outlier scores if the model has them; show the progress."""
    n_rows = rows.shape[0]
    labels = np.empty(n_rows, dtype=np.int32)
    scores = np.empty(n_rows, dtype=np.float32) if has_scores else None
    # Estimators of other libraries know arrays, not sources of rows.
    is_own = isinstance(model, Estimator)
    started = time.perf_counter()
    with display(quiet) as screen:
        for start, block in rows.blocks():
            stop = start + block.shape[0]
            try:
                if scores is not None:
                    part = part_of(rows, block)
                    labels[start:stop], distances = model.predict(part, return_distance=True)
                    scores[start:stop] = relative_to_scales(
                        distances, labels[start:stop], model.cluster_scales_
                    )
                else:
                    labels[start:stop] = model.predict(part_of(rows, block) if is_own else block)
            except ValueError as error:  # which counts rows from the first of the block
                raise ValueError(f"Of the rows from {start} on, counted from 0: {error}") from error
            done = time.perf_counter() - started
            rate = stop / max(done, 1e-9)
            screen.show(Step(stop, n_rows, "row", done, rate, (n_rows - stop) / rate))
    return labels, scores


def _lines(facts: dict[str, Any]) -> list[str]:
    return [
        f"{facts['input']['file']}: {counted(facts['input']['rows'], 'row')} labeled in {facts['seconds']:.3g} s, "
        f"{counted(facts['clusters'], 'cluster')}",
        *outlier_lines(facts),
        *file_lines(facts),
    ]
