"""The page of `compare` in a real browser: it opens from a file, requests nothing, and is legible."""

import numpy as np
import pytest

import coterie
from tests.support.browser import Complaints, barriers, browser, needs_browser

pytestmark = [pytest.mark.slow, needs_browser]

# What a file may be called.
NAME = "<script>alert(1)</script> & \"rows'.npy"


@pytest.fixture(scope="module")
def comparison():
    """Of all methods that suit, against known classes."""
    X, classes = rows()
    return coterie.compare(X, 3, labels=classes, random_state=0, n_threads=1)


@pytest.fixture(scope="module")
def address(comparison, tmp_path_factory):
    """Where the page is."""
    file = tmp_path_factory.mktemp("pages") / "compare.html"
    file.write_text(comparison.page(NAME).html(), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def window():
    with browser() as page:
        yield page


def rows():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], 50)
    return random.normal(10.0 * np.eye(3)[classes], 1), classes


def test_page_opens_without_requests(window, address):
    complaints, asked = Complaints(window), []
    window.on("request", lambda request: asked.append(request.url))
    window.on("dialog", lambda dialog: asked.append(dialog.message))
    window.goto(address)
    assert complaints.taken() == []
    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert NAME in window.locator("h1").inner_text()
    # There is nothing to run.
    assert window.locator("script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screen_readers_and_eyes(window, address, scheme):
    window.emulate_media(color_scheme=scheme)
    window.goto(address)
    assert barriers(window) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_page_fits_the_window(window, address, width):
    window.set_viewport_size({"width": width, "height": 900})
    window.goto(address)
    assert window.evaluate("document.documentElement.scrollWidth") <= width


def test_methods_scores_and_exclusions_are_printed(window, address, comparison):
    window.goto(address)
    text = window.locator("main").inner_text()
    assert comparison.reasons[0] in text
    for line in comparison.left_out:
        assert line in text
    quality = window.locator("table", has_text="accuracy").first
    for record in comparison.records:
        line = quality.locator("tbody tr", has_text=record["method"]).first.inner_text().split("\t")
        assert line[0].startswith(record["method"])
        assert f"{record['ari']:.3g}"[:4] in " ".join(line)
