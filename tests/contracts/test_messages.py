"""All messages of errors and warnings stand in one list, to be read together."""

from tests.support.messages import LIST, listed


def test_list_of_messages_is_current():
    assert LIST.read_text(encoding="utf-8") == listed(), (
        "python -m tests.support.messages > tests/messages.txt"
    )
