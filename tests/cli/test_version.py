"""`coterie --version`, and with `--verbose` what a report of a fault should hold."""

import platform
import re
import tomllib
from pathlib import Path

import numpy
import pytest

from coterie import __version__, _kernels
from coterie.cli import main
from coterie.cli.app import LIBRARIES


def test_one_line_without_verbose(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"coterie {__version__}\n"


@pytest.mark.parametrize("words", [["--version", "--verbose"], ["--verbose", "--version"]])
def test_a_line_for_each_fact(capsys, words):
    assert main(words) == 0
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert facts["coterie"] == __version__
    assert facts["instruction set"].startswith(_kernels.instruction_set())
    assert re.match(r"(GCC|Clang) \d+\.|unknown", facts["compiler"])
    assert facts["numpy"] == numpy.__version__
    assert int(facts["threads"]) >= 1


def test_version_lists_all_requirements_and_extras():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    for extra in re.search(r"\[(.*)\]", extras["all"][0])[1].split(","):
        wanted += extras[extra]
    assert {re.split(r"[^\w-]", requirement)[0] for requirement in wanted} == set(LIBRARIES)


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="Linux tells what an x86-64 processor has",
)
def test_the_best_instruction_set_of_the_processor_is_taken():
    flags = set(re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
    best = "baseline"
    if {"avx2", "fma"} <= flags:
        best = "avx2"
        if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
            best = "avx512vnni" if "avx512_vnni" in flags else "avx512"
    assert _kernels.available_instruction_sets()[0] == best
