"""A process may be killed at any moment: its outputs are all old or all new, and the next run clears up."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.cli.verify import hash_of_array
from coterie.outputs import OutputFolder, newest, replacing
from tests.support.processes import STEPS, ended, forks, killed_at, started

pytestmark = [forks, pytest.mark.slow]

NAMES = ("labels.npy", "model.coterie", "summary.json")

# The others come before anything is decided; each fit takes a while.
STEPS_OF_COMMITS = ("rename", "replace", "fsync", "unlink", "rmdir")

# More of them find more; these take a few seconds.
MOMENTS = int(os.environ.get("COTERIE_FAULTS", 20))


def write(folder, text):
    with OutputFolder(folder) as outputs:
        for name in NAMES:
            with outputs.writing(name) as path:
                path.write_text(text)


def contents(folder):
    """Return what readers find in the files of a folder."""
    paths = [newest(folder / name) for name in NAMES]
    return {path.read_text() if path.exists() else None for path in paths}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def steps_of(function, *arguments, of=STEPS):
    """Kill a function at each of its steps in turn; yields after each."""
    step = 0
    while killed_at(step, function, *arguments, of=of):
        yield step
        step += 1


class TestFolders:
    def test_files_are_all_old_or_all_new(self, tmp_path):
        seen = []
        for _ in steps_of(write, tmp_path, "new"):
            (found,) = contents(tmp_path)
            seen.append(found)
            write(tmp_path, "old")
            assert names(tmp_path) == sorted(NAMES)
        assert seen[0] is None  # there was nothing yet
        assert {"old", "new"} <= set(seen)
        assert len(seen) > 20

    def test_a_folder_that_was_not_there(self, tmp_path):
        folder = tmp_path / "deep" / "out"
        for _ in steps_of(write, folder, "new"):
            assert contents(folder) in ({None}, {"new"})
            write(folder, "newer")
            assert names(folder) == sorted(NAMES)
            for name in NAMES:
                (folder / name).unlink()
            folder.rmdir()
            folder.parent.rmdir()

    def test_readers_may_be_killed_too(self, tmp_path):
        def decide():
            (tmp_path / ".coterie-commit").mkdir(exist_ok=True)
            for name in NAMES:
                (tmp_path / ".coterie-commit" / name).write_text("new")

        decide()
        for _ in steps_of(newest, tmp_path / NAMES[0]):
            assert contents(tmp_path) == {"new"}
            assert names(tmp_path) == sorted(NAMES)
            write(tmp_path, "old")
            decide()

    def test_who_lives_is_left_alone(self, tmp_path):
        with OutputFolder(tmp_path, "mine.npy") as outputs, outputs.writing("mine.npy") as path:
            path.write_text("mine")
            with replacing(tmp_path / "third.npy") as third:
                third.write_text("third")
                write(tmp_path, "other")
        assert names(tmp_path) == sorted([*NAMES, "mine.npy", "third.npy"])
        assert (tmp_path / "mine.npy").read_text() == "mine"

    def test_the_dead_of_other_outputs_are_cleared_up(self, tmp_path):
        def die():
            with OutputFolder(tmp_path, "theirs.npy") as outputs, outputs.writing("theirs.npy") as path:
                path.write_text("half")
                os.kill(os.getpid(), signal.SIGKILL)

        assert ended(started(die)) == -signal.SIGKILL
        assert len(names(tmp_path)) == 2
        write(tmp_path, "new")
        assert names(tmp_path) == sorted(NAMES)


def test_a_single_file(tmp_path):
    target = tmp_path / "model.coterie"

    def save(text):
        with replacing(target) as path:
            path.write_text(text)

    for _ in steps_of(save, "new"):
        assert not target.exists() or target.read_text() in ("old", "new")
        save("old")
        assert names(tmp_path) == ["model.coterie"]


class TestFits:
    @pytest.fixture(autouse=True)
    def rows(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        np.save("rows.npy", np.random.default_rng(0).normal(size=(400, 3)))

    def fit(self, k):
        return main(
            ["fit", "rows.npy", "-k", str(k), "--max-iter", "3", "--threads", "1", "-q", "--out", "q"]
        )

    def found(self):
        """Return the number of clusters that each reader finds in the folder."""
        summary = json.loads(newest(Path("q", "summary.json")).read_text())
        model = coterie.load("q/model.coterie")
        labels = np.load(newest("q/labels.npy"))
        assert summary["hashes"]["labels"] == hash_of_array(labels) == hash_of_array(model.labels_)
        assert summary["clusters"] == model.n_clusters
        return model.n_clusters

    def test_killed_at_each_step(self, capfd):
        self.fit(3)
        seen = [self.found() for _ in steps_of(self.fit, 4, of=STEPS_OF_COMMITS)]
        assert seen == sorted(seen)
        assert set(seen) == {3, 4}
        self.fit(5)
        assert sorted(os.listdir("q")) == sorted([*NAMES, "run.toml"])

    def test_killed_at_any_moment(self, capfd):
        began = time.perf_counter()
        assert ended(started(self.fit, 3)) == 0
        seconds = time.perf_counter() - began
        for moment in np.random.default_rng(0).permutation(MOMENTS):
            child = started(self.fit, 4)
            time.sleep(seconds * 1.2 * moment / MOMENTS)
            os.kill(child, signal.SIGKILL)
            ended(child)
            assert self.found() in (3, 4)
        self.fit(5)
        assert sorted(os.listdir("q")) == sorted([*NAMES, "run.toml"])
