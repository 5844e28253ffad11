"""Links and pictures of the pages exist, and every picture is shown."""

import re

import pytest

from tests.docs.pages import ROOT, name_of, pages, prose

LINK = re.compile(r"(?:\]\(|(?:src|srcset)=\")([^)\s\"]+)[)\"]")


def anchors(page):
    """Return what a link to a heading of the page is called, as GitHub names it."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Yield file and heading of each link that stays in the repository."""
    for link in LINK.findall(prose(page)):
        if "://" not in link and not link.startswith("mailto:"):
            path, _, anchor = link.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page):
    dead = [
        f"{target}#{anchor}" if anchor else f"{target}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert dead == []


def test_every_picture_is_shown():
    shown = {target for page in pages() for target, _ in links(page)}
    pictures = {path for path in (ROOT / "docs" / "images").iterdir() if path.is_file()}
    assert sorted(path.name for path in pictures - shown) == []
