"""Methods and their parameters: from `--method` and `-p NAME=VALUE` to an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from coterie.cli.errors import about, check_exists, option_of
from coterie.cli.inputs import load_array
from coterie.cli.runs import MODEL, find_model
from coterie.estimators import Estimator
from coterie.estimators.parameters import Parameter, parameters_of
from coterie.fitting.threads import effective_n_threads
from coterie.methods import Method, find_method, load, methods
from coterie.rows import open_rows
from coterie_command.app import did_you_mean
from coterie_command.options import FitOptions, PathOptions, UsageError

# Parameters that the command sets or that mean nothing to it.
_OF_PYTHON = ("callback", "verbose", "copy_x", "compute_labels")

_READS = {
    "numbers": "numbers with commas between them",
    "array": "a file of rows",
    "model": "a model or the folder of a run",
    "groups": "groups of columns such as '0,1;2:5'",
}


def offered_methods() -> list[Method]:
    """Return the methods that `coterie fit` offers: all that give labels, which a path has for each of its steps."""
    return [method for method in methods() if method is not path_method()]


def path_method() -> Method:
    """Return the method behind `coterie path`."""
    return find_method("convex-path")


def find_offered(name: str, option: str = "--method") -> Method:
    """Return the method that an option names; kmeans is k-means, too."""
    offered = offered_methods()
    for method in offered:
        if method.name.replace("-", "") == name.strip().lower().replace("-", "").replace("_", ""):
            return method
    names = [method.name for method in offered]
    meant = did_you_mean(name, names)
    raise UsageError(
        f"{option}: there is no method {name!r}.{meant or ' There are ' + ', '.join(names) + '.'}"
    )


def settable(method: Method) -> dict[str, Parameter]:
    """Return the parameters of a method that -p sets, by name."""
    return {name: known for name, known in parameters_of(method.estimator).items() if name not in _OF_PYTHON}


def texts_of(values: Sequence[str] | None) -> dict[str, str]:
    """Return the texts of -p NAME=VALUE by names."""
    found: dict[str, str] = {}
    for value in values or ():
        name, sign, text = value.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or not name:
            raise UsageError(f"-p must be NAME=VALUE such as n_init=10, got {value!r}.")
        if name in found:
            raise UsageError(f"-p {name} is given more than once.")
        found[name] = text
    return found


def check_names(method: Method, names: Sequence[str]) -> None:
    """Raise an error for a parameter that a method does not have."""
    known = settable(method)
    for name in names:
        if name not in known:
            others = [other.name for other in offered_methods() if name in settable(other)]
            meant = did_you_mean(name, list(known))
            if not meant and others:
                meant = f" These have it: {', '.join(others)}."
            raise UsageError(
                f"The method {method.name} has no parameter {name!r}."
                f"{meant or f' coterie methods {method.name} lists those it has.'}"
            )


def make_model(
    method: Method, texts: Mapping[str, str], options: FitOptions | PathOptions, *, k: int | None
) -> Any:
    """Make an estimator with the parameters of -p and of the options of their own, which are checked."""
    check_names(method, list(texts))
    known = settable(method)
    settings = {name: value_of(known[name], text) for name, text in texts.items()}
    own: dict[str, Any] = {
        str(method.clusters): k,
        "max_time": options.max_time,
        "n_threads": options.threads,
    }
    own["weights"] = None if options.graph is None else "precomputed"
    for name, value in own.items():
        if value is None:
            continue
        if name not in known:
            raise UsageError(f"The method {method.name} takes no {option_of(name)}.")
        if name in settings:
            raise UsageError(f"-p {name} and {option_of(name)} are the same: give one of them.")
        settings[name] = value
    if k is None and method.clusters is not None:
        settings.setdefault(method.clusters, None)  # it finds the number
    if "random_state" in known:
        settings.setdefault("random_state", options.seed)
    model = method.estimator(**settings)
    try:
        effective_n_threads(settings.get("n_threads"))
        if isinstance(model, Estimator):
            model.check_parameters()
    except TypeError as error:
        raise UsageError(str(error)) from error
    return model


def value_of(parameter: Parameter, text: str) -> Any:
    """Return the value of a parameter that a text stands for."""
    reads = parameter.param.reads
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words and (
        text.lower() != "none" or parameter.takes_none or parameter.default is None
    ):
        value: Any = words[text.lower()]
    elif text in parameter.choices:
        return text
    elif "groups" in reads:
        return [_columns(parameter, group) for group in text.split(";")]
    elif "model" in reads and (text.endswith(".coterie") or Path(text, MODEL).exists()):
        return load(find_model(text))
    elif "array" in reads and ("." in text or Path(text).exists()) and number_of(text) is None:
        return _array(text)
    elif "numbers" in reads and "," in text:
        numbers = [number_of(word) for word in text.removesuffix(",").split(",")]
        if any(number is None for number in numbers):
            raise UsageError(_wrong(parameter, text))
        return numbers
    else:
        number = number_of(text) if {int, float} & set(parameter.types) or "numbers" in reads else None
        value = text if number is None else [number] if "numbers" in reads and not parameter.types else number
    if parameter.problem(value) is not None:
        raise UsageError(_wrong(parameter, text))
    return value


def number_of(text: str) -> int | float | None:
    """Return the finite number that a text is, None if it is none; 3.0 is 3."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        value = float(text)
        if math.isfinite(value):
            is_whole = value == int(value) and abs(value) < 2**53 and "e" not in text.lower()
            return int(value) if is_whole else value
    return None


def expected(parameter: Parameter) -> str:
    """Return the values of a parameter in the words of -p."""
    kinds = list(parameter.choices)
    kinds += ["true or false"] if bool in parameter.types else []
    kinds += [parameter.expected_number] if {int, float} & set(parameter.types) else []
    kinds += [_READS[kind] for kind in parameter.param.reads]
    kinds += ["none"] if parameter.takes_none else []
    *others, last = kinds or ["a text"]
    return f"{', '.join(others)} or {last}" if others else last


def _wrong(parameter: Parameter, text: str) -> str:
    meant = did_you_mean(text, parameter.choices) if parameter.choices else ""
    return f"{option_of(parameter.name)} must be {expected(parameter)}, got {text!r}.{meant}"


def _array(text: str) -> Any:
    check_exists(text)
    if text.endswith(".npy"):  # an array of any shape
        return load_array(text)
    with about(text):
        return open_rows(text).read()


def _columns(parameter: Parameter, group: str) -> list[int]:
    """Return the positions of a group of columns, such as "0,1" or "2:5"."""
    columns: list[int] = []
    for part in group.split(","):
        first, colon, last = part.strip().partition(":")
        if not first.isdecimal() or (colon and not last.isdecimal()) or len(first + last) > 9:
            raise UsageError(_wrong(parameter, group))
        columns += range(int(first), int(last)) if colon else [int(first)]
    return columns
