"""Checks before a release, in a temporary repository."""

import subprocess

import pytest

from release.ready import what_is_missing

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2030-01-31\n\n### Added\n\n- All.\n"
CITATION = "title: x\nversion: 1.2.3\nlicense: y\n"


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        names = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "-c",
            "commit.gpgsign=false",
            "-c",
            "tag.gpgsign=false",
        ]
        subprocess.run(["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True)

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


def test_a_tag_is_missing(repository):
    folder, git = repository
    assert len(what_is_missing(folder)) == 1
    assert "no tag" in what_is_missing(folder)[0]
    git("tag", "latest")
    assert "no semantic version" in what_is_missing(folder)[0]


def test_of_two_tags_the_newer_one_counts(repository):
    folder, git = repository
    for tag in ("v1.2.3", "v1.10.0"):
        git("tag", tag)
    assert any("'## [1.10.0]" in line for line in what_is_missing(folder))


def test_all_missing_things_are_listed(repository):
    folder, git = repository
    git("tag", "v1.3.0")
    (folder / "CITATION.cff").write_text(CITATION + "more: true\n")
    told = what_is_missing(folder)
    assert ["not committed" in told[0], "CHANGELOG.md" in told[1], "CITATION.cff" in told[2]] == [True] * 3
