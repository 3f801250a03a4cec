"""A real browser for the pages: Debian's chromium, headless, driven by playwright."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.campaign.cells import Cell, cell_of
from testbed.report.answers import Answers, answers_of
from testbed.runs.run import Run
from tests.corpus import tool
from unwinders import UNWINDERS

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def chromium() -> str:
    """The path of the browser; skips where it, or what drives it, is missing."""
    pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[test]'")
    return tool("chromium", "chromium")


@contextmanager
def loaded(url: str, own: tuple[str, ...], **context: Any) -> Iterator[Any]:
    """A page, loaded. Fails on any message on its console, any error, and any request that begins with none of own."""
    executable = chromium()
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            page = browser.new_context(**context).new_page()
            page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda r: None if r.url.startswith(own) else complaints.append(r.url))
            page.goto(url)
            page.wait_for_selector("html[data-ready=yes]", state="attached")
            yield page
        finally:
            browser.close()
    assert complaints == []


def opened(path: Path, *, fragment: str = "", **context: Any) -> AbstractContextManager[Any]:
    """The page of a file, loaded; it asks no network for anything."""
    return loaded(path.as_uri() + fragment, ("file:",), **context)


Walk = Sequence[tuple[Any, ...]]


def walk(page: Any, steps: Walk) -> None:
    """What a reader does and sees, in order. A step is a method of the page with its arguments, or one of:

    ``("press", KEY)``; ``("count", SELECTOR, NUMBER)`` of elements; ``("says", SELECTOR, PART)`` of its text;
    ``("lacks", SELECTOR, PART)``; ``("is", EXPRESSION, VALUE)``.
    """
    for what, *given in steps:
        match what:
            case "press":
                page.keyboard.press(*given)
            case "count":
                assert page.locator(given[0]).count() == given[1], given
            case "says" | "lacks":
                assert (given[1] in page.inner_text(given[0])) == (what == "says"), given
            case "is":
                assert page.evaluate(given[0]) == given[1], given
            case _:
                getattr(page, what)(*given)


PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
SCROLLS_ONLY_DOWN = ("is", "document.documentElement.scrollWidth <= 390", True)


# Runs with everything that was said about them, made once for the tests of the pages.


# What a page shows of these is known by heart; unwinders come and go.
SOME = ("fp_chain", "fp_chain_entry", "eh_frame", "eh_frame_hdr", "debug_frame", "ehabi")


@cache
def judged(
    program: str, arch: str, recipe: str | None = None, names: tuple[str, ...] = SOME
) -> tuple[Run, Answers, tuple[Cell, ...]]:
    run = testbed.run(program, arch=arch, recipe=recipe)
    applicable = [u for u in UNWINDERS.values() if u.name in names and u.applies_to(run.built.image)]
    answers = answers_of(run, applicable)
    return run, answers, tuple(cell_of(run, each.unwinder, each.verdicts) for each in answers.each)
