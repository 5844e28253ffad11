"""The examples of the pages run, each by itself, as a reader would run it, and print what stands beside them."""

import re
import sys

import pytest

from tests.docs.pages import name_of, pages, python_blocks
from tests.support.processes import ended, started

# Files that a reader has and a test has not.
READERS_FILES = ("vectors.parquet",)

BLOCKS = [
    pytest.param(code, id=f"{name_of(page)}:{line}") for page in pages() for line, code in python_blocks(page)
]


def is_complete(code):
    """Whether a block runs by itself: it imports coterie, and reads no file of the reader's."""
    return "import" in code and not any(name in code for name in READERS_FILES)


def is_said(printed, comment):
    """Whether a comment, which may go on in words or be rounded, begins with what was printed."""
    said = re.split(r"\.\.\.|;|[,:] [a-zA-Z]| [a-z]", comment)[0]
    if re.fullmatch(r"-?\d+\.\d+", said) and re.fullmatch(r"-?\d+\.\d+", printed):
        return abs(float(printed) - float(said)) <= 10.0 ** -len(said.partition(".")[2])
    return not re.match(r"[\d\[(\-TF]", said) or " ".join(printed.split()).startswith(said)


@pytest.mark.parametrize("code", [block for block in BLOCKS if is_complete(*block.values)])
def test_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    lines, wrong = code.splitlines(), []

    def shown(*values):
        comment = lines[sys._getframe(1).f_lineno - 1].partition(")  # ")[2]
        printed = " ".join(map(str, values))
        if comment and not is_said(printed, comment):
            wrong.append(f"{printed} # {comment}")

    def run():
        exec(compile(code, "an example of a page", "exec"), {"__name__": "__main__", "print": shown})

    if "register" in code:  # what other tests must not find
        assert ended(started(run)) == 0
    else:
        run()
    assert wrong == []
