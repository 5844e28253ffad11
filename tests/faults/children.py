"""Runs commands in forked children, which may be short of memory, of room, of rights or of time.

A fork has all modules loaded already, so that a case takes no longer than its work.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from coterie.cli import main


@dataclass(frozen=True)
class Ended:
    """How a child ended, and what it wrote; the code of one that a signal ended is minus that signal."""

    code: int
    out: str
    err: str


def in_child(command: str, prepare: Callable[[], object] = lambda: None, seconds: int = 300) -> Ended:
    """Run a command in a child, once `prepare` has changed it; SIGALRM ends it if it takes longer."""
    ends = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        os._exit(_run(command, prepare, seconds, [write for _, write in ends]))
    for _, write in ends:
        os.close(write)
    # Both are short: a pipe holds what the child writes while the other is read.
    out, err = (_read(read) for read, _ in ends)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(code, out, err)


def _run(command: str, prepare: Callable[[], object], seconds: int, ends: list[int]) -> int:
    """Do the child's work; it must never return into the tests."""
    code = 99
    try:
        for descriptor, end in zip((1, 2), ends):
            os.dup2(end, descriptor)
        with _streams():
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            prepare()
            code = main(command.split())
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    return code


@contextmanager
def _streams() -> Iterator[None]:
    """Write to this process's own streams, whatever the tests have put in their places."""
    with os.fdopen(1, "w", closefd=False) as sys.stdout, os.fdopen(2, "w", closefd=False) as sys.stderr:
        yield


def _read(descriptor: int) -> str:
    with open(descriptor, "rb") as file:
        return file.read().decode(errors="replace")


def failed_in_one_line(ended: Ended, *said: str) -> None:
    """Fail unless the command ended with exit code 1 and one line, which says these things."""
    assert ended.code == 1, ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("coterie: error: ")
    for part in said:
        assert part in ended.err, ended.err
