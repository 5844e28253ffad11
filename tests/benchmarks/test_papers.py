"""The list of the papers' figures and tables: complete, and what it names can be made."""

import json
import shutil
import sys

import pytest

from benchmarks.harness import papers
from benchmarks.harness.papers import Item, Paper
from benchmarks.papers import __main__ as main_module
from benchmarks.papers import items, pages


def draw(path):
    path.write_bytes(b"a picture")


def make_toy(run):
    rows = [[str(seed), "1.5"] for seed in run.seeds(3)]
    run.report.table("Energies", ["seed", "energy"], rows)
    run.draw("curves", draw)


def fail(run):
    raise RuntimeError("no rows")


TOY = Paper(
    "toy",
    "A Toy",
    "Somebody (2001)",
    "On toys.",
    (
        Item("figure-1", "Figure 1", "How energies fall.", make_toy, remark="Ours are lower."),
        Item("table-1", "Table 1", "Nothing.", make_toy, data=("no such file.npz",)),
        Item("option", "Section 3", "An option.", published="0.3"),
        Item("broken", "Figure 2", "It fails.", fail),
    ),
)


@pytest.fixture
def toy(monkeypatch, tmp_path):
    for module in (items, pages, main_module):
        monkeypatch.setattr(module, "PAPERS", {"toy": TOY})
    for module in (items, main_module):
        monkeypatch.setattr(module, "ITEMS", {f"toy-{item.name}": (TOY, item) for item in TOY.items})
    monkeypatch.setattr(items, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "PAGES", tmp_path / "pages")
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["papers", *arguments])
    main_module.main()


def test_names_of_items_are_unique_and_descriptive():
    for paper in items.PAPERS.values():
        names = [item.name for item in paper.items]
        assert len(set(names)) == len(names)
        for item in paper.items:
            assert item.place
            assert item.shows.endswith((".", "?"))
            assert item.make is not None or item.remark


def test_items_are_listed_without_names(toy, monkeypatch, capsys):
    run(monkeypatch)
    shown = capsys.readouterr().out
    assert "toy-figure-1: Figure 1. How energies fall." in shown
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


def test_pages(toy, monkeypatch, capsys):
    run(monkeypatch, "toy-figure-1", "--pages")
    page = (toy / "pages" / "toy.md").read_text()
    assert "# A Toy" in page
    assert "![curves](images/toy-figure-1-curves.png)" in page
    assert "Ours are lower." in page
    assert "Not run yet: `python -m benchmarks.papers toy-table-1`." in page
    assert "In the paper: 0.3" in page
    assert "Written to" not in page
    assert [path.name for path in (toy / "pages" / "images").iterdir()] == ["toy-figure-1-curves.png"]
    assert "not run yet" in (toy / "pages" / "index.md").read_text()


def test_pages_keep_results_without_their_files(toy, monkeypatch, capsys):
    run(monkeypatch, "toy-figure-1", "--pages")
    pages = {path: path.read_bytes() for path in (toy / "pages").rglob("*.*")}
    shutil.rmtree(toy / "results")
    run(monkeypatch, "--pages")
    assert {path: path.read_bytes() for path in (toy / "pages").rglob("*.*")} == pages


def test_unknown_names(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "toy-figure-9")
    assert "no toy-figure-9" in capsys.readouterr().err
    assert papers.__all__
