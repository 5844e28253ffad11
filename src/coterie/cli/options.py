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
from coterie.estimators import Method, Option
from coterie.limits.memory import limited_memory, memory_in_bytes

__all__ = ["NUMBER", "OF_SOME_METHODS", "given", "method_options", "with_memory", "with_options"]

OF_SOME_METHODS = Group("Parameters of some methods", sort_key=9)


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

# Of the names of options in a signature: an estimator may have a parameter that is called as one of the command's own.
_PREFIX = "option_"


def method_options(methods: Sequence[Method]) -> list[inspect.Parameter]:
    """Return an option for each flag that one of several methods has.

    Of a single method it has the default of the estimator; else None, for each method has its own.
    """
    defaults = methods[0].estimator().get_params() if len(methods) == 1 else {}
    return [
        _as_parameter(flag, options, is_for_all=len(options) == len(methods), defaults=defaults)
        for flag, options in options_by_flag(methods).items()
    ]


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
        parameters = {name: kwargs.pop(name) for name in list(kwargs) if name.startswith(_PREFIX)}
        values = {name.removeprefix(_PREFIX): value for name, value in parameters.items()}
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

    signature = inspect.signature(function)
    own = list(signature.parameters.values())
    shown = Annotated[str | None, Parameter(name="--memory", help=_MEMORY_HELP)]
    added = inspect.Parameter("memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=shown)
    place = [parameter.name for parameter in own].index("json")
    command.__annotations__ = {**get_type_hints(function, include_extras=True), "memory": shown}
    parameters = [
        parameter.replace(annotation=command.__annotations__[parameter.name])
        for parameter in [*own[:place], added, *own[place:]]
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: no None, and no switch that is off."""
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _as_parameter(
    flag: str, options: Mapping[str, Option], *, is_for_all: bool, defaults: Mapping[str, Any]
) -> inspect.Parameter:
    option = next(iter(options.values()))
    is_switch = option.type is bool
    kinds = {other.type for other in options.values()}
    shown = Parameter(name=flag, help=option_help(options, is_for_all=is_for_all))
    annotation: Any = Annotated[_type_of(list(options.values())), shown]
    if is_switch:
        # One that an estimator may set by itself can also be set off.
        is_open = option.parameter in defaults and defaults[option.parameter] is None
        annotation = Annotated[annotation, Parameter(negative=f"--no-{flag.strip('-')}" if is_open else "")]
    if kinds & {int, float}:
        annotation = Annotated[annotation, NUMBER]
    if not is_for_all:
        annotation = Annotated[annotation, Parameter(group=OF_SOME_METHODS)]
    return inspect.Parameter(
        f"{_PREFIX}{option.parameter}",
        inspect.Parameter.KEYWORD_ONLY,
        default=defaults.get(option.parameter, False if is_switch else None),
        annotation=annotation,
    )


def _type_of(options: Sequence[Option]) -> Any:
    """Return the type of any value that one of the options may have. Which words are right, the method knows."""
    types: list[Any] = list(dict.fromkeys(option.type for option in options))
    words = tuple(choices_of([option for option in options if option.type is not str]))
    types += [Literal[words]] if words else []
    return bool if types == [bool] else functools.reduce(operator.or_, [*types, None])
