"""`--metric cosine`: clusters by angle from the command line, and what becomes of rows of zeros."""

import json

import numpy as np

from coterie.cli import main
from tests.cli.running import failed


def test_default_method_takes_cosine(folder, rows):
    assert main(["fit", rows, "-k", "3", "--metric", "cosine", "-q"]) == 0
    assert json.loads((folder / "coterie-out/summary.json").read_text())["method"] == "k-means"


def test_rows_of_zeros(folder, X, capsys):
    X[17] = 0
    np.save("rows.npy", X)
    message = failed(capsys, 1, "fit", "rows.npy", "-k", "3", "--metric", "cosine", "-q")
    assert "rows of zeros" in message
    assert "First bad row: 17 of rows.npy." in message
    arguments = ["fit", "rows.npy", "-k", "3", "--metric", "cosine", "--zero-rows", "ignore"]
    assert main([*arguments, "--json", "-q"]) == 0
    report = json.loads(capsys.readouterr().out)
    labels = np.load("coterie-out/labels.npy")
    assert np.flatnonzero(labels == -1) == [17]
    assert report["cluster_sizes"]["largest"] == np.bincount(labels + 1).max()
    assert main(["predict", "coterie-out/model.coterie", "rows.npy", "--out", "labels.npy", "-q"]) == 0
    np.testing.assert_array_equal(np.load("labels.npy"), labels)


def test_rows_of_zeros_far_in_a_file_that_is_labeled(folder, X, capsys, monkeypatch):
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "3", "--metric", "cosine", "-q"]) == 0
    X[217] = 0
    np.save("rows.npy", X)
    monkeypatch.setattr("coterie.rows.source._BLOCK_BYTES", 100 * 4 * 8)
    message = failed(
        capsys, 1, "predict", "coterie-out/model.coterie", "rows.npy", "--out", "labels.npy", "-q"
    )
    assert "Of the rows from 200 on, counted from 0:" in message
    assert "First bad row: 17." in message
    assert not (folder / "labels.npy").exists()
