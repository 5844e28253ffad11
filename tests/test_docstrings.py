"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import coterie
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
