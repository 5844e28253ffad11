"""The figures and tables of the papers, and their results in the pages."""

import json
import shutil
import sys

import pytest

from benchmarks.harness.benchmark import Item
from benchmarks.papers import __main__ as main_module
from benchmarks.papers import pages

PAGE = """# A Toy

Text by hand.

<!-- toy-figure-1; 2001-01-01; a machine -->

Old results.

<!-- end -->
"""


class Figure:
    def savefig(self, path, dpi):
        path.write_bytes(b"a picture")


def make_toy(run):
    rows = [[str(seed), "1.5"] for seed in run.seeds(3)]
    run.report.table("Energies", ["seed", "energy"], rows)
    run.draw("curves", Figure())


def fail(run):
    raise RuntimeError("no rows")


TOY = {
    "figure-1": Item(make_toy, "Figure 1", "How energies fall."),
    "table-1": Item(make_toy, "Table 1", "Nothing.", ("no such file.npz",)),
    "broken": Item(fail, "Section 3", "An option."),
}


@pytest.fixture
def toy(monkeypatch, tmp_path):
    for module in (pages, main_module):
        monkeypatch.setattr(module, "PAPERS", {"toy": TOY})
        monkeypatch.setattr(module, "ITEMS", {f"toy-{name}": item for name, item in TOY.items()})
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "PAGES", tmp_path / "pages")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "toy.md").write_text(PAGE)
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["papers", *arguments])
    main_module.main()


def test_items_are_listed_without_names(toy, monkeypatch, capsys):
    run(monkeypatch)
    shown = capsys.readouterr().out
    assert "Figure 1. How energies fall." in shown
    assert "python -m benchmarks.papers toy-figure-1" in shown
    assert "missing: no such file.npz; cannot be made without" in shown


def test_an_item_leaves_its_table_and_picture(toy, monkeypatch, capsys):
    run(monkeypatch, "toy-figure-1", "--seeds", "2")
    folder = toy / "results" / "papers"
    found = json.loads((folder / "toy-figure-1.json").read_text())
    assert found["item"] == "toy-figure-1"
    assert found["pictures"] == ["toy-figure-1-curves.png"]
    assert (folder / "toy-figure-1-curves.png").read_bytes() == b"a picture"
    table = (folder / "toy-figure-1.md").read_text()
    assert "| 1    |    1.5 |" in table
    assert "| 2    |" not in table


def test_quick_runs_do_not_replace_full_runs(toy, monkeypatch, capsys):
    run(monkeypatch, "toy-figure-1", "--quick")
    assert not (toy / "results" / "papers").exists()
    assert (toy / "results" / "papers-quick" / "toy-figure-1.md").exists()


def test_paper_runs_all_of_its_items(toy, monkeypatch, capsys):
    with pytest.raises(SystemExit, match=r"^Failed: toy-broken$"):
        run(monkeypatch, "toy", "--quick")
    said = capsys.readouterr().err
    assert "toy-table-1: no such file.npz missing" in said
    assert "RuntimeError: no rows" in said
    assert (toy / "results" / "papers-quick" / "toy-figure-1.md").exists()


def test_pages_get_results_and_keep_their_text(toy, monkeypatch, capsys):
    run(monkeypatch, "toy-figure-1", "--pages")
    page = (toy / "pages" / "toy.md").read_text()
    assert "![curves](images/toy-figure-1-curves.png)" in page
    assert "Written to" not in page
    assert page.startswith("# A Toy\n\nText by hand.\n\n<!-- toy-figure-1; ")
    assert "Old results" not in page
    assert [path.name for path in (toy / "pages" / "images").iterdir()] == ["toy-figure-1-curves.png"]


def test_pages_keep_results_without_their_files(toy, monkeypatch, capsys):
    run(monkeypatch, "toy-figure-1", "--pages")
    before = {path: path.read_bytes() for path in (toy / "pages").rglob("*.*")}
    shutil.rmtree(toy / "results")
    run(monkeypatch, "--pages")
    assert {path: path.read_bytes() for path in (toy / "pages").rglob("*.*")} == before


def test_unknown_names(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "toy-figure-9")
    assert "no toy-figure-9" in capsys.readouterr().err
