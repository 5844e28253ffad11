"""Reports: what they add to a fit of 100,000 rows, and what they look like.

python -m benchmarks.reports                                       # seconds and bytes
python -m benchmarks.reports --plot FILE.png [--of texts|table|cells|compare] [--scheme dark] [--width 400]
"""

import argparse
import io
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import coterie
from benchmarks.harness.data.files import needed_file
from benchmarks.harness.measuring import measured
from benchmarks.prepare import KDDC98_COLUMNS
from coterie.datasets import load_definitions, load_digits

N_ROWS, N_COLUMNS, N_CLUSTERS = 100_000, 64, 20

READY = "#explorer[data-ready=yes]"


def page_of_texts() -> str:
    """Return the report of definitions of nouns with embeddings."""
    found = load_definitions()
    columns = pa.FixedSizeListArray.from_arrays(found.data.ravel(), found.data.shape[1])
    rows = coterie.as_rows(pa.table({"text": found.texts, "embedding": columns}))
    model = coterie.KMeans(10, random_state=0).fit(rows)
    return coterie.report(model, rows, title="2,000 definitions").html


def page_of_table() -> str:
    """Return the report of donors to a charity."""
    with np.load(needed_file("kddc98_pva97nk.npz")) as stored:
        columns = {"id": np.arange(len(stored["X"])), **dict(zip(KDDC98_COLUMNS, stored["X"].T))}
        table = pa.table({**columns, "donated": np.where(stored["y"] > 0, "yes", "no")})
    rows = coterie.prepare_rows(table, columns=KDDC98_COLUMNS, missing="median", scale="standard")
    return coterie.report(coterie.KMeans(6, random_state=0).fit(rows), rows, title="9,686 donors").html


def page_of_cells() -> str:
    """Return the report of simulated cells of five types, each with three marker genes among sixty."""
    random = np.random.default_rng(0)
    markers = ["CD3D", "IL7R", "CCR7", "MS4A1", "CD79A", "CD19", "LYZ", "CD14", "FCGR3A", "GNLY", "NKG7", "KLRD1",
               "PPBP", "PF4", "ITGA2B"]  # fmt: skip
    kinds = random.choice(5, 4_000, p=[0.4, 0.2, 0.25, 0.12, 0.03])
    means = np.full((5, 60), 0.3) + 3.7 * np.repeat(np.eye(5, 20), 3, axis=1)
    counts = random.poisson(means[kinds] * random.gamma(4, 0.25, (4_000, 1)))
    names = [*markers, *(f"gene{number}" for number in range(15, 60))]
    table = pa.table({
        "id": [f"cell{number}" for number in range(4_000)], "donor": [f"donor {number % 3}" for number in range(4_000)],
        "counts": counts.sum(axis=1), **dict(zip(names, np.log1p(counts).T)),
    })  # fmt: skip
    rows = coterie.as_rows(table, columns=names)
    return coterie.report(coterie.DensityClustering().fit(rows), rows, title="4,000 simulated cells").html


def page_of_comparison() -> str:
    """Return what `compare` says of the digits."""
    X, y = load_digits()
    return coterie.compare(X, 10, labels=y, random_state=0).page("1,797 handwritten digits").html()


PAGES = {
    "texts": page_of_texts, "table": page_of_table, "cells": page_of_cells,
    "compare": page_of_comparison,
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    reader = argparse.ArgumentParser("python -m benchmarks.reports", description=__doc__.splitlines()[0])
    reader.add_argument("--plot", type=Path, help="take a picture of a page instead")
    reader.add_argument("--of", choices=tuple(PAGES), default="texts", help="which page")
    reader.add_argument("--scheme", choices=("light", "dark"), default="light", help="the reader's theme")
    reader.add_argument("--width", type=int, default=1280, help="of the window, in pixels")
    reader.add_argument("--height", type=int, default=1500, help="of the window, in pixels")
    reader.add_argument("--select", type=int, help="number of a line in the table of clusters to select")
    return reader


def measure() -> None:
    """Print the seconds of a fit, of its report, and of its page in a browser, and the size of the page."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32)
    X += 4 * random.normal(size=(N_CLUSTERS, N_COLUMNS)).astype(np.float32)[np.arange(N_ROWS) % N_CLUSTERS]
    begun = time.perf_counter()
    model = coterie.KMeans(N_CLUSTERS, random_state=0).fit(X)
    print(f"{N_ROWS:,} x {N_COLUMNS} rows in {N_CLUSTERS} clusters: fit {time.perf_counter() - begun:.2f} s")
    for projection in ("tsne", "pca"):
        with measured() as cost:
            made = coterie.report(model, X, projection=projection)
            page = made.html
        kept = f"{made.layout.kept:.0%} of neighbors kept"
        print(f"report by {projection} {cost.seconds:.2f} s ({cost.cpu_seconds:.2f} CPU s); {kept}")
    print(f"page {len(page.encode()) / 1e6:.2f} MB")
    if shutil.which("chromium") and find_spec("playwright"):
        with opened_page(page) as (browser, address):
            times = [seconds_to_open(browser, address) for _ in range(3)]
        print(f"usable in Chromium after {', '.join(f'{seconds:.2f}' for seconds in times)} s")


@contextmanager
def opened_page(html: str) -> Iterator[tuple[Any, str]]:
    """Give a browser, and the address of a page."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser, file.as_uri()
        browser.close()


def seconds_to_open(browser: Any, address: str) -> float:
    """Return how long a page takes from its address to a map that answers the pointer."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    begun = time.perf_counter()
    tab.goto(address)
    tab.wait_for_selector(READY, state="attached", timeout=120_000)
    # A script that still runs would make this wait.
    tab.evaluate("() => new Promise(drawn => requestAnimationFrame(drawn))")
    seconds = time.perf_counter() - begun
    tab.close()
    return seconds


def take_picture(options: argparse.Namespace) -> None:
    """Write what Chromium shows of a page."""
    from PIL import Image

    with opened_page(PAGES[options.of]()) as (browser, address):
        size = {"width": options.width, "height": options.height}
        page = browser.new_page(viewport=size, color_scheme=options.scheme)
        page.goto(address)
        if options.of in ("texts", "table", "cells"):
            page.wait_for_selector(READY, state="attached", timeout=120_000)
        if options.select is not None:
            page.locator("#cluster-table button.mark").nth(options.select).click()
        page.wait_for_timeout(1000)
        taken = Image.open(io.BytesIO(page.screenshot()))
    smaller = taken.resize((taken.width * 3 // 4, taken.height * 3 // 4), Image.Resampling.LANCZOS)
    smaller.convert("RGB").save(options.plot, optimize=True)


if __name__ == "__main__":
    options = parser().parse_args()
    take_picture(options) if options.plot else measure()
