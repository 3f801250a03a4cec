"""The pictures of screens and pages that the documents show: python docs/pictures.py, or regenerate.py --pictures.

Pages are photographed in Debian's chromium, where it is missing they stay as they are; the terminal is drawn as SVG.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DESK, PHONE = (1400, 900), (390, 844)
LEAF = ("run", "leaf_call", "--arch", "arm64")
# Of the matrix in the terminal: a program of each kind, the telling unwinders, on one screen.
SOME = ("leaf_call", "leaf_no_frame", "no_table", "stale_addresses", "epilogue_cfa_wrong", "signal", "tail_call")
MORE = ("callee_pops", "plt", "red_zone", "moved_return", "coroutine", "behind_call", "two_step_call", "realigned")
TOLD = ("fp_chain", "lr_leaf", "eh_frame", "sframe", "prologue_analysis", "stack_scan")
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def testbed(*arguments: str) -> None:
    """Run a command of ours; what it prints is not wanted, and what it finds is not judged here."""
    command = [sys.executable, "-m", "testbed.cli", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(arguments)}: exit status {done.returncode}")


def terminal() -> None:
    """What the terminal shows: some of the matrix, the full-screen program."""
    some = (*(("-p", name) for name in SOME), *(("-u", name) for name in TOLD))
    chosen = (word for pair in some for word in pair)
    testbed("matrix", "-a", "arm64", "-r", "keystone", *chosen, "-o", "docs/matrix.svg")
    drawn = re.sub(r"@font-face \{.*?\}", "", asyncio.run(_full_screen()), flags=re.S)  # a font from the network
    (DOCS / "show.svg").write_text(drawn, encoding="utf-8")


async def _full_screen() -> str:
    """`testbed run leaf_call --arch arm64 --at leaf+0x4 --step`, in 100 columns and 30 lines."""
    sys.path.insert(0, str(ROOT))
    import testbed as package
    from testbed.cli.step_screen import StepScreen
    from testbed.cli.unwinders import telling
    from testbed.report.step_screen import ScreenRun
    from testbed.runs.run import judge_all

    run = package.run("leaf_call", arch="arm64")
    unwinders = tuple(telling(run.built.image, len(run)))
    app = StepScreen(ScreenRun(run, unwinders, tuple(judge_all(run, u) for u in unwinders)), run.step_at("leaf+0x4"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        return app.export_screenshot(title="testbed run leaf_call --arch arm64 --at leaf+0x4 --step")


def pages() -> None:
    """The pages, each as a desk and as a phone shows it."""
    executable = shutil.which("chromium")
    if executable is None:
        print("docs/*.png stay as they are: apt-get install chromium", file=sys.stderr)
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, _editor() as editor:
        place = Path(folder)
        testbed(*LEAF, "-o", f"{folder}/stepper.html")
        some = (word for name in (*SOME, *MORE) for word in ("-p", name))
        testbed("matrix", "-r", "keystone", *some, "-o", f"{folder}/matrix.html")
        testbed("check", "docs/examples/sum.S", "--arch", "arm64", "-o", f"{folder}/check.html")
        testbed("score", "-u", "fp_chain", "-o", f"{folder}/score.html")
        shown = {
            "stepper": f"{(place / 'stepper.html').as_uri()}#step=12&focus=fp_chain",
            "matrix": (place / "matrix.html").as_uri(),
            "check": (place / "check.html").as_uri(),
            "score": (place / "score.html").as_uri(),
            "editor": editor,
        }
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        for name, address in shown.items():
            before = _wrong_directive if name == "editor" else None
            _photograph(browser, address, DOCS / f"{name}.png", DESK, "light", before)
            _photograph(browser, address, place / f"{name}.png", PHONE, "dark", None)
        _beside(browser, [place / f"{name}.png" for name in shown], DOCS / "phones.png")
        browser.close()


def _photograph(
    browser: Any, address: str, picture: Path, size: tuple[int, int], scheme: str, before: Callable[[Any], None] | None
) -> None:
    """What a window of a size shows of a page; ``before`` does something in it first."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.wait_for_load_state("load")
    if page.locator("script").count():
        page.wait_for_selector("html[data-ready=yes]", state="attached")
    if before is not None:
        before(page)
    page.screenshot(path=str(picture))
    context.close()


def _wrong_directive(page: Any) -> None:
    """In the editor: a directive made wrong, and the step at which that shows."""
    text = page.input_value("#source")
    at = text.index(".cfi_offset x30, -8", text.index("leaf:"))
    wrong = text[:at] + text[at:].replace("-8", "-16", 1)
    page.fill("#source", wrong)
    page.wait_for_selector("html[data-answered='2']", state="attached")
    page.locator("#source").evaluate("(area) => { area.scrollTop = area.scrollHeight * 0.62; }")
    page.frame_locator("#frames iframe").locator("#strips button.unwinder >> nth=2").click()
    page.wait_for_timeout(300)


@contextmanager
def _editor() -> Iterator[str]:
    """The address of `testbed edit leaf_call -a arm64`."""
    sys.path.insert(0, str(ROOT))
    from programs import PROGRAMS
    from testbed.cli.edit import editor_server

    server, work = editor_server(PROGRAMS["leaf_call"], "arm64")
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.guard.url
    finally:
        server.shutdown()
        server.server_close()
        work.stop()


def _beside(browser: Any, pictures: list[Path], whole: Path) -> None:
    """Pictures of phones side by side."""
    gap = 14
    page = browser.new_page(viewport={"width": (PHONE[0] + gap) * len(pictures) - gap, "height": PHONE[1]})
    page.goto(pictures[0].parent.as_uri())
    shown = "".join(f'<img src="{picture.name}">' for picture in pictures)
    page.set_content(f'<body style="margin: 0; display: flex; gap: {gap}px; background: #8a8f98">{shown}')
    page.wait_for_load_state("load")
    page.screenshot(path=str(whole))


def write_all() -> None:
    """Every picture of a screen or page."""
    terminal()
    pages()


if __name__ == "__main__":
    write_all()
