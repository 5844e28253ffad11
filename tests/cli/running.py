"""Runs commands, in this process or in one of their own."""

import os
import subprocess
import sys

from coterie.cli import main

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def run(*arguments):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "coterie", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
        check=False,
    )


def failed(capsys, code, *arguments):
    """Run a command that must fail; gives its one line of error without the beginning."""
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("coterie: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("coterie: error: ").strip()
