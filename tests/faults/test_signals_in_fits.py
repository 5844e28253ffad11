"""The first Ctrl-C ends each kind of fit and keeps its result so far; the second aborts and leaves nothing."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import coterie_command
from coterie.cli import main
from coterie.fitting.report import FitReport
from tests.support.processes import ended, forks, started

pytestmark = [forks, pytest.mark.slow]

COMMANDS = {
    "k-means": "fit rows.npy -k 5 -p n_init=2",
    "k-means on a coreset": "fit rows.npy -k 5 -p coreset_size=60",
    "mini-batch": "fit rows.npy -k 5 --method mini-batch",
    "nested": "fit rows.npy -k 5 --method nested",
    "bisecting": "fit rows.npy -k 5 --method bisecting",
    "gmm": "fit rows.npy -k 5 --method gmm",
    "laplacian-kmodes": "fit rows.npy -k 5 --method laplacian-kmodes",
    "total-variation": "fit rows.npy -k 5 --method total-variation",
    "convex-clustering": "fit rows.npy --method convex-clustering -p gamma=0.1",
    "path": "path rows.npy",
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("n_signals", [1, 2])
def test_interrupt_in_the_first_iteration(name, n_signals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).normal(size=(120, 3)))
    command = [*COMMANDS[name].split(), "--out", "out", "--quiet"]
    report = FitReport.__call__

    def interrupted():
        # Also where whoever started the tests ignores it, as a shell does in the background.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        coterie_command.answer_signals()
        sent = []

        def interrupting(self, *arguments, **options):
            if not sent:
                for _ in range(n_signals):
                    sent.append(os.kill(os.getpid(), signal.SIGINT))
            return report(self, *arguments, **options)

        monkeypatch.setattr(FitReport, "__call__", interrupting)
        os._exit(main(command))

    assert ended(started(interrupted)) == 130
    assert Path("out").exists() == (n_signals == 1)
    if n_signals == 1:
        facts = json.loads(Path("out/summary.json").read_text())
        assert facts["interrupted"] is True
        assert all(Path(path).exists() for path in facts["files"].values())
