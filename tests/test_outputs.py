"""Outputs appear whole or not at all, one run at a time writes them, and a folder holds one run."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from coterie.outputs import OutputFolder, TemporaryFolder, printable, recovered, replacing


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
            assert outputs.staged("a").read_text() == "new"
            assert (out / "a").read_text() == "old"
            assert not (out / "b").exists()
        assert (out / "deep" / "b").read_text() == "deep"
        assert os.path.samestat((out / "mine.txt").stat(), mine)
        (out / "deep" / "b").unlink()
        (out / "deep").rmdir()
        assert everything(out) == {"mine.txt": "of the user", "a": "new", "b": "new"}
        assert os.listdir(out.parent) == ["out"]

    def test_a_folder_keeps_its_permissions(self, out):
        out.chmod(0o750)
        write(out, "a")
        assert out.stat().st_mode & 0o777 == 0o750

    def test_nothing_written(self, tmp_path):
        with OutputFolder(tmp_path / "deep" / "out"):
            pass
        assert os.listdir(tmp_path) == []

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

    def test_a_file_that_cannot_be_moved_leaves_everything_as_it_was(self, out, monkeypatch):
        before = everything(out)
        rename = os.rename

        def forbidden(source, target):
            if source.name == "mine.txt" and "old" in source.parent.name:
                raise PermissionError(13, "Permission denied", str(source))
            rename(source, target)

        monkeypatch.setattr(os, "rename", forbidden)
        (out / "z").write_text("also of the user")
        with pytest.raises(PermissionError):
            write(out, "a", replaced=["a", "old-only"])
        assert everything(out) == before | {"z": "also of the user"}
        assert os.listdir(out.parent) == ["out"]

    @pytest.mark.parametrize("call", ["rename", "unlink"])
    def test_an_interruption_between_two_steps(self, out, monkeypatch, call):
        """What was decided is done."""
        real = getattr(os, call)
        calls = []

        def interrupted(*arguments, **options):
            real(*arguments, **options)
            calls.append(arguments)
            if len(calls) == 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(os, call, interrupted)
        with pytest.raises(KeyboardInterrupt):
            write(out, "a", "b", replaced=["a", "old-only"])
        assert everything(out) == {"mine.txt": "of the user", "a": "new", "b": "new"}
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
            with pytest.raises(NotADirectoryError, match="Not a folder, so nothing can be written there"):
                write(folder, "b")
        assert everything(tmp_path) == {"a": "a file"}

    def test_a_link_to_the_folder(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        write(tmp_path / "link", "a")
        assert everything(tmp_path / "real") == {"a": "new"}
        assert (tmp_path / "link").is_symlink()

    def test_folders_that_cannot_be_replaced(self, out, monkeypatch):
        with monkeypatch.context() as patch:
            patch.chdir(out)
            with pytest.raises(OSError, match="Is the current folder, so it cannot be replaced"):
                write(out, "a")
        (out / "deep").mkdir()
        for where, error in (
            (out / "deep", "Contains the current folder"),
            (out.parent, "Contains your home folder"),
        ):
            with monkeypatch.context() as patch:
                patch.chdir(where)
                patch.setenv("HOME", str(out / "deep"))
                with pytest.raises(OSError, match=error):
                    write(out, "a")
        with pytest.raises(OSError, match="Is a mount point, so it cannot be replaced as a whole"):
            write(Path("/"), "a")
        for place, error in ((out, "Is a mount point"), (out / "deep", "Cannot move this folder")):
            place.mkdir(exist_ok=True)
            with monkeypatch.context() as patch:
                patch.setattr(os.path, "ismount", lambda path, place=place: os.fspath(path) == str(place))
                with pytest.raises(OSError, match=error):
                    write(out, "a")
        assert os.listdir(out.parent) == ["out"]


class TestOneRunAtATime:
    @pytest.mark.parametrize("output", ["", "a.npy"])
    def test_second_run_in_a_folder_fails(self, tmp_path, output):
        folder = tmp_path / "out"
        with (
            OutputFolder(folder, output),
            pytest.raises(BlockingIOError, match=f"process {os.getpid()}"),
            OutputFolder(folder, output),
        ):
            pytest.fail("let in")
        assert os.listdir(tmp_path) == []

    def test_runs_of_other_outputs_are_not_blocked(self, tmp_path):
        with OutputFolder(tmp_path, "a.npy") as outputs, outputs.writing("a.npy") as path:
            path.write_text("a")
            write(tmp_path, "b.npy", text="b", output="b.npy")
        assert everything(tmp_path) == {"a.npy": "a", "b.npy": "b"}

    def test_stale_lock_does_not_block(self, tmp_path):
        (tmp_path / ".coterie-lock.out").write_text("process 1 on another machine")
        write(tmp_path / "out", "a")
        assert os.listdir(tmp_path) == ["out"]

    def test_without_locks_the_second_one_fails_too(self, tmp_path, monkeypatch):
        monkeypatch.setattr("coterie.outputs._lock", lambda _: False)
        with OutputFolder(tmp_path / "out") as outputs, outputs.writing("a") as path:
            path.write_text("first")
            with pytest.raises(BlockingIOError, match=r"without locks; .* remove .*\.coterie-new\.out"):
                write(tmp_path / "out", "a", text="second")
        assert everything(tmp_path / "out") == {"a": "first"}


class TestRecovery:
    def decide(self, out, **files):
        """Leave what a run leaves that was killed as soon as it had decided."""
        ready = out.parent / ".coterie-folder.out"
        ready.mkdir()
        for name, text in files.items():
            (ready / name).write_text(text)
        (ready / ".coterie-plan").write_text(json.dumps({"new": [*files], "replaced": ["a", "old-only"]}))

    @pytest.mark.parametrize("path", ["", "a", "no-such-file"])
    def test_readers_complete_a_killed_replacement(self, out, path):
        self.decide(out, b="new")
        assert recovered(out / path) == out / path
        assert everything(out) == {"b": "new", "mine.txt": "of the user"}
        assert os.listdir(out.parent) == ["out"]

    def test_some_files_of_a_folder(self, tmp_path):
        (tmp_path / ".coterie-files.a.npy").mkdir()
        (tmp_path / ".coterie-files.a.npy" / "a.npy").write_text("new")
        assert recovered(tmp_path / "other") == tmp_path / "other"
        assert everything(tmp_path) == {"a.npy": "new"}

    def test_a_folder_in_the_place_of_a_file_is_named(self, tmp_path):
        (tmp_path / ".coterie-files.a.npy").mkdir()
        (tmp_path / ".coterie-files.a.npy" / "a.npy").write_text("new")
        (tmp_path / "a.npy").mkdir()
        with pytest.raises(IsADirectoryError, match=r"was left in .*\.coterie-files") as caught:
            recovered(tmp_path / "a.npy")
        assert caught.value.filename == str(tmp_path / "a.npy")

    def test_readers_who_may_not_write(self, out, monkeypatch):
        """They find the earlier run; if it was renamed aside already, they fail."""
        self.decide(out, a="new")
        before = everything(out)

        def forbidden(*_):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr("coterie.outputs._lock", forbidden)
        recovered(out / "a")
        assert everything(out) == before
        os.rename(out, out.parent / ".coterie-old.out")
        with pytest.raises(OSError, match="Read-only file system"):
            recovered(out / "a")

    def test_links_are_not_followed(self, out):
        """Or somebody else could make us move or remove files of another folder."""
        precious = out.parent / "precious"
        precious.mkdir()
        (precious / "a").write_text("mine")
        for kind in ("folder", "old"):
            (out.parent / f".coterie-{kind}.out").symlink_to(precious)
        (out.parent / ".coterie-files.out").symlink_to(precious)
        before = everything(out)
        recovered(out)
        assert everything(precious) == {"a": "mine"}
        assert everything(out) == before


def test_a_single_file_is_replaced(tmp_path):
    target = tmp_path / "labels.npy"
    for text in ("old", "new"):
        with replacing(target) as temporary:
            assert temporary.suffix == ".npy"
            temporary.write_text(text)
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["labels.npy"]


def test_an_interruption_leaves_no_single_file(tmp_path):
    def interrupted():
        with replacing(tmp_path / "labels.npy") as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_a_single_file(tmp_path):
    (tmp_path / "labels.npy").mkdir()
    with (
        pytest.raises(IsADirectoryError, match=r"Is a folder, not a file to write.*labels\.npy'$"),
        replacing(tmp_path / "labels.npy"),
    ):
        pytest.fail("began to write")
    assert os.listdir(tmp_path) == ["labels.npy"]


def test_a_single_file_without_its_folder(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "no" / "labels.npy"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "labels.npy")


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError("200000 requested and 38880 written")]
)
def test_full_disk_error_names_the_file(tmp_path, error):
    def full():
        with replacing(tmp_path / "labels.npy"):
            raise error

    with pytest.raises(OSError, match="No space left on device") as caught:
        full()
    assert caught.value.filename == str(tmp_path / "labels.npy")
    assert not list(tmp_path.iterdir())


def test_other_errors_stay_as_they_are(tmp_path):
    """Such as those of a file that is read meanwhile."""

    def failing(error):
        with replacing(tmp_path / "labels.npy"):
            raise error

    for error in (OSError(5, "Input/output error"), OSError(28, "No space left", "spool"), ValueError("NaN")):
        with pytest.raises(type(error)) as caught:
            failing(error)
        assert caught.value is error


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows limits no files")
def test_numpy_and_a_file_that_may_not_grow(tmp_path):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def grow():
        with replacing(tmp_path / "labels.npy") as path:
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
                with open(path, "wb") as file:
                    np.save(file, np.zeros(100_000))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    with pytest.raises(OSError, match=r"labels\.npy"):
        grow()
    assert not list(tmp_path.iterdir())


class TestTemporaryFolder:
    def test_folders_of_ended_processes_are_removed(self, tmp_path):
        left = tmp_path / "name-1"
        left.mkdir()
        (left / ".coterie-lock").write_text("process 1")
        with TemporaryFolder(tmp_path, "name") as first, TemporaryFolder(tmp_path, "name") as second:
            assert not left.exists()
            assert first.path.is_dir()
            assert second.path.is_dir()
            assert (first.path / ".coterie-lock").exists()
        assert not any(tmp_path.iterdir())

    def test_folders_of_others_stay(self, tmp_path):
        """What no living process has locked may yet be a link, or have been made just now."""
        precious, new, link = tmp_path / "precious", tmp_path / "name-1", tmp_path / "name-2"
        precious.mkdir()
        new.mkdir()
        (precious / ".coterie-lock").write_text("mine")
        link.symlink_to(precious)
        with TemporaryFolder(tmp_path, "name"):
            assert (precious / ".coterie-lock").read_text() == "mine"
            assert new.is_dir()


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


def test_printable_keeps_what_is_asked_for() -> None:
    assert printable("two\nlines\x1b", keep="\n") == "two\nlines\\x1b"
