"""What the commands of `coterie` do; `coterie_command` has their options and starts them."""

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; by default that of this process."""
    from coterie_command.app import run

    return run(arguments)
