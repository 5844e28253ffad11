"""A browser for generated pages: console errors, accessibility violations, and screenshots."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("COTERIE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or not find_spec("playwright") or not find_spec("axe_playwright_python"),
    reason="needs Chromium, playwright and axe-playwright-python",
)


@contextmanager
def browser(width: int = 1280, height: int = 900) -> Iterator[Any]:
    """Give a page of a new browser, which sees no other host than this one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            page = chromium.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(60_000)
            yield page
        finally:
            chromium.close()


class Complaints:
    """What the console of a page says that is wrong, and what it could not load."""

    def __init__(self, page: Any) -> None:
        self._found: list[str] = []
        page.on("console", lambda said: said.type == "error" and self._found.append(said.text))
        page.on("pageerror", lambda error: self._found.append(str(error)))
        page.on("requestfailed", lambda request: self._found.append(f"not loaded: {request.url}"))

    def taken(self) -> list[str]:
        """Return those since the last time."""
        found, self._found = self._found, []
        return found


def barriers(page: Any) -> list[str]:
    """Return what axe-core finds serious or critical on a page."""
    import axe_playwright_python

    script = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
    page.evaluate(script)
    # Without its own requests for style sheets, which a page from a file may not make.
    options = {"resultTypes": ["violations"], "preload": False}
    found = page.evaluate("async options => (await axe.run(document, options)).violations", options)
    return [
        f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
