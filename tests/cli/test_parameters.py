"""Every declared parameter of every method can be given as -p NAME=VALUE, and `coterie methods` lists it."""

import json

import pytest

from coterie.cli import main
from coterie.cli.parameters import make_model, offered_methods, path_method, settable, value_of
from coterie_command.options import FitOptions

METHODS = [*offered_methods(), path_method()]
PARAMETERS = [(method, parameter) for method in METHODS for parameter in settable(method).values()]


def names(pair):
    return f"{pair[0].name}-{pair[1].name}"


@pytest.mark.parametrize("pair", PARAMETERS, ids=names)
def test_default_can_be_given(pair):
    _, parameter = pair
    if isinstance(parameter.default, bool | int | float | str | None):
        assert value_of(parameter, str(parameter.default)) == parameter.default
    for word in parameter.choices:
        assert value_of(parameter, word) == word


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_methods_lists_each_parameter_with_a_sentence(method, capsys):
    assert main(["methods", method.name, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["parameter"] for one in facts["parameters"]] == list(settable(method))
    for one in facts["parameters"]:
        assert one["help"].endswith(".")
        assert one["values"]
    assert main(["methods", method.name]) == 0
    out = capsys.readouterr().out
    assert all(name in out or name in (method.clusters, "max_time", "random_state", "n_threads")
               for name in settable(method))  # fmt: skip


@pytest.mark.parametrize(
    ("method", "text", "value"),
    [
        ("k-means", "tol=1e-3", 1e-3), ("k-means", "n_init=7", 7), ("k-means", "max_iter=30.0", 30),
        ("gmm", "covariance_type=diag", "diag"), ("k-means", "coreset_size=none", None),
    ],
)  # fmt: skip
def test_texts_become_values(method, text, value):
    name, _, given = text.partition("=")
    found = next(one for one in METHODS if one.name == method)
    assert make_model(found, {name: given}, FitOptions(), k=3).get_params()[name] == value
