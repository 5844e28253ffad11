"""The list of items on the terminal, and the pages of the papers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.papers import Item, Paper
from benchmarks.harness.reporting import machine_line, markdown_table
from benchmarks.papers.items import PAPERS, command, stem_of

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
    """Write a page a paper and the table of all items: from full runs, or as the page has it where no run is kept."""
    images = PAGES / "images"
    images.mkdir(parents=True, exist_ok=True)
    used = set()
    everything: dict[str, Made] = {}
    for paper in PAPERS.values():
        path = PAGES / f"{paper.key}.md"
        made = _made_before(path.read_text()) if path.exists() else {}
        for item in paper.items:
            full = f"{paper.key}-{item.name}"
            if item.make is not None and stem_of(full).with_suffix(".json").exists():
                made[full] = _made_now(full, images)
        path.write_text("\n".join(_page(paper, made)) + "\n")
        used |= set(re.findall(r"\]\(images/(.+?)\)", path.read_text()))
        everything |= made
    for stale in {path.name for path in images.iterdir()} - used:
        (images / stale).unlink()
    (PAGES / "index.md").write_text("\n".join(_overview(everything)) + "\n")


@dataclass(frozen=True)
class Made:
    """What a full run left: Markdown, the day and the machine."""

    text: str
    date: str
    machine: str

    def block(self, full: str) -> list[str]:
        """Return the lines of a page, from which `_made_before` reads them again."""
        return ["", f"<!-- {full}; {self.date}; {self.machine} -->", "", self.text, "", "<!-- end -->"]


# A table under a picture has at most this many lines.
_MOST_LINES = 16
_PEERS = (
    "scikit-learn-intelex", "faiss", "superkmeans", "hnswlib", "pynndescent", "usearch", "graphlearning",
    "scikit-network", "genieclust", "24 GiB", "Linux",
)  # fmt: skip
_BLOCK = re.compile(r"^<!-- (\S+); (\S+); ([^\n]+) -->\n\n(.*?)\n\n<!-- end -->$", re.MULTILINE | re.DOTALL)


def _made_before(page: str) -> dict[str, Made]:
    """Return what a page shows of items."""
    return {
        full: Made(_without_data_of_pictures(text), date, _short(machine))
        for full, date, machine, text in _BLOCK.findall(page)
    }


def _without_data_of_pictures(text: str) -> str:
    """Leave out long tables where a picture shows the same: the files of the results have them."""
    if "![" not in text:
        return text
    table = re.compile(rf"(?:^### [^\n]*\n\n)?(?:^\|[^\n]*\n){{{_MOST_LINES + 1},}}\n?", re.MULTILINE)
    return table.sub("", text + "\n").rstrip("\n")


def _short(machine: str) -> str:
    """Return processor, cores and versions of what computes, of all that `machine_line` says."""
    return ", ".join(part for part in machine.split(", ") if not part.startswith(_PEERS))


def _made_now(full: str, images: Path) -> Made:
    """Return what the last full run of an item left; its pictures go to the images."""
    stem = stem_of(full)
    data = json.loads(stem.with_suffix(".json").read_text())
    for name in data.get("pictures", []):
        shutil.copyfile(stem.with_name(name), images / name)
    # The first lines are the command, the date and the machine.
    text = stem.with_suffix(".md").read_text().split("\n", 3)[3]
    text = re.sub(r"\n+Written to .*\n", "\n", text).strip()
    lines = [text.replace("](" + full, "](images/" + full), ""]
    if not data.get("is_whole", True):
        lines += ["Not all of it: the run was ended before it was done.", ""]
    date = data["machine"]["date"][:10]
    text = _without_data_of_pictures("\n".join([*lines, f"`{data['command']}`, {date}"]))
    return Made(text, date, _short(machine_line(data["machine"])))


def _page(paper: Paper, made: dict[str, Made]) -> Iterator[str]:
    machines: dict[str, list[str]] = {}
    yield from (f"# {paper.title}", "", f"{paper.authors}. {paper.introduction}")
    yield from ("", _summary(paper))
    for item in paper.items:
        full = f"{paper.key}-{item.name}"
        reproduced = "" if item.reproduced == "-" else f" **Reproduced: {item.reproduced}.**"
        yield from ("", f"## {item.place}", "", item.shows + reproduced)
        if item.published:
            yield from ("", f"In the paper: {item.published}")
        if item.remark:
            yield from ("", item.remark)
        if full in made:
            yield from made[full].block(full)
            machines.setdefault(made[full].machine, []).append(item.place)
        elif item.make is not None:
            yield from ("", f"Not run yet: `{command(full)}`.")
    if machines:
        yield from ("", "## Machines", "")
        yield from (f"- {line}: {'; '.join(places)}" for line, places in machines.items())


def _summary(paper: Paper) -> str:
    """Return how many items are reproduced, and the names of the others."""
    places: dict[str, list[str]] = {}
    for item in paper.items:
        places.setdefault(item.reproduced, []).append(item.place)
    others = [
        f"{words}: {'; '.join(dict.fromkeys(places[reproduced]))}"
        for reproduced, words in (("in part", "Reproduced in part"), ("no", "Not reproduced"))
        if reproduced in places
    ]
    n_items = sum(len(found) for reproduced, found in places.items() if reproduced != "-")
    return ". ".join([f"Reproduced: {len(places.get('yes', []))} of {n_items} items", *others]) + "."


def _overview(made: dict[str, Made]) -> Iterator[str]:
    yield from (
        "# Papers",
        "",
        "Five of the methods were published as papers. Their pages repeat every figure and table of the paper with",
        "coterie, and list every variant and option.",
        "",
        '"Reproduced" is "in part" if other data replace data that are not published, or if some results differ from',
        'the paper, and "no" if the main result differs. `python -m benchmarks.papers NAME` runs an item, `--all` runs',
        "all, and `--pages` writes these pages. With `--threads 1` seconds are CPU seconds.",
    )
    for paper in PAPERS.values():
        rows = []
        for item in paper.items:
            full = f"{paper.key}-{item.name}"
            by = "" if item.make is None else f"`{full}`" if full in made else f"`{full}`, not run yet"
            rows.append([item.place, item.shows, item.reproduced, by])
        yield from ("", f"## [{paper.title}]({paper.key}.md)", "", f"{paper.authors}.", "")
        yield from markdown_table(["", "shows", "reproduced", "command"], rows, 4)
    yield from ("", "```{toctree}", ":hidden:", ":glob:", "", "*", "```")
