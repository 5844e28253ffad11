"""How commands fail: exit codes, one line of error, nothing left behind."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.cli.output import to_json
from tests.cli.running import ENVIRONMENT, begun, everything, failed
from tests.support.processes import ended, forks


def test_whole_numbers_may_be_written_as_floats(folder, rows, capsys):
    assert main(["fit", "rows.npy", "-k", "3.0", "--n-init", "2.0", "--quiet"]) == 0


def test_json_knows_no_infinite_numbers():
    report = {"a": np.float32(np.inf), "b": [np.nan, {"c": np.array([1.0, -np.inf])}], 3: (True, None, 2)}
    found = json.loads(to_json(report), parse_constant=pytest.fail)
    assert found == {"a": "inf", "b": ["nan", {"c": [1.0, "-inf"]}], "3": [True, None, 2]}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is writable for root")
def test_folder_without_permission(folder, rows, capsys):
    (folder / "closed").mkdir(mode=0o500)
    assert "closed: Cannot write" in failed(capsys, 1, "fit", rows, "-k", "3", "--out", "closed/out")


def test_interrupted_fit(folder, rows, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(coterie.KMeans, "fit", interrupted)
    assert main(["fit", rows, "-k", "3"]) == 130
    assert capsys.readouterr() == ("", "coterie: interrupted\n")
    assert everything(folder) == ["rows.npy"]


@forks
@pytest.mark.usefixtures("shown_at_once")
def test_control_c(folder):
    np.save("rows.npy", np.random.default_rng(0).random((60_000, 16), dtype=np.float32))
    child, written = begun("fit", "rows.npy", "-k", "200", "--tol", "0", "--init", "random", "--n-init", "1")
    with written:
        assert any(line.startswith("iteration ") for line in written)
        os.kill(child, signal.SIGINT)
        *lines, last = written.read().splitlines()
    assert ended(child) == 130
    assert last == "coterie: interrupted"
    assert all(line.startswith("iteration ") for line in lines)
    assert everything(folder) == ["rows.npy"]


def test_closed_output_pipe(rows):
    """Its reader has gone away; the exit code of the process is that of the command."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "coterie", "info", rows]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_unexpected_error_is_one_line(rows, capsys, monkeypatch):
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: {}["surprise"])
    assert failed(capsys, 1, "fit", rows, "-k", "3") == "KeyError: 'surprise'"
    monkeypatch.setenv("COTERIE_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["fit", rows, "-k", "3"])


@pytest.mark.parametrize(("module", "extra"), [("cyclopts", "cli")])
def test_missing_extra(rows, capsys, monkeypatch, module, extra):
    monkeypatch.delitem(sys.modules, "coterie.cli.app", raising=False)
    monkeypatch.delattr("coterie.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    assert f"coterie[{extra}]" in failed(capsys, 1, "fit", rows, "-k", "3", "-q")
