"""Checks before a release, in a temporary repository."""

import subprocess

import pytest

from release.ready import what_is_missing

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2030-01-31\n\n### Added\n\n- All.\n"
CITATION = "title: x\nversion: 1.2.3\nlicense: y\n"


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        names = ["user.name=a", "user.email=a@b.c", "commit.gpgsign=false", "tag.gpgsign=false"]
        options = [part for name in names for part in ("-c", name)]
        subprocess.run(["git", *options, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "CITATION.cff").write_text(CITATION)
    git("add", ".")
    git("commit", "-q", "-m", "all")
    return tmp_path, git


def test_nothing_is_missing(repository):
    folder, git = repository
    git("tag", "-a", "v1.2.3", "-m", "v1.2.3")
    assert what_is_missing(folder) == []


def test_all_missing_things_are_listed(repository):
    folder, git = repository
    git("tag", "v1.3.0")
    (folder / "CITATION.cff").write_text(CITATION + "more: true\n")
    told = what_is_missing(folder)
    assert ["not committed" in told[0], "CHANGELOG.md" in told[1], "CITATION.cff" in told[2]] == [True] * 3
