"""A process may be killed at any moment: its outputs are all old, all new, or for an instant not there."""

import shutil

import pytest

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
