"""`coterie predict`: label the rows of a file by a model."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie.cli.errors import about
from coterie.cli.fit import CLUSTERS
from coterie.cli.inputs import DASH, Opened, input_facts, kept_columns, local_file
from coterie.cli.output import file_lines, recorded_warnings, tell
from coterie.cli.results import (
    asked_share,
    check_labels_file,
    labels_name,
    outlier_facts,
    outlier_lines,
    write_labels,
)
from coterie.cli.runs import find_model, output_folder
from coterie.estimators import persistence
from coterie.figures import counted
from coterie.methods import load
from coterie.names import merge_labels, read_merges, read_names, relabel
from coterie.results import labels_of, mark_outliers, model_rows, outlier_threshold, place_rows
from coterie_command.options import PredictOptions, UsageError, column_names
from coterie_command.progress import Progress

_ON_MISSING = "A model that was fitted with --missing drop or --missing median takes such rows."


def run_predict(model: str, file: str, options: PredictOptions) -> int:
    """Label the rows, write the labels, print what was done, and return the exit code."""
    out, names = options.out, options.names
    is_piped = str(out) == DASH
    if is_piped and options.json:
        raise UsageError("--json and --out - both write to the standard output: give one of them.")
    share, left_out = asked_share(options.outliers), column_names(options.exclude, "--exclude")
    if out is not None and not is_piped:
        check_labels_file(out)
        _check_free(out, options.force)
    merged = {} if options.merges is None else read_merges(options.merges)
    model_file = find_model(model)
    fitted = load(model_file)
    if not hasattr(fitted, "predict"):
        raise ValueError(f"{model_file} ({type(fitted).__name__}) labels the rows of its fit only.")
    named = _names(names, Path(model))
    if options.threads is not None and "n_threads" in fitted.get_params():
        fitted.set_params(n_threads=options.threads)
    started = time.perf_counter()
    with Progress(options.quiet or is_piped) as screen, local_file(file, screen) as (path, name):
        with recorded_warnings() as warned, about(name, _ON_MISSING, PredictOptions):
            keep = options.columns_out == "all"
            rows = model_rows(fitted, path, exclude=left_out, keep_columns=keep, **options.reading)
            opened = Opened(rows, kept_columns(rows, options.columns_out, options.id))
            out = Path(labels_name(path, opened)) if out is None else out
            if not is_piped:
                _check_free(out, options.force)
            screen.begin("predicting")
            labels = labels_of(fitted, rows)
            _check_clusters(labels, named, merged, fitted)
            placement = place_rows(fitted, rows, labels)
        scores = placement.measures.get("outlier_score")
        threshold = _threshold(scores, share, model_file)
        clusters = mark_outliers(labels, scores, threshold)
        clusters = merge_labels(clusters, merged) if merged else clusters
        if is_piped:
            texts = clusters if names is None else relabel(clusters, names=named)
            sys.stdout.write("".join(f"{text}\n" for text in texts.tolist()))
            return 0
        with output_folder(out.parent, out.name) as outputs, outputs.writing(out.name) as place:
            write_labels(place, opened, placement, clusters, named, options.csv_escape)
    facts = {
        "coterie": coterie.__version__,
        "command": "predict",
        "model": model_file,
        "input": input_facts(name, rows),
        "seconds": round(time.perf_counter() - started, 6),
        "clusters": len(np.unique(clusters[clusters >= 0])),
        "outliers": outlier_facts(scores, threshold, share),
        "warnings": warned,
        "files": {"labels": str(out)},
    }
    tell(facts, _lines, options)
    return 0


def _names(names: str | None, folder: Path) -> dict[int, str] | None:
    """Return the names of clusters that were given, or else those of the fit in a folder."""
    if names is not None:
        return read_names(names)
    clusters = folder / CLUSTERS
    return read_names(clusters) if folder.is_dir() and clusters.exists() else None


def _check_free(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise UsageError(f"{out} exists: choose another --out, or replace it with --force.")


def _check_clusters(
    labels: Any, names: Mapping[int, str] | None, merges: Mapping[int, int], model: Any
) -> None:
    fitted = getattr(model, "labels_", labels)
    n_clusters = int(max(np.max(labels, initial=-1), np.max(fitted, initial=-1))) + 1
    centers = getattr(model, "cluster_centers_", None)
    n_clusters = max(n_clusters, 0 if centers is None else np.shape(centers)[0])
    for option, clusters in (("--names", names or {}), ("--merges", [*merges, *merges.values()])):
        unknown = [cluster for cluster in clusters if cluster >= n_clusters]
        if unknown:
            raise ValueError(f"{option} has cluster {unknown[0]}, and the model has 0 to {n_clusters - 1}.")


def _threshold(scores: Any, share: float | None, model_file: str) -> float | None:
    """Return the score of the outliers: that of a share of the rows, or else that of the fit."""
    if share is not None:
        if scores is None:
            raise ValueError(f"{model_file} has no outlier scores, which --outliers needs.")
        return outlier_threshold(scores, share)
    threshold = persistence.read_header(model_file)["metadata"].get("outlier_threshold")
    return float(threshold) if scores is not None and isinstance(threshold, int | float) else None


def _lines(facts: Mapping[str, Any]) -> list[str]:
    dropped = facts["input"]["dropped"]
    return [
        f"{facts['input']['file']}: {counted(facts['input']['rows'], 'row')} labeled in {facts['seconds']:.3g} s, "
        f"{counted(facts['clusters'], 'cluster')}",
        *([f"{counted(dropped, 'row')} dropped, with missing numbers: no cluster"] if dropped else []),
        *outlier_lines(facts),
        *file_lines(facts),
    ]
