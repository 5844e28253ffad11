"""Entry point of the command `coterie`: signal handlers before slow imports, and what needs no import of `coterie`.

Importing any part of the package `coterie` loads all of it, for a second or so. An exception that a signal raises
meanwhile, or in a destructor, shows up as a traceback, as a failure of some library, or not at all. So a signal raises
no exception here: the first Ctrl-C during a fit asks the fit to stop, any other signal ends the process after what must
not be left behind was removed.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["Stop", "answer_signals", "cleaned_up", "main", "may_exist", "stopping"]

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_ASKED = b"\ncoterie: stopping after this step and writing the best result so far; Ctrl-C again aborts\n"

# What must happen before a signal ends the process, the last first.
_cleaners: list[Callable[[], None]] = []

# The processes that answer; their forks have the handlers, too, but not what they would remove.
_answering: set[int] = set()


class Stop:
    """Whether Ctrl-C has asked a fit to stop."""

    is_asked = False


# The fits that can stop early, the innermost last.
_fits: list[Stop] = []


def main() -> None:
    """Run the command and leave the process: 130 after Ctrl-C, 143 after SIGTERM, else what the command returns."""
    answer_signals()
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        print(f"coterie {version('coterie')}")
        return
    from coterie_command.app import run

    code = run()
    # All is done and told. Nothing of Python that would print a traceback may answer from here on.
    for number in _WORDS:
        if signal.getsignal(number) is _leave:
            signal.signal(number, signal.SIG_DFL)
    sys.exit(code)


def may_exist(file: str) -> bool:
    """Return whether an input can be read, as far as that is known before: the standard input, addresses, patterns."""
    path = file.partition("::")[0]
    is_elsewhere = file == "-" or "://" in file or any(sign in path for sign in "*?[")
    return is_elsewhere or os.access(path, os.R_OK) or os.access(file, os.R_OK)


def answer_signals() -> None:
    """Make Ctrl-C and SIGTERM end this process with one line; ignored signals, as under nohup, stay ignored."""
    _answering.add(os.getpid())
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


@contextmanager
def cleaned_up(cleaner: Callable[[], None]) -> Iterator[None]:
    """Call a function, too, if a signal ends the process inside; it may then be in the midst of anything."""
    _cleaners.append(cleaner)
    try:
        yield
    finally:
        _cleaners.remove(cleaner)


@contextmanager
def stopping() -> Iterator[Stop]:
    """Give what the first Ctrl-C inside sets, instead of ending the process."""
    _fits.append(Stop())
    try:
        yield _fits[-1]
    finally:
        _fits.pop()


def _leave(number: int, frame: FrameType | None) -> None:
    if os.getpid() not in _answering:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    if number == signal.SIGINT and _fits and not _fits[-1].is_asked:
        _fits[-1].is_asked = True
        with suppress(OSError):
            os.write(2, _ASKED)
        return
    for other in _WORDS:
        signal.signal(other, signal.SIG_IGN)
    for cleaner in reversed(_cleaners):
        with suppress(Exception):
            cleaner()
    with suppress(OSError):
        os.write(2, f"coterie: {_WORDS[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)
