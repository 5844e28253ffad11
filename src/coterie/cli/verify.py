"""`coterie verify`: repeat the fit of a folder and compare the results bit by bit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.base import clone

from coterie.blocks.kernel_rows import kept_on_disk
from coterie.cli.inputs import (
    DASH,
    STANDARD_INPUT,
    about,
    check_format,
    local_file,
    open_for_model,
    read_graph,
    read_known_labels,
)
from coterie.cli.models import fit_model
from coterie.cli.options import FileIfAny, Json, Quiet, RunOptions, Threads
from coterie.cli.output import tell
from coterie.cli.results import sample_of
from coterie.cli.runs import SUMMARY, Fit, hash_of_rows, hash_of_sample, hashes_of_fit, read_fit
from coterie.fitting.threads import effective_n_threads
from coterie.outputs import recovered
from coterie.rows import RowSource
from coterie.rows.remote import has_hidden_parts, without_secrets

# Meaning of a different hash.
_DIFFERENCES = {
    "parameters": "the model file has other parameters than the run",
    "labels": "the labels differ",
    "centers": "the centers differ",
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
    """Repeat the fit of a folder, and check that labels and centers are bit-identical: exit code 0 if so, else 1.

    Parameters
    ----------
    folder
        What `coterie fit` wrote: model.coterie and summary.json.
    file
        The rows, if they are no longer where the summary says; - for the standard input.
    """
    fit, model = read_fit(folder)
    if not fit.hashes:
        raise ValueError(f"{folder / SUMMARY} has no hashes: a fit on a cluster cannot be repeated here.")
    with rows_of_fit("verify", folder, file, fit, model) as (rows, name):
        again = clone(model) if n_threads is None else clone(model).set_params(n_threads=n_threads)
        _compare(fit, folder, {"parameters": hashes_of_fit(model)["parameters"]})
        known = fit.known_labels
        classes = None if known is None else read_known_labels(known, rows.shape[0], fit.clusters)
        graph = None if fit.graph is None else read_graph(fit.graph, rows.shape[0])
        seconds, warned = fit_model(again, rows, classes, graph=graph, quiet=quiet)
    found = hashes_of_fit(again)
    _compare(fit, folder, found)
    facts: dict[str, Any] = {
        "command": "verify",
        "folder": str(folder),
        "file": without_secrets(name),
        "same": True,
        "seconds": round(seconds, 6),
        "hashes": {**fit.hashes, **found},
        "warnings": warned,
    }
    tell(facts, _lines, json, quiet)


@contextmanager
def rows_of_fit(
    command: str, folder: Path, file: str | None, fit: Fit, model: Any
) -> Iterator[tuple[RowSource, str]]:
    """Give the rows of the fit in a folder, from a file or where the summary says, and the name of their file.

    They must have the hash that the fit has recorded: of all rows after `--verify`, else of a sample.
    """
    if file is None and fit.input.file == STANDARD_INPUT:
        raise ValueError(
            f"{folder}: its rows came through the standard input, which cannot be read again. Pipe the same into "
            f"coterie {command} {folder} {DASH}"
        )
    file = file or fit.input.file
    if has_hidden_parts(file):
        raise ValueError(
            f"{folder / SUMMARY} has the address of the rows without its query, which may be a secret: "
            f"coterie {command} {folder} ADDRESS"
        )
    is_local = "://" not in file and "*" not in file and file != DASH
    if is_local and not os.path.exists(recovered(file.partition("::")[0])):
        raise FileNotFoundError(
            f"The rows of {folder} are no longer at {file}: coterie {command} {folder} FILE names where they are."
        )
    format = fit.input.format or Path(fit.input.file).suffix[1:] if file == DASH else None
    check_format(file, format)
    with local_file(file, format) as (path, name):
        with about(name):
            rows = open_for_model(model, path, sep=fit.reading.sep, decimal=fit.reading.decimal)
            rows = kept_on_disk(rows, effective_n_threads(None))
            known = fit.hashes.get("rows")
            found = hash_of_sample(rows, sample_of(rows)[1]) if known is None else hash_of_rows(rows)
            if found != (known or fit.hashes.get("sample")):
                raise ValueError(
                    f"{name} does not hold the rows of the fit in {folder}: name their file, or fit again."
                )
        yield rows, name


def _lines(facts: dict[str, Any]) -> list[str]:
    what = "labels and centers are" if "centers" in facts["hashes"] else "labels are"
    return [f"{facts['folder']}: {what} bit-identical, in {facts['seconds']:.3g} s"]


def _compare(fit: Fit, folder: Path, found: dict[str, str]) -> None:
    wrong = [name for name, value in found.items() if fit.hashes.get(name) != value]
    if wrong:
        reasons = " and ".join(_DIFFERENCES[name] for name in wrong)
        raise ValueError(f"{folder}: not bit-identical: {reasons}.")
