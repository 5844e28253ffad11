"""CITATION.cff names the version that is released, and every paper that the documentation has a page of."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from coterie import __version__

ROOT = Path(__file__).parents[2]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_version_is_that_of_the_release_or_of_the_next_one():
    cited = re.search(r"^version: (\d+\.\d+\.\d+)$", CITATION, re.M)[1]
    assert cited == __version__ if re.fullmatch(r"[\d.]+", __version__) else cited.startswith(__version__[:3])


def test_each_paper_of_the_documentation_is_cited():
    pages = [page for page in (ROOT / "docs" / "papers").glob("*.md") if page.stem != "index"]
    assert CITATION.count("  - type:") == len(pages) == 5


@pytest.mark.skipif(find_spec("yaml") is None, reason="needs pyyaml")
def test_citation_is_yaml():
    import yaml

    found = yaml.safe_load(CITATION)
    assert found["cff-version"] == "1.2.0"
    assert all(paper["authors"] and paper["year"] for paper in found["references"])
