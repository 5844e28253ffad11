"""Builds take the versions of release/*.txt alone, whose hashes are checked; wheels list what is compiled in."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]


def pinned(group):
    """Return the version of each package that a file lists; each has hashes."""
    lines = (ROOT / "release" / f"{group}.txt").read_text().replace("\\\n", " ").splitlines()
    listed = {}
    for line in filter(re.compile(r"[a-z]").match, lines):
        name, version = re.match(r"([\w-]+)==([\w.]+) ", line).groups()
        assert re.search(r" --hash=sha256:[0-9a-f]{64}\b", line), name
        listed[name] = version
    return listed


@pytest.mark.parametrize("group", GROUPS)
def test_requirements_of_builds_are_pinned(group):
    versions = pinned(group)
    for requirement in map(Requirement, filter(lambda line: isinstance(line, str), GROUPS[group])):
        assert requirement.specifier.contains(versions[requirement.name])


def test_build_requirements_are_of_one_version_everywhere():
    assert set(PROJECT["build-system"]["requires"]) <= set(GROUPS["build"])
    assert pinned("build").items() <= pinned("wheels").items()


def test_installed_package_lists_its_compiled_components():
    (listed,) = (path for path in metadata.files("coterie") if path.match("*.dist-info/sboms/*.cdx.json"))
    bill = json.loads(listed.read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["version"] == metadata.version("coterie")
    versions = {component["name"]: component.get("version") for component in bill["components"]}
    assert versions.keys() >= {"nanobind", "robin-map"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", versions["nanobind"])
    known = {"coterie", *(component["bom-ref"] for component in bill["components"])}
    assert {entry["ref"] for entry in bill["dependencies"]} <= known
