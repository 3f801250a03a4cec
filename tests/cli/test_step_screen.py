"""``testbed run --step``: the full-screen program, by its library's pilot and in a real terminal."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

import testbed
from testbed.cli.step_screen import StepScreen
from testbed.report.step_screen import ScreenRun, why_text
from testbed.report.step_view import Move, moved
from testbed.runs.run import judge_all
from tests.words.alive import comes_true
from unwinders import UNWINDERS

ROOT = Path(__file__).parents[2]
COMMAND = "-m testbed.cli run leaf_call --arch arm64 -u fp_chain -u eh_frame --at leaf --step"
NAMES = ("fp_chain", "lr_leaf", "eh_frame", "sframe", "prologue_analysis", "stack_scan")


@pytest.fixture(scope="module")
def shown() -> ScreenRun:
    run = testbed.run("leaf_call", arch="arm64")
    unwinders = tuple(UNWINDERS[name] for name in NAMES)
    return ScreenRun(run, unwinders, tuple(judge_all(run, unwinder) for unwinder in unwinders))


@dataclass
class DrivenScreen:
    """The program without a terminal."""

    app: StepScreen
    size: tuple[int, int]
    loop: asyncio.Runner
    pilot: Pilot[None]

    def press(self, *keys: str) -> list[str]:
        """The lines of the screen after some keys."""
        self.loop.run(self.pilot.press(*keys))
        self.loop.run(self.pilot.pause())
        return ["".join(part.text for part in strip) for strip in self.app.screen._compositor.render_strips()]


@pytest.fixture
def screen(shown: ScreenRun, request: pytest.FixtureRequest) -> Iterator[DrivenScreen]:
    app, size = StepScreen(shown, shown.run.step_at("leaf")), getattr(request, "param", (100, 30))
    with asyncio.Runner() as loop:
        running = app.run_test(size=size)
        yield DrivenScreen(app, size, loop, loop.run(running.__aenter__()))
        loop.run(running.__aexit__(None, None, None))


@pytest.mark.parametrize("screen", [(100, 30), (80, 24), (160, 50)], indirect=True)
def test_code_stack_rows_and_who_called_are_on_one_screen(screen: DrivenScreen) -> None:
    lines = screen.press()
    assert len(lines) == screen.size[1] and max(map(len, lines)) <= screen.size[0]
    text = "\n".join(lines)
    assert re.search(r"^→S leaf +stp x29, x30", text, re.M)  # the code, with the focused unwinder's mark
    assert "return to main+0x10" in text and "← CFA of" in text  # the stack
    assert "eh_frame row from leaf: CFA = sp" in text
    for name in ("truth", *NAMES):
        assert re.search(rf"^[▶ ] {name} .* leaf <", text, re.M), name
    assert "SKIPPED   leaf < [middle+0x10] < main+0x10" in text
    assert "leads to main+0x10" in " ".join(text.split())
    assert "...EE..SS..SS...S...S.E.." in text  # the strip
    assert "help" in lines[-1] and "quit" in lines[-1]


def test_keys_move_focus_and_search(shown: ScreenRun, screen: DrivenScreen) -> None:
    lies = [s for s, verdict in enumerate(shown.verdicts[0]) if verdict.outcome.lying]

    for key, step in (("n", 12), ("b", 11), ("0", 0), ("c", 3), ("right", 4), ("dollar_sign", 24)):
        assert f"step {step} of 0 to 24" in screen.press(key)[0], key
    screen.press("0")
    seen = []
    while "no lie" not in "".join(screen.press("l")):
        seen.append(screen.app.step)
    assert seen == [3, 7, 11, 16, 20, 22] and set(seen) <= set(lies)  # where it begins, not each step of it
    screen.press("down", "down")
    assert screen.app.focused_unwinder == 2 and "no lie of eh_frame" in "".join(screen.press("l"))
    screen.press("up", "slash", *"leaf+0x8", "enter")
    assert (screen.app.focused_unwinder, screen.app.step) == (1, shown.run.step_at("leaf+0x8"))
    said = screen.press("slash", *"nowhere", "enter")
    assert any("no symbol" in line for line in said) and screen.app.step == shown.run.step_at("leaf+0x8")
    help_lines = screen.press("question_mark")
    assert any("previous lie" in line for line in help_lines)
    assert any("escape" in line and "ctrl+c" in line for line in help_lines)
    assert not any("previous lie" in line for line in screen.press("n"))


def test_a_key_that_closes_the_help_does_nothing_else(screen: DrivenScreen) -> None:
    before = screen.app.step, screen.app.focused_unwinder
    for key in ("escape", "q", "n", "l", "tab", "w", "down"):
        assert "this help" in "".join(screen.press("question_mark")), key
        assert "this help" not in "".join(screen.press(key)), key
        assert screen.app.is_running and (screen.app.step, screen.app.focused_unwinder) == before, key


@pytest.mark.parametrize("screen", [(60, 12)], indirect=True)
def test_a_low_terminal_scrolls_the_help(screen: DrivenScreen) -> None:
    first = "".join(screen.press("question_mark"))
    assert "next step" in first and "more" in first and "never was" not in first
    assert "never was" in "".join(screen.press("pagedown", "pagedown", "pagedown"))
    assert screen.app.focused_unwinder == 0


@pytest.mark.parametrize("screen", [(60, 20)], indirect=True)
def test_a_narrow_terminal_says_how_to_get_the_help(screen: DrivenScreen) -> None:
    assert "? help" in (lines := screen.press())[-1] and "q quit" in lines[-1]
    whole = "".join(screen.press("question_mark"))
    assert "next step" in whole and "never was" in whole and "more" not in whole


@pytest.mark.parametrize("screen", [(60, 24), (80, 24), (160, 40)], indirect=True)
def test_the_whole_reason_is_seen_at_any_width(shown: ScreenRun, screen: DrivenScreen) -> None:
    lie = screen.press("l")
    whole = " ".join(why_text(shown, screen.app.step, screen.app.focused_unwinder).plain.split())
    assert whole.startswith("fp_chain: ") and "leaf has left its record" in whole
    if screen.size[0] < 100:
        assert any("(w: all)" in line for line in lie)
    inside = [line.strip(" │╭╮╰╯─▏▕┃") for line in screen.press("w")]
    assert whole.replace(" ", "") in "".join(inside).replace(" ", "")


def test_the_mouse_goes_to_instructions_unwinders_and_steps(shown: ScreenRun, screen: DrivenScreen) -> None:
    screen.loop.run(screen.pilot.click("#code", offset=(5, 2)))
    assert screen.app.step == shown.run.step_at("leaf+0x8")
    screen.loop.run(screen.pilot.click("#answers", offset=(5, 3)))
    assert screen.app.shown.unwinders[screen.app.focused_unwinder].name == "eh_frame"
    screen.loop.run(screen.pilot.click("#strip", offset=(3, 0)))
    assert screen.app.step == 3


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: apt-get install tmux")
@pytest.mark.parametrize("quit_key", ["q", "C-c", "C-d", "Escape"])
def test_in_a_real_terminal(tmp_path: Path, quit_key: str) -> None:
    session = ["tmux", "-S", str(tmp_path / "socket")]
    command = f"{sys.executable} {COMMAND}; echo $? > {tmp_path}/status"
    start = [*session, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "-c", str(ROOT), command]
    subprocess.run(start, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def screen() -> str:
        return subprocess.run([*session, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    def screen_with(pattern: str) -> None:
        assert comes_true(lambda: re.search(pattern, screen()), 90), screen()

    screen_with(r"step 11 of 0 to 24[\s\S]*quit")
    if quit_key == "q":
        subprocess.run([*session, "send-keys", "l"], check=True)
        screen_with(r"step 16 of 0 to 24")
        subprocess.run([*session, "resize-window", "-x", "70", "-y", "24"], check=True)
        screen_with(r"(?m)^▶ fp_chain")
    subprocess.run([*session, "send-keys", quit_key], check=True)
    status = tmp_path / "status"
    assert comes_true(lambda: status.exists() and status.read_text(), 30)
    assert status.read_text().strip() == "0"


def test_moves_lead_to_calls_out_and_to_differences() -> None:
    run = testbed.run("leaf_call", arch="arm64")
    chain, exact = [UNWINDERS["fp_chain"]], [UNWINDERS["eh_frame"]]
    assert moved(run, 0, Move.NEXT_CALL, chain) == run.step_at("main")
    inside = run.step_at("leaf+0x8")
    assert moved(run, inside, Move.OUT, chain) == run.step_at("middle+0x10")
    assert moved(run, 0, Move.NEXT_DIFFERENCE, chain) == run.step_at("main")
    assert moved(run, run.step_at("main"), Move.NEXT_DIFFERENCE, chain) == run.step_at("middle")  # not main+0x4
    assert moved(run, 0, Move.NEXT_DIFFERENCE, exact) == 0
    assert moved(run, 0, Move.OUT, chain) == 0
    assert moved(run, len(run) - 1, Move.NEXT, chain) == len(run) - 1
