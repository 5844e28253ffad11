"""Figures that stand on several pages are the same on each: those of docs/figures.json."""

import json
import re

from benchmarks.chart import FIGURES, table
from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 120
ROWS = json.loads(FIGURES.read_text(encoding="utf-8"))["rows"]


def numbers(cell):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", cell)]


def test_table_of_the_readme_is_that_of_the_figures():
    assert table({"rows": ROWS}) in README


def test_page_of_benchmarks_has_the_figures():
    """In seconds, or for small fits in milliseconds."""
    page = (ROOT / "docs" / "benchmarks" / "speed.md").read_text(encoding="utf-8")
    for row in ROWS:
        cells = [
            cell.strip()
            for cell in re.search(rf"^\| {re.escape(row['work'])} \|(.*)\|$", page, re.M)[1].split("|")
        ]
        unit = 1000 if row["coterie"] < 0.01 else 1
        assert numbers(cells[0]) == [round(unit * row["coterie"], 3)]
        assert numbers(cells[1 if unit > 1 else 2]) == [round(unit * row["competitor"], 3)]


def test_memory_of_bounds_is_the_same_on_every_page():
    pages = [ROOT / "docs" / "benchmarks" / "kmeans.md", ROOT / "docs" / "guide" / "kmeans.md"]
    pattern = r"(\d+) MiB (?:\(121% of the rows\)|for 1,000,000 x 32)"
    assert [re.findall(pattern, page.read_text(encoding="utf-8")) for page in pages] == [["148"], ["148"]]


def test_readme_is_short():
    assert len(README.splitlines()) <= MOST_LINES
