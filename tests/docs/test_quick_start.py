"""The recording in docs/start/five_minutes.md is what its commands print."""

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


def without_seconds(text):
    return re.sub(r"[\d.e-]+ s\b", "... s", text).strip()


@pytest.mark.usefixtures("options_declared_once")
def test_quick_start_matches_its_recording(tmp_path, monkeypatch):
    """All commands run in this process, which takes from their output what `head` would."""
    for module in ("cyclopts", "pyarrow", "pandas", "jinja2", "openTSNE", "matplotlib"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    steps = recorded()
    assert len(steps) >= 5
    for command, printed in steps:
        line, _, n_lines = command.partition(" | head -n ")
        program, *arguments = shlex.split(line)
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(output):
            if program == "coterie":
                assert main(arguments) == 0
            else:
                assert (program, arguments[0]) == ("python", "-c")
                exec(arguments[1])
        found = "".join(output.getvalue().splitlines(keepends=True)[: int(n_lines) if n_lines else None])
        assert without_seconds(found) == without_seconds(printed), command
