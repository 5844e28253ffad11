"""The messages of errors and warnings, read from the sources.

`tests/messages.txt` lists them to be read in one place; `tests/test_architecture.py` keeps it current.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.sources import SOURCES, parsed, python_files

LIST = Path(__file__).parents[1] / "messages.txt"

_WARNINGS = ("warn", "warn_user")


def text_of(node: ast.AST) -> str:
    """Return the text that an expression makes, with the sources of inserted values in braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) for value in values)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left) + text_of(right)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{{{text_of(body)}|{text_of(orelse)}}}"
        case _:
            return f"{{{ast.unparse(node)}}}"


def name_of(function: ast.AST) -> str:
    """Return the name of a function that is called, without that of its module."""
    return getattr(function, "id", getattr(function, "attr", ""))


def messages(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the class and the text of each error that is raised and each warning that is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            yield ast.unparse(node.exc.func), text_of(node.exc.args[0])
        elif isinstance(node, ast.Call) and node.args and name_of(node.func) in _WARNINGS:
            kind = ast.unparse(node.args[1]) if len(node.args) > 1 else "Warning"
            yield kind, text_of(node.args[0])


def listed() -> str:
    """Return the list of all messages, a line each, by file."""
    lines = []
    for path in python_files(SOURCES):
        found = sorted({f"  {kind}: {' '.join(text.split())}" for kind, text in messages(parsed(path))})
        if found:
            lines += [path.relative_to(SOURCES).as_posix(), *found]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(listed(), end="")
