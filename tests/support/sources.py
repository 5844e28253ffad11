"""The sources of the project, parsed: which names they define, which they use, what they import."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""Of the checkout, where the tests run in one."""

SOURCES = ROOT / "src" / "coterie"

_PRIVATE = re.compile(r"_[^_]\w*")


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(path: Path) -> str:
    """Return the folder or module right below the package in which a file stands."""
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


def private_definitions(tree: ast.Module) -> set[str]:
    """Return the private names that a module gives to functions, classes, variables, fields and attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node.value):
            found.add(node.attr)
    return {name for name in found if _PRIVATE.fullmatch(name)}


def private_attributes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each private attribute of something that is not the object itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _PRIVATE.fullmatch(node.attr) and not _is_own(node.value):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "setattr", "hasattr"):
            name = node.args[1] if len(node.args) > 1 else None
            if (
                isinstance(name, ast.Constant)
                and _PRIVATE.fullmatch(str(name.value))
                and not _is_own(node.args[0])
            ):
                yield node.lineno, str(name.value)


def imports(tree: ast.Module) -> Iterator[tuple[int, str, str | None]]:
    """Yield line, module and name of each import, at the top or in a function; the name is None for a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports name their module in full"
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)


def is_private(name: str | None) -> bool:
    return name is not None and _PRIVATE.fullmatch(name) is not None


def _is_own(value: ast.expr) -> bool:
    is_super = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
    return is_super or (isinstance(value, ast.Name) and value.id in ("self", "cls"))
