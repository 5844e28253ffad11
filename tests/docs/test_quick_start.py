"""The recording in docs/start/five_minutes.md is what its commands print."""

import os
import re
import subprocess
import sys

import pytest

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
def test_quick_start_matches_its_recording(tmp_path):
    for module in ("cyclopts", "skops", "pyarrow", "pandas", "jinja2", "openTSNE", "matplotlib"):
        pytest.importorskip(module)
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, command in (("coterie", "-m coterie "), ("python", "")):
        (bin / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command}"$@"\n')
        (bin / name).chmod(0o755)
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "work").mkdir()
    steps = recorded()
    assert len(steps) >= 5
    for command, printed in steps:
        found = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path / "work", env={**ENVIRONMENT, "PATH": path}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert found.returncode == 0, found.stdout
        assert without_seconds(found.stdout) == without_seconds(printed), command
