"""The page of public names lists what the modules export, no more and no less."""

import importlib
import re

import pytest

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
MODULES = re.findall(r"^## (coterie[\w.]*)$", PAGE, re.MULTILINE)
LISTED = re.findall(r"^- `(coterie\.[\w.]+)`: ", PAGE, re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_listed(module):
    listed = [name.rpartition(".")[2] for name in LISTED if name.rpartition(".")[0] == module]
    assert sorted(listed) == sorted(importlib.import_module(module).__all__)


def test_every_name_stands_under_its_module():
    assert {name.rpartition(".")[0] for name in LISTED} == set(MODULES)
