"""Runs commands, in this process or in a forked one."""

import os
import signal
import sys

import coterie_command
from coterie.cli import main
from tests.support.processes import started

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def begun(*arguments, stdin=None):
    """Start the command that answers signals in a child; gives its process id and the pipe of what it writes."""
    reading, writing = os.pipe()

    def command():
        os.dup2(writing, 2)
        os.close(writing)
        sys.stdin, sys.argv = stdin, ["coterie", *arguments]
        sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1)
        # A shell that runs the tests in the background ignores both.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        coterie_command.main()

    child = started(command)
    os.close(writing)
    return child, os.fdopen(reading)


def failed(capsys, code, *arguments):
    """Run a command that must fail; gives its one line of error without the beginning."""
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    *progress, last = captured.err.splitlines()
    assert last.startswith("coterie: error: ")
    assert not [line for line in progress if line.startswith(("coterie:", "Traceback"))]
    return last.removeprefix("coterie: error: ")
