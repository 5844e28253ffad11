"""`coterie verify`: the run of a folder once more, and whether it gives the same bits."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from coterie import persistence
from coterie.arrays import Array
from coterie.cli.inputs import open_for_model, read_graph, read_known_labels
from coterie.cli.lines import verify_lines
from coterie.cli.models import check_threads, fit_model, settings_of
from coterie.cli.options import FileIfAny, Json, Quiet, RunOptions, Threads
from coterie.cli.output import tell, to_json
from coterie.cli.standard_input import check_format, local_file
from coterie.cli.values import DASH, STANDARD_INPUT
from coterie.outputs import recovered
from coterie.rows import RowSource
from coterie.rows.addresses import hides_something, without_secrets

__all__ = ["hash_of_array", "hash_of_parameters", "hash_of_rows", "hashes_of_fit", "read_run", "verify"]

# What is said of a hash that is another one than before.
_DIFFERENCES = {
    "data": "the rows are not those of the run",
    "parameters": "the model file has other parameters than the run",
    "labels": "the labels differ",
    "centers": "the centres differ",
}


def verify(
    folder: Path,
    file: FileIfAny = None,
    /,
    *,
    n_threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
    run: RunOptions = RunOptions(),
) -> None:
    """Repeat the fit of a folder, and check that the result is bit-identical: exit code 0 if so, else 1.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input.
    """
    tell(verify_run(folder, file, threads=n_threads, quiet=quiet), verify_lines, json, quiet)


def verify_run(
    folder: Path, file: str | None = None, *, threads: int | None = None, quiet: bool
) -> dict[str, Any]:
    """Repeat the fit that wrote a folder.

    Parameters
    ----------
    folder : Path
        What `coterie fit` wrote.
    file : str, optional
        The rows, where they are no longer at the path that the summary names, or at an address that it has without its
        query; ``-`` for the standard input. Only their numbers are compared, so they may be a copy.
    threads : int, optional
        Threads of the new run, which change no bit.
    quiet : bool
        Whether to show no progress.

    Returns
    -------
    dict
        The report.

    Raises
    ------
    ValueError
        If the folder has no summary with hashes, or a bit differs; the message says what does.
    """
    check_threads(threads)
    summary, model = read_run(folder)
    source = summary["input"]
    if file is None and source["file"] == STANDARD_INPUT:
        raise ValueError(
            f"{folder}: its rows came through the standard input, which nobody can read again. Pipe the same into "
            f"coterie verify {folder} {DASH}"
        )
    file = file or source["file"]
    if hides_something(file):
        raise ValueError(
            f"{folder / 'summary.json'} has the address of the rows without its query, which may be a secret: "
            f"coterie verify {folder} ADDRESS"
        )
    format = source.get("format") or Path(source["file"]).suffix[1:] if file == DASH else None
    check_format(file, format)
    with local_file(file, format) as (path, name):
        return _verify_file(folder, summary, model, path, name, threads=threads, quiet=quiet)


def _verify_file(
    folder: Path,
    summary: dict[str, Any],
    model: Any,
    path: str,
    file: str,
    *,
    threads: int | None,
    quiet: bool,
) -> dict[str, Any]:
    """Repeat the fit with the rows of a file that is there; reports call it `file`."""
    again = clone(model)
    if threads is not None:
        again.set_params(n_threads=threads)
    rows = open_for_model(model, path, **summary.get("reading", {}))
    found = {"data": hash_of_rows(rows), "parameters": hash_of_parameters(model)}
    _compare(summary["hashes"], found, folder)
    known = summary.get("known_labels")
    classes = None if known is None else read_known_labels(known, rows.shape[0], summary["clusters"])
    graph = None if summary.get("graph") is None else read_graph(summary["graph"], rows.shape[0])
    seconds, warned = fit_model(again, rows, classes, graph=graph, quiet=quiet)
    found.update(hashes_of_fit(again))
    _compare(summary["hashes"], found, folder)
    return {
        "command": "verify",
        "folder": str(folder),
        "file": without_secrets(file),
        "same": True,
        "seconds": round(seconds, 6),
        "hashes": found,
        "warnings": warned,
    }


def hashes_of_fit(model: Any) -> dict[str, str]:
    """Return the hashes of what a fit found: labels, and centres where it has them."""
    centers = getattr(model, "cluster_centers_", None)
    found = {"labels": hash_of_array(model.labels_)}
    return found if centers is None else {**found, "centers": hash_of_array(centers)}


def read_run(folder: Path) -> tuple[dict[str, Any], Any]:
    """Return summary and model of the fit that wrote a folder, of the same one even if another ends in between."""
    while True:
        summary = _summary(folder)
        model = persistence.load(folder / "model.coterie")
        if _summary(folder) == summary:
            return summary, model


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "summary.json"
    try:
        summary = json.loads(Path(recovered(path)).read_text(encoding="utf-8"))
        if summary["command"] == "fit" and "hashes" in summary:
            return dict(summary)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(
            f"{folder} is not the folder of a run of coterie fit: it has no summary.json."
        ) from error
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not the summary of a fit, or it is damaged.") from error
    raise ValueError(
        f"{path} has no hashes: it is not of coterie fit, or of an older one. Run the fit again."
    )


def _compare(expected: dict[str, str], found: dict[str, str], folder: Path) -> None:
    wrong = [name for name, value in found.items() if expected.get(name) != value]
    if wrong:
        reasons = " and ".join(_DIFFERENCES[name] for name in wrong)
        raise ValueError(f"{folder}: not the same bits: {reasons}.")


def hash_of_rows(rows: RowSource) -> str:
    """Return the SHA-256 of the numbers of all rows, block by block; how they are stored makes no difference."""
    digest = hashlib.sha256(f"{rows.shape} {rows.dtype.name}".encode())
    for _, block in rows.blocks():
        parts = [block] if not sp.issparse(block) else [np.diff(block.indptr), block.indices, block.data]
        for part in parts:
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def hash_of_parameters(model: Any) -> str:
    """Return the SHA-256 of the parameters of an estimator; the number of threads changes no result."""
    settings = {name: _told(value) for name, value in settings_of(model).items() if name != "n_threads"}
    return hashlib.sha256(to_json(dict(sorted(settings.items()))).encode()).hexdigest()


def _told(value: Any) -> Any:
    """Return a parameter as JSON can tell it; a model to begin with by what it begins with."""
    return getattr(value, "cluster_centers_", value)


def hash_of_array(array: Array) -> str:
    """Return the SHA-256 of an array: its type, its shape, its numbers."""
    header = f"{array.dtype.str} {array.shape}".encode()
    return hashlib.sha256(header + np.ascontiguousarray(array).tobytes()).hexdigest()
