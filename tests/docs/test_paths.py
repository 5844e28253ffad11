"""The files and functions that the pages name exist."""

import re

import pytest

from tests.docs.pages import ROOT, name_of, pages

# Where a path may begin: pages leave out the folders of the package and of the kernels.
FOLDERS = [ROOT / folder for folder in ("", "src/coterie", "cpp/include/coterie", "cpp/bindings", "cpp/isa")]

# `centers/lloyd.py`, or `centers/lloyd.py: Lloyd.step` for what is in it, or a folder.
PATH = re.compile(r"`([\w./]+(?:\.(?:py|hpp|cpp|md)|/))(?:: ([\w.]+))?`")

# Results are made by who measures; the changelog tells of files that are gone.
PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]
MADE = {"benchmarks/results/"}


def found(path):
    """Return the files or folders that a page may mean."""
    return [folder / path for folder in FOLDERS if (folder / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_paths_exist(page):
    named = PATH.findall(page.read_text(encoding="utf-8"))
    assert sorted({path for path, _ in named if path not in MADE and not found(path)}) == []
    assert sorted({inside for path, inside in named if inside and not holds(path, inside)}) == []


def holds(path, inside):
    """Whether a file defines each part of a dotted name."""
    text = "".join(file.read_text(encoding="utf-8") for file in found(path))
    return all(re.search(rf"(?:def|class) {part}\b", text) for part in inside.split("."))
