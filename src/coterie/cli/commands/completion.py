"""`coterie completion`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

__all__ = ["command"]


def command() -> Callable[..., None]:
    """Return the command."""
    return completion


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script by which a shell completes commands, options and their words.

    For this terminal: source <(coterie completion bash). For all: coterie --install-completion.

    Parameters
    ----------
    shell
        Which one.
    """
    from coterie.cli.app import build_app

    print(build_app().generate_completion(prog_name="coterie", shell=shell))
