"""The pages of the guide name parameters that exist, and show all their pictures."""

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
pages = pytest.mark.parametrize("name", ESTIMATORS)


def text_of(name):
    return (GUIDE / f"{name}.md").read_text(encoding="utf-8")


def part(text, title):
    """Return what stands under a heading."""
    return re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def drawn(text):
    """Return the programs that draw the pictures of a text."""
    return re.findall(r"^\.\. plot:: (\S+)$", text, re.MULTILINE)


def test_every_picture_is_drawn_by_a_program_that_is_used():
    used = [program for page in GUIDE.glob("*.md") for program in drawn(page.read_text(encoding="utf-8"))]
    assert sorted(used) == sorted(f"guide/pictures/{file.name}" for file in (GUIDE / "pictures").glob("*.py"))


@pages
def test_parameters_exist(name):
    """Those in the first column: of the estimator itself, or a method or a parameter of `fit`."""
    rows = re.findall(r"^\| (`.+?) \|", part(text_of(name), "Parameters"), re.MULTILINE)
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
