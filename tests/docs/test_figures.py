"""Figures that stand on several pages are the same on each: those of docs/figures.json."""

import json
import re

from benchmarks.chart import FIGURES, accuracy_table, table
from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 120
BENCHMARKS = ROOT / "docs" / "benchmarks"
CONTENT = json.loads(FIGURES.read_text(encoding="utf-8"))
ROWS = CONTENT["rows"]


def numbers(cell):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", cell)]


def test_tables_of_the_readme_are_those_of_the_figures():
    assert table(CONTENT) in README
    assert accuracy_table(CONTENT) in README


def test_readme_has_no_other_results():
    """Every decimal number is in one of the tables."""
    text = README.replace(table(CONTENT), "").replace(accuracy_table(CONTENT), "")
    assert re.findall(r"\d+\.\d+", re.sub(r"Python \d\.\d+", "", text)) == []


def test_accuracies_are_those_of_their_pages():
    for row in CONTENT["accuracy"]:
        page = (BENCHMARKS / f"{row['page']}.md").read_text(encoding="utf-8")
        unit = 100 if float(row["cells"][0]) < 1 else 1
        rounded = [round(unit * float(cell) + 1e-9, 1) for cell in row["cells"]]
        assert rounded == [row["coterie"], row["competitor"]]
        assert any(all(cell in block for cell in row["cells"]) for block in page.split("\n\n"))


def test_page_of_speed_has_the_figures():
    """In seconds, or for small fits in milliseconds."""
    page = (BENCHMARKS / "speed.md").read_text(encoding="utf-8")
    for row in (row for row in ROWS if row["page"] == "speed"):
        cells = [
            cell.strip()
            for cell in re.search(rf"^\| {re.escape(row['work'])} \|(.*)\|$", page, re.M)[1].split("|")
        ]
        unit = 1000 if row["coterie"] < 0.01 else 1
        assert numbers(cells[0]) == [round(unit * row["coterie"], 3)]
        assert numbers(cells[1 if unit > 1 else 2]) == [round(unit * row["competitor"], 3)]


def test_page_of_whole_fits_has_the_figures():
    page = (BENCHMARKS / "whole_fits.md").read_text(encoding="utf-8")
    rows = [row for row in ROWS if row["page"] == "whole_fits"]
    assert rows
    for row in rows:
        data = row["work"].removeprefix("k-means with defaults: ")
        ours, *others = page.partition(f"| {data} | coterie |")[2].splitlines()
        theirs = next(line for line in others if line.startswith(f"| | {row['name']} |"))
        assert numbers(ours.split("|")[0]) == [row["coterie"]]
        assert numbers(theirs.split("|")[3]) == [row["competitor"]]


def test_memory_of_bounds_is_the_same_on_every_page():
    pages = [BENCHMARKS / "kmeans.md", ROOT / "docs" / "guide" / "kmeans.md"]
    pattern = r"(\d+) MiB (?:\(121% of the rows\)|for 1,000,000 x 32)"
    assert [re.findall(pattern, page.read_text(encoding="utf-8")) for page in pages] == [["148"], ["148"]]


def test_readme_is_short():
    assert len(README.splitlines()) <= MOST_LINES
