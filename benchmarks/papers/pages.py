"""The list of items on the terminal, and the pages: what a paper reports, what we get, why they differ."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness.papers import Item, Paper
from benchmarks.harness.reporting import machine_line, markdown_table
from benchmarks.papers.items import ITEMS, PAPERS, command, stem_of

__all__ = ["listing", "write_pages"]

PAGES = Path(__file__).parents[2] / "docs" / "papers"


def listing() -> str:
    """Return all items as text: what each shows, its command, whether it can be made here, what was published."""
    lines = []
    for paper in PAPERS.values():
        lines += ["", f"{paper.title} ({paper.authors})"]
        for item in paper.items:
            lines += ["", f"  {paper.key}-{item.name}: {item.place}. {item.shows}"]
            if item.make is not None:
                lines.append(f"    {command(f'{paper.key}-{item.name}')}")
            lines += [f"    {text}" for text in (_availability(item), item.published) if text]
    return "\n".join(lines[1:])


def _availability(item: Item) -> str:
    missing = item.missing()
    if not missing:
        return f"data at hand: {', '.join(item.data)}" if item.data else ""
    return f"missing: {', '.join(missing)}; " + (item.stands_in or "cannot be made without")


def write_pages() -> None:
    """Write a page a paper from the latest full runs, and the table of all items."""
    images = PAGES / "images"
    images.mkdir(parents=True, exist_ok=True)
    used = set()
    for paper in PAPERS.values():
        (PAGES / f"{paper.key}.md").write_text("\n".join(_page(paper, images, used)) + "\n")
    for stale in {path.name for path in images.iterdir()} - used:
        (images / stale).unlink()
    (PAGES / "README.md").write_text("\n".join(_overview()) + "\n")


def _page(paper: Paper, images: Path, used: set[str]) -> Iterator[str]:
    machines: dict[str, list[str]] = {}
    yield from (f"# {paper.title}", "", f"{paper.authors}. {paper.introduction}")
    yield from (
        "",
        "With `--threads 1` seconds are those of the processor, which other processes change little.",
    )
    for item in paper.items:
        full = f"{paper.key}-{item.name}"
        yield from ("", f"## {item.place}", "", item.shows)
        if item.published:
            yield from ("", f"Published: {item.published}")
        if item.make is not None:
            yield from _made(full, images, used)
        if item.remark:
            yield from ("", item.remark)
        data = _result(full)
        if item.make is not None and data is not None:
            machines.setdefault(machine_line(data["machine"]), []).append(item.place)
    if machines:
        yield from ("", "## Machines", "")
        yield from (f"- {line}: {'; '.join(places)}" for line, places in machines.items())


def _result(full: str) -> dict[str, Any] | None:
    """Return what the last full run of an item left, None where there is none."""
    path = stem_of(full).with_suffix(".json")
    return json.loads(path.read_text()) if path.exists() else None


def _made(full: str, images: Path, used: set[str]) -> Iterator[str]:
    """Yield what the last full run of an item left."""
    stem, data = stem_of(full), _result(full)
    if data is None:
        yield from ("", f"Not run yet: `{command(full)}`.")
        return
    for name in data.get("pictures", []):
        shutil.copyfile(stem.with_name(name), images / name)
        used.add(name)
    # The first lines are the command, the date and the machine.
    text = stem.with_suffix(".md").read_text().split("\n", 3)[3]
    text = re.sub(r"\n+Written to .*\n", "\n", text).strip()
    text = text.replace("](" + full, "](images/" + full)
    yield from ("", text, "")
    if not data.get("is_whole", True):
        yield from ("Not all of it: the run was ended before it was done.", "")
    yield f"`{data['command']}`, {data['machine']['date'][:10]}"


def _overview() -> Iterator[str]:
    yield from (
        "# The five papers",
        "",
        "Every figure, table, variant and option of the papers, the command that makes it, and what became of it.",
        "`python -m benchmarks.papers` lists them, with a name it makes one, `--all` makes all, `--pages` writes these",
        "pages from the results.",
    )
    for paper in PAPERS.values():
        rows = []
        for item in paper.items:
            full = f"{paper.key}-{item.name}"
            made = f"`{command(full)}`" if item.make is not None else ""
            rows.append([item.place, item.shows, made, _status(full)])
        yield from ("", f"## [{paper.title}]({paper.key}.md)", "", f"{paper.authors}.", "")
        yield from markdown_table(["", "shows", "command", "status"], rows, 4)


def _status(full: str) -> str:
    item = ITEMS[full][1]
    if item.make is None:
        return "see the page"
    data = _result(full)
    return "not run yet" if data is None else f"made {data['machine']['date'][:10]}"
