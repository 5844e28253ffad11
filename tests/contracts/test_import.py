"""`import coterie` loads what fits need, and nothing that only some processes ask for."""

import subprocess
import sys

import coterie

LOADED = "import sys, coterie; print(*(name for name in sys.modules if name.startswith({names})))"


def test_reports_and_choices_are_loaded_when_asked_for():
    names = ("coterie.reports", "coterie.choices", "coterie.cli", "coterie.dask", "matplotlib", "bokeh")
    code = LOADED.format(names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_public_name_is_found_and_listed():
    assert {name for name in coterie.__all__ if not hasattr(coterie, name)} == set()
    assert set(coterie.__all__) <= set(dir(coterie))
    assert coterie.report is coterie.reports.report
    assert coterie.choose_k is coterie.choices.choose.choose_k


def test_other_names_are_no_attributes():
    assert not hasattr(coterie, "no_such_name")
