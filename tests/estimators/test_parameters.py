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


class Derived(Plain):
    def __init__(self, count: int = 5, *, own: Annotated[int, Param("Its own.", least=0, most=9)] = 0):
        super().__init__(count)
        self.own = own


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("count", 0, "count must be a positive integer, got 0."),
        ("count", 2.5, "count must be a positive integer, got 2.5."),
        ("count", math.nan, "count must be a positive integer, got nan."),
        ("count", True, "count must be a positive integer, got True."),
        ("count", None, "count must be a positive integer, got None."),
        ("count", 10**400, "count must be less than 2**63, got a far larger number."),
        ("share", 1, "share must be None or a number >= 0 and < 1, got 1."),
        ("share", "0.5", "share must be None or a number >= 0 and < 1, got '0.5'."),
        ("level", 0, "level must be 'auto' or a finite positive number, got 0."),
        ("level", math.inf, "level must be 'auto' or a finite positive number, got inf."),
        ("kind", "c", "kind must be one of 'a', 'b' or callable, got 'c'."),
        ("kind", 1, "kind must be one of 'a', 'b' or callable, got 1."),
        ("switch", 1, "switch must be True or False, got 1."),
    ],
)
def test_wrong_values(name, value, problem):
    with pytest.raises(ParameterError) as caught:
        validate(Plain(**{name: value}))
    assert str(caught.value) == problem
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)
    assert caught.value.parameter == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", 3.0),
        ("count", np.int64(2)),
        ("share", np.float32(0.5)),
        ("level", 1e-300),
        ("kind", np.zeros((2, 2))),
        ("switch", np.True_),
        ("anything", "text"),
        ("anything", 7),
    ],
)
def test_right_values(name, value):
    validate(Plain(**{name: value}))


def test_subclass_inherits_declarations_of_plain_annotations():
    found = parameters_of(Derived)
    assert found["count"].param == parameters_of(Plain)["count"].param
    assert found["count"].default == 5
    assert found["own"].expected == "an integer from 0 to 9"


def outside(parameter):
    """Return numbers that a parameter must not be."""
    param, words = parameter.param, [math.nan] if float in parameter.types else [2.5]
    words += [bound - 1 for bound in (param.least,) if bound is not None]
    words += [bound + 1 for bound in (param.most,) if bound is not None]
    return [*words, *(bound for bound in (param.above, param.below) if bound is not None)]


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_fits_refuse_numbers_outside_of_their_intervals(method):
    for name, parameter in parameters_of(method.estimator).items():
        if {int, float} & set(parameter.types):
            for number in outside(parameter):
                with pytest.raises(ValueError, match=f"^{name} must be"):
                    method.estimator(**{name: number}).fit(np.eye(30))


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_default_is_allowed(method):
    for parameter in parameters_of(method.estimator).values():
        assert isinstance(parameter, Parameter)
    validate(method.estimator())
