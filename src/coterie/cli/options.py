"""Options of commands, made from the records of methods: one for each flag, whichever methods have it."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_type_hints

from cyclopts import Group, Parameter, Token, convert

from coterie.cli import UsageError
from coterie.cli.help import choices_of, option_help, options_by_flag
from coterie.cli.parameters import ParameterOption
from coterie.estimators import Method, Option
from coterie.limits.memory import limited_memory, memory_in_bytes

__all__ = [
    "NUMBER", "OF_SOME_METHODS", "PREFIX", "given", "method_options", "with_memory", "with_option", "with_options",
    "with_parameters",
]  # fmt: skip

OF_SOME_METHODS = Group("Parameters of several methods", sort_key=9)


def _exact_number(type_: Any, tokens: Sequence[Token]) -> Any:
    """Convert as cyclopts does, but round nothing to a whole number, and take neither NaN nor infinity."""
    value = convert(type_, tokens)
    text = tokens[0].value
    if isinstance(value, int) and "." in text and float(text) != value:
        if float not in get_args(type_):
            raise ValueError(f"{text!r} is not a whole number")
        return float(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


# Of each option that is a number.
NUMBER = Parameter(converter=_exact_number)

_MEMORY_HELP = (
    "Take at most about so much memory, such as 4GB or 512MiB, instead of what is free. What would take more is "
    "refused before it begins, and converted rows are kept in memory only as far as it allows."
)

PREFIX = "option_"
"""Of the names of options in a signature: an estimator may have a parameter that is called as one of the command's."""


def method_options(methods: Sequence[Method]) -> list[inspect.Parameter]:
    """Return an option for each flag that one of several methods has.

    Of a single method it has the default of the estimator; else None, for each method has its own.
    """
    return [_as_parameter(flag, options, methods) for flag, options in options_by_flag(methods).items()]


def with_options(
    function: Callable[..., None],
    options: Sequence[inspect.Parameter],
    *,
    after: str,
    more: Mapping[str, Parameter] | None = None,
) -> Callable[..., None]:
    """Return the function with options in the place of its `parameters`.

    Parameters
    ----------
    function : callable
        The command; its `parameters` are the values of the options, by the names of the estimators' parameters.
    options : sequence of inspect.Parameter
        What to offer.
    after : str
        The parameter of the function that they follow in the help.
    more : mapping of str to cyclopts.Parameter, optional
        What to add to parameters of the function, such as a help text that its docstring cannot know.
    """

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> None:
        parameters = {name: kwargs.pop(name) for name in list(kwargs) if name.startswith(PREFIX)}
        values = {name.removeprefix(PREFIX): value for name, value in parameters.items()}
        function(*args, **kwargs, parameters=values)

    types = get_type_hints(function, include_extras=True)
    types.update({name: Annotated[types[name], added] for name, added in (more or {}).items()})
    own = [
        parameter.replace(annotation=types[name])
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "parameters"
    ]
    place = 1 + [parameter.name for parameter in own].index(after)
    parameters = [*own[:place], *options, *own[place:]]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def with_memory(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the option --memory, which holds as long as it runs."""

    @functools.wraps(function)
    def command(*args: Any, memory: str | None = None, **kwargs: Any) -> None:
        try:
            n_bytes = None if memory is None else memory_in_bytes(memory)
        except ValueError as error:
            raise UsageError(f"--memory: {error}") from error
        with limited_memory(n_bytes):
            function(*args, **kwargs)

    return with_option(
        command, "memory", Annotated[str | None, Parameter(name="--memory", help=_MEMORY_HELP)]
    )


def with_option(command: Callable[..., None], name: str, annotation: Any) -> Callable[..., None]:
    """Return a wrapped command that shows a further option of its own before --json; by default it is None."""
    added = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    return with_parameters(command, [added], place="json")


def with_parameters(
    command: Callable[..., None], added: Sequence[inspect.Parameter], *, place: str, replaces: bool = False
) -> Callable[..., None]:
    """Return a wrapped command that shows further parameters before one of its own, or in the place of that."""
    types = get_type_hints(inspect.unwrap(command), include_extras=True)
    types.update({key: known for key, known in command.__annotations__.items() if not isinstance(known, str)})
    own = [
        parameter.replace(annotation=types.get(parameter.name, parameter.annotation))
        for parameter in inspect.signature(command).parameters.values()
    ]
    first = [parameter.name for parameter in own].index(place)
    parameters = [*own[:first], *added, *own[first + replaces :]]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _as_parameter(
    flag: str, options: Mapping[str, ParameterOption], methods: Sequence[Method]
) -> inspect.Parameter:
    """Return an option of the command; what is not given is None, or for a single method its default."""
    option = next(iter(options.values()))
    is_for_all = len(options) == len(methods)
    users = [method for method in methods if method.name in options]
    defaults = [method.estimator().get_params()[option.parameter] for method in users]
    default = defaults[0] if len(methods) == 1 else None
    names = list(dict.fromkeys([flag, *(alias for other in options.values() for alias in other.aliases)]))
    shown = Parameter(name=names, help=option_help(options, is_for_all=is_for_all))
    annotation: Any = Annotated[_type_of(list(options.values())), shown]
    if option.type is bool:
        # One that an estimator sets by itself can also be set off.
        is_open = any(value is not False for value in defaults)
        annotation = Annotated[annotation, Parameter(negative=f"--no-{flag.strip('-')}" if is_open else "")]
        default = default if isinstance(default, bool) else None
    if {other.type for other in options.values()} & {int, float}:
        annotation = Annotated[annotation, NUMBER]
    if not is_for_all:
        annotation = Annotated[
            annotation, Parameter(group=_group_of([method.name for method in users], methods))
        ]
    return inspect.Parameter(
        f"{PREFIX}{option.parameter}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _group_of(names: Sequence[str], methods: Sequence[Method]) -> Group:
    """Return the panel of the help for options that some methods have."""
    if len(names) > 1:
        return OF_SOME_METHODS
    place = [method.name for method in methods].index(names[0])
    return Group(f"Parameters of {names[0]}", sort_key=10 + place)


def _type_of(options: Sequence[Option]) -> Any:
    """Return the type of any value that one of the options may have. Which words are right, the method knows."""
    types: list[Any] = list(dict.fromkeys(option.type for option in options))
    words = tuple(choices_of([option for option in options if option.type is not str]))
    types += [Literal[words]] if words else []
    return bool if types == [bool] else functools.reduce(operator.or_, [*types, None])
