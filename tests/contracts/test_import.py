"""`import coterie` loads what fits need, and nothing that only some processes ask for."""

import subprocess
import sys

import pytest
import sklearn.metrics

import coterie

# scikit-learn itself imports pandas and rich where it finds them.
CODE = """
import sys, sklearn
sys.modules["rich"] = None
known = set(sys.modules)
import coterie
print(*(set(sys.modules) - known))

extras = "matplotlib cyclopts pyarrow h5py zarr dask distributed polars".split()
sys.modules.update(dict.fromkeys(extras))
import numpy as np, scipy.sparse as sp
import coterie.cli, coterie.dask, coterie.plotting, coterie.metrics, coterie.datasets
for X in ([[0.0], [1.0], [5.0]], sp.eye_array(3), np.eye(3).astype(object)):
    coterie.KMeans(n_clusters=2).fit(X)
"""


def test_importing_takes_little_beside_scikit_learn_and_no_extra():
    """Seconds differ from run to run, modules do not: with these it was 1.15 times scikit-learn's own import."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    loaded = done.stdout.split()
    slow = (
        "coterie.reports coterie.comparison coterie.cli coterie.dask sklearn.preprocessing sklearn.metrics "
    )
    slow += "sklearn.decomposition urllib.request matplotlib openTSNE pandas pyarrow cyclopts h5py zarr dask "
    assert set(slow.split()) & set(loaded) == set()
    assert sum(name.startswith("coterie") for name in loaded) <= 230


def test_plotting_and_dask_are_imported_on_demand():
    code = "import coterie; print(coterie.plotting.cluster_map.__name__, coterie.dask.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("cluster_map coterie.dask", "")


def test_scikit_learn_scores_are_imported_on_demand():
    assert coterie.metrics.adjusted_rand_score is sklearn.metrics.adjusted_rand_score
    with pytest.raises(AttributeError, match="no_such_score"):
        _ = coterie.metrics.no_such_score


def test_every_public_name_is_found_and_listed():
    assert {name for name in coterie.__all__ if not hasattr(coterie, name)} == set()
    assert dir(coterie) == sorted(coterie.__all__)
    assert coterie.report is coterie.reports.report
    assert coterie.compare is coterie.comparison.compare.compare


def test_other_names_are_no_attributes():
    assert not hasattr(coterie, "no_such_name")
