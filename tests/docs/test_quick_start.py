"""The recording in docs/start/five_minutes.md is what its commands print."""

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from coterie.cli import main
from tests.cli.running import ENVIRONMENT
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


@pytest.mark.skipif(os.name == "nt", reason="the recording is one of a POSIX shell")
def test_quick_start_matches_its_recording(tmp_path, monkeypatch):
    """Commands of coterie alone run in this process, others in a shell."""
    for module in ("cyclopts", "skops", "pyarrow", "pandas", "jinja2", "openTSNE", "matplotlib"):
        pytest.importorskip(module)
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, command in (("coterie", "-m coterie "), ("python", "")):
        (bin / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command}"$@"\n')
        (bin / name).chmod(0o755)
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    steps = recorded()
    assert len(steps) >= 5
    for command, printed in steps:
        program, *arguments = shlex.split(command)
        if program == "coterie" and "|" not in arguments:
            with redirect_stdout(io.StringIO()) as output, redirect_stderr(output):
                assert main(arguments) == 0
            found = output.getvalue()
        else:
            found = subprocess.run(
                ["sh", "-c", command], env={**ENVIRONMENT, "PATH": path}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
            ).stdout  # fmt: skip
        assert without_seconds(found) == without_seconds(printed), command
