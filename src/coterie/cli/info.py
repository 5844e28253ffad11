"""`coterie info`: what is in a file of rows or in a saved model."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from coterie import persistence
from coterie.cli.inputs import input_facts, open_prepared
from coterie.cli.lines import fact_lines
from coterie.cli.models import n_clusters_of
from coterie.cli.options import File, Json
from coterie.cli.output import tell
from coterie.cli.runs import MODEL, SUMMARY, Run, read_run, settings_of
from coterie.cli.tables import table_facts
from coterie.cli.values import find_model
from coterie.estimators import Method, method_of
from coterie.outputs import recovered
from coterie.rows.roles import profile_table

__all__ = ["describe", "info"]


def info(file: File, /, *, json: Json = False) -> None:
    """Describe a file of rows, a saved model, or the folder of a run.

    Parameters
    ----------
    file
        A file that `coterie fit` reads, a model, or the folder that a run wrote.
    """
    tell(describe(file), fact_lines, json)


def describe(file: str) -> dict[str, Any]:
    """Return facts about a file of rows, of a table column by column, a saved model, or the folder of a run."""
    path = str(recovered(file))
    if os.path.isdir(file):
        has_summary, has_model = (os.path.lexists(Path(file, name)) for name in (SUMMARY, MODEL))
        try:
            run = _run_facts(read_run(Path(file), Run)) if has_summary else None
        except ValueError:
            if has_model:
                raise
            run = None  # a folder of rows may have a file of this name
        if has_model:
            return {**_model_facts(find_model(file)), **(run or {})}
        if run is not None:
            return {"file": file, "kind": "run", **run}
    return _model_facts(file) if _is_model(path) else _row_facts(path)


def _run_facts(run: Run) -> dict[str, Any]:
    """Return the rows and files of a run."""
    return {
        "command": f"coterie {run.command}",
        "made_from": run.input.file,
        "rows": run.input.rows,
        "seconds": run.seconds,
        "files": sorted(run.files),
    }


def _is_model(file: str) -> bool:
    if file.endswith(".coterie"):
        return True
    if not os.path.isfile(file):
        return False
    try:  # `zipfile.is_zipfile` too raises BadZipFile, on an archive that says that it has other disks
        with zipfile.ZipFile(file) as archive:
            return "coterie.json" in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError):  # damaged: its reader says how
        return False


def _row_facts(file: str) -> dict[str, Any]:
    profile = profile_table(file)
    facts: dict[str, Any] = {"kind": "rows"}
    try:
        rows = open_prepared(file)
        facts.update(input_facts(file, rows))
        if rows.column_names is not None:
            facts["column_names"] = list(rows.column_names)
    except ValueError as error:
        if profile is None:
            raise
        facts.update({"file": file, "rows": profile[0], "problem": " ".join(str(error).split())})
    if os.path.isfile(file):
        facts["bytes"] = os.path.getsize(file)
    return facts if profile is None else {**facts, **table_facts(file, *profile)}


def _model_facts(file: str) -> dict[str, Any]:
    header = persistence.read_header(file)
    model = persistence.load(file)
    method = method_of(model)
    return {
        "file": file,
        "kind": "model",
        "estimator": header.estimator,
        "format_version": header.format_version,
        "coterie": header.coterie_version,
        "bytes": os.path.getsize(recovered(file)),
        **({"method": method.name} if method else {}),
        **header.metadata,
        "prepared_by": [_step_in_words(*step) for step in getattr(model, "preparation_", ())],
        "parameters": settings_of(model),
        **_fitted_facts(model),
        **(_method_facts(model, method) if method else {}),
    }


def _step_in_words(name: str, *values: Any) -> str:
    """Return what was done to the rows of a fit: a word for it, and the first that it holds."""
    if not values:
        return name
    held = " ".join(map(str, values[0])) if isinstance(values[0], list) else " ".join(repr(values[0]).split())
    return f"{name} {held}"


def _fitted_facts(model: Any) -> dict[str, Any]:
    """Return what any fitted estimator can tell."""
    facts = {
        "columns_in": getattr(model, "n_features_in_", None),
        "clusters": n_clusters_of(model),
        "iterations": getattr(model, "n_iter_", None),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _method_facts(model: Any, method: Method) -> dict[str, Any]:
    """Return what the record of its method says of a fitted estimator."""
    facts: dict[str, Any] = {}
    left = n_clusters_of(model)
    if method.objective is not None:
        value = getattr(model, method.objective.attribute, None)
        if value is not None and np.ndim(value) == 0:
            facts[method.objective.name.replace(" ", "_")] = value
    if method.drops_clusters and method.clusters is not None and left is not None:
        facts["clusters_dropped"] = getattr(model, method.clusters) - left
    return facts
