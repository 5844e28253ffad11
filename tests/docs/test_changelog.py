"""The changelog keeps the form that merges line by line, which no reader would notice to be broken."""

import re
from pathlib import Path

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
KINDS = ["Security", "Removed", "Deprecated", "Changed", "Fixed", "Added"]


def test_each_version_has_the_kinds_of_keep_a_changelog_once_and_in_order():
    versions = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
    assert versions[0].startswith("[Unreleased]\n")
    for version in versions:
        kinds = re.findall(r"^### (.*)$", version, flags=re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def test_lists_hold_bullets_and_their_continuations_alone_and_none_twice():
    for section in re.split(r"^### .*\n", CHANGELOG, flags=re.MULTILINE)[1:]:
        lines = re.split(r"^## ", section, flags=re.MULTILINE)[0].strip("\n").split("\n")
        assert [line for line in lines if not line.startswith(("- ", "  "))] == []
    bullets = re.findall(r"^- .*$", CHANGELOG, flags=re.MULTILINE)
    assert sorted(bullets) == sorted(set(bullets))
