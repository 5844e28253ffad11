"""Pages of decisions stay short."""

import pytest

from tests.docs.pages import ROOT

DECISIONS = sorted((ROOT / "docs" / "development" / "decisions").glob("*.md"))
MOST_WORDS = 400


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_decision_has_at_most_400_words(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_every_decision_is_listed():
    index = (ROOT / "docs" / "development" / "decisions" / "index.md").read_text(encoding="utf-8")
    assert [
        page.name for page in DECISIONS if page.name != "index.md" and f"({page.name})" not in index
    ] == []
