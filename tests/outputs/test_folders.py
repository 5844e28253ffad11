"""Outputs of a folder change at once, and one run at a time writes them."""

import os

import pytest

from coterie.outputs import OutputFolder, finish_commits, newest


def write(folder, *names, text="new", output=""):
    with OutputFolder(folder, output) as outputs:
        for name in names:
            with outputs.writing(name) as path:
                path.write_text(text)


def everything(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_come_at_the_end(tmp_path):
    (tmp_path / "mine.txt").write_text("of the user")
    write(tmp_path, "a", text="old")
    with OutputFolder(tmp_path) as outputs:
        for name in ("a", "b"):
            with outputs.writing(name) as path:
                path.write_text("new")
        assert outputs.staged("a").read_text() == "new"
        assert (tmp_path / "a").read_text() == "old"
        assert not (tmp_path / "b").exists()
    assert everything(tmp_path) == {"mine.txt": "of the user", "a": "new", "b": "new"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_folder_as_it_was(tmp_path, error):
    write(tmp_path, "a", text="old")

    def fail(folder):
        with OutputFolder(folder) as outputs, outputs.writing("a") as path:
            path.write_text("half")
            raise error

    for folder in (tmp_path, tmp_path / "deep" / "out"):
        with pytest.raises(error):
            fail(folder)
    assert everything(tmp_path) == {"a": "old"}


@pytest.mark.parametrize("call", ["rename", "replace", "rmdir"])
def test_an_interruption_between_two_moves(tmp_path, monkeypatch, call):
    """What was decided is done; what was not is left alone."""
    write(tmp_path, "a", "b", text="old")
    real = getattr(os, call)
    calls = []

    def interrupted(*arguments, **options):
        real(*arguments, **options)
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, call, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, "a", "b")
    assert everything(tmp_path) == {"a": "new", "b": "new"}


def test_nothing_written(tmp_path):
    with OutputFolder(tmp_path / "out"):
        pass
    assert os.listdir(tmp_path) == []


class TestPlaces:
    def test_a_folder_instead_of_a_file(self, tmp_path):
        write(tmp_path, "b", text="old")
        (tmp_path / "a").mkdir()
        with OutputFolder(tmp_path) as outputs, pytest.raises(IsADirectoryError) as caught:
            outputs.check("b", "a")
        assert caught.value.filename == str(tmp_path / "a")
        with pytest.raises(IsADirectoryError):
            write(tmp_path, "b", "a")
        assert (tmp_path / "b").read_text() == "old"

    def test_a_file_instead_of_the_folder(self, tmp_path):
        write(tmp_path, "a")
        with pytest.raises(NotADirectoryError, match="Not a folder, so nothing can be written there"):
            write(tmp_path / "a" / "out", "b")
        assert everything(tmp_path) == {"a": "new"}

    def test_a_link_to_the_folder(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        write(tmp_path / "link", "a")
        assert everything(tmp_path / "real") == {"a": "new"}


class TestOneRunAtATime:
    def test_the_second_one_fails_at_once(self, tmp_path):
        with (
            OutputFolder(tmp_path),
            pytest.raises(BlockingIOError, match=f"process {os.getpid()}"),
            OutputFolder(tmp_path),
        ):
            pytest.fail("let in")
        assert os.listdir(tmp_path) == []

    def test_other_outputs_do_not_wait(self, tmp_path):
        with OutputFolder(tmp_path, "a.npy") as outputs, outputs.writing("a.npy") as path:
            path.write_text("a")
            write(tmp_path, "b.npy", text="b", output="b.npy")
            write(tmp_path, "c", text="c")
        assert everything(tmp_path) == {"a.npy": "a", "b.npy": "b", "c": "c"}

    def test_what_is_left_of_a_lock_keeps_nobody_out(self, tmp_path):
        (tmp_path / ".coterie-lock").write_text("process 1 on another machine")
        write(tmp_path, "a")
        assert everything(tmp_path) == {"a": "new"}

    def test_without_locks_the_last_one_counts(self, tmp_path, monkeypatch):
        monkeypatch.setattr("coterie.outputs.locks.lock_open_file", lambda _: False)
        with OutputFolder(tmp_path) as outputs, outputs.writing("a") as path:
            assert not outputs.is_guarded
            path.write_text("last")
            write(tmp_path, "a", text="first")
            assert (tmp_path / "a").read_text() == "first"
        assert everything(tmp_path) == {"a": "last"}


class TestJournals:
    def decide(self, folder, **files):
        (folder / ".coterie-commit").mkdir()
        for name, text in files.items():
            (folder / ".coterie-commit" / name).write_text(text)

    def test_readers_finish_what_was_decided(self, tmp_path):
        write(tmp_path, "a", "b", text="old")
        self.decide(tmp_path, b="new")
        assert newest(tmp_path / "a") == tmp_path / "a"
        assert everything(tmp_path) == {"a": "old", "b": "new"}
        assert newest("no/such/file") == "no/such/file"

    def test_readers_who_may_not_write(self, tmp_path, monkeypatch):
        write(tmp_path, "a", "b", text="old")
        self.decide(tmp_path, b="new")

        def forbidden(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "replace", forbidden)
        assert newest(tmp_path / "a") == tmp_path / "a"
        assert newest(tmp_path / "b") == tmp_path / ".coterie-commit" / "b"

    def test_what_stands_in_the_way_is_named(self, tmp_path):
        self.decide(tmp_path, a="new")
        (tmp_path / "a").mkdir()
        with pytest.raises(IsADirectoryError, match=r"waits in .*\.coterie-commit") as caught:
            finish_commits(tmp_path)
        assert caught.value.filename == str(tmp_path / "a")
        assert newest(tmp_path / "a").read_text() == "new"
        (tmp_path / "a").rmdir()
        finish_commits(tmp_path)
        assert everything(tmp_path) == {"a": "new"}

    def test_a_link_is_no_journal(self, tmp_path):
        """Or a folder of somebody else would make us empty one of ours."""
        precious, out = tmp_path / "precious", tmp_path / "out"
        precious.mkdir()
        out.mkdir()
        (precious / "a").write_text("mine")
        (out / ".coterie-commit").symlink_to(precious)
        assert newest(out / "a") == out / "a"
        assert everything(precious) == {"a": "mine"}
