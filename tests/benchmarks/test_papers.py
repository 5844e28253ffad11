"""The figures and tables of the papers, and their results in the pages."""

import sys

import pytest

from benchmarks.convex.paper import senate_as_published, senate_subsets
from benchmarks.harness.benchmark import Item
from benchmarks.papers import __main__ as main_module
from benchmarks.papers import pages

PAGE = """# A Toy

Text by hand.

<!-- toy-figure-1; 2001-01-01; a machine -->

Old results.

<!-- end -->
"""


def make_toy(run):
    """How energies fall."""
    run.report.table("Energies", ["seed", "energy"], [[str(seed), "1.5"] for seed in run.seeds(3)])


def fail(run):
    """What cannot be made."""
    raise RuntimeError("no rows")


TOY = {
    "figure-1": Item(make_toy, "Figure 1", ("no such file.npz",)),
    "broken": Item(fail, "Section 3"),
}


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command on a toy paper, whose page and results are in `tmp_path`."""
    for module in (pages, main_module):
        monkeypatch.setattr(module, "PAPERS", {"toy": TOY})
        monkeypatch.setattr(module, "ITEMS", {f"toy-{name}": item for name, item in TOY.items()})
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    (tmp_path / "toy.md").write_text(PAGE)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["papers", *arguments])
        main_module.main()

    return run


def test_items_are_listed(run, capsys):
    run()
    shown = capsys.readouterr().out
    assert "Figure 1. How energies fall." in shown
    assert "missing: no such file.npz" in shown


def test_a_paper_makes_all_of_its_items(run, tmp_path, capsys):
    with pytest.raises(SystemExit, match=r"^Failed: toy-broken$"):
        run("toy", "--quick")
    said = capsys.readouterr().err
    assert "RuntimeError: no rows" in said
    # A quick run does not take the place of a full one.
    assert not (tmp_path / "results" / "papers").exists()
    assert (tmp_path / "results" / "papers-quick" / "toy-figure-1.md").exists()


def test_pages_get_results_and_keep_their_text(run, tmp_path, capsys):
    run("--pages")
    assert (tmp_path / "toy.md").read_text() == PAGE
    run("toy-figure-1", "--seeds", "2", "--pages")
    page = (tmp_path / "toy.md").read_text()
    assert page.startswith("# A Toy\n\nText by hand.\n\n<!-- toy-figure-1; ")
    assert "Old results" not in page
    assert "| 1    |    1.5 |" in page
    assert "| 2    |" not in page


def test_senators_of_each_party_are_as_many_as_published():
    """15 Democrats, 1 Independent and 13 Republicans, no two of whom voted alike; Zell Miller among them."""
    subsets = senate_subsets()
    assert len(subsets) == 23
    known = senate_as_published(subsets[0])
    assert known.rows.shape == (29, 15)
    assert "Miller" in known.names.values()
