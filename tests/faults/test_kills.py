"""A process may be killed at any moment: its outputs are all old, all new, or for an instant not there."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.cli.runs import hash_of_array
from coterie.outputs import OutputFolder, replacing
from tests.support.processes import STEPS, forks, killed_at

pytestmark = [forks, pytest.mark.slow]

NAMES = ("clusters.csv", "labels.npy", "model.coterie", "summary.json")


def write(folder, text, output="", names=NAMES):
    with OutputFolder(folder, output) as outputs:
        outputs.replaced = [*NAMES, "extra"]
        for name in names:
            with outputs.writing(name) as path:
                path.write_text(text)


def contents(folder):
    """Return what readers find in the files of a folder."""
    return {(folder / name).read_text() if (folder / name).exists() else None for name in NAMES}


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".coterie-"))


def steps_of(function, *arguments, of=STEPS):
    """Kill a function at each of its steps in turn; yields after each."""
    step = 0
    while killed_at(step, function, *arguments, of=of):
        yield step
        step += 1


def test_a_folder_is_all_old_or_all_new(tmp_path):
    folder = tmp_path / "out"
    write(folder, "old")
    (folder / "mine").write_text("of the user")
    seen = []
    for _ in steps_of(write, folder, "new"):
        (found,) = contents(folder)
        seen.append(found)
        kept = list(tmp_path.glob("out/mine")) + list(tmp_path.glob(".coterie-old-*/mine"))
        assert [path.read_text() for path in kept] == ["of the user"]
        shutil.rmtree(folder, ignore_errors=True)
        for left in tmp_path.glob(".coterie-*"):
            shutil.rmtree(left)
        write(folder, "old")
        (folder / "mine").write_text("of the user")
    assert set(seen) == {"old", None, "new"}
    assert seen.count(None) == 1


def test_a_single_file(tmp_path):
    target = tmp_path / "model.coterie"

    def save(text):
        with replacing(target) as path:
            path.write_text(text)

    for _ in steps_of(save, "new"):
        assert not target.exists() or target.read_text() in ("old", "new")
        save("old")
        assert visible(tmp_path) == ["model.coterie"]


class TestFits:
    @pytest.fixture(autouse=True)
    def rows(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        np.save("rows.npy", np.random.default_rng(0).normal(size=(400, 3)))

    def fit(self, k):
        return main(
            ["fit", "rows.npy", "-k", str(k), "-p", "max_iter=3", "--threads", "1", "-q", "--out", "q"]
        )

    def found(self):
        """Return the number of clusters that each reader finds in the folder."""
        summary = json.loads(Path("q/summary.json").read_text())
        model = coterie.load("q/model.coterie")
        labels = np.load("q/labels.npy")
        assert summary["hashes"]["labels"] == hash_of_array(labels) == hash_of_array(model.labels_)
        assert summary["clusters"] == model.n_clusters
        return model.n_clusters

    def test_killed_at_each_step(self, capfd):
        self.fit(3)
        seen = []
        for _ in steps_of(self.fit, 4, of=("rename", "replace")):
            seen.append(self.found() if Path("q").exists() else None)
        assert set(seen) == {3, None}
        assert seen.count(None) == 1  # between two renames
        self.fit(5)
        assert self.found() == 5
