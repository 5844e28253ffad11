"""Each method has a page in the guide, of the same parts, which names parameters that exist."""

import inspect
import re

import pytest

import coterie
from tests.docs.pages import ROOT

GUIDE = ROOT / "docs" / "guide"
ESTIMATORS = {
    "kmeans": [coterie.KMeans],
    "nested": [coterie.NestedMiniBatchKMeans, coterie.MiniBatchKMeans],
    "mixture": [coterie.TruncatedGaussianMixture],
    "laplacian_kmodes": [coterie.LaplacianKModes],
    "total_variation": [coterie.TotalVariationClustering],
    "multilevel": [coterie.MultilevelGraphClustering],
    "density": [coterie.DensityClustering],
    "convex": [coterie.ConvexClusterPath, coterie.ConvexClustering],
}
PARTS = ["When it fails", "Parameters", "Cost"]

pages = pytest.mark.parametrize("name", ESTIMATORS)


def text_of(name):
    return (GUIDE / f"{name}.md").read_text(encoding="utf-8")


def part(text, title):
    """Return what stands under a heading."""
    return re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def drawn(text):
    """Return the programs that draw the pictures of a text."""
    return re.findall(r"^\.\. plot:: (\S+)$", text, re.MULTILINE)


@pages
def test_guide_page_has_all_parts(name):
    headings = re.findall(r"^## (.+)$", text_of(name), re.MULTILINE)
    assert [title for title in PARTS if title not in headings] == []
    assert "Objective" in headings
    assert any(title == "Differences from the paper" for title in headings)


@pages
def test_guide_page_shows_the_idea_and_the_failure(name):
    before, _, _ = text_of(name).partition("\n## ")
    assert drawn(before)
    assert drawn(part(text_of(name), "When it fails"))


def test_every_picture_is_drawn_by_a_program_that_is_used():
    used = [program for page in GUIDE.glob("*.md") for program in drawn(page.read_text(encoding="utf-8"))]
    assert sorted(used) == sorted(f"guide/pictures/{file.name}" for file in (GUIDE / "pictures").glob("*.py"))


@pages
def test_parameters_exist(name):
    """Those in the first column: of the estimator itself, or a method or a parameter of `fit`."""
    rows = re.findall(r"^\| (`.+?) \|", part(text_of(name), PARTS[1]), re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`(\w+)", row)}
    known = set().union(
        *(
            inspect.signature(function).parameters
            for each in ESTIMATORS[name]
            for function in (each, each.fit)
        ),
        *(dir(each) for each in ESTIMATORS[name]),
    )
    assert len(named) >= 5
    assert sorted(named - known) == []
