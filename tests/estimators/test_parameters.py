"""Declarations of parameters in annotations: what is allowed, and the messages of what is not."""

import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from coterie.estimators.parameters import Param, Parameter, ParameterError, parameters_of, validate
from coterie.methods import methods


class Plain:
    def __init__(
        self,
        count: Annotated[int, Param("A count.", least=1)] = 3,
        share: Annotated[float | None, Param("A share.", least=0, below=1)] = None,
        level: Annotated[Literal["auto"] | float, Param("A level.", above=0, below=math.inf)] = "auto",
        kind: Annotated[Literal["a", "b"] | Any, Param("A kind.", also="callable")] = "a",
        switch: bool = False,
        anything: Any = None,
    ):
        self.count, self.share, self.level, self.kind = count, share, level, kind
        self.switch, self.anything = switch, anything


@pytest.mark.parametrize(
    ("name", "wrong", "right", "problem"),
    [
        (
            "count",
            [0, 2.5, math.nan, True, None],
            [3.0, np.int64(2)],
            "count must be a positive integer, got ",
        ),
        ("count", [10**400], [1], "count must be less than 2**63"),
        ("share", [1, "0.5"], [np.float32(0.5), None], "share must be None or a number >= 0 and < 1, got "),
        ("level", [0, math.inf], [1e-300, "auto"], "level must be 'auto' or a finite positive number, got "),
        ("kind", ["c", 1], [np.zeros((2, 2)), "b"], "kind must be one of 'a', 'b' or callable, got "),
        ("switch", [1], [np.True_], "switch must be True or False, got 1."),
        ("anything", [], ["text", 7], ""),
    ],
)
def test_values(name, wrong, right, problem):
    for value in right:
        validate(Plain(**{name: value}))
    for value in wrong:
        with pytest.raises(ParameterError) as caught:
            validate(Plain(**{name: value}))
        assert str(caught.value).startswith(problem)
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, TypeError)
        assert caught.value.parameter == name


def outside(parameter):
    """Return numbers, and a word, that a parameter must not be."""
    param, words = parameter.param, [math.nan] if float in parameter.types else [2.5]
    words += ["no such word"] * bool(parameter.choices)
    words += [bound - 1 for bound in (param.least,) if bound is not None]
    words += [bound + 1 for bound in (param.most,) if bound is not None]
    return [*words, *(bound for bound in (param.above, param.below) if bound is not None)]


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_fits_refuse_numbers_outside_of_their_intervals_and_other_words(method):
    for name, parameter in parameters_of(method.estimator).items():
        if {int, float} & set(parameter.types) or parameter.choices:
            for value in outside(parameter):
                with pytest.raises(ValueError, match=f"^{name} must be"):
                    method.estimator(**{name: value}).fit(np.eye(30))


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_default_is_allowed(method):
    for parameter in parameters_of(method.estimator).values():
        assert isinstance(parameter, Parameter)
    validate(method.estimator())
