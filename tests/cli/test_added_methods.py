"""Methods of other packages on the command line, as if they were coterie's own."""

import json
import shutil

import numpy as np
import pytest

import coterie
from coterie import persistence
from coterie.cli import main
from coterie.estimators import method, register_method
from tests.cli import toy
from tests.cli.running import failed


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """The methods of the toy package, for one test."""
    monkeypatch.setattr(method, "_methods", dict(method._methods))
    monkeypatch.setattr(persistence, "_persistable", dict(persistence._persistable))
    register_method(toy.TOY)
    register_method(toy.PLAIN)


def test_added_method(folder, rows, X, capsys):
    line = ["fit", rows, "-k", "2", "--method", "toy", "--slice-column", "1", "--ends", "most"]
    assert main([*line, "--slice-normalize"]) == 0
    expected = toy.Slices(2, column=1, ends="most", normed=True).fit(X)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    printed = capsys.readouterr().out
    assert "in 2 clusters by toy" in printed
    assert f"spread of a slice {expected.spread_:.8g} (higher is better)" in printed
    assert "iteration" not in printed
    summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
    assert summary["objective_name"] == "spread of a slice"
    assert summary["objective"] == expected.spread_
    assert summary["parameters"] == expected.get_params()
    assert summary["normalize"] is False
    assert main(["predict", "coterie-out/model.coterie", rows]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.labels_)
    capsys.readouterr()
    assert main(["info", "coterie-out/model.coterie", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["estimator"], facts["method"], facts["clusters"]) == ("Slices", "toy", 2)
    assert facts["spread_of_a_slice"] == expected.spread_


def test_options_select_an_added_method(rows):
    assert main(["fit", rows, "-k", "2", "--ends", "most", "-q"]) == 0
    assert type(coterie.load("coterie-out/model.coterie")) is toy.Slices


def test_plain_scikit_learn(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "--method", "plain", "--seed", "4"]) == 0
    assert "rows a cluster" in capsys.readouterr().out
    expected = toy.PlainSlices(3, random_state=4).fit(X)
    assert coterie.load("coterie-out/model.coterie").random_state == 4
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)
    assert json.loads((folder / "coterie-out" / "summary.json").read_text())["objective"] is None
    assert main(["predict", "coterie-out/model.coterie", rows]) == 0
    assert np.array_equal(np.load("labels.npy"), expected.labels_)
    assert main(["info", "coterie-out/model.coterie"]) == 0


def test_added_method_refuses_sparse_rows(folder, X, capsys):
    from scipy import sparse

    sparse.save_npz("sparse.npz", sparse.csr_matrix(np.where(X > 1, X, 0)))
    assert "sparse rows" in failed(capsys, 1, "fit", "sparse.npz", "-k", "2", "--method", "toy")


def test_entry_points(tmp_path, rows, X, capsys, monkeypatch):
    """A package that is installed is enough; one that is broken does no harm."""
    info = tmp_path / "site" / "toy_methods-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-methods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[coterie.methods]\ntoy = toy_methods:TOY\nbroken = toy_methods:NOTHING\n"
    )
    shutil.copy(toy.__file__, tmp_path / "site" / "toy_methods.py")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(method._methods, "toy")
    monkeypatch.delitem(persistence._persistable, "Slices")
    assert main(["fit", rows, "-k", "2", "--ends", "most"]) == 0
    printed = capsys.readouterr()
    assert "by toy" in printed.out
    assert "coterie: warning: The method 'broken' (toy_methods:NOTHING) is left out" in printed.err
    assert type(coterie.load("coterie-out/model.coterie")).__module__ == "toy_methods"
    expected = toy.Slices(2, ends="most").fit(X)
    assert np.array_equal(np.load("coterie-out/labels.npy"), expected.labels_)


def test_model_of_a_package_that_is_missing(folder, rows, capsys, monkeypatch):
    assert main(["fit", rows, "-k", "2", "--method", "toy", "-q"]) == 0
    monkeypatch.setattr(persistence, "_persistable", {})
    message = failed(capsys, 1, "predict", "coterie-out/model.coterie", rows)
    assert "an estimator 'Slices' that this coterie does not know" in message
    assert "import that package first" in message
