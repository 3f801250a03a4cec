"""`testbed edit` in a real browser: change a line, and rows, strips and verdicts change."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import Thread
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.cli.edit import editor_server
from testbed.serve.server import EditorServer
from tests.report.chromium import PHONE, SCROLLS_ONLY_DOWN, loaded, walk


@pytest.fixture(scope="module")
def served() -> Iterator[EditorServer]:
    server, work = editor_server(PROGRAMS["leaf_call"], "arm64")
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    work.stop()


def editing(server: EditorServer, **context: Any) -> AbstractContextManager[Any]:
    """The editor, loaded and answered once; it asks nobody else for anything."""
    return loaded(server.guard.url, (server.guard.url, "data:"), **context)


def changed(page: Any, old: str, new: str) -> Any:
    """The stepper after one change of the source."""
    text = page.input_value("#source")
    assert old in text
    answer(page, lambda: page.fill("#source", text.replace(old, new, 1)))
    return page.frame_locator("#frames iframe")


def answer(page: Any, act: Callable[[], Any]) -> None:
    """Do something, and wait until the server has answered to it."""
    answered = page.evaluate("Number(document.documentElement.dataset.answered)")
    act()
    page.wait_for_selector(f"html[data-answered='{answered + 1}']", state="attached")


def verdict_of(page: Any, name: str) -> str:
    rows = page.locator("#verdicts tr").all_inner_texts()
    return next(" ".join(row.split()) for row in rows if row.split()[0] == name)


def test_a_wrong_directive_changes_rows_strips_and_verdicts(served: EditorServer) -> None:
    with editing(served) as page:
        stepper = page.frame_locator("#frames iframe")
        assert "100 % exact" in verdict_of(page, "eh_frame")
        assert "links the frame record" in stepper.locator("#sentence").inner_text()
        stepper = changed(page, ".cfi_offset x30, -8", ".cfi_offset x30, -16")
        assert "100 % → " in verdict_of(page, "eh_frame")
        assert " 0 lies" not in verdict_of(page, "eh_frame")
        assert page.inner_text("#said") == "", "a row that is wrong foretells them"
        stepper.locator("#step").fill("4")
        stepper.locator("#step").press("Tab")
        assert "x30=c-16" in stepper.locator("#rows").inner_text().replace(" ", "")
        answer(page, lambda: page.click("button[type=reset]"))
        assert page.inner_text("#said") == ""
        assert "100 % exact" in verdict_of(page, "eh_frame")
        # It opens at its first lie, and then goes to where one was.
        page.wait_for_function("document.querySelector('iframe').contentWindow.stepper.at() === 4", timeout=90_000)


def test_an_instruction_that_is_none_is_told_with_its_line(served: EditorServer) -> None:
    with editing(served) as page:
        changed(page, "mov x0, #6", "movv x0, #6")
        assert "leaf_call.arm64.S:" in page.inner_text("#said") and "testbed-edit" not in page.inner_text("#said")
        assert page.locator(".shown.stale").count() == 1
        wrong = int(page.inner_text("#numbers b"))
        assert "movv" in page.input_value("#source").splitlines()[wrong - 1]
        page.click("#said p")
        chosen = page.evaluate("((s) => s.value.slice(s.selectionStart, s.selectionEnd))(document.activeElement)")
        assert chosen.strip() == "movv x0, #6"


def test_an_endless_loop_ends_and_a_file_of_this_machine_is_not_read(served: EditorServer) -> None:
    with editing(served) as page:
        changed(page, "main_body:", "main_body:\n    b main_body")
        assert page.inner_text("#status").startswith("300 steps")
        assert "did not exit within 300 steps" in page.inner_text("#said")
        answer(page, lambda: page.click("button[type=reset]"))
        changed(page, ".globl _start", '.incbin "/etc/passwd"\n.globl _start')
        assert page.locator(".shown.stale").count() == 1
        assert "root:" not in page.inner_text("body")


def test_a_phone_scrolls_only_down(served: EditorServer) -> None:
    with editing(served, **PHONE) as page:
        walk(page, [SCROLLS_ONLY_DOWN])


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_whole_message_of_an_error_is_to_be_seen(served: EditorServer, width: int, height: int) -> None:
    """Between the source, which gives way, and the table of verdicts, which lies below it."""
    with editing(served, viewport={"width": width, "height": height}) as page:
        changed(page, "bl middle", "bl nowhere_at_all")
        said = page.locator("#said")
        assert "nowhere_at_all" in said.inner_text()
        assert said.evaluate(
            "(e) => e.scrollHeight <= e.clientHeight + 1 && e.clientHeight >= e.children[0].offsetHeight"
        )
        box, below = said.bounding_box(), page.locator("#verdicts").bounding_box()
        assert box["height"] > 20
        assert box["y"] + box["height"] <= below["y"] + 1
        assert width < 1000 or below["y"] + below["height"] <= height
        assert page.locator(".text").bounding_box()["height"] >= 150
        assert page.evaluate("document.documentElement.scrollWidth") <= width
