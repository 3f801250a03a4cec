"""A real browser for the pages: Debian's chromium, headless, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def chromium() -> str:
    """The path of the browser; skips where it, or what drives it, is missing."""
    pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[test]'")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs Debian's package chromium: apt-get install chromium")
    return path


@contextmanager
def opened(path: Path, *, fragment: str = "", **context: Any) -> Iterator[Any]:
    """The page of a file, loaded. Fails on any message on its console, any error, and any request to a network."""
    executable = chromium()
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            page = browser.new_context(**context).new_page()
            page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "request", lambda request: None if request.url.startswith("file:") else complaints.append(request.url)
            )
            page.goto(path.as_uri() + fragment)
            page.wait_for_selector("html[data-ready=yes]", state="attached")
            yield page
        finally:
            browser.close()
    assert complaints == []
