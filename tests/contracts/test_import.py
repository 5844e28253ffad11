"""`import coterie` loads what fits need, and nothing that only some processes ask for."""

import subprocess
import sys

import pytest
import sklearn.metrics

import coterie


def test_importing_takes_little_beside_scikit_learn():
    """Seconds differ from run to run, modules do not: with these it was 1.15 times scikit-learn's own import."""
    code = "import sys, sklearn; known = set(sys.modules); import coterie; print(*(set(sys.modules) - known))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    slow = {
        "coterie.reports",
        "coterie.selection",
        "coterie.cli",
        "coterie.dask",
        "matplotlib",
        "openTSNE",
        "sklearn.preprocessing",
        "sklearn.metrics",
        "sklearn.decomposition",
        "urllib.request",
        "pandas",
        "pyarrow",
    }
    assert slow & set(loaded) == set()
    assert sum(name.startswith("coterie") for name in loaded) <= 230


def test_scikit_learn_scores_are_imported_on_demand():
    assert coterie.metrics.adjusted_rand_score is sklearn.metrics.adjusted_rand_score
    with pytest.raises(AttributeError, match="no_such_score"):
        _ = coterie.metrics.no_such_score


def test_every_public_name_is_found_and_listed():
    assert {name for name in coterie.__all__ if not hasattr(coterie, name)} == set()
    assert dir(coterie) == sorted(coterie.__all__)
    assert coterie.report is coterie.reports.report
    assert coterie.choose_k is coterie.selection.choose_k.choose_k


def test_other_names_are_no_attributes():
    assert not hasattr(coterie, "no_such_name")
