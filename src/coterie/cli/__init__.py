"""The command `coterie`: what it runs, and how every failure becomes one line and an exit code.

Exit codes: 0 done; 1 a bad file, bad data or a failure; 2 a wrong option or parameter; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["UsageError", "main"]

# A line of error is for people; names of columns and texts of libraries may be of any length.
_MOST_CHARACTERS = 500

_DONE, _FAILED, _USAGE, _INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The command was asked for something that it does not offer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows `coterie`; by default that of this process.

    Returns
    -------
    int
        The exit code. Errors are one line on the standard error stream, never a traceback, unless the
        environment variable COTERIE_TRACEBACK is set.
    """
    try:
        from coterie.cli.app import run

        run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("coterie: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader went away; the interpreter must not fail on flushing at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except Exception as error:
        if os.environ.get("COTERIE_TRACEBACK"):
            raise
        print(f"coterie: error: {_one_line(error)}", file=sys.stderr)
        return _USAGE if _is_usage(error) else _FAILED
    return _DONE


def _is_usage(error: Exception) -> bool:
    from sklearn.utils._param_validation import InvalidParameterError

    return isinstance(error, UsageError | InvalidParameterError)


def _one_line(error: Exception) -> str:
    """What went wrong, in one line that needs no knowledge of Python and has no signature of an address."""
    from coterie.limits.files import shortened
    from coterie.rows.addresses import without_secrets

    return shortened(without_secrets(_text_of(error)), _MOST_CHARACTERS)


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text if "of memory" in text else f"not enough memory. {text}".strip()
    if isinstance(error, OSError | ValueError | ImportError | UsageError):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}"
