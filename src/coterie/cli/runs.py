"""The folder of a run: written as a whole, and read from its `summary.json`."""

from __future__ import annotations

import hashlib
import json
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from coterie.arrays import Array
from coterie.cli.errors import UsageError
from coterie.cli.output import to_json
from coterie.limits.files import check_regular_file
from coterie.methods import load as load_model
from coterie.outputs import OutputFolder
from coterie.rows import Block, RowSource
from coterie.rows.remote import without_secrets
from coterie_command import cleaned_up

SUMMARY = "summary.json"

MODEL = "model.coterie"
"""The model in the folder of a run."""

# The version of summary.json, which a reader must know.
_FORMAT = 1

# Files that `coterie report` writes to the folder of a run.
_REPORT = ("report.html",)

# Characters of a wrong value that an error shows.
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """The rows of a run."""

    file: str
    rows: Annotated[int, 1]
    columns: Annotated[int, 1]
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """The rows that a fit has marked."""

    marked: Annotated[int, 0]
    share: Annotated[float, 0] | None = None


command_line: ContextVar[str] = ContextVar("command_line", default="")
"""The command that is running, as it was typed, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a text file was read."""

    sep: str | None = None
    decimal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Fields of the summary of every command."""

    format: Annotated[int, 1]
    coterie: str
    command: str
    command_line: str = ""
    input: Input
    seconds: Annotated[float, 0]
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit(Run):
    """Fields of the summary of `coterie fit` that other commands use."""

    method: str
    parameters: dict[str, Any]
    clusters: Annotated[int, 1]
    hashes: dict[str, str] = field(default_factory=dict)
    preparing: dict[str, Any] = field(default_factory=dict)
    normalize: bool = False
    columns: list[Any] | None = None
    reading: Reading = field(default_factory=Reading)
    known_labels: str | None = None
    graph: str | None = None
    outliers: Outliers | None = None
    warnings: list[str] = field(default_factory=list)


_Run = TypeVar("_Run", bound=Run)


def read_run(folder: Path, kind: type[_Run]) -> _Run:
    """Return the summary of the run that wrote a folder: `Fit`, or `Run` of any command."""
    path = folder / SUMMARY
    check_regular_file(path)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is not JSON. Run the command again.") from error
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        raise
    except OSError as error:  # such as a link to itself
        raise ValueError(f"{path}: {error.strerror}.") from error
    version = facts.get("format") if isinstance(facts, dict) else None
    if type(version) is int and version > _FORMAT:
        raise ValueError(f"{path}: format {version} is of a newer coterie, and this one reads {_FORMAT}.")
    try:
        found: _Run = _typed(kind, facts, "")
    except _WrongField as error:
        raise ValueError(
            f"{path}: {error}. It is damaged, or of another coterie: run the command again."
        ) from None
    return found


def read_summary(folder: Path) -> Fit:
    """Return the summary of the fit that wrote a folder."""
    try:
        command = read_run(folder, Run).command
        if command != "fit":
            raise ValueError(f"{folder} has the results of coterie {command}, not of coterie fit.")
        return read_run(folder, Fit)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(
            f"{folder} is not the folder of a run of coterie fit: it has no {SUMMARY}."
        ) from error


def read_fit(folder: Path) -> tuple[Fit, Any]:
    """Return summary and model of the fit that wrote a folder, both of the same run."""
    while True:
        fit = read_summary(folder)
        model = load_model(folder / MODEL)
        if read_run(folder, Fit) == fit:  # no other run has ended in between
            break
    known: dict[str, Any] = {"input.rows": fit.input.rows, "input.columns": fit.input.columns}
    found = {"input.rows": len(model.labels_), "input.columns": model.n_features_in_}
    for name, value in settings_of(model).items():
        is_file = isinstance(value, np.ndarray | BaseEstimator)
        if not (is_file and isinstance(fit.parameters.get(name), str)):
            found[f"parameters.{name}"] = json.loads(to_json({"": value}))[""]
            known[f"parameters.{name}"] = fit.parameters.get(name)
    for name, value in found.items():
        if known[name] != value:
            raise ValueError(
                f"{folder / SUMMARY}: {name} is {_shown(known[name])}, but that of {MODEL} is {_shown(value)}: the "
                "files are not of the same run. Run coterie fit again."
            )
    return fit, model


class _WrongField(Exception):
    """A field that is not as it must be."""


def _typed(kind: Any, value: Any, name: str) -> Any:
    """Return a value of JSON as a value of a type: a dataclass, a list, a mapping, a number, a text or None.

    `Annotated[int, 1]` is a whole number of at least 1. Floats are finite. A dataclass ignores fields that it has not.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        _expect(isinstance(value, dict), "an object", name, value)
        hints, found = get_type_hints(kind, include_extras=True), {}
        for entry in fields(kind):
            inner = f"{name}.{entry.name}" if name else entry.name
            if entry.name in value:
                found[entry.name] = _typed(hints[entry.name], value[entry.name], inner)
            elif entry.default is MISSING and entry.default_factory is MISSING:
                raise _WrongField(f"{inner} is missing")
        make: Any = kind
        return make(**found)
    if origin in (Union, types.UnionType):
        return None if value is None else _typed(arguments[0], value, name)
    if origin is Annotated:
        number = _typed(arguments[0], value, name)
        _expect(number >= arguments[1], f"at least {arguments[1]}", name, value)
        return number
    if origin is list:
        _expect(isinstance(value, list), "a list", name, value)
        return [_typed(arguments[0], entry, f"{name}[{i}]") for i, entry in enumerate(value)]
    if origin is dict:
        _expect(isinstance(value, dict), "an object", name, value)
        return {key: _typed(arguments[1], entry, f"{name}.{key}") for key, entry in value.items()}
    if kind is float:
        is_one = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        _expect(is_one, "a finite number", name, value)
        return float(value)
    nouns = {bool: "true or false", int: "a whole number", str: "a text"}
    _expect(type(value) is kind, nouns[kind], name, value)
    return value


def _expect(is_right: bool, what: str, name: str, value: Any) -> None:
    if not is_right:
        raise _WrongField(f"{name} must be {what}, got {_shown(value)}" if name else f"it must be {what}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def find_model(path: str) -> str:
    """Return the file of a model that is named by it or by the folder of the run that wrote it."""
    if not Path(path).is_dir():
        return path
    file = Path(path, MODEL)
    if not file.exists():
        raise ValueError(f"{path} is a folder without a {MODEL}: name a model, or the folder of coterie fit.")
    return str(file)


@contextmanager
def run_folder(folder: Path, command: str, file: str, *, force: bool) -> Iterator[OutputFolder]:
    """Give the folder of a run, which replaces one of the same command and rows, or with `force` any other."""
    with output_folder(folder) as outputs:
        outputs.check(SUMMARY)
        try:
            run = read_run(folder, Run)
        except FileNotFoundError:
            run = None
        except ValueError as error:
            run = None
            if not force:
                raise UsageError(f"{error} Choose another --out, or replace it with --force.") from error
        if run is not None:
            if not force and (run.command, run.input.file) != (command, without_secrets(file)):
                raise UsageError(
                    f"{folder} has the results of coterie {run.command} {run.input.file}: choose another --out, or "
                    "replace them with --force."
                )
            outputs.replaced = _files_of(run)
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


def check_files_of_no_run(names: Sequence[str], folder: Path) -> None:
    """Raise an error if one of the files belongs to the run that wrote a folder."""
    try:
        own = _files_of(read_run(folder, Run))
    except (OSError, ValueError):  # not the folder of a run
        return
    for name in names:
        if name in own:
            raise UsageError(
                f"{folder / name} is a result of the run that wrote {folder}: choose another --out, or replace it with "
                "--force."
            )


def _files_of(run: Run) -> set[str]:
    """Return the names of the files of a run, with those of its report."""
    return {Path(path).name for path in run.files.values()} | set(_REPORT)


def settings_of(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, without its callback."""
    return {name: value for name, value in model.get_params(deep=False).items() if name != "callback"}


def hashes_of_fit(model: Any) -> dict[str, str]:
    """Return the SHA-256 of parameters and labels, and of centers where a model has them."""
    settings = {
        # A model as a parameter is known by its centers. The number of threads changes no result.
        name: getattr(value, "cluster_centers_", value)
        for name, value in sorted(settings_of(model).items())
        if name != "n_threads"
    }
    centers = getattr(model, "cluster_centers_", None)
    return {
        "parameters": hashlib.sha256(to_json(settings).encode()).hexdigest(),
        "labels": hash_of_array(model.labels_),
        **({} if centers is None else {"centers": hash_of_array(centers)}),
    }


def hash_of_array(array: Array) -> str:
    """Return the SHA-256 of an array: its type, its shape, its numbers."""
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def hash_of_rows(rows: RowSource, sample: Block = None) -> str:
    """Return the SHA-256 of the numbers of all rows or of a sample, and of the shape and type of all.

    Storage makes no difference.
    """
    digest = hashlib.sha256(f"{rows.shape} {rows.dtype.name}".encode())
    for block in (block for _, block in rows.blocks()) if sample is None else [sample]:
        for part in [np.diff(block.indptr), block.indices, block.data] if sp.issparse(block) else [block]:
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
