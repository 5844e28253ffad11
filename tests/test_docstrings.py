"""The examples in the docstrings run and print the documented output."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import coterie
from coterie.methods import methods
from coterie.rows import formats

MODULES = ["coterie"] + [
    module.name
    for module in pkgutil.walk_packages(coterie.__path__, "coterie.")
    if not module.name.endswith(("__main__", "_kernels"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # An example that adds a format adds it to this process; other tests must not find it.
    monkeypatch.setattr(formats, "_by_extension", dict(formats._by_extension))
    failed, _ = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_fitted_attribute_is_described(method):
    text = inspect.getdoc(method.estimator)
    section = re.search(r"^Attributes\n-+\n(.*?)^Raises\n-+$", text, re.MULTILINE | re.DOTALL)[1]
    heads = re.findall(r"^(?! )(.+?)(?: :|$)", section, re.MULTILINE)
    described = {name.strip() for head in heads for name in head.split(",")}
    declared = {name for name in method.estimator()._fitted_attributes() if not name.startswith("_")}
    assert sorted(declared - described) == []
