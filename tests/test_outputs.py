"""Outputs appear complete or not at all, and nothing that is found beside them is used."""

import os
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from coterie.outputs import OutputFolder, printable, remove_leftovers, replacing


def write(folder, *names, text="new", output="", replaced=()):
    with OutputFolder(folder, output) as outputs:
        outputs.replaced = replaced
        for name in names:
            with outputs.writing(name) as path:
                path.write_text(text)


def everything(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def out(tmp_path):
    """The folder of a run with a file that the next run does not write, and a file and a folder of somebody else."""
    write(tmp_path / "out", "a", "old-only", text="old")
    (tmp_path / "out" / "mine.txt").write_text("of the user")
    return tmp_path / "out"


class TestRuns:
    def test_a_run_replaces_an_earlier_one_and_keeps_files_of_others(self, out):
        (out / "deep").mkdir()
        (out / "deep" / "b").write_text("deep")
        mine = (out / "mine.txt").stat()
        with OutputFolder(out) as outputs:
            outputs.replaced = ["a", "old-only"]
            for name in ("a", "b"):
                with outputs.writing(name) as path:
                    path.write_text("new")
            assert (out / "a").read_text() == "old"
            assert not (out / "b").exists()
        assert (out / "deep" / "b").read_text() == "deep"
        assert os.path.samestat((out / "mine.txt").stat(), mine)
        (out / "deep" / "b").unlink()
        (out / "deep").rmdir()
        assert everything(out) == {"mine.txt": "of the user", "a": "new", "b": "new"}
        assert os.listdir(out.parent) == ["out"]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_failure_changes_nothing(self, out, error):
        def fail(folder):
            with OutputFolder(folder) as outputs, outputs.writing("a") as path:
                path.write_text("half")
                raise error

        before = everything(out)
        for folder in (out, out.parent / "deep" / "other"):
            with pytest.raises(error):
                fail(folder)
        assert everything(out) == before
        assert os.listdir(out.parent) == ["out"]

    @pytest.mark.parametrize("step", range(4))
    def test_an_interruption_between_two_renames(self, out, monkeypatch, step):
        before = everything(out)
        rename, calls = os.rename, []

        def interrupted(*arguments):
            if len(calls) == step:
                calls.append(None)
                raise KeyboardInterrupt
            calls.append(arguments)
            rename(*arguments)

        monkeypatch.setattr(os, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt) if step < 3 else nullcontext():
            write(out, "a", "b", replaced=["a", "old-only"])
        after = {"mine.txt": "of the user", "a": "new", "b": "new"}
        assert everything(out) == (before if step < 2 else after)
        assert os.listdir(out.parent) == ["out"]


class TestPlaces:
    def test_a_folder_instead_of_a_file(self, out):
        (out / "b").mkdir()
        with OutputFolder(out) as outputs, pytest.raises(IsADirectoryError) as caught:
            outputs.check("a", "b")
        assert caught.value.filename == str(out / "b")
        with pytest.raises(IsADirectoryError):
            write(out, "a", "b")
        assert (out / "a").read_text() == "old"

    def test_a_file_instead_of_the_folder(self, tmp_path):
        (tmp_path / "a").write_text("a file")
        for folder in (tmp_path / "a", tmp_path / "a" / "out"):
            with pytest.raises(NotADirectoryError):
                write(folder, "b")
        assert everything(tmp_path) == {"a": "a file"}

    def test_a_link_to_the_folder(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        write(tmp_path / "link", "a")
        assert everything(tmp_path / "real") == {"a": "new"}
        assert (tmp_path / "link").is_symlink()

    def test_folders_that_cannot_be_replaced(self, out, monkeypatch):
        (out / "deep").mkdir()
        monkeypatch.chdir(out / "deep")
        with pytest.raises(OSError, match="contains the current or the home folder"):
            write(out, "a")
        monkeypatch.chdir(out.parent)
        with pytest.raises(OSError, match="Is a mount point"):
            write(Path("/"), "a")
        monkeypatch.setattr(os.path, "ismount", lambda path: os.fspath(path) == str(out / "deep"))
        with pytest.raises(OSError, match="Cannot move this folder"):
            write(out, "a")
        assert os.listdir(out.parent) == ["out"]


def leftover(path, days):
    """Make a folder with a file as a killed run leaves it, last changed some days ago."""
    path.mkdir()
    (path / "thesis.txt").write_text("planted")
    os.utime(path, (time.time() - days * 86400,) * 2)
    return path


class TestLeftovers:
    def test_old_ones_are_removed_and_never_used(self, out):
        """Folders that others plant would otherwise replace files of the user."""
        before = everything(out)
        kept = {".coterie-new-1": 0, ".coterie-old-2": 2, ".coterie-files.out": 2}
        for name, days in {".coterie-new-0": 2, **kept}.items():
            leftover(out.parent / name, days)
        write(out, "a")
        assert everything(out) == {"a": "new", "mine.txt": before["mine.txt"], "old-only": "old"}
        assert set(os.listdir(out.parent)) == {*kept, "out"}

    def test_those_of_others_stay(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1, raising=False)
        left = leftover(tmp_path / ".coterie-new-0", 2)
        remove_leftovers(tmp_path)
        assert everything(left) == {"thesis.txt": "planted"}

    def test_links_are_not_followed(self, tmp_path):
        mine = leftover(tmp_path / "mine", 2)
        link = tmp_path / ".coterie-new-0"
        link.symlink_to(mine)
        os.utime(link, (0, 0), follow_symlinks=False)
        remove_leftovers(tmp_path)
        assert everything(mine) == {"thesis.txt": "planted"}


def test_a_single_file_is_replaced(tmp_path):
    target = tmp_path / "labels.npy"
    for text in ("old", "new"):
        with replacing(target) as temporary:
            assert temporary.suffix == ".npy"
            temporary.write_text(text)
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["labels.npy"]


NO_SPACE = (OSError(28, "No space left on device"), OSError("200000 requested and 38880 written"))
OTHERS = (OSError(5, "Input/output error"), OSError(28, "No space left", "spool"), ValueError("NaN"))


@pytest.mark.parametrize("error", NO_SPACE + OTHERS)
def test_only_errors_of_a_full_disk_name_the_file(tmp_path, error):
    """Others may be those of a file that is read meanwhile."""
    with pytest.raises(type(error)) as caught, replacing(tmp_path / "labels.npy"):
        raise error
    if error in NO_SPACE:
        assert str(caught.value).startswith("[Errno 28] No space left on device")
        assert caught.value.filename == str(tmp_path / "labels.npy")
    else:
        assert caught.value is error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe in µm, 大小", "größe in µm, 大小"),
        ("\x1b]0;title\x07\x1b[31mred", r"\x1b]0;title\x07\x1b[31mred"),
        ("a\nb\rc\td", r"a\nb\rc\td"),
        ("\x9b31m \u202egnp.exe \u2028 \udc80", r"\x9b31m \u202egnp.exe \u2028 \udc80"),
        (b"\x1b", r"b'\x1b'"),
    ],
)
def test_printable_escapes_control_characters(text: object, shown: str) -> None:
    assert printable(text) == shown
