"""`--memory`, and files that are no files, on the command line."""

import os
import sys

import numpy as np
import pytest

from coterie.cli import main
from coterie.limits.memory import available_memory
from tests.cli.running import everything, failed


@pytest.mark.parametrize("command", ["fit rows.npy -k 3", "path rows.npy --neighbors 5 --gammas 4"])
def test_memory_limit_does_not_change_results(folder, rows, command):
    pytest.importorskip("matplotlib")
    assert main([*command.split(), "-q", "--out", "a"]) == 0
    assert main([*command.split(), "-q", "--out", "b", "--memory", "8GB"]) == 0
    files = [name for name in everything(folder / "a") if name.endswith((".npy", ".csv"))]
    assert files
    for name in files:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


def test_fits_above_the_memory_limit_are_refused(folder, capsys):
    np.save("rows.npy", np.random.default_rng(0).normal(size=(20_000, 2)))
    line = "fit rows.npy -k 9000 --algorithm elkan --memory 300MB"
    message = failed(capsys, 1, *line.split())
    assert "bounds of the distances" in message
    assert "300 MB that are allowed" in message
    assert "algorithm='lloyd'" in message
    assert everything(folder) == ["rows.npy"]
    assert available_memory() > 300e6  # the limit was the command's


def test_more_gammas_than_memory_has_room_for(folder, rows, capsys):
    pytest.importorskip("matplotlib")
    message = failed(capsys, 1, "path", rows, "--gammas", "1000000000", "--max-time", "1")
    assert "1,000,000,000 gammas" in message
    assert len(message) < 300


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are those of Unix")
class TestPipes:
    @pytest.fixture
    def fifo(self, folder):
        def make(name):
            os.mkfifo(folder / name)
            return name

        return make

    @pytest.mark.parametrize("command", ["fit x.npy -k 3", "path x.npy", "info x.npy"])
    def test_rows(self, fifo, capsys, command):
        fifo("x.npy")
        message = failed(capsys, 1, *command.split())
        assert message == (
            "x.npy is a pipe, not a file: it cannot be read twice. Save it as a file, or pipe rows into coterie fit - "
            "--format FORMAT."
        )

    @pytest.mark.parametrize("name", ["known.npy", "known.csv"])
    def test_labels(self, fifo, rows, capsys, name):
        fifo(name)
        line = f"fit {rows} -k 3 --method total-variation --labels {name}"
        assert f"{name} is a pipe, not a file" in failed(capsys, 1, *line.split())

    @pytest.mark.parametrize("command", ["info x.coterie", "predict x.coterie rows.npy"])
    def test_models(self, fifo, rows, capsys, command):
        fifo("x.coterie")
        assert "x.coterie is a pipe, not a file" in failed(capsys, 1, *command.split())

    def test_process_substitution_is_refused(self, folder, capsys):
        """``coterie fit <(cat rows.npy)`` gets such a path."""
        reading, writing = os.pipe()
        try:
            message = failed(capsys, 1, "fit", f"/dev/fd/{reading}", "-k", "3")
        finally:
            os.close(reading)
            os.close(writing)
        assert message.startswith(f"/dev/fd/{reading} is a stream, not a file")
        assert "coterie fit - --format" in message

    def test_a_standard_input_without_an_end(self, folder, capsys, monkeypatch):
        with open("/dev/zero") as endless:
            monkeypatch.setattr(sys, "stdin", endless)
            message = failed(capsys, 2, "fit", "-", "--format", "npy", "-k", "3")
        assert message == "The standard input (-) is a device, which has no end. Pipe a file into it."
