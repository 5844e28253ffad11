"""Declarations of parameters: help, valid values, and options of the command line.

A parameter is declared once, by the annotation of its estimator's ``__init__``: an alias such as `Clusters`, which
holds its type and a `Param`. Validation, the options of the command line and the tables of the documentation read it.
"""

from __future__ import annotations

import functools
import inspect
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal

import numpy as np

from coterie.fitting.report import FitProgress

# Arrays and files count with 64 bits.
_TOO_MANY = 1 << 63


class ParameterError(ValueError, TypeError):
    """An invalid value of a parameter; the `problem` is the message without its name."""

    def __init__(self, parameter: str, problem: str) -> None:
        self.parameter = parameter
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.parameter} {self.problem}"


@dataclass(frozen=True, slots=True)
class Param:
    """Declaration of a parameter: `least` and `most` belong to its interval, `above` and `below` do not."""

    help: str  # what the parameter does, in a sentence
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    also: str = ""  # what else it may be, for error messages: "an array of centers"
    reads: tuple[str, ...] = ()  # texts that are not values: "array", "model", "numbers", "groups"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an estimator, as its annotation declares it."""

    name: str
    default: Any
    types: tuple[type, ...]  # of bool, int, float and str
    choices: tuple[str, ...]  # the words that it may be
    takes_none: bool  # whether it may be None,
    takes_others: bool  # or neither a number, nor a text, nor None
    param: Param

    @property
    def expected(self) -> str:
        """The valid values in words: "'auto' or a positive integer"."""
        words = ", ".join(map(repr, self.choices))
        kinds = ["None"] if self.takes_none else []
        if self.choices:
            kinds.append(f"one of {words}" if len(self.choices) > 1 else words)
        if bool in self.types:
            kinds.append("True or False")
        if int in self.types or float in self.types:
            kinds.append(self.expected_number)
        if str in self.types:
            kinds.append("a text")
        if self.param.also:
            kinds.append(self.param.also)
        return " or ".join(kinds)

    def problem(self, value: Any) -> str | None:
        """Return the error of a value, or None."""
        if self._allows(value):
            return None
        if isinstance(value, int) and abs(value) >= _TOO_MANY and int in self.types:
            return "must be less than 2**63, got a far larger number."
        return f"must be {self.expected}, got {_short(value)}."

    def converted(self, value: Any) -> Any:
        """Return a valid value with numbers of NumPy and other libraries as Python's bool, int or float."""
        if isinstance(value, np.bool_):
            return bool(value)
        if not isinstance(value, Real) or self._is_any or value is self.default:
            return value
        kind: Any = int if isinstance(value, Integral) or float not in self.types else float
        return value if type(value) in (bool, kind) else kind(value)

    def _allows(self, value: Any) -> bool:
        if value is self.default or value is None:
            return value is self.default or self.takes_none
        if isinstance(value, bool | np.bool_):
            return bool in self.types or self._is_any
        if isinstance(value, str):
            return value in self.choices or str in self.types or self._is_any
        if not isinstance(value, Real):
            return self.takes_others
        if not {int, float} & set(self.types):
            return self._is_any
        number: Any = value
        if isinstance(number, int) and abs(number) >= _TOO_MANY:
            return False
        is_whole = math.isfinite(number) and number == int(number) and abs(number) < _TOO_MANY
        return (is_whole or float in self.types) and self._is_inside(number)

    @property
    def _is_any(self) -> bool:
        """Whether the annotation has no types of numbers or texts: `Any`, or a class."""
        return self.takes_others and not self.types and not self.choices

    def _is_inside(self, value: Any) -> bool:
        param = self.param
        return bool(
            (param.least is None or value >= param.least)
            and (param.above is None or value > param.above)
            and (param.most is None or value <= param.most)
            and (param.below is None or value < param.below)
        )

    @property
    def expected_number(self) -> str:
        """Return which numbers it may be: "a positive integer", "a number from 0 to 1"."""
        param = self.param
        noun = "number" if float in self.types else "integer"
        finite = "finite " if param.below == math.inf else ""
        if param.most is None and param.below in (None, math.inf):
            if param.above == 0 or (param.least == 1 and noun == "integer"):
                return f"a {finite}positive {noun}"
            if param.least == 0:
                return f"a {finite}non-negative {noun}"
        article = "a" if finite or noun == "number" else "an"
        noun = finite + noun
        if param.least is not None and param.most is not None:
            return f"{article} {noun} from {param.least:.10g} to {param.most:.10g}"
        bounds = {">=": param.least, ">": param.above, "<=": param.most, "<": param.below}
        limits = [f"{sign} {bound:.10g}" for sign, bound in bounds.items() if bound not in (None, math.inf)]
        return " ".join([f"{article} {noun}", " and ".join(limits)]).strip()


@functools.cache
def parameters_of(estimator: type) -> dict[str, Parameter]:
    """Return the parameters of an estimator by name, as the annotations of its ``__init__`` declare them."""
    hints = typing.get_type_hints(estimator.__init__, include_extras=True)  # type: ignore[misc]
    known = inspect.signature(estimator).parameters
    return {name: _declared(name, one.default, hints.get(name, Any)) for name, one in known.items()}


def validate(estimator: Any) -> None:
    """Raise a ParameterError for the first invalid parameter; convert NumPy's numbers to Python's (no overflow)."""
    for name, parameter in parameters_of(type(estimator)).items():  # type: ignore[arg-type]
        value = getattr(estimator, name, None)
        if value is parameter.default:
            continue
        problem = parameter.problem(value)
        if problem is not None:
            raise ParameterError(name, problem)
        converted = parameter.converted(value)
        if converted is not value:
            setattr(estimator, name, converted)


def _declared(name: str, default: Any, hint: Any) -> Parameter:
    """Return a parameter as an annotation declares it."""
    param = Param("")
    types: list[type] = []
    choices: list[str] = []
    takes_none = takes_others = False
    waiting = [hint]
    while waiting:
        part = waiting.pop(0)
        origin = typing.get_origin(part)
        if origin is Annotated:
            waiting.append(part.__origin__)
            param = next((entry for entry in part.__metadata__ if isinstance(entry, Param)), param)
        elif origin is Literal:
            choices += [entry for entry in typing.get_args(part) if isinstance(entry, str)]
        elif origin in (typing.Union, UnionType):
            waiting += typing.get_args(part)
        elif part in (None, NoneType):
            takes_none = True
        elif part in (bool, int, float, str):
            types.append(part)
        else:
            takes_others = True
    return Parameter(name, default, tuple(types), tuple(choices), takes_none, takes_others, param)


def _short(value: Any) -> str:
    """Return a value in a few words."""
    if isinstance(value, int) and abs(value) >= _TOO_MANY:
        return "a far too large number"
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"a {type(value).__name__}"


# --- parameters of several estimators --------------------------------------------------------------------------------

Clusters = Annotated[int, Param("Number of clusters.", least=1)]
FoundClusters = Annotated[int | None, Param("Number of clusters; by default it is found.", least=1)]

Init = Annotated[
    Literal["k-means++", "split-merge", "afk-mc2", "random"] | Any,
    Param(
        "How centers are initialized: k-means++, split-merge (then swaps of clusters), afk-mc2 (k-means++ by a Markov "
        "chain), random rows, or given ones.",
        also="an array of centers, a fitted model or a callable",
        reads=("array", "model"),
    ),
]

Runs = Annotated[
    Literal["auto"] | int,
    Param("Number of runs with different initializations; the best one is kept.", least=1),
]

Algorithm = Annotated[
    Literal["auto", "lloyd", "elkan", "yinyang"],
    Param("Exact algorithm; all give the same clusters and differ in speed and memory."),
]

ComputeLabels = Annotated[bool, Param("Label all rows at the end of the fit.")]

Iterations = Annotated[int, Param("Maximum number of iterations.", least=1)]

Tolerance = Annotated[float, Param("Tolerance of the convergence test; a larger one stops earlier.", least=0)]

Verbose = Annotated[int | bool, Param("Print each iteration.")]

RandomState = Annotated[
    int | np.random.RandomState | None,
    Param(
        "Seed of the random numbers; the same seed gives the same result.",
        least=0,
        most=2**32 - 1,
    ),
]

CopyX = Annotated[bool, Param("Has no effect: data are never changed.")]

Coreset = Annotated[
    int | None,
    Param("Fit a weighted sample of this many rows, then label all rows.", least=1),
]

Metric = Annotated[
    Literal["euclidean", "cosine"],
    Param("Distance between rows: euclidean, or cosine (of rows at length 1)."),
]

ZeroRows = Annotated[
    Literal["error", "ignore"],
    Param("Rows of zeros, for which the cosine distance is undefined: an error, or ignored (label -1)."),
]

SizeBound = Annotated[
    float | None,
    Param("Bound of the size of each cluster: a number of rows, or below 1 a fraction of all.", least=0),
]

SizeGap = Annotated[
    float,
    Param("Largest gap of the inertia to its lower bound under size constraints.", least=0),
]

Neighbors = Annotated[int, Param("Number of nearest neighbors of each row in the graph.", least=1)]

GraphWeights = Annotated[
    Literal["self-tuning", "binary"],
    Param("Weights of the edges: smaller for long ones among short ones (self-tuning), or 1 (binary)."),
]

Affinity = Annotated[
    Literal["knn", "precomputed"],
    Param("The graph: of nearest neighbors (knn), or the file is a matrix of affinities (precomputed)."),
]

MaxTime = Annotated[
    float | None, Param("Time limit in seconds; the best result so far is returned.", above=0)
]

Threads = Annotated[
    int | None,
    Param("Number of threads; by default all processors of this process.", least=1, most=4096),
]

Callback = Annotated[
    Callable[[FitProgress], Any] | None,
    Param("Called after each iteration; the fit ends if it returns True.", also="callable"),
]
