"""The commands of the quick start and of the README run, and print what the pages show."""

import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout

import pytest

from coterie.cli import main
from tests.docs.pages import ROOT

# Seconds, and what a narrower terminal cuts.
VARIES = re.compile(r"in [\d.e-]+ s|[“\"].*|\S*…")


def recorded(page):
    """Return the commands of a page, each with what it prints."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    steps = [
        step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE) if step.strip()
    ]
    return [(command, printed) for command, _, printed in (step.partition("\n") for step in steps)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return what runs a command in a folder of its own and returns what it prints."""
    for module in ("cyclopts", "pyarrow", "pandas", "jinja2", "openTSNE", "matplotlib"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)

    def run(command, width=100):
        monkeypatch.setenv("COLUMNS", str(width))
        program, *arguments = shlex.split(command.partition(" | ")[0], comments=True)
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()):
            if program == "coterie":
                assert main(arguments) == 0
            else:
                assert (program, arguments[0]) == ("python", "-c")
                exec(arguments[1])
        return output.getvalue()

    return run


def unlike(printed, found):
    """Return the lines of a page that were not printed, but for what varies."""
    found = [" ".join(VARIES.sub("", line).split()) for line in found.splitlines()]
    said = [" ".join(VARIES.sub("", line).split()) for line in printed.splitlines()]
    return [line for line in said if line not in found]


def test_commands_of_the_quick_start(run):
    steps = recorded("docs/start/five_minutes.md")
    assert len(steps) >= 5
    for command, printed in steps:
        found = run(command)
        if "|" not in command:
            assert unlike(printed, found) == []


def test_first_command_of_the_readme(run, tmp_path):
    command, printed = next(step for step in recorded("README.md") if step[0].startswith("coterie fit"))
    run(f"coterie demo --out {tmp_path / 'coterie-demo'} --quiet")
    assert unlike(printed, run(command, width=120)) == []
