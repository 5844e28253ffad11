"""`coterie demo`."""

import json
import os
import sys

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything, failed


def test_demo(folder, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("coterie.cli.demo.NESTED_ROWS", 3000)
    monkeypatch.setattr("coterie.cli.demo.MIXTURE_ROWS", 3000)
    assert main(["demo", "--out", "demo"]) == 0
    pictures = ["centroids.png", "clusters.png", "memberships.png", "mixture.png", "modes.png", "speed.png"]
    pictures += ["mammals_path.png", "mammals_tree.png"]
    names = sorted([*pictures, "digits.npy", "labels.npy", "model.coterie", "report.html", "summary.json"])
    assert everything(folder / "demo") == names
    out = capsys.readouterr().out
    listed = out[out.index("wrote\n") :].split("\n")[1:-1]
    assert listed[-1].strip() == os.path.join("demo", "report.html")
    assert sorted(line.strip() for line in listed) == [os.path.join("demo", name) for name in names]
    assert "3,000 moved digits in 1,000 clusters:\n" in out
    table = [line.split("  ") for line in out.splitlines() if line.startswith("  gmm")]
    assert [line[1] for line in table] == ["gmm", "gmm, coreset of 1,500"]
    assert all(0.7 < float(line[-1]) <= 1 for line in table)  # purity
    assert "1,797 digits in 10 clusters:\n" in out
    modes = [line for line in out.splitlines() if line.startswith("  laplacian-kmodes, SLK-")]
    assert len(modes) == 2
    assert all(0.7 < float(line.split()[-1]) <= 1 for line in modes)  # accuracy
    scores = json.loads((folder / "demo" / "summary.json").read_text())["scores"]
    assert scores["accuracy"] > 0.7
    assert scores["accuracy_with_2_labels_a_class"] > 0.9
    assert scores["normalized_mutual_information"] > 0.7
    digits, labels = np.load("demo/digits.npy"), np.load("demo/labels.npy")
    assert np.array_equal(coterie.load("demo/model.coterie").predict(digits), labels)


def test_demo_without_matplotlib(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "coterie[plot]" in failed(capsys, 1, "demo")
    assert everything(folder) == []
