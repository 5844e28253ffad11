"""The built site (`make docs`): its links, its pages and what a search finds. `make test-site` runs this."""

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import ROOT
from tests.support.browser import Complaints, barriers, browser, needs_browser

SITE = Path(os.environ.get("COTERIE_SITE", ROOT / "build" / "docs"))
NAMES = sorted(
    path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NAMES, reason="the site is not built: make docs"),
]

# A page of each kind, for what takes a second a page.
SHOWN = [
    "index.html", "start/which_method.html", "guide/kmeans.html", "guide/data.html", "gallery/index.html",
    "reference/made/coterie.KMeans.html", "papers/nested.html", "benchmarks/kmeans.html",
]  # fmt: skip


# Of the theme's folding lists and of sphinx-gallery's cards, which neither lets us write otherwise.
NOT_OURS = ("summary-name", "link-name")


class Page(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def targets(path: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield file, anchor and text of each link of a page that stays on the site."""
    for link in page(path).links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            yield file, unquote(parts.fragment), link


def test_links_are_alive():
    dead = []
    for name in NAMES:
        for file, anchor, link in targets(SITE / name):
            if not file.is_file():
                dead.append(f"{name}: {link}")
            elif anchor and file.suffix == ".html" and anchor not in page(file).anchors:
                dead.append(f"{name}: no {link}")
    assert dead == []


def test_every_page_can_be_reached():
    seen, waiting = set(), [(SITE / "index.html").resolve()]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += [file for file, _, _ in targets(path) if file.suffix == ".html" and file.is_file()]
    assert [name for name in NAMES if (SITE / name).resolve() not in seen] == []


def test_site_makes_no_external_requests():
    fetched = re.compile(r'<(?:script|img|iframe|link)\b[^>]* (?:src|href)="(?:https?:)?//')
    assert [name for name in NAMES if fetched.search((SITE / name).read_text(encoding="utf-8"))] == []


@needs_browser
def test_no_page_has_console_errors():
    """Of the pages that autosummary makes from one template, one is opened."""
    said = {}
    with browser() as tab:
        complaints = Complaints(tab)
        for name in NAMES:
            if "/made/" in name and name not in SHOWN:
                continue
            tab.goto((SITE / name).as_uri())
            if found := complaints.taken():
                said[name] = found
    assert json.dumps(said, indent=1) == "{}"


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_pass_axe(width):
    """No serious barrier, and no page that is wider than its window."""
    found = {}
    with browser(width) as tab:
        for name in SHOWN:
            tab.goto((SITE / name).as_uri())
            wrong = [barrier for barrier in barriers(tab) if not barrier.startswith(NOT_OURS)]
            if tab.evaluate("document.documentElement.scrollWidth") > width:
                wrong.append("wider than the window")
            if wrong:
                found[name] = wrong
    assert json.dumps(found, indent=1) == "{}"
