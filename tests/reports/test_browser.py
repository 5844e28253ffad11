"""Reports in a real browser: they open from a file, ask nobody anything, and show what they should.

Chromium comes with the system (`apt-get install chromium`); Playwright drives it.
"""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.reports.conftest import MODELS, fitted, reported

playwright = pytest.importorskip("playwright.sync_api")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]

READY = "#map-of-rows[data-ready=yes]"

# Of row i, in pixels of the window.
PLACE = """(i) => {
  const { frame } = Bokeh.index.roots[0];
  const source = Bokeh.documents[0].get_model_by_name("rows");
  const box = document.querySelector("#map-live").getBoundingClientRect();
  const x = frame.x_scale.compute(source.get("x")[i]), y = frame.y_scale.compute(source.get("y")[i]);
  return [box.x + x, box.y + y];
}"""


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
        self.session = self.page.context.new_cdp_session(self.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
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

    def script_seconds(self):
        """Return the processor's seconds of scripts and layout: a machine that is busy makes no difference."""
        metrics = {
            metric["name"]: metric["value"]
            for metric in self.session.send("Performance.getMetrics")["metrics"]
        }
        return metrics["TaskDuration"]

    def ready(self):
        self.page.wait_for_selector(READY, state="attached", timeout=60_000)
        return self.page


@pytest.fixture
def see(browser, tmp_path):
    """A function: open a report; at the end no page may have an error or have asked for anything."""
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


@pytest.mark.parametrize("name", MODELS)
def test_the_report_of_each_method_opens(see, name):
    page = see(reported(name)).ready()
    assert page.locator("article.card").count() == reported(name).subject.n_clusters
    assert page.locator(".still").is_hidden()
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == (
        page.locator("[id]").count()
    )


def test_the_pointer_finds_the_right_row(see, table):
    model, rows = table
    report = coterie.report(model, rows, stability=0)
    page = see(report).ready()
    page.locator("#map-live").scroll_into_view_if_needed()
    points = report.projection.points
    # Rows that no other covers.
    apart = np.sort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)[:, 1]
    for row in np.argsort(-apart)[:5].tolist():
        x, y = page.evaluate(PLACE, row)
        page.mouse.move(x, y - 60)
        page.mouse.move(x, y, steps=3)
        shown = page.locator("#map-hovered")
        shown.locator(".map-id").wait_for()
        page.wait_for_function("(id) => document.getElementById('map-hovered').dataset.row === id",
                               arg=report.page.sections and _cut(report.subject.sample.ids[row]))  # fmt: skip
        assert f"cluster {report.subject.sample.labels[row]}" in shown.inner_text()


def _cut(name):
    line = " ".join(name.split())
    return line if len(line) <= 60 else line[:59] + "…"


def test_clusters_are_switched_off_and_on(see):
    page = see(reported("k-means")).ready()
    shown = "Bokeh.documents[0].get_model_by_name('shown').indices.length"
    sizes = reported("k-means").subject.sizes
    assert page.evaluate(shown) == 150
    page.locator("[data-cluster='1']").uncheck()
    assert page.evaluate(shown) == 150 - sizes[1]
    page.get_by_role("button", name="None").click()
    assert page.evaluate(shown) == 0
    page.get_by_role("button", name="All").click()
    assert page.evaluate(shown) == 150


def test_zoom(see):
    page = see(reported("k-means")).ready()
    width = (
        "(() => { const r = Bokeh.documents[0].get_model_by_name('map').x_range; return r.end - r.start })()"
    )
    before = page.evaluate(width)
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(width) < before
    page.get_by_role("button", name="Whole map").click()
    assert page.evaluate(width) == pytest.approx(before)


def test_the_slider_goes_along_the_path(see):
    model, _ = fitted("convex-path")
    page = see(reported("convex-path")).ready()
    slider = page.get_by_label("Along the path")
    last = len(model.gammas_) - 1
    slider.fill(str(last))
    assert f"{model.n_clusters_path_[last]} clusters" in page.locator("#map-gamma-says").inner_text()
    labels = page.evaluate("Array.from(Bokeh.documents[0].get_model_by_name('rows').get('label'))")
    assert labels == model.labels_path_[last].tolist()


def test_cards_show_the_examples(see, table):
    model, rows = table
    report = coterie.report(model, rows, stability=0)
    page = see(report).ready()
    examples = report.subject.examples
    for cluster in range(3):
        card = page.locator(f"#cluster-{cluster}")
        found = card.locator("table", has_text="nearest to the middle").locator("tbody tr td:first-child")
        kinds = zip(*(examples[name].to_pylist() for name in ("id", "cluster", "example")))
        assert [" ".join(text.split()) for text in found.all_inner_texts()] == [
            " ".join(name.split()) for name, of, kind in kinds if of == cluster and kind == "nearest"
        ]


def test_cards_show_the_rows_of_the_file_of_examples(see, tmp_path):
    random = np.random.default_rng(0)
    columns = {f"x{i}": random.normal(size=300) + 8 * (np.arange(300) % 3 == i) for i in range(3)}
    file, out = tmp_path / "rows.parquet", tmp_path / "out"
    parquet.write_table(pyarrow.table({"id": [f"row {i}" for i in range(300)], **columns}), file)
    assert main(["fit", str(file), "-k", "3", "--id", "id", "--report", "--out", str(out), "--quiet"]) == 0
    page = see(SimpleNamespace(html=(out / "report.html").read_text(encoding="utf-8"))).ready()
    examples = parquet.read_table(out / "examples.parquet").to_pylist()
    for cluster in range(3):
        for kind, title in (("nearest", "nearest to the middle"), ("doubtful", "most doubtful")):
            wanted = [row["id"] for row in examples if row["cluster"] == cluster and row["example"] == kind]
            shown = page.locator(f"#cluster-{cluster} table", has_text=title)
            assert shown.locator("tbody tr td:first-child").all_text_contents() == wanted
            assert len(wanted) == 10


def test_nothing_of_the_data_runs(see, table):
    model, rows = table
    report = coterie.report(model, rows, known=[f"<img src=x onerror=alert({i % 3})>" for i in range(120)])
    seen = see(report)
    seen.page.on("dialog", lambda dialog: seen.faults.append(dialog.message))
    page = seen.ready()
    assert page.locator("main img:not(.still):not(.picture):not(.thumbnail)").count() == 0
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()


@pytest.mark.parametrize("name", ["k-means", "convex-path", "total-variation", "gmm"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screen_readers_and_eyes(see, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = see(reported(name), color_scheme=scheme).ready()
    found = axe.Axe().run(page).response["violations"]
    serious = [(fault["id"], [node["html"][:200] for node in fault["nodes"]][:3])
               for fault in found if fault["impact"] in ("serious", "critical")]  # fmt: skip
    assert serious == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out(see, width):
    page = see(reported("k-means"), viewport={"width": width, "height": 900}).ready()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_can_be_read_without_scripts(see):
    seen = see(reported("k-means"), java_script_enabled=False)
    assert seen.page.locator(".still").is_visible()
    assert seen.page.locator(".map-side").is_hidden()
    assert seen.page.locator("article.card").count() == 3


def test_it_is_printed_on_white(see):
    page = see(reported("k-means"), color_scheme="dark").ready()
    page.emulate_media(media="print")
    assert page.locator(".still").is_visible()
    assert page.locator("#map-live").is_hidden()
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert color == "rgb(255, 255, 255)"


def test_a_hundred_thousand_rows_are_usable_at_once(see):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 16)).astype(np.float32)
    X += 6 * rng.normal(size=(20, 16)).astype(np.float32)[np.arange(100_000) % 20]
    report = coterie.report(coterie.KMeans(20, max_iter=5, random_state=0).fit(X), X)
    assert len(report.html.encode()) < 5_000_000
    seen = see(report)
    seen.ready()
    assert seen.script_seconds() < 2
