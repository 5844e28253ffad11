"""Whether this checkout may become a release: `python -m release.ready`, the first step of `make release`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["main", "what_is_missing"]

_ROOT = Path(__file__).parents[1]


def main() -> None:
    """End with a line for each thing that is missing, if any."""
    missing = what_is_missing(_ROOT)
    if missing:
        sys.exit("\n".join(f"Not ready: {line}" for line in missing))
    print(f"{_ROOT.name}: {_tag(_ROOT)} is clean and described.")


def what_is_missing(root: Path) -> list[str]:
    """Return what keeps a checkout from being a release.

    Changes that are not committed, no tag, or a changelog or CITATION.cff of another version.
    """
    missing = []
    if _git(root, "status", "--porcelain"):
        missing.append("there are changes that are not committed (git status).")
    tag = _tag(root)
    if tag is None:
        return [*missing, "the last commit has no tag: git tag -a v1.2.3."]
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [*missing, f"the tag {tag} is no semantic version such as v1.2.3."]
    version = tag.removeprefix("v")
    if f"\n## [{version}] - " not in (root / "CHANGELOG.md").read_text():
        missing.append(
            f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD' (rename Unreleased, begin a new one)."
        )
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text():
        missing.append(f"CITATION.cff does not say 'version: {version}'.")
    return missing


def _tag(root: Path) -> str | None:
    # Of several tags, the last in the order of versions.
    tags = _git(root, "tag", "--points-at", "HEAD", "--sort=v:refname").split()
    return tags[-1] if tags else None


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
