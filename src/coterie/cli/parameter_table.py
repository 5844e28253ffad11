"""The page of all parameters and their options: `python -m coterie.cli.parameter_table` prints docs/command-line.md."""

from __future__ import annotations

import inspect

from coterie.cli.models import path_method
from coterie.cli.parameters import COMMON_FLAGS, ONLY_IN_PYTHON, options_of, own_flag
from coterie.estimators import Method, methods

__all__ = ["flags_of", "page"]

_BEGINNING = """# Parameters on the command line

Every parameter of every estimator is an option of `coterie fit`, or of `coterie path` where it says so, by its own
name; where a shorter one stands first, both work. `--config run.toml` reads them from a file (`max_iter = 50`), and
every run writes the `run.toml` that repeats it. This page is printed by `python -m coterie.cli.parameter_table`.

Files stand for what Python has as arrays: `--init` takes rows in any format, or a model or the folder of a run;
`--graph`, and in place of the rows `--affinity precomputed`, take the sparse matrix of a graph as `.npz`
(`scipy.sparse.save_npz`), or the arrays `ids` and `distances` (`numpy.savez`) of neighbours that others have found;
lists are numbers with commas between them; groups of columns are written `--norm '0,1;2:5'`.
"""

_REASONS = """## Only in Python

| parameter | why |
|---|---|
"""


def flags_of(method: Method) -> dict[str, tuple[str, ...]]:
    """Return the flags of each parameter of a method's estimator; none where it is only in Python."""
    options = {option.parameter: (option.flag, *option.aliases) for option in options_of(method)}
    common = {name: tuple(dict.fromkeys([flag, own_flag(name)])) for name, flag in COMMON_FLAGS.items()}
    known = inspect.signature(method.estimator).parameters
    return {name: options.get(name) or common.get(name, ()) for name in known}


def page() -> str:
    """Return the page: a table for each method, and what only Python has."""
    parts = [_BEGINNING]
    for method in methods():
        command = "path" if method is path_method() else f"fit --method {method.name}"
        parts.append(
            f"## {method.estimator.__name__}: `coterie {command}`\n\n| parameter | option |\n|---|---|"
        )
        rows = [
            f"| `{name}` | {', '.join(f'`{flag}`' for flag in flags)} |"
            for name, flags in flags_of(method).items()
            if flags
        ]
        parts.append("\n".join(rows) + "\n")
    reasons = "\n".join(f"| `{name}` | {reason} |" for name, reason in ONLY_IN_PYTHON.items())
    return "\n".join([*parts, _REASONS + reasons + "\n"])


if __name__ == "__main__":
    print(page(), end="")
