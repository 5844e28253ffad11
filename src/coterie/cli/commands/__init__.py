"""The commands as they are typed: a module each, which says what its options mean and gives the job to another.

A module has a function `command` that returns the command, a function with annotations and a docstring, with the
options that are known by now. A new one joins by its import and its name in `COMMANDS`.
"""

from __future__ import annotations

from collections.abc import Callable

from coterie.cli.commands import (
    choose_k,
    compare,
    completion,
    demo,
    fit,
    info,
    path,
    predict,
    report,
    select_lambda,
    verify,
)

__all__ = ["COMMANDS"]

# In the order of `coterie --help`.
COMMANDS: tuple[Callable[[], Callable[..., None]], ...] = (
    fit.command,
    predict.command,
    path.command,
    select_lambda.command,
    report.command,
    verify.command,
    compare.command,
    choose_k.command,
    info.command,
    demo.command,
    completion.command,
)
