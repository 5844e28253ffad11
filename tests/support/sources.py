"""The sources of the project, parsed: which names they define, which they use, what they import."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""Of the checkout, where the tests run in one."""

SOURCES = ROOT / "src" / "coterie"


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def package_of(path: Path) -> str:
    """Return the folder or module right below the package in which a file stands."""
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


def imports(tree: ast.Module) -> Iterator[tuple[int, str, str | None]]:
    """Yield line, module and name of each import, at the top or in a function; the name is None for a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports name their module in full"
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)
