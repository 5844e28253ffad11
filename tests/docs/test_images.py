"""No picture of the pages without a command that draws it."""

import re
import shlex

from benchmarks.pictures import DRAWN
from benchmarks.reports import parser
from tests.docs.pages import ROOT


def test_every_picture_has_a_command():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    commands = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)`", text, re.MULTILINE))
    assert set(commands) == {path.name for path in (ROOT / "docs" / "images").iterdir()}
    for picture, command in commands.items():
        _, _, module, *arguments = shlex.split(command)
        if module == "benchmarks.pictures":
            assert picture in DRAWN
        else:
            assert module == "benchmarks.reports"
            assert parser().parse_args(arguments).plot.as_posix() == f"docs/images/{picture}"
