"""The options of estimators' parameters: as the record of a method has them, all others as the docstring says.

So every public parameter has an option by its own name, also one that nobody has thought of here.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from docstring_parser import DocstringStyle, parse

from coterie.estimators import Estimator, Method, Option, methods
from coterie.estimators.method import RESERVED_FLAGS

__all__ = ["COMMON_FLAGS", "ONLY_IN_PYTHON", "ParameterOption", "options_of", "own_flag"]

COMMON_FLAGS = {
    "n_clusters": "--clusters",
    "n_components": "--clusters",
    "random_state": "--seed",
    "n_threads": "--threads",
    "max_iter": "--max-iter",
    "max_time": "--max-time",
}
"""Parameters that the commands themselves set, for all methods in the same way, by these flags."""

ONLY_IN_PYTHON = {
    "callback": "a Python function; commands draw their progress by it",
    "verbose": "commands show their progress, and none with --quiet",
    "copy_x": "without an effect: rows are never changed",
    "compute_labels": "commands write the labels, so there must be some",
    "warm_start": "for fits of the same object one after the other; --init begins with a model",
}
"""Parameters without an option, and why."""

# Names that a parameter had before, or that people look for.
_OTHER_NAMES = {"norm": ("--groups",)}

# Parameters whose words are read in a way of their own.
_READERS = {"norm": "groups"}


@dataclass(frozen=True, slots=True)
class ParameterOption(Option):
    """An option that the command line offers for a parameter.

    Attributes
    ----------
    aliases : tuple of str
        Other flags of it, first its own name.
    reads : tuple of str
        What its text may be beside numbers and words: "none", "numbers", "array", "model", "groups".
    """

    aliases: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


def options_of(method: Method) -> tuple[ParameterOption, ...]:
    """Return the options of a method: those of its record first, then those of all other parameters.

    Estimators that are no `coterie.estimators.Estimator` have those of their record only.
    """
    recorded = {option.parameter: option for option in method.options}
    if not issubclass(method.estimator, Estimator):
        return tuple(_completed(option, None) for option in recorded.values())
    apart = {*COMMON_FLAGS, *ONLY_IN_PYTHON, method.clusters}
    estimator: Any = method.estimator
    known = inspect.signature(estimator).parameters
    told = {name: _read(name, estimator) for name in known if name in recorded or name not in apart}
    options = [_completed(option, told.get(name)) for name, option in recorded.items()]
    for name, option in told.items():
        flag = _flag_of(name)
        if name not in recorded and _is_free(flag, name):
            aliases = (*option.aliases, *([] if flag == option.flag else [option.flag]))
            options.append(replace(option, flag=flag, aliases=aliases))
    return tuple(options)


def own_flag(parameter: str) -> str:
    """Return the flag that has the name of a parameter."""
    return f"--{parameter.replace('_', '-')}"


def _flag_of(parameter: str) -> str:
    """Return the flag that a record has for a parameter; all methods have the same."""
    recorded = (option for method in methods() for option in method.options)
    return next((option.flag for option in recorded if option.parameter == parameter), own_flag(parameter))


def _is_free(flag: str, parameter: str) -> bool:
    """Whether a flag can stand for a parameter: it is none of the commands', and no record's for another one."""
    recorded = {option.flag: option.parameter for method in methods() for option in method.options}
    return flag not in RESERVED_FLAGS and recorded.get(flag, parameter) == parameter


def _completed(option: Option, told: ParameterOption | None) -> ParameterOption:
    """Return the option of a record with its own name as another flag, and what its docstring says that it may be."""
    values = {field.name: getattr(option, field.name) for field in fields(Option)}
    if told is None:
        return ParameterOption(**values)
    own = (told.flag, *told.aliases)
    aliases = tuple(flag for flag in own if flag != option.flag and _is_free(flag, option.parameter))
    return ParameterOption(**values, aliases=aliases, reads=told.reads)


@functools.cache
def _read(parameter: str, estimator: Any) -> ParameterOption:
    """Return the option of a parameter as signature and docstring say."""
    known = inspect.signature(estimator).parameters[parameter]
    type_, text = _told(estimator).get(parameter, ("", ""))
    if not type_ and text.startswith("See `"):
        type_, text = _told_elsewhere(text).get(parameter, ("", ""))
    words = type_ or str(known.annotation)
    choices = dict.fromkeys(re.findall(r'"([^"]*)"', words), "")
    rest = re.sub(r'\{[^}]*\}|"[^"]*"', " ", words)
    reads = {
        "none": known.default is not None and "None" in rest,
        "numbers": bool(re.search(r"(?i)sequence of|of shape \(m,\)", rest)),
        "array": "array-like" in rest,
        "model": "fitted model" in rest,
        _READERS.get(parameter, ""): True,
    }
    kinds = tuple(kind for kind, is_read in reads.items() if is_read and kind)
    type_of: type = str
    if not {"numbers", "array", "groups"} & set(kinds):
        type_of = next((kind for kind in (bool, int, float) if re.search(rf"\b{kind.__name__}\b", rest)), str)
    return ParameterOption(
        parameter,
        own_flag(parameter),
        _help(text) or parameter.replace("_", " "),
        type=type_of,
        choices={**choices, **({"none": ""} if "none" in kinds else {})} if type_of is not bool else {},
        aliases=_OTHER_NAMES.get(parameter, ()),
        reads=kinds,
    )


@functools.cache
def _told(estimator: type) -> Mapping[str, tuple[str, str]]:
    """Return type and text of each parameter of an estimator's docstring."""
    found = parse(inspect.cleandoc(estimator.__doc__ or ""), style=DocstringStyle.NUMPYDOC)
    return {
        name.strip(): (entry.type_name or "", " ".join((entry.description or "").split()))
        for entry in found.params
        if entry.args[0] == "param"
        for name in entry.arg_name.split(",")
    }


def _told_elsewhere(text: str) -> Mapping[str, tuple[str, str]]:
    """Return what the docstring says to which a text such as "See `KMeans`." leads."""
    name = text.removeprefix("See `").partition("`")[0]
    return next((_told(method.estimator) for method in methods() if method.estimator.__name__ == name), {})


def _help(text: str) -> str:
    """Return the first sentence of a docstring, as `Option.help` has it."""
    sentence = re.split(r"(?<=[^.])\.(?= |$)", text)[0].replace("`", "").replace('"', "")
    is_name = sentence[1:2].isupper() or not sentence[1:2].isalpha()
    return sentence if is_name else f"{sentence[:1].lower()}{sentence[1:]}"
