"""The command `coterie`: exit codes, and errors as one line.

Exit codes: 0 done; 1 a bad file, bad data or a failure; 2 a wrong option or parameter; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from coterie.cli.errors import UsageError, is_usage, message_of

__all__ = ["UsageError", "main"]

_DONE, _FAILED, _USAGE, _INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows `coterie`; by default that of this process.

    Returns
    -------
    int
        The exit code. Errors are one line on the standard error stream, never a traceback, unless the environment
        variable COTERIE_TRACEBACK is set.
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
        print(f"coterie: error: {message_of(error)}", file=sys.stderr)
        return _USAGE if is_usage(error) else _FAILED
    return _DONE
