"""Options of commands: types that several commands share, those of tables, and those of methods.

Options of methods are made from the declarations of the estimators' parameters (`coterie.estimators.parameters`).
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from coterie.cli.errors import UsageError
from coterie.cli.inputs import DASH, STANDARD_INPUT
from coterie.estimators import Estimator
from coterie.estimators.parameters import Parameter as Declared
from coterie.estimators.parameters import parameters_of
from coterie.methods import Method

# Options of the commands themselves, which no method may have.
RESERVED_FLAGS = (
    "-k", "--clusters", "--n-clusters", "--n-components", "--method", "--labels", "--graph", "--format", "--max-iter",
    "--max-time", "--seed", "--random-state", "--threads", "--n-threads", "--normalize", "--columns", "--exclude",
    "--missing", "--scale", "--categories", "--category-limit", "--handle-unknown", "--sep", "--decimal", "--id",
    "--keep", "--image", "--out", "-o", "--labels-out", "--outliers", "--results", "--report", "--json", "--memory",
    "--config", "--all-gammas", "--continue", "--force",
    "--scheduler", "--verify", "--quiet", "-q", "--help", "-h", "--version",
)  # fmt: skip

INPUT = Group("Input", sort_key=2)
OUTPUT = Group("Output", sort_key=3)

# Of `coterie fit` they are shown with the options of a method: see `coterie.cli.fit.command`.
MORE = "More options"

# Parameters that the commands themselves set, for all methods in the same way.
COMMON = ("n_clusters", "n_components", "random_state", "n_threads", "max_iter", "max_time", "normalize")


# --- texts ---

_UNITS = {"": 1, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def number_of(text: str) -> int | float | None:
    """Return the finite number that a text is, None if it is none; 3.0 is 3."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError, OverflowError):
        value = float(text)
        if math.isfinite(value):
            return (
                int(value)
                if value == int(value) and abs(value) < 2**53 and "e" not in text.lower()
                else value
            )
    return None


def seconds_of(text: str, flag: str) -> float:
    """Return the seconds of a time such as 10, 90s, 5m or 1h."""
    parts = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|)", text.strip())
    if parts is None or not 0 < float(parts[1]) < math.inf:
        raise UsageError(f"{flag} must be a time above 0 such as 10, 90s, 5m or 1h, got {text!r}.")
    return float(parts[1]) * _UNITS[parts[2]]


def column_names(columns: str | None, flag: str) -> list[str | int] | None:
    """Return the names and positions between the commas of --columns and its like."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise UsageError(f"{flag} must be names or positions with commas between them, got {columns!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


def separator_of(sep: str | None) -> str | None:
    """Return the separator that --sep names, of a tab in words, too."""
    separator = {"tab": "\t", "\\t": "\t"}.get(str(sep), sep)  # which is hard to type
    if separator is not None and len(separator) != 1:
        raise UsageError(f"--sep must be one character such as ';', or tab, got {sep!r}.")
    return separator


# --- types -----------------------------------------------------------------------------------------------------------


def _as_text(type_: Any, tokens: Sequence[Token]) -> str:
    """Return the text of a token; for a single dash the placeholder of `coterie.cli.app.run`."""
    return DASH if tokens[0].value == STANDARD_INPUT else tokens[0].value


def _as_path(type_: Any, tokens: Sequence[Token]) -> Path:
    if not tokens[0].value:
        raise UsageError(f"{flag_of_token(tokens[0])} must be a file or a folder, got ''.")
    return Path(_as_text(type_, tokens))


def flag_of_token(token: Token) -> str:
    """Return the name of an option in errors: its flag."""
    flag = str(token.keyword or "")
    return flag if token.source in ("", "cli") or flag.startswith("-") else f"{token.source}: {flag}"


def _number(noun: str, least: int, most: int = 2**63 - 1) -> Parameter:
    """Return an option that is a whole number in an interval."""

    def convert(type_: Any, tokens: Sequence[Token]) -> int:
        value = number_of(tokens[0].value)
        if not isinstance(value, int) or not least <= value <= most:
            raise UsageError(f"{flag_of_token(tokens[0])} must be {noun}, got {tokens[0].value!r}.")
        return value

    return Parameter(converter=convert)


def _duration(type_: Any, tokens: Sequence[Token]) -> float:
    return seconds_of(tokens[0].value, flag_of_token(tokens[0]))


# A file or an address: a text, for which shells complete names of files.
if TYPE_CHECKING:
    File = str
    FileIfAny = str | None
else:
    File = Annotated[Path, Parameter(converter=_as_text)]
    FileIfAny = Annotated[Path | None, Parameter(converter=_as_text)]

# A switch that is off unless given.
Switch = Annotated[bool, Parameter(negative="")]
Count = Annotated[int, _number("a positive integer", 1)]
Counted = Annotated[int | None, _number("a positive integer", 1)]
Natural = Annotated[int, _number("a non-negative integer", 0)]
Seconds = Annotated[float, Parameter(converter=_duration)]
MaxTime = Annotated[
    float | None,
    Parameter(
        converter=_duration, help="Time limit such as 10, 90s, 5m or 1h; the best result so far is written."
    ),
]
Seed = Annotated[
    int,
    Parameter(
        name=["--seed", "--random-state"],
        help="Seed of the random numbers; the same seed, the same clusters.",
    ),
    _number("an integer from 0 to 4294967295", 0, 2**32 - 1),
]
Threads = Annotated[
    int | None,
    Parameter(name=["--threads", "--n-threads"], help="Number of threads; by default all processors."),
    _number("an integer from 1 to 4096", 1, 4096),
]
Out = Annotated[Path, Parameter(name=["--out", "-o"], group=OUTPUT, converter=_as_path)]
OutIfAny = Annotated[Path | None, Parameter(name=["--out", "-o"], group=OUTPUT, converter=_as_path)]
Force = Annotated[
    bool, Parameter(negative="", group=OUTPUT, help="Replace the results of another run in the folder.")
]
Format = Annotated[
    str | None, Parameter(group=INPUT, help="Format of the standard input, such as csv, npy or parquet.")
]
Json = Annotated[
    bool, Parameter(negative="", group=OUTPUT, help="Print one JSON object on the standard output.")
]
Quiet = Annotated[
    bool,
    Parameter(
        name=["--quiet", "-q"], negative="", group=OUTPUT, help="Print errors only, no progress or report."
    ),
]


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given: those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


# --- options of all commands that read tables, or write a folder -----------------------------------------------------


def _of_tables(help: str, group: Group | str = INPUT) -> Parameter:
    return Parameter(group=group, help=help)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of tables: the columns to cluster, and the preparation of the rows."""

    columns: Annotated[
        str | None, _of_tables("Cluster only these columns: names, positions, ranges (a:c), patterns (e*).")
    ] = None
    exclude: Annotated[str | None, _of_tables("Leave out these columns.")] = None
    missing: Annotated[
        Literal["drop", "mean", "median", "error"],
        _of_tables("What to do about missing numbers: drop their rows, or fill in the mean or median."),
    ] = "error"
    scale: Annotated[
        Literal["standard", "robust", "none"],
        _of_tables("Scale columns by their standard deviation or quartiles."),
    ] = "none"
    categories: Annotated[
        str | None,
        _of_tables("Encode these columns as zeros and ones; auto: all texts of few distinct values."),
    ] = None
    category_limit: Annotated[
        Count, _of_tables("Maximum number of values of a column of --categories.", MORE)
    ] = 100
    handle_unknown: Annotated[
        Literal["error", "ignore"],
        _of_tables(
            "What predict does with new values of a column of --categories: an error, or zeros.", MORE
        ),
    ] = "error"
    normalize: Annotated[bool, Parameter(negative=""), _of_tables("Scale each row to length 1.", MORE)] = (
        False
    )
    sep: Annotated[
        str | None,
        _of_tables("Separator of a .csv file such as ';' or tab; by default it is detected.", MORE),
    ] = None
    decimal: Annotated[
        str | None, _of_tables("Decimal sign of a .csv file, '.' or ','; by default it is detected.", MORE)
    ] = None

    def for_jobs(self) -> dict[str, Any]:
        """Return the options as jobs take them."""
        preparing = {
            "missing": None if self.missing == "error" else self.missing,
            "scale": None if self.scale == "none" else self.scale,
            "categories": "auto"
            if self.categories == "auto"
            else column_names(self.categories, "--categories"),
            "normalize": self.normalize or None,
        }
        encoding = {"category_limit": self.category_limit, "handle_unknown": self.handle_unknown}
        return {
            "columns": column_names(self.columns, "--columns"),
            "exclude": column_names(self.exclude, "--exclude"),
            "sep": separator_of(self.sep),
            "decimal": self.decimal,
            "preparing": {**given(preparing), **(encoding if self.categories else {})},
        }


# --- options of methods ----------------------------------------------------------------------------------------------


def declared_options(method: Method) -> dict[str, Declared]:
    """Return the parameters of a method that are options of its own, by name."""
    declared = parameters_of(method.estimator)
    is_own = issubclass(method.estimator, Estimator)
    return {
        name: parameter
        for name, parameter in declared.items()
        if name not in (*COMMON, method.clusters)
        and parameter.flags
        and (parameter.param.help or (is_own and parameter.types))
        and not set(parameter.flags[:1]) & set(RESERVED_FLAGS)
    }


def method_options(offered: Sequence[Method], shown: Iterable[str], *, without: Sequence[str] = ()) -> type:
    """Return a dataclass with a field for each parameter of several methods; None where it is not given.

    Options of the methods in `shown` are in the help; parameters in `without` have no option.
    """
    by_name: dict[str, dict[str, Declared]] = {}
    for method in offered:
        for name, parameter in declared_options(method).items():
            if name not in without:
                by_name.setdefault(name, {})[method.name] = parameter
    made = [
        (name, _annotation(users, set(shown) & users.keys()), field(default=None))
        for name, users in by_name.items()
    ]
    options = make_dataclass("MethodOptions", made, frozen=True, kw_only=True)
    # Of a class of the module `types` cyclopts would not look at the fields.
    options.__module__ = __name__
    return Parameter(name="*")(options)


def with_options(function: Callable[..., None], options: type) -> Callable[..., None]:
    """Return a command whose parameter `options` is of this dataclass."""
    function.__annotations__["options"] = options
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "options": options()}
    return function


def values_of(options: Any) -> dict[str, Any]:
    """Return the options of methods that were given, by the names of parameters."""
    return given({entry.name: getattr(options, entry.name) for entry in fields(options)})


def _annotation(users: dict[str, Declared], shown: set[str]) -> Any:
    """Return the type of an option of one or several methods, with its flags and its help."""
    several = [users[name] for name in shown] or list(users.values())
    first = several[0]
    choices = tuple(dict.fromkeys(word for parameter in several for word in parameter.choices))
    kinds: list[Any] = [
        kind for kind in (bool, int, float) if any(kind in parameter.types for parameter in several)
    ]
    if float in kinds:
        kinds = [kind for kind in kinds if kind is not int]
    is_switch = bool in kinds
    flags = list(dict.fromkeys(flag for parameter in users.values() for flag in parameter.flags))
    default = first.default
    is_default_shown = default is not None and not is_switch and isinstance(default, int | float | str)
    help_text = f"{first.param.help or first.name.replace('_', ' ') + '.'}" + (
        f" [default: {default}]" if is_default_shown and shown else ""
    )
    group = Group(f"Options of {' and '.join(sorted(shown))}", sort_key=9) if shown else None
    common = Parameter(name=flags, help=help_text, group=group, show=bool(shown))
    if is_switch:
        can_be_off = any(parameter.default is not False for parameter in users.values())
        negative = f"--no-{flags[0].strip('-')}" if can_be_off else ""
        return Annotated[bool | None, common, Parameter(negative=negative)]
    words = [Literal[choices]] if choices else []
    annotation = functools.reduce(operator.or_, [*words, *kinds]) if words or kinds else str
    return Annotated[annotation | None, common, Parameter(converter=_as_text)]
