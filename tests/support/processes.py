"""Child processes that end abnormally."""

import itertools
import os
import signal
import traceback

import pytest

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

# What changes a folder, or waits for the disk.
STEPS = ("mkdir", "open", "rename", "replace", "fsync", "unlink", "rmdir", "ftruncate")


def started(function, *arguments):
    """Start a function in a child; gives its process id. The child's exit code says whether there was an exception."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        function(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(pid):
    """Wait for a child; gives its exit code, or minus the signal that has killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at(step, function, *arguments, of=STEPS):
    """Run a function in a child that is killed before a step of some kinds, counted from 0; says whether it was."""

    def run():
        before_step(step, of, lambda: os.kill(os.getpid(), signal.SIGKILL))
        return function(*arguments)

    code = ended(started(run))
    assert code in (0, -signal.SIGKILL)
    return code != 0


def before_step(number, kinds, act):
    """Let this process do something before a step of some kinds, counted from 0, in all that it does from here on."""
    steps = itertools.count()

    def counted(call):
        def step(*arguments, **options):
            if next(steps) == number:
                act()
            return call(*arguments, **options)

        return step

    for kind in kinds:
        setattr(os, kind, counted(getattr(os, kind)))
