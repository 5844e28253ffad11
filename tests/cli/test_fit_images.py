"""`coterie fit --image`: rows that are images."""

import json
import os
import sys

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed


@pytest.mark.parametrize(
    "method", ["k-means", "nested", "mini-batch", "gmm", "laplacian-kmodes", "laplacian-kmodes --normalize"]
)
def test_images(folder, rows, capsys, method):
    pytest.importorskip("matplotlib")
    assert main(["fit", rows, "-k", "3", "--image", "2x2", "--method", *method.split()]) == 0
    written = ["labels.npy", "model.coterie", "modes.png", "run.toml", "summary.json"]
    assert everything(folder / "coterie-out") == written
    assert (folder / "coterie-out" / "modes.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert os.path.join("coterie-out", "modes.png") in capsys.readouterr().out
    summary = json.loads((folder / "coterie-out" / "summary.json").read_text())
    assert sorted(os.path.basename(path) for path in summary["files"].values()) == written


def test_images_of_sparse_rows_and_tables(folder, table, X):
    from scipy import sparse

    pytest.importorskip("matplotlib")
    sparse.save_npz("sparse.npz", sparse.csr_matrix(np.where(X > 1, X, 0)))
    for file, columns in (("sparse.npz", []), (table, ["--columns", "a,b,c,d"])):
        assert main(["fit", file, "-k", "3", "--image", "1x4", "-q", "--force", *columns]) == 0
        assert (folder / "coterie-out" / "modes.png").is_file()


def test_failure_while_drawing_leaves_nothing(folder, rows, capsys, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure.Figure, "savefig", full)
    assert main(["fit", rows, "-k", "3", "--image", "2x2", "-q"]) == 1
    assert everything(folder) == ["rows.npy"]


def test_images_without_matplotlib(folder, rows, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    assert "coterie[plot]" in failed(capsys, 1, "fit", rows, "-k", "3", "--image", "2x2")
    assert everything(folder) == ["rows.npy"]
