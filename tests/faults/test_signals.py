"""Ctrl-C and SIGTERM end the command with one line at any moment, and leave nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import coterie_command
from coterie.cli.runs import output_folder
from tests.cli.running import ENVIRONMENT
from tests.support.processes import STEPS, before_step, ended, forks, started

pytestmark = [forks, pytest.mark.slow]

ENDS = {signal.SIGINT: (130, "coterie: interrupted"), signal.SIGTERM: (143, "coterie: terminated")}

FILES = ["clusters.csv", "labels.npy", "model.coterie", "summary.json"]
COMMAND = [sys.executable, "-m", "coterie", "fit", "rows.npy", "-k", "20", "-p", "tol=0", "-q", "--out", "q"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).normal(size=(20_000, 8)))


def heed_signals():
    """Heed them also where whoever started the tests ignores them, as a shell does in the background."""
    for number in ENDS:
        signal.signal(number, signal.SIG_DFL)


def begun(until):
    """Start the command and wait until it has imported a module; it tells what it imports."""
    environment = ENVIRONMENT | {"PYTHONPROFILEIMPORTTIME": "1"}
    process = subprocess.Popen(
        COMMAND, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=heed_signals
    )
    for line in process.stderr:
        if line.rpartition("|")[2].strip() == until:
            process.stderr.readline()  # the first thing that it imports then
            break
    return process


def told_by(process):
    """Return what a process says beside its imports, once it has ended."""
    return [line.rstrip() for line in process.stderr if not line.startswith("import time:")]


def files():
    return sorted(path.name for path in Path("q").glob("*")) if Path("q").exists() else []


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("module", ["coterie_command", "numpy", "sklearn.base"])
def test_interrupt_during_import(rows, module, number):
    with begun(module) as process:
        process.send_signal(number)
        told = told_by(process)
    assert (process.returncode, *told) == ENDS[number]
    assert files() in ([], FILES)


def answer_signals():
    heed_signals()
    coterie_command.answer_signals()


@pytest.mark.parametrize("number", ENDS)
def test_at_each_step_of_writing(tmp_path, number):
    def write():
        with output_folder(tmp_path / "out") as outputs:
            for name in ("a", "b"):
                with outputs.writing(name) as path:
                    path.write_text("new")

    def run(step):
        answer_signals()
        before_step(step, STEPS, lambda: os.kill(os.getpid(), number))
        write()

    step, seen = 0, []
    while (code := ended(started(run, step))) != 0:
        assert code == ENDS[number][0]
        found = sorted(path.name for path in tmp_path.rglob("*"))
        assert found in ([], ["a", "b", "out"])
        seen.append(len(found))
        for name in found:
            path = tmp_path / "out" / name
            path.unlink(missing_ok=True)
        if found:
            (tmp_path / "out").rmdir()
        step += 1
    assert seen == sorted(seen)
    assert 0 in seen


def test_ignored_signals_stay_ignored():
    """As under nohup, and in the background of a script."""
    line = "import coterie_command as c; c.answer_signals(); print(c.signal.getsignal(c.signal.SIGINT).name)"
    ignore = f"trap '' INT; exec {sys.executable} -c '{line}'"
    told = subprocess.run(["sh", "-c", ignore], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert told.stdout == "SIG_IGN\n"


def rest(begun):
    """Tell that this has begun, and wait for a signal: Python forgets those that come while it forks."""
    os.write(begun, b"!")
    while True:
        time.sleep(0.01)


def test_forks_are_ended_without_the_files_of_their_parent(tmp_path):
    """As the workers of a pool are."""

    def run():
        answer_signals()
        with output_folder(tmp_path / "out") as outputs, outputs.writing("a") as path:
            path.write_text("new")
            told, begun = os.pipe()
            worker = started(rest, begun)
            os.read(told, 1)
            os.kill(worker, signal.SIGTERM)
            assert ended(worker) == -signal.SIGTERM
            assert path.read_text() == "new"

    assert ended(started(run)) == 0
    assert (tmp_path / "out" / "a").read_text() == "new"
