"""The figures of the README are those of the file that `python -m benchmarks.chart --measure` writes."""

import json
import re

from benchmarks.chart import FIGURES, table
from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 120


def test_table_of_the_readme_is_that_of_the_figures():
    assert table(json.loads(FIGURES.read_text(encoding="utf-8"))) in README


def test_memory_of_bounds_is_the_same_on_every_page():
    """Its share of the rows, too, which another table has."""
    pages = [ROOT / "docs" / "benchmarks" / "kmeans.md", ROOT / "docs" / "guide" / "kmeans.md"]
    found = [
        re.findall(r"(\d+) MiB (?:\(121% of the rows\)|for 1,000,000 x 32)", page.read_text(encoding="utf-8"))
        for page in pages
    ]
    assert found == [["148"], ["148"]]


def test_readme_is_short():
    assert len(README.splitlines()) <= MOST_LINES
