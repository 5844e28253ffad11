"""Time reports, or take a picture of one."""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import benchmarks.reports
import coterie

# What a report may add to the fit of so many rows, and the size of its page.
N_ROWS, N_COLUMNS, N_CLUSTERS = 100_000, 64, 20
SECONDS, MEGABYTES = 3.0, 5.0


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=benchmarks.reports.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    reader.add_argument("--plot", type=Path, help="take a picture of the report of the digits instead")
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
    """Print the seconds of a fit, of its report, and the size of the page."""
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


def take_picture(options: argparse.Namespace) -> None:
    """Write what Chromium shows of the report of the digits."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    from coterie.datasets import load_digits

    X, y = load_digits()
    model = coterie.KMeans(10, n_init=10, random_state=0).fit(X)
    report = coterie.report(model, X, known=y, image_shape=(8, 8), title="Handwritten digits")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (page_file,) = report.save(Path(folder) / "digits.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        size = {"width": options.width, "height": options.height}
        page = browser.new_page(viewport=size, color_scheme=options.scheme)
        page.goto(f"file://{page_file}")
        page.wait_for_selector("#map-of-rows[data-ready=yes]", state="attached", timeout=120_000)
        page.wait_for_timeout(1000)
        taken = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    half = taken.resize((taken.width * 5 // 8, taken.height * 5 // 8), Image.Resampling.LANCZOS)
    # The usual choice of colours loses those of small discs.
    few = half.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(options.plot, optimize=True)


if __name__ == "__main__":
    main()
