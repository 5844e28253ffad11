"""Pages stay short: each decision, and all pages for users together."""

import pytest

from tests.docs.pages import ROOT, name_of, pages

DECISIONS = sorted((ROOT / "docs" / "development" / "decisions").glob("*.md"))
MOST_WORDS = 400
MOST_WORDS_FOR_USERS = 60_000


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_decision_has_at_most_400_words(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_every_decision_is_listed():
    index = (ROOT / "docs" / "development" / "decisions" / "index.md").read_text(encoding="utf-8")
    assert [
        page.name for page in DECISIONS if page.name != "index.md" and f"({page.name})" not in index
    ] == []


def test_pages_for_users_have_at_most_60000_words():
    """Without the list of options, which the build of the site writes."""
    names = {name_of(page): page for page in pages()}
    texts = (
        page.read_text(encoding="utf-8")
        for name, page in names.items()
        if name.startswith("docs/")
        and not name.startswith("docs/development/")
        and name != "docs/reference/commands.md"
    )
    assert sum(len(text.split()) for text in texts) <= MOST_WORDS_FOR_USERS
