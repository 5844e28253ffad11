"""`coterie predict`."""

import json
import os

import numpy as np

from coterie.cli import main
from tests.cli.running import failed


def test_predict(folder, rows, X, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    np.save("others.npy", X[::-1].astype(np.float32))
    arguments = ["predict", "coterie-out/model.coterie", "others.npy", "--out", "new/l.npy", "--threads", "1"]
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == {"labels": os.path.join("new", "l.npy")}
    assert report["input"]["rows"] == 300
    assert np.array_equal(np.load("new/l.npy"), np.load("coterie-out/labels.npy")[::-1])
    np.save("narrow.npy", X[:, :2])
    message = failed(capsys, 1, "predict", "coterie-out/model.coterie", "narrow.npy")
    assert "narrow.npy has 2 columns" in message
    assert "4" in message


def test_label_file_that_cannot_be(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    (folder / "taken.npy").mkdir()
    model = "coterie-out/model.coterie"
    assert "taken.npy: Is a folder" in failed(capsys, 1, "predict", model, rows, "--out", "taken.npy")
