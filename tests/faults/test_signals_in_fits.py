"""Ctrl-C at the beginning of runs, in the iterations and in the report of each kind of fit."""

import os
import signal

import numpy as np
import pytest

import coterie.cli.fit
import coterie.cli.path
import coterie_command
from coterie.cli import main
from coterie.fitting.report import Report
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
}


def listen(monkeypatch, hear):
    """Call a function with the name of what begins: a run, an iteration, a report."""
    start_run, report = Report.start_run, Report.__call__

    def heard_run(self):
        hear("run")
        return start_run(self)

    def heard_report(self, *arguments, **options):
        hear("iteration")
        return report(self, *arguments, **options)

    monkeypatch.setattr(Report, "start_run", heard_run)
    monkeypatch.setattr(Report, "__call__", heard_report)
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
        pytest.importorskip("jinja2", reason="reports need the extra report")
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).normal(size=(120, 3)))
    command = [*COMMANDS[name].split(), "--out", "out", "--quiet"]
    seen = []
    with monkeypatch.context() as patch:
        listen(patch, seen.append)
        assert main([*command[:-3], "--out", "whole", "--quiet"]) == 0
    assert set(seen) >= {"run", "iteration"} | ({"report"} if "--report" in command else set())
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
