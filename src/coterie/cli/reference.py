"""The reference of the command line, which docs/conf.py writes: the help of each command, and all options."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from coterie.cli.app import build_app
from coterie.cli.models import path_method
from coterie.cli.options import declared_options
from coterie.estimators import Method, methods
from coterie.estimators.parameters import Parameter, parameters_of

_WIDTH = 100

_BEGINNING = """# Command line

Every parameter of every estimator is an option of `coterie fit`, or of `coterie path` where noted. `coterie fit --help`
shows the options of all methods; `coterie fit --method gmm --help` adds those of one. `--config run.toml` reads options
from a file, and every run writes the `run.toml` that repeats it.

- **Times** (`--max-time`, `--budget`) are seconds or have a unit: `10`, `90s`, `5m`, `1h`.
- **Files stand for arrays**: `--init` takes rows in any format, a model, or the folder of a run. `--graph`, and
  `--affinity precomputed` in place of the rows, take a sparse matrix as `.npz` (`scipy.sparse.save_npz`), or the
  arrays `ids` and `distances` (`numpy.savez`) of precomputed neighbors.
- **Lists** are numbers with commas between them; groups of columns are written `--norm '0,1;2:5'`.
- **Pipes**: `-` is the standard input where a command reads rows (`--format` names its format), and the standard output
  for `coterie fit --labels-out -` and `coterie predict --out -`.
"""


def page() -> str:
    """Return the page as Markdown."""
    app = build_app([""])  # with "More options" of fit, and the options of no method
    parts = [_BEGINNING]
    for name in app:
        if not name.startswith("-"):
            parts.append(f"## coterie {name}\n\n```text\n{_help_of(app, name)}\n```\n")
    parts.append("# Options of methods\n")
    for method in methods():
        command = "path" if method is path_method() else f"fit --method {method.name}"
        rows = [_row(parameter) for parameter in _options(method)]
        parts.append(
            f"## {method.estimator.__name__}: `coterie {command}`\n\n"
            "| parameter | option | values | default | |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def _help_of(app: object, name: str) -> str:
    console = Console(
        width=_WIDTH, file=StringIO(), color_system=None, force_terminal=False, legacy_windows=False
    )
    app.help_print([name], console=console)  # type: ignore[attr-defined]
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _options(method: Method) -> list[Parameter]:
    """Return the parameters of a method that are options, those of all methods first."""
    own = declared_options(method)
    declared = [entry for entry in parameters_of(method.estimator).values() if entry.flags]
    return sorted(declared, key=lambda entry: entry.name in own)


def _row(parameter: Parameter) -> str:
    flags = ", ".join(f"`{flag}`" for flag in parameter.flags)
    values = parameter.expected.replace("|", "\\|") or "a file"
    return f"| `{parameter.name}` | {flags} | {values} | `{parameter.default}` | {parameter.param.help} |"
