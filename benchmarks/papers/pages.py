"""The list of items on the terminal, and the results in the pages of the papers.

The text of a page is written by hand. Its blocks hold the results of the last full run of an item.
"""

import json
import re
from pathlib import Path

from benchmarks.convex.paper import ITEMS as CONVEX
from benchmarks.harness.benchmark import Item
from benchmarks.harness.data.files import real_file
from benchmarks.harness.reporting import DOCS, RESULTS, machine_line
from benchmarks.laplacian_kmodes.paper import ITEMS as LAPLACIAN_KMODES
from benchmarks.mixture.paper import ITEMS as MIXTURE
from benchmarks.nested.paper import ITEMS as NESTED
from benchmarks.total_variation.paper import ITEMS as TOTAL_VARIATION

# By the names of the folders of benchmarks and of the pages.
PAPERS: dict[str, dict[str, Item]] = {
    "nested": NESTED, "mixture": MIXTURE, "laplacian_kmodes": LAPLACIAN_KMODES, "total_variation": TOTAL_VARIATION,
    "convex": CONVEX,
}  # fmt: skip
ITEMS = {f"{paper}-{name}": item for paper, items in PAPERS.items() for name, item in items.items()}


def stem_of(full: str, quick: bool = False) -> Path:
    """Return the path of an item's results, without extension; a later run takes the place of an earlier one."""
    return RESULTS / ("papers-quick" if quick else "papers") / full


PAGES = DOCS / "papers"
_PEERS = (
    "scikit-learn-intelex", "faiss", "superkmeans", "hnswlib", "pynndescent", "usearch", "graphlearning",
    "scikit-network", "networkit", "genieclust", "24 GiB", "Linux",
)  # fmt: skip
_BLOCK = re.compile(r"^<!-- (\S+); [^\n]+ -->$.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)


def listing() -> str:
    """Return all items as text: what each shows, its command, and which data it misses here."""
    lines = []
    for paper, items in PAPERS.items():
        lines += ["", (PAGES / f"{paper}.md").read_text().partition("\n")[0].removeprefix("# ")]
        for name, item in items.items():
            lines += ["", f"  {item.place}. {item.shows}", f"    python -m benchmarks.papers {paper}-{name}"]
            if missing := [file for file in item.data if real_file(file) is None]:
                lines.append(f"    missing: {', '.join(missing)}; left out, or other data stand in")
    return "\n".join(lines[1:])


def write_pages() -> None:
    """Put the results of full runs into the pages."""
    for paper in PAPERS:
        path = PAGES / f"{paper}.md"
        path.write_text(_BLOCK.sub(_block_now, path.read_text()))


def _block_now(block: re.Match[str]) -> str:
    """Return what the last full run of an item left, else the block as it is."""
    full = block[1]
    stem = stem_of(full)
    if full not in ITEMS or not stem.with_suffix(".json").exists():
        return block[0]
    data = json.loads(stem.with_suffix(".json").read_text())
    # The first lines are the command, the date and the machine.
    text = stem.with_suffix(".md").read_text().split("\n", 3)[3]
    text = re.sub(r"\n+Written to .*\n", "\n", text).strip()
    lines = [text, ""]
    if not data.get("is_whole", True):
        lines += ["Not all of it: the run was ended before it was done.", ""]
    # Processor, cores and versions of what computes.
    machine = ", ".join(
        part for part in machine_line(data["machine"]).split(", ") if not part.startswith(_PEERS)
    )
    date = data["machine"]["date"][:10]
    text = "\n".join([*lines, f"`{data['command']}`, {date}"])
    return f"<!-- {full}; {date}; {machine} -->\n\n{text}\n\n<!-- end -->"
