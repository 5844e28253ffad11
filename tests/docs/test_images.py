"""No picture of the pages without a command that draws it."""

import re
import shlex

import pytest

from benchmarks.mixture.__main__ import parser as mixture_parser
from benchmarks.pictures import DRAWN
from benchmarks.reports import parser as report_parser
from tests.docs.pages import ROOT

PARSERS = {
    "benchmarks.mixture": mixture_parser,
    "benchmarks.reports": report_parser,
}


def commands():
    """The command of each picture that the page on benchmarks names."""
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)`", text, re.MULTILINE))


def test_every_picture_has_a_command():
    assert set(commands()) == {path.name for path in (ROOT / "docs" / "images").iterdir()}


@pytest.mark.parametrize(("picture", "command"), commands().items())
def test_image_commands_are_documented_once(picture, command):
    _, _, module, *arguments = shlex.split(command)
    if module == "benchmarks.pictures":
        assert picture in DRAWN
    else:
        options = PARSERS[module]().parse_args(arguments)
        assert options.plot.as_posix() == f"docs/images/{picture}"
