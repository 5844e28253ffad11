"""A process may be killed at any moment: its outputs are all old or all new, and the next run clears up."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.cli.runs import hash_of_array
from coterie.outputs import OutputFolder, recovered, replacing
from tests.support.processes import STEPS, ended, forks, killed_at, started

pytestmark = [forks, pytest.mark.slow]

NAMES = ("labels.npy", "model.coterie", "summary.json")

# The others come before anything is decided; each fit takes a while.
STEPS_OF_COMMITS = ("rename", "replace", "fsync", "unlink", "rmdir", "mkdir")

# More of them find more; these take a few seconds.
MOMENTS = int(os.environ.get("COTERIE_FAULTS", 20))


def write(folder, text, output="", names=NAMES):
    with OutputFolder(folder, output) as outputs:
        outputs.replaced = [*NAMES, "extra"]
        for name in names:
            with outputs.writing(name) as path:
                path.write_text(text)


def contents(folder, output=""):
    """Return what readers find in the files of a folder."""
    paths = [Path(recovered(folder / name)) for name in NAMES]
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
    @pytest.mark.parametrize("output", ["", "labels.npy"])
    def test_files_are_all_old_or_all_new(self, tmp_path, output):
        folder = tmp_path / "out"
        folder.mkdir()
        (folder / "mine").write_text("of the user")
        seen = []
        for _ in steps_of(write, folder, "new", output):
            (found,) = contents(folder)
            seen.append(found)
            assert (folder / "mine").read_text() == "of the user"
            assert not (folder / "extra").exists() or output or found == "old"
            write(folder, "old", output, [*NAMES, "extra"])
            assert names(folder) == sorted([*NAMES, "extra", "mine"])
            assert names(tmp_path) == ["out"]
        assert seen[0] is None  # there was nothing yet
        assert {"old", "new"} <= set(seen)
        assert len(seen) > 15

    def test_no_reader_is_needed_to_find_one_run(self, tmp_path):
        """Also those who do not know of recovery find one whole run, or for an instant none."""
        folder = tmp_path / "out"
        write(folder, "old")
        for _ in steps_of(write, folder, "new"):
            found = {path.read_text() for path in folder.glob("*")}
            assert found in ({"old"}, {"new"}, set())
            assert found or len(list(tmp_path.glob(".coterie-old.out/*"))) == len(NAMES)
            recovered(folder)
            write(folder, "old")

    def test_a_folder_that_was_not_there(self, tmp_path):
        folder = tmp_path / "deep" / "out"
        for _ in steps_of(write, folder, "new"):
            assert contents(folder) in ({None}, {"new"})
            write(folder, "newer")
            assert names(folder) == sorted(NAMES)
            assert names(folder.parent) == ["out"]
            shutil.rmtree(tmp_path / "deep")

    def test_readers_may_be_killed_too(self, tmp_path):
        folder = tmp_path / "out"

        def decide():
            ready = tmp_path / ".coterie-folder.out"
            ready.mkdir(exist_ok=True)
            for name in NAMES:
                (ready / name).write_text("new")
            (ready / ".coterie-plan").write_text('{"new": [], "replaced": []}')

        write(folder, "old")
        decide()
        for _ in steps_of(recovered, folder / NAMES[0]):
            assert contents(folder) == {"new"}
            write(folder, "old")
            assert names(tmp_path) == ["out"]
            decide()

    def test_locks_of_living_processes_are_kept(self, tmp_path):
        with OutputFolder(tmp_path, "mine.npy") as outputs, outputs.writing("mine.npy") as path:
            path.write_text("mine")
            with replacing(tmp_path / "third.npy") as third:
                third.write_text("third")
                write(tmp_path, "other", "labels.npy")
                write(tmp_path / "out", "other")
        assert names(tmp_path) == sorted([*NAMES, "mine.npy", "out", "third.npy"])
        assert (tmp_path / "mine.npy").read_text() == "mine"


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
        summary = json.loads(Path(recovered("q/summary.json")).read_text())
        model = coterie.load("q/model.coterie")
        labels = np.load(recovered("q/labels.npy"))
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
