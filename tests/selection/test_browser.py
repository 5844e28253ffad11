"""The pages of `choose_k` and `compare` in a real browser: they open from a file, request nothing, and are legible."""

import numpy as np
import pytest

import coterie
from tests.support.browser import Complaints, barriers, browser, needs_browser

pytestmark = [pytest.mark.slow, needs_browser]

# What a file may be called.
NAME = "<script>alert(1)</script> & \"rows'.npy"


@pytest.fixture(scope="module")
def choice():
    """Of rows with three clusters, with every curve."""
    return coterie.choose_k(rows()[0], (2, 5), random_state=0, n_threads=1)


@pytest.fixture(scope="module")
def comparison():
    """Of all methods that suit, one of which there is no time for, against known classes."""
    X, classes = rows()
    return coterie.compare(X, 3, labels=classes, budget=15.0, random_state=0, n_threads=1)


@pytest.fixture(scope="module")
def addresses(choice, comparison, tmp_path_factory):
    """Where the pages are."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, result in {"choose-k": choice, "compare": comparison}.items():
        file = folder / f"{name}.html"
        file.write_text(result.page(NAME).html(), encoding="utf-8")
        found[name] = file.as_uri()
    return found


@pytest.fixture(scope="module")
def window():
    with browser() as page:
        yield page


def rows():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], 50)
    return random.normal(10.0 * np.eye(3)[classes], 1), classes


@pytest.mark.parametrize("name", ["choose-k", "compare"])
def test_page_opens_without_requests(window, addresses, name):
    complaints, asked = Complaints(window), []
    window.on("request", lambda request: asked.append(request.url))
    window.on("dialog", lambda dialog: asked.append(dialog.message))
    window.goto(addresses[name])
    assert complaints.taken() == []
    assert [url for url in asked if not url.startswith("data:")] == [addresses[name]]
    assert NAME in window.locator("h1").inner_text()
    # There is nothing to run.
    assert window.locator("script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["choose-k", "compare"])
def test_screen_readers_and_eyes(window, addresses, name, scheme):
    window.emulate_media(color_scheme=scheme)
    window.goto(addresses[name])
    assert barriers(window) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["choose-k", "compare"])
def test_page_fits_the_window(window, addresses, name, width):
    window.set_viewport_size({"width": width, "height": 900})
    window.goto(addresses[name])
    assert window.evaluate("document.documentElement.scrollWidth") <= width


def test_the_answer_and_every_curve_can_be_read(window, addresses, choice):
    window.goto(addresses["choose-k"])
    text = window.locator("main").inner_text()
    assert "The data have 3 clusters." in text
    for curve in choice.criteria:
        assert curve.title in text
        assert curve.why in text
    assert window.locator("main svg, main img").count() >= 1


def test_methods_scores_and_exclusions_are_printed(window, addresses, comparison):
    window.goto(addresses["compare"])
    text = window.locator("main").inner_text()
    assert comparison.reasons[0] in text
    for line in comparison.left_out:
        assert line in text
    quality = window.locator("table", has_text="accuracy").first
    for record in comparison.records:
        line = quality.locator("tbody tr", has_text=record["method"]).first.inner_text().split("\t")
        assert line[0].strip() == record["method"]
        assert f"{record['ari']:.3g}"[:4] in " ".join(line)
