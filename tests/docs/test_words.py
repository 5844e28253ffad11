"""Pages, messages and help use the words of the project; decisions are short."""

from tests.support.words import faults


def test_words_of_pages_messages_and_help():
    assert list(faults()) == []
