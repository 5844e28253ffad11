"""The folder of a run: written as a whole, and read from its `summary.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array
from coterie.cli.errors import check_exists
from coterie.cli.output import to_json
from coterie.limits.files import check_regular_file
from coterie.methods import load
from coterie.outputs import OutputFolder
from coterie.rows import Rows
from coterie.rows.remote import without_secrets
from coterie_command import cleaned_up
from coterie_command.options import STANDARD_INPUT, UsageError

SUMMARY, MODEL, REPORT = "summary.json", "model.coterie", "report.html"

# The version of summary.json, which a reader must know.
_FORMAT = 2

# Rows by whose hash a run knows the rows of its fit.
_SEEN_ROWS = 20_000


def read_summary(folder: Path, command: str | None = None) -> dict[str, Any]:
    """Return the summary of a run, of a command if one is given."""
    path = folder / SUMMARY
    check_regular_file(path)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{folder} is not the folder of a run: it has no {SUMMARY}.") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is not JSON. Run the command again.") from error
    known = facts.get("format") if isinstance(facts, dict) else None
    if known != _FORMAT:
        raise ValueError(f"{path} is damaged, or of another coterie: run the command again.")
    for name, kind in {"command": str, "input": dict, "files": dict, "seconds": (int, float)}.items():
        if not isinstance(facts.get(name), kind):  # type: ignore[arg-type]
            raise ValueError(f"{path} is damaged: {name} is missing or wrong. Run the command again.")
    if not isinstance(facts["input"].get("file"), str) or not isinstance(facts["input"].get("rows"), int):
        raise ValueError(f"{path} is damaged: input is wrong. Run the command again.")
    if command is not None and facts["command"] != command:
        raise ValueError(f"{folder} has the results of coterie {facts['command']}, not of coterie {command}.")
    return facts


def read_fit(folder: Path) -> tuple[dict[str, Any], Any]:
    """Return summary and model of the fit that wrote a folder."""
    facts = read_summary(folder, "fit")
    model = load(folder / MODEL)
    if facts["hashes"] != {**facts["hashes"], **hashes_of(model)}:
        raise ValueError(f"{folder}: {SUMMARY} and {MODEL} are not of the same run. Run coterie fit again.")
    return facts, model


def find_model(path: str) -> str:
    """Return the file of a model that is named by it or by the folder of the run that wrote it."""
    check_exists(path)
    if not Path(path).is_dir():
        return path
    file = Path(path, MODEL)
    if not file.exists():
        raise ValueError(f"{path} is a folder without a {MODEL}: name a model, or the folder of coterie fit.")
    return str(file)


@contextmanager
def run_folder(folder: Path, command: str, file: str, *, force: bool) -> Iterator[OutputFolder]:
    """Give the folder of a run, which replaces one of the same command and rows, or with `force` any other."""
    if Path(file).is_dir() and folder.resolve().is_relative_to(Path(file).resolve()):
        raise UsageError(f"--out {folder} is inside the input folder {file}: choose another folder.")
    with output_folder(folder) as outputs:
        outputs.check(SUMMARY)
        try:
            facts = read_summary(folder)
        except FileNotFoundError:
            facts = None
        except ValueError as error:
            facts = None
            if not force:
                raise UsageError(f"{error} Or choose another --out, or replace it with --force.") from error
        if facts is not None:
            shown = STANDARD_INPUT if file == "-" else without_secrets(file)
            if not force and (facts["command"], facts["input"]["file"]) != (command, shown):
                raise UsageError(
                    f"{folder} has the results of coterie {facts['command']} {facts['input']['file']}: choose another "
                    "--out, or replace them with --force."
                )
            outputs.replaced = {Path(str(path)).name for path in facts["files"].values()} | {REPORT}
        yield outputs


@contextmanager
def output_folder(folder: Path, output: str = "") -> Iterator[OutputFolder]:
    """Give an output, a whole folder or some files of one, whose files appear all at the end or not at all."""
    outputs = OutputFolder(folder, output)
    with cleaned_up(outputs.abandon), outputs:
        yield outputs


def write_summary(outputs: OutputFolder, facts: Mapping[str, Any]) -> None:
    """Write `summary.json`."""
    with outputs.writing(SUMMARY) as path:
        path.write_text(to_json({"format": _FORMAT, **facts}) + "\n", encoding="utf-8")


def hashes_of(model: Any) -> dict[str, str]:
    """Return the SHA-256 of labels, and of centers where a model has them."""
    centers = getattr(model, "cluster_centers_", None)
    found = {"labels": hash_of_array(model.labels_)}
    return found if centers is None or sp.issparse(centers) else found | {"centers": hash_of_array(centers)}


def hash_of_rows(rows: Rows) -> str:
    """Return the SHA-256 of at most 20,000 rows at equal distances, and of the shape and type of all."""
    n_rows = rows.shape[0]
    block = rows.take(np.linspace(0, n_rows - 1, min(_SEEN_ROWS, n_rows)).astype(np.intp))
    digest = hashlib.sha256(f"{rows.shape} {rows.dtype.name}".encode())
    for part in [np.diff(block.indptr), block.indices, block.data] if sp.issparse(block) else [block]:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def hash_of_array(array: Array) -> str:
    """Return the SHA-256 of an array: its type, its shape, its numbers."""
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
