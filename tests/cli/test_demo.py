"""`coterie demo`."""

import json
import os
import sys

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed


def test_demo(folder, capsys):
    pytest.importorskip("matplotlib")
    assert main(["demo", "--out", "demo"]) == 0
    pictures = ["centroids.png", "clusters.png", "memberships.png", "modes.png"]
    pictures += ["mammals_path.png", "mammals_tree.png"]
    names = sorted([*pictures, "digits.npy", "labels.npy", "model.coterie", "report.html", "summary.json"])
    assert everything(folder / "demo") == names
    out = capsys.readouterr().out
    listed = out[out.index("wrote\n") :].split("\n")[1:-1]
    assert listed[-1].strip() == os.path.join("demo", "report.html")
    assert sorted(line.strip() for line in listed) == [os.path.join("demo", name) for name in names]
    accuracy = json.loads((folder / "demo" / "summary.json").read_text())["accuracy"]
    assert [f"accuracy {value:.3f} ({name})" in out for name, value in accuracy.items()] == 3 * [True]
    assert accuracy["k-means"] > 0.7
    assert accuracy["laplacian-kmodes"] > 0.7
    assert accuracy["total-variation, 2 labels of each digit"] > 0.9
    digits, labels = np.load("demo/digits.npy"), np.load("demo/labels.npy")
    assert np.array_equal(coterie.load("demo/model.coterie").predict(digits), labels)


def test_demo_without_matplotlib(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "coterie[plot]" in failed(capsys, 1, "demo")
    assert everything(folder) == []
