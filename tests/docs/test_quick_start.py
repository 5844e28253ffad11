"""The commands of docs/start/five_minutes.md run."""

import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout

import pytest

from coterie.cli import main
from tests.support.sources import ROOT

PAGE = ROOT / "docs/start/five_minutes.md"


def recorded():
    """Return the commands of the recording, each with what it prints."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    steps = [
        step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE) if step.strip()
    ]
    return [(command, printed) for command, _, printed in (step.partition("\n") for step in steps)]


def test_commands_of_the_quick_start(tmp_path, monkeypatch):
    for module in ("cyclopts", "pyarrow", "pandas", "jinja2", "openTSNE", "matplotlib"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    steps = recorded()
    assert len(steps) >= 5
    for command, printed in steps:
        program, *arguments = shlex.split(command.partition(" | ")[0])
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()):
            if program == "coterie":
                assert main(arguments) == 0
            else:
                assert (program, arguments[0]) == ("python", "-c")
                exec(arguments[1])
        assert output.getvalue().partition(" ")[0] == printed.partition(" ")[0] or "|" in command
