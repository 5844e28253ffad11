"""Time reports, or take a picture of one."""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import benchmarks.reports
import coterie
from coterie.datasets import load_digits, load_iris

# What a report may add to the fit of so many rows, and the size of its page.
N_ROWS, N_COLUMNS, N_CLUSTERS = 100_000, 64, 20
SECONDS, MEGABYTES = 3.0, 5.0

# When its page must be usable in a browser: drawn, and the map answers.
USABLE = 2.0


READY = "#map-of-rows[data-ready=yes]"


def page_of_report() -> str:
    """Return the report of a fit of the digits."""
    X, y = load_digits()
    model = coterie.KMeans(10, n_init=10, random_state=0).fit(X)
    return coterie.report(model, X, known=y, image_shape=(8, 8), title="Handwritten digits").html


def page_of_choice() -> str:
    """Return what `choose_k` says of the digits."""
    return coterie.choose_k(load_digits()[0], (2, 20), random_state=0).page("handwritten digits").html()


def page_of_comparison() -> str:
    """Return what `compare` says of 150 flowers: of the digits it would be the same, after minutes."""
    X, y = load_iris()
    return coterie.compare(X, 3, labels=y, random_state=0).page("150 irises").html()


PAGES = {"report": page_of_report, "choose-k": page_of_choice, "compare": page_of_comparison}


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=benchmarks.reports.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    reader.add_argument("--plot", type=Path, help="take a picture of a page instead")
    reader.add_argument("--of", choices=tuple(PAGES), default="report", help="which page")
    reader.add_argument(
        "--scheme", choices=("light", "dark"), default="light", help="the theme of the reader"
    )
    reader.add_argument("--width", type=int, default=1280, help="of the window, in pixels")
    reader.add_argument("--height", type=int, default=1500, help="of the window, in pixels")
    reader.add_argument("--rows", type=int, default=N_ROWS, help="rows of the fit that is timed")
    return reader


def main() -> None:
    """Do what was asked for."""
    options = parser().parse_args()
    if options.plot:
        take_picture(options)
    else:
        measure(options.rows)


def measure(n_rows: int) -> None:
    """Print the seconds of a fit, of its report, and of its page in a browser, and the size of the page."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, N_COLUMNS)).astype(np.float32)
    X += 4 * random.normal(size=(N_CLUSTERS, N_COLUMNS)).astype(np.float32)[np.arange(n_rows) % N_CLUSTERS]
    begun = time.perf_counter()
    model = coterie.KMeans(N_CLUSTERS, random_state=0).fit(X)
    fitted = time.perf_counter()
    cpu = time.process_time()
    page = coterie.report(model, X).html
    seconds, cpu = time.perf_counter() - fitted, time.process_time() - cpu
    megabytes = len(page.encode()) / 1e6
    print(f"{n_rows:,} x {N_COLUMNS} rows in {N_CLUSTERS} clusters: fit {fitted - begun:.2f} s")
    print(f"report {seconds:.2f} s ({cpu:.2f} CPU s), wanted <= {SECONDS:g}")
    print(f"page {megabytes:.2f} MB, wanted <= {MEGABYTES:g}")
    times = seconds_to_open(page)
    if times:
        shown = ", ".join(f"{seconds:.2f}" for seconds in times)
        print(f"usable in Chromium after {shown} s, wanted <= {USABLE:g}")


def seconds_to_open(page: str, n_times: int = 3) -> list[float]:
    """Return how long a page takes from its address to a map that answers the pointer; nothing without a browser."""
    chromium = shutil.which("chromium")
    if chromium is None or find_spec("playwright") is None:
        return []
    from playwright.sync_api import sync_playwright

    found = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(n_times):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            begun = time.perf_counter()
            tab.goto(file.as_uri())
            tab.wait_for_selector(READY, state="attached", timeout=120_000)
            # A script that still runs would make this wait.
            tab.evaluate("() => new Promise(drawn => requestAnimationFrame(drawn))")
            found.append(time.perf_counter() - begun)
            tab.close()
        browser.close()
    return found


def take_picture(options: argparse.Namespace) -> None:
    """Write what Chromium shows of a page."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "digits.html"
        page_file.write_text(PAGES[options.of](), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        size = {"width": options.width, "height": options.height}
        page = browser.new_page(viewport=size, color_scheme=options.scheme)
        page.goto(page_file.as_uri())
        if options.of == "report":
            page.wait_for_selector(READY, state="attached", timeout=120_000)
        page.wait_for_timeout(1000)
        taken = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    half = taken.resize((taken.width * 5 // 8, taken.height * 5 // 8), Image.Resampling.LANCZOS)
    # The usual choice of colors loses those of small discs.
    few = half.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(options.plot, optimize=True)


if __name__ == "__main__":
    main()
