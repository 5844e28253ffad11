"""`coterie completion`, as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

__all__ = ["command"]


# What cyclopts leaves to the name of an installed file: the function is to serve when it is sourced, too, and in a file
# of any name that zsh loads when it first completes.
_ZSH_END = """if [[ "$funcstack[1]" == _* ]]; then
  _cyclopts_coterie "$@"
else
  compdef _cyclopts_coterie coterie
fi"""


def command() -> Callable[..., None]:
    """Return the command."""
    return completion


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script by which a shell completes commands, options and their words.

    For this terminal: source <(coterie completion bash), or zsh after compinit. For all: coterie --install-completion.

    Parameters
    ----------
    shell
        Which one.
    """
    from coterie.cli.app import build_app

    print(build_app().generate_completion(prog_name="coterie", shell=shell))
    if shell == "zsh":
        print(_ZSH_END)
