"""Reports in a real browser: they open from a file, request nothing, and search, select, export and rename.

Chromium comes with the system (`apt-get install chromium`); Playwright drives it.
"""

import csv
import functools
import shutil
import types

import numpy as np
import pytest

import coterie
from tests.reports.conftest import MODELS, fitted, reported

playwright = pytest.importorskip("playwright.sync_api")
pyarrow = pytest.importorskip("pyarrow")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]

READY = "#explorer[data-ready=yes]"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Seen:
    """A page, and what it should not have done."""

    def __init__(self, browser, path, **options):
        self.page = browser.new_page(**options)
        self.faults = []
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._note)
        self.page.goto(f"file://{path}")

    def _note_message(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def _note(self, request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.faults.append(request.url)

    def ready(self):
        self.page.wait_for_selector(READY, state="attached", timeout=60_000)
        return self.page


@pytest.fixture
def see(browser, tmp_path):
    """A function: open a report; at the end no page may have an error or have requested anything."""
    opened = []

    def look(report, **options):
        path = tmp_path / f"{len(opened)}.html"
        path.write_text(report.html, encoding="utf-8")
        opened.append(Seen(browser, path, **options))
        return opened[-1]

    yield look
    for seen in opened:
        assert seen.faults == []
        seen.page.close()


@functools.cache
def topics():
    """The report of 240 texts on four topics, with a number and a category."""
    random = np.random.default_rng(0)
    words = ["goal football", "cancer doctor", "market trade", "guitar band"]
    topic = np.arange(240) % 4
    X = random.normal(size=(240, 3)) + 12 * np.eye(4, 3)[topic]
    made = pyarrow.table({
        "id": [f"t{i:03}" for i in range(240)],
        "text": [f"{words[k]} text number{i}, \"quoted\"" for i, k in enumerate(topic)],
        "length": np.arange(240.0) / 4,
        "language": [("en", "de")[i % 2] for i in range(240)],
        "vector": list(X),
    })  # fmt: skip
    rows = coterie.as_rows(made, columns=["vector"])
    model = coterie.KMeans(4, n_init=5, random_state=0).fit(rows)
    return model, coterie.report(model, rows, stability=False), topic


def in_focus(page):
    return page.evaluate("document.getElementById('map').inFocus()")


def downloaded(page, button):
    with page.expect_download() as download:
        page.locator(button).click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def isolate(page, name):
    page.locator("#cluster-table button.mark", has_text=name).click()


@pytest.mark.parametrize("name", MODELS)
def test_the_report_of_each_method_opens(see, name):
    page = see(reported(name)).ready()
    assert page.locator("#cluster-table tbody tr").count() == reported(name).subject.n_clusters
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == (
        page.locator("[id]").count()
    )


def test_the_pointer_finds_the_right_row(see, table):
    model, rows = table
    report = coterie.report(model, rows, stability=False)
    page = see(report).ready()
    page.locator("#map").scroll_into_view_if_needed()
    points = report.layout.points
    # Rows that no other covers.
    apart = np.sort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)[:, 1]
    for row in np.argsort(-apart)[:5].tolist():
        x, y = page.evaluate("(row) => document.getElementById('map').placeOf(row)", row)
        page.mouse.move(x, y)
        assert page.locator("#tip").get_attribute("data-row") == str(row)
        shown = " ".join(page.locator("#tip b").inner_text().split())
        assert shown.startswith(" ".join(f"id {report.subject.sample.ids[row][:20]}".split()))


def test_search_finds_texts_and_ids_and_exports_them(see):
    model, report, topic = topics()
    page = see(report).ready()
    for query, wanted in (("CANCER", np.flatnonzero(topic == 1)), ("t017", [17]), ("nothing", [])):
        page.locator("#search").fill(query)
        page.wait_for_function("(text) => document.querySelector('#drawer-title')?.textContent.includes(text)",
                               arg=query.lower())  # fmt: skip
        assert in_focus(page) == list(wanted)
    page.locator("#search").fill("cancer")
    page.wait_for_function("() => document.getElementById('map').inFocus()?.length === 60")
    lines = downloaded(page, "#export")
    assert [line["id"] for line in lines] == [f"t{i:03}" for i in np.flatnonzero(topic == 1)]
    first = lines[0]
    assert first["text"] == 'cancer doctor text number1, "quoted"'
    assert (first["row"], first["length"], first["language"]) == ("1", "0.25", "de")
    assert {line["cluster"] for line in lines} == {str(model.labels_[1])}
    assert first["cluster_name"] == report.names[model.labels_[1]]
    page.keyboard.press("Escape")
    assert in_focus(page) is None
    assert page.locator("#search").input_value() == ""


def test_a_cluster_is_isolated_from_the_table_and_from_the_map(see):
    model, report, _ = topics()
    page = see(report).ready()
    for cluster in range(4):
        isolate(page, report.names[cluster])
        assert in_focus(page) == np.flatnonzero(model.labels_ == cluster).tolist()
        drawer = page.locator("#drawer")
        assert ", ".join(report.clusters.terms[cluster]) in drawer.inner_text()
        shown = drawer.locator("[data-row]").evaluate_all(
            "(found) => found.map((one) => Number(one.dataset.row))"
        )
        assert shown == [*report.clusters.exemplars[cluster], *report.clusters.borderline[cluster]]
    page.get_by_role("button", name="Close").click()
    assert in_focus(page) is None
    page.locator("#map").scroll_into_view_if_needed()
    row = report.clusters.exemplars[2][0]
    page.mouse.click(*page.evaluate("(row) => document.getElementById('map').placeOf(row)", row))
    assert in_focus(page) == np.flatnonzero(model.labels_ == 2).tolist()


def test_a_lasso_selects_the_rows_inside_and_exports_them(see):
    _, report, topic = topics()
    page = see(report).ready()
    page.locator("#map").scroll_into_view_if_needed()
    place = "(row) => document.getElementById('map').placeOf(row)"
    places = np.array([page.evaluate(place, row) for row in range(240)])
    low, high = places[topic == 3].min(axis=0) - 3, places[topic == 3].max(axis=0) + 3
    page.locator("#lasso").click()
    page.mouse.move(*low)
    page.mouse.down()
    for corner in ((high[0], low[1]), tuple(high), (low[0], high[1])):
        page.mouse.move(*corner, steps=4)
    page.mouse.up()
    inside = np.flatnonzero(((places > low) & (places < high)).all(axis=1)).tolist()
    assert set(np.flatnonzero(topic == 3)) <= set(inside)
    assert in_focus(page) == inside
    assert "guitar" in page.locator("#drawer").inner_text()
    assert [line["id"] for line in downloaded(page, "#export")] == [f"t{i:03}" for i in inside]


def test_names_and_merges_survive_by_their_files(see, tmp_path):
    model, report, _ = topics()
    page = see(report).ready()
    isolate(page, report.names[1])
    page.locator("#name").fill('My "own", name')
    page.locator("#name").press("Enter")
    assert 'My "own", name' in page.locator("#cluster-table").inner_text()
    isolate(page, report.names[3])
    page.locator("#merge").select_option(label='My "own", name')
    assert in_focus(page) == np.flatnonzero(np.isin(model.labels_, (1, 3))).tolist()
    with page.expect_download() as names:
        page.locator("#save-names").click()
    with page.expect_download() as merges:
        page.locator("#save-merges").click()
    names.value.save_as(tmp_path / "names.csv")
    merges.value.save_as(tmp_path / "merges.csv")
    merged = coterie.relabel(model.labels_, merges=tmp_path / "merges.csv", names=tmp_path / "names.csv")
    assert set(merged[np.isin(model.labels_, (1, 3))]) == {'My "own", name'}
    again = see(report).ready()
    again.locator("#load").set_input_files([tmp_path / "names.csv", tmp_path / "merges.csv"])
    again.wait_for_function("() => document.querySelectorAll('#cluster-table tbody tr').length === 3")
    assert again.evaluate("document.getElementById('map').labels()") == np.where(
        model.labels_ == 3, 1, model.labels_
    ).tolist()  # fmt: skip
    assert 'My "own", name' in again.locator("#cluster-table").inner_text()


def test_coloring_by_a_column(see):
    _, report, _ = topics()
    page = see(report).ready()
    page.locator("#color").select_option(label="language")
    assert page.locator("#legend .mark").all_inner_texts() == ["en", "de"]
    page.locator("#color").select_option(label="length")
    assert page.locator("#legend").inner_text().split() == ["1", "58.75"]


def test_the_table_is_sorted(see):
    page = see(topics()[1]).ready()
    for column, values in (("cluster", sorted(topics()[1].names.values())), ("silhouette", None)):
        page.locator("#cluster-table th button", has_text=column).click()
        if values is not None:
            assert page.locator("#cluster-table tbody button.mark").all_inner_texts() == values
        assert page.locator("#cluster-table th[aria-sort$=ing]").inner_text().startswith(column)


def test_zoom_by_buttons_wheel_and_keys(see):
    page = see(reported("k-means")).ready()
    page.locator("#map").scroll_into_view_if_needed()
    distance = """() => { const map = document.getElementById("map"), [a, b] = [map.placeOf(0), map.placeOf(149)];
      return Math.hypot(a[0] - b[0], a[1] - b[1]); }"""
    before = page.evaluate(distance)
    page.get_by_role("button", name="Zoom in").click()
    page.locator("#map").press("+")
    assert page.evaluate(distance) == pytest.approx(2.1 * before)
    page.get_by_role("button", name="Whole map").click()
    box, start = (
        page.locator("#map").bounding_box(),
        page.evaluate("document.getElementById('map').placeOf(0)"),
    )
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, box["y"] + 60, steps=3)
    page.mouse.up()
    end = page.evaluate("document.getElementById('map').placeOf(0)")
    assert np.subtract(end, start) == pytest.approx([30, 10])


def test_the_slider_shows_the_layers(see):
    model, _ = fitted("convex-path")
    page = see(reported("convex-path")).ready()
    last = len(model.gammas_) - 1
    page.locator("#layer").fill(str(last))
    assert f"{model.n_clusters_path_[last]} clusters" in page.locator("#layer-title").inner_text()
    assert page.evaluate("document.getElementById('map').labels()") == model.labels_path_[last].tolist()
    assert page.locator("#cluster-table tbody tr").count() == model.n_clusters_path_[last]


def test_data_are_not_executed_as_script(see, table):
    model, rows = table
    report = coterie.report(model, rows, known=[f"<img src=x onerror=alert({i % 3})>" for i in range(120)])
    seen = see(report)
    seen.page.on("dialog", lambda dialog: seen.faults.append(dialog.message))
    page, texts = seen.ready(), []
    for button in page.locator("#cluster-table button.mark").all():
        button.click()
        texts.append(page.locator("#drawer").inner_text())
    page.locator("#search").fill("alert(1)")
    page.wait_for_function("() => document.getElementById('map').inFocus()?.length > 0")
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert page.locator("main img").count() == 0


def violations(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [(fault["id"], [node["html"][:200] for node in fault["nodes"]][:3]) for fault in found]


@pytest.mark.parametrize("name", ["k-means", "convex-path", "total-variation", "gmm", "topics"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation_of_axe(see, name, scheme):
    page = see(topics()[1] if name == "topics" else reported(name), color_scheme=scheme).ready()
    page.locator("#cluster-table button.mark").first.click()
    assert violations(page) == []


@functools.cache
def comparison():
    classes = np.repeat([0, 1, 2], 50)
    X = np.random.default_rng(0).normal(10.0 * np.eye(3)[classes], 1)
    found = coterie.compare(X, 3, labels=classes, random_state=0, n_threads=1)
    return types.SimpleNamespace(html=found.page("<script>alert(1)</script> & \"rows'.npy").html())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_the_page_of_a_comparison(see, scheme, width):
    page = see(comparison(), color_scheme=scheme, viewport={"width": width, "height": 900}).page
    assert "<script>alert(1)</script>" in page.locator("h1").inner_text()
    assert page.locator("script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


@pytest.mark.parametrize("width", [1400, 400])
def test_page_fits_the_window(see, width):
    for report in (topics()[1], reported("k-means")):
        page = see(report, viewport={"width": width, "height": 900}).ready()
        isolate(page, report.names[0])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = page.locator("#cluster-table table").bounding_box()
        assert box["x"] + box["width"] <= width


def test_the_keyboard_reaches_a_cluster_and_comes_back(see):
    page = see(topics()[1]).ready()
    page.locator("#cluster-table button.mark").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "drawer-title"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "mark"
    assert page.locator("#drawer").is_hidden()


def test_report_is_readable_without_scripts(see):
    seen = see(reported("k-means"), java_script_enabled=False)
    assert seen.page.locator("noscript img.picture, img.picture").first.is_visible()
    assert seen.page.locator(".tools").is_hidden()
    assert seen.page.locator("#cluster-table tbody tr").count() == 3


def test_report_is_printed_on_white(see):
    page = see(reported("k-means"), color_scheme="dark").ready()
    page.emulate_media(media="print")
    assert page.locator(".tools").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_page_of_many_rows_is_small():
    X = np.random.default_rng(0).normal(size=(100_000, 16)).astype(np.float32)
    model = coterie.KMeans(20, max_iter=5, random_state=0).fit(X)
    assert len(coterie.report(model, X, projection="pca", stability=False).html.encode()) < 5_000_000
