"""`coterie predict`: from a saved model and a file of rows to a file of labels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

import coterie
from coterie import persistence
from coterie.arrays import IntArray
from coterie.cli.inputs import input_facts, open_for_model
from coterie.cli.models import n_clusters_of, size_facts
from coterie.cli.output import check_label_file, recorded_warnings, staged_files
from coterie.cli.progress import Step, display
from coterie.cli.results import Beside, RowResults, names_beside, result_files
from coterie.cli.standard_input import check_format, local_file
from coterie.estimators import Estimator
from coterie.rows import RowSource
from coterie.rows.part import part_of

__all__ = ["predict"]


def predict(
    model_file: str,
    file: str,
    out: Path | None,
    *,
    threads: int | None = None,
    format: str | None = None,
    beside: Beside | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Label the rows of a file, or of the standard input, with a saved model, block by block.

    Returns
    -------
    dict
        The report: what was read and written.
    """
    if out is not None:
        check_label_file(out)
    check_format(file, format)
    model = persistence.load(model_file)
    if threads is not None:
        model.set_params(n_threads=threads)
    with local_file(file, format) as (path, name):
        return _predict_file(model, model_file, path, name, out, beside or Beside(), quiet=quiet)


def _predict_file(
    model: Any, model_file: str, path: str, file: str, out: Path | None, beside: Beside, *, quiet: bool
) -> dict[str, Any]:
    """Label the rows of a file that is there; reports call it `file`."""
    with recorded_warnings() as warned:
        rows = open_for_model(model, path, exclude=beside.names or None)
    _check_rows(rows, file, model, model_file)
    if out is None:
        out = Path("labels.parquet" if rows.is_table else "labels.npy")
        check_label_file(out)
    names = names_beside(rows, beside, out)

    started = time.perf_counter()
    with recorded_warnings() as more_warned:
        labels = _label(rows, model, quiet=quiet)
    files = result_files(out)
    results = RowResults(model, rows, labels, names)
    with staged_files(out.parent, [path.name for path in files.values()]) as staged:
        results.write({name: staged[path.name] for name, path in files.items()})
    n_clusters = n_clusters_of(model) or int(labels.max()) + 1
    return {
        "coterie": coterie.__version__,
        "command": "predict",
        "model": model_file,
        "input": input_facts(file, rows),
        "seconds": round(time.perf_counter() - started, 6),
        "clusters": n_clusters,
        "cluster_sizes": size_facts(labels, n_clusters),
        "warnings": list(dict.fromkeys([*warned, *more_warned])),
        "files": {name: str(path) for name, path in files.items()},
    }


def _check_rows(rows: RowSource, file: str, model: Any, model_file: str) -> None:
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{model_file} ({type(model).__name__}) knows the clusters of its own rows only, not of others."
        )
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{file} has {rows.shape[1]} columns, but {model_file} was fitted to {model.n_features_in_}."
        )
    if rows.is_sparse and not get_tags(model).input_tags.sparse:
        raise ValueError(
            f"{file} has sparse rows, but {model_file} ({type(model).__name__}) takes only dense ones."
        )


def _label(rows: RowSource, model: Any, *, quiet: bool) -> IntArray:
    """Return the labels of all rows; shows how far it is."""
    n_rows = rows.shape[0]
    labels = np.empty(n_rows, dtype=np.int32)
    # Estimators of other libraries know arrays, not sources of rows.
    is_own = isinstance(model, Estimator)
    started = time.perf_counter()
    with display(quiet) as screen:
        for start, block in rows.blocks():
            stop = start + block.shape[0]
            try:
                labels[start:stop] = model.predict(part_of(rows, block) if is_own else block)
            except ValueError as error:  # which counts rows from the first of the block
                raise ValueError(f"Of the rows from {start} on, counted from 0: {error}") from error
            done = time.perf_counter() - started
            rate = stop / max(done, 1e-9)
            screen.show(Step(stop, n_rows, "row", done, rate, (n_rows - stop) / rate))
    return labels
