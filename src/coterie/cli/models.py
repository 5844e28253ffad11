"""Estimators of commands: construction from options, fits with progress, descriptions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.cli.errors import UsageError, in_options, listed
from coterie.cli.inputs import about, load_array
from coterie.cli.options import TableOptions, declared_options, number_of
from coterie.cli.output import recorded_warnings
from coterie.cli.progress import display, watch
from coterie.cli.results import KeptColumns
from coterie.cli.runs import MODEL, find_model
from coterie.estimators import Estimator
from coterie.estimators.parameters import Parameter, parameters_of
from coterie.estimators.seeded import SeededEstimator
from coterie.fitting.threads import effective_n_threads
from coterie.methods import Method, find_method, methods
from coterie.methods import load as load_model
from coterie.rows import RowSource, open_rows

NO_COUNT = "The number of clusters is missing: add -k NUMBER, or take --method density, which needs none."


@dataclass(frozen=True, slots=True)
class FitJob:
    """What to fit, how, and where the results go. `parameters` holds only what the user set, as a text or a value.

    `report` has options of `coterie.report`.

    Without a method the parameters decide, and then the number of rows: of the usual methods those that have all
    parameters, and of these the one for the number of rows; if none has, the only other method that has them.
    """

    file: str
    n_clusters: int | None
    out: Path
    format: str | None = None
    method: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    tables: TableOptions = TableOptions()
    quiet: bool = False
    force: bool = False
    labels: str | None = None
    graph: str | None = None
    kept: KeptColumns = field(default_factory=KeptColumns)
    outliers: float | None = None
    report: Mapping[str, Any] | None = None
    verify: bool = False


def offered_methods() -> list[Method]:
    """Return the methods that `coterie fit` offers: all that give labels, which a path has for each of its steps."""
    path = path_method()
    return [method for method in methods() if method is not path]


def path_method() -> Method:
    """Return the method behind `coterie path`."""
    return find_method("convex-path")


def names_of(method: Method) -> set[str]:
    return set(method.estimator().get_params())


def make_model(
    method: Method, parameters: Mapping[str, Any], *, n_clusters: int | None = None, seed: int = 0
) -> Any:
    """Make an estimator with the user's parameters."""
    known = names_of(method)
    settings = read_settings(method, parameters)
    if method.clusters is not None:
        settings[method.clusters] = n_clusters
    if "random_state" in known:
        settings["random_state"] = seed
    model = method.estimator(**settings)
    init = settings.get("init")
    is_seeded = isinstance(model, SeededEstimator) and settings.get("affinity") != "precomputed"
    if is_seeded and isinstance(init, np.ndarray) and n_clusters is not None and len(init) != n_clusters:
        raise UsageError(f"--init {parameters['init']} has {len(init)} rows, but -k is {n_clusters}.")
    try:
        effective_n_threads(settings.get("n_threads"))
        if isinstance(model, Estimator):
            model.check_parameters()
    except (ValueError, TypeError) as error:
        raise UsageError(in_options(str(error))) from error
    return model


def read_settings(method: Method, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the meaning of those that are texts, as a command line has them."""
    known, declared = names_of(method), declared_options(method)
    for name in parameters:
        if name not in known:
            takers = takers_of(name)
            end = f", which is an option of {listed(takers, 'and')}" if takers else ""
            raise UsageError(f"--method {method.name} takes no {flag_of(name)}{end}.")
    return {
        name: value_of(declared[name], value) if isinstance(value, str) and name in declared else value
        for name, value in parameters.items()
    }


def flag_of(parameter: str) -> str:
    """Return the option of a parameter."""
    declared = (parameters_of(method.estimator).get(parameter) for method in methods())
    flags = (known.flags[0] for known in declared if known is not None and known.flags)
    return next(flags, f"--{parameter.replace('_', '-')}")


def find_offered(name: str, flag: str = "--method") -> Method:
    """Return the method that an option names; k-means is kmeans, too."""
    offered = offered_methods()
    normalized = name.lower().replace("-", "").replace("_", "")
    for method in offered:
        if method.name.replace("-", "") == normalized:
            return method
    names = [method.name for method in offered]
    raise UsageError(f"{flag} must be {listed(names, 'or')}, got {name!r}.")


def check_neighbors(model: Any, parameters: Mapping[str, Any], rows: RowSource, file: str) -> None:
    """Raise a UsageError if more neighbors are requested than there are other rows, or more samples than rows."""
    if "n_neighbors" in parameters and model.n_neighbors >= rows.shape[0]:
        raise UsageError(
            f"{flag_of('n_neighbors')} {model.n_neighbors} must be less than the {rows.shape[0]} rows of {file}."
        )
    if "min_samples" in parameters and model.min_samples > rows.shape[0]:
        raise UsageError(
            f"{flag_of('min_samples')} {model.min_samples} must be at most the {rows.shape[0]} rows of {file}."
        )


def takers_of(parameter: str) -> list[str]:
    """Return the names of the methods that have a parameter."""
    return [method.name for method in offered_methods() if parameter in names_of(method)]


def fit_model(
    model: Any, rows: RowSource, known: Array | None = None, *, graph: Any = None, quiet: bool
) -> tuple[float, list[str]]:
    """Fit a model and show the progress; return the seconds and the warnings."""
    more = {} if graph is None else {"graph": graph}
    # Estimators of other libraries know arrays, not sources of rows.
    data: Any = rows if isinstance(model, Estimator) else rows.read()
    started = time.perf_counter()
    with display(quiet) as screen, recorded_warnings() as warned, watch(model, screen):
        model.fit(data, known, **more) if known is not None else model.fit(data, **more)
    if rows.preparation and not isinstance(model, Estimator):
        model.preparation_ = rows.preparation  # which is saved with it
    return time.perf_counter() - started, warned


def n_clusters_of(model: Any) -> int | None:
    """Return the number of clusters of a model, empty ones included; None if unknown."""
    memberships = getattr(model, "memberships_", None)
    centers = getattr(model, "cluster_centers_", None)
    labels = getattr(model, "labels_", None)
    if memberships is not None:
        return int(memberships.shape[1])
    if centers is not None:
        return len(centers)
    return None if labels is None else int(np.max(labels, initial=-1)) + 1


def size_facts(labels: Array, n_clusters: int) -> dict[str, float]:
    """Return the number of rows of each cluster; rows with the label -1 are not counted."""
    sizes = np.bincount(labels[labels >= 0], minlength=max(1, n_clusters))
    return {"smallest": int(sizes.min()), "median": float(np.median(sizes)), "largest": int(sizes.max())}


# --- texts of options ---

_READS = {
    "numbers": "numbers with commas between them",
    "array": "a file of rows",
    "model": "a model or the folder of a run",
    "groups": "groups of columns such as '0,1;2:5'",
}


def value_of(parameter: Parameter, text: str) -> Any:
    """Convert the text of an option to the value of a parameter of an estimator."""
    reads = parameter.param.reads
    if text == "none" and parameter.takes_none:
        return None
    if text in parameter.choices:
        return text
    if "numbers" in reads and not Path(text).exists():
        return _numbers(parameter, text)
    if "groups" in reads:
        return [_columns(parameter, group) for group in text.split(";")]
    if "model" in reads and (text.endswith(".coterie") or Path(text, MODEL).exists()):
        return load_model(find_model(text))
    if "array" in reads and ("." in text or Path(text).exists()):
        if text.endswith(".npy"):  # an array of any shape
            return load_array(text)
        with about(text):
            return open_rows(text).read()
    number = number_of(text) if {int, float} & set(parameter.types) else None
    value: Any = text if number is None else number
    if parameter.problem(value) is not None or reads:
        raise UsageError(_wrong(parameter, text))
    return value


def _wrong(parameter: Parameter, text: str) -> str:
    """Return the message of a text that is no value of a parameter."""
    kinds = [*parameter.choices, *(_READS[kind] for kind in parameter.param.reads)]
    kinds += [parameter.expected_number] if {int, float} & set(parameter.types) else []
    kinds += ["none"] if parameter.takes_none and parameter.default is not None else []
    return f"{parameter.flags[0]} must be {listed(kinds, 'or')}, got {text!r}."


def _numbers(parameter: Parameter, text: str) -> list[float] | list[int]:
    """Return the numbers between the commas; whole ones if all are."""
    numbers = [number_of(word) for word in text.removesuffix(",").split(",")]
    if any(number is None for number in numbers):
        raise UsageError(_wrong(parameter, text))
    return [number for number in numbers if number is not None]


def _columns(parameter: Parameter, group: str) -> list[int]:
    """Return the positions of a group of columns, such as "0,1" or "2:5"."""
    columns: list[int] = []
    for part in group.split(","):
        first, colon, last = part.strip().partition(":")
        if not first.isdecimal() or (colon and not last.isdecimal()) or len(first + last) > 9:
            raise UsageError(_wrong(parameter, group))
        columns += range(int(first), int(last)) if colon else [int(first)]
    return columns
