"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import coterie

MODULES = ["coterie"] + [
    module.name
    for module in pkgutil.walk_packages(coterie.__path__, "coterie.")
    if not module.name.endswith(("__main__", "_kernels"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0
