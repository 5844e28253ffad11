"""The Markdown pages of the repository, and what stands in them."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return all pages but those of folders that are made by tools."""
    return sorted(
        path
        for path in ROOT.rglob("*.md")
        if not any(part.startswith(".") or part in ("build", "dist") for part in path.relative_to(ROOT).parts)
    )


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def python_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the first line's number and the text of each Python block."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCED.finditer(text):
        if match[1] == "python":
            yield text.count("\n", 0, match.start()) + 2, match[2]


def prose(page: Path) -> str:
    """Return the text of a page without code."""
    return re.sub(r"`[^`\n]*`", "", _FENCED.sub("", page.read_text(encoding="utf-8")))
