"""Ctrl-C in each phase of each kind of fit, in its iterations and in its report."""

import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest

import coterie.cli.fit
import coterie.cli.path
import coterie_command
from coterie.cli import main
from coterie.fitting.monitor import FitMonitor
from tests.support.processes import ended, forks, started

pytestmark = [forks, pytest.mark.slow]

COMMANDS = {
    "k-means": "fit rows.npy -k 5 --method k-means --n-init 2 --report",
    "k-means on a coreset": "fit rows.npy -k 5 --method k-means --coreset 60",
    "mini-batch": "fit rows.npy -k 5 --method mini-batch",
    "nested": "fit rows.npy -k 5 --method nested",
    "bisecting": "fit rows.npy -k 5 --method bisecting",
    "gmm": "fit rows.npy -k 5 --method gmm",
    "laplacian-kmodes": "fit rows.npy -k 5 --method laplacian-kmodes",
    "total-variation": "fit rows.npy -k 5 --method total-variation",
    "convex-clustering": "fit rows.npy --method convex-clustering --gamma 0.1",
    "path": "path rows.npy --report",
    "select-lambda": "select-lambda rows.npy -k 5",
}

# What must have been seen of each.
PHASES = {
    "k-means": {"seeding", "report", "iteration"},
    "k-means on a coreset": {"seeding", "coreset", "labels", "iteration"},
    "mini-batch": {"seeding", "labels", "iteration"},
    "nested": {"seeding", "labels", "iteration"},
    "bisecting": {"labels", "iteration"},
    "gmm": {"seeding", "iteration"},
    "laplacian-kmodes": {"graph", "iteration"},
    "total-variation": {"graph", "iteration"},
    "convex-clustering": {"graph", "iteration"},
    "path": {"graph", "report", "iteration"},
    "select-lambda": {"graph", "iteration"},
}


def listen(monkeypatch, hear):
    """Call a function with the name of what begins: a phase, an iteration, a report."""
    phase, report = FitMonitor.phase, FitMonitor.report

    @contextmanager
    def heard_phase(self, name, *arguments):
        with phase(self, name, *arguments) as found:
            hear(name)
            yield found

    def heard_report(self, *arguments, **options):
        hear("iteration")
        return report(self, *arguments, **options)

    monkeypatch.setattr(FitMonitor, "phase", heard_phase)
    monkeypatch.setattr(FitMonitor, "report", heard_report)
    for module in (coterie.cli.fit, coterie.cli.path):
        monkeypatch.setattr(module, "fit_report", heard(module.fit_report, hear))


def heard(function, hear):
    def called(*arguments, **options):
        hear("report")
        return function(*arguments, **options)

    return called


@pytest.mark.parametrize("name", COMMANDS)
def test_ends_with_one_line_and_nothing_left(name, tmp_path, monkeypatch):
    if "--report" in COMMANDS[name]:
        pytest.importorskip("bokeh", reason="reports need the extra report")
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).normal(size=(120, 3)))
    command = [*COMMANDS[name].split(), "--out", "out", "--quiet"]
    seen = []
    with monkeypatch.context() as patch:
        listen(patch, seen.append)
        assert main([*command[:-3], "--out", "whole", "--quiet"]) == 0
    assert set(seen) >= PHASES[name]
    before = sorted(os.listdir())

    def interrupted_in(moment):
        with open("told", "w") as told:
            os.dup2(told.fileno(), 2)
        # Also where whoever started the tests ignores it, as a shell does in the background.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        coterie_command.answer_signals()
        listen(monkeypatch, lambda begun: os.kill(os.getpid(), signal.SIGINT) if begun == moment else None)
        main(command)

    for moment in sorted(set(seen)):
        assert ended(started(interrupted_in, moment)) == 130, moment
        with open("told") as told:
            assert told.read() == "coterie: interrupted\n", moment
        os.unlink("told")
        assert sorted(os.listdir()) == before, moment
