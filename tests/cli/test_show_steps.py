"""``testbed run --step``: the full-screen program, by its library's pilot and in a real terminal."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import testbed
from testbed.cli.step_screen import StepScreen
from testbed.report.step_screen import ScreenRun, why_text
from testbed.report.stepper_moves import Move, moved
from testbed.runs.judging import judge_all
from unwinders import UNWINDERS

ROOT = Path(__file__).parents[2]
COMMAND = "-m testbed.cli run leaf_call --arch arm64 -u fp_chain -u eh_frame --at leaf --step"
NAMES = ("fp_chain", "lr_leaf", "eh_frame", "sframe", "prologue_analysis", "stack_scan")


@pytest.fixture(scope="module")
def shown() -> ScreenRun:
    run = testbed.run("leaf_call", arch="arm64")
    unwinders = tuple(UNWINDERS[name] for name in NAMES)
    return ScreenRun(run, unwinders, tuple(judge_all(run, unwinder) for unwinder in unwinders))


def lines_of(app: StepScreen) -> list[str]:
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def driven(
    shown: ScreenRun,
    act: Callable[[StepScreen, Callable[..., Awaitable[list[str]]], object], Awaitable[None]],
    size: tuple[int, int] = (100, 30),
) -> None:
    """Run the program without a terminal; ``act`` presses keys by its second argument, which gives the screen."""

    async def go() -> None:
        app = StepScreen(shown, shown.run.step_at("leaf"))
        async with app.run_test(size=size) as pilot:

            async def press(*keys: str) -> list[str]:
                await pilot.press(*keys)
                await pilot.pause()
                return lines_of(app)

            await pilot.pause()
            await act(app, press, pilot)

    asyncio.run(go())


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (160, 50)])
def test_code_stack_rows_and_who_called_are_on_one_screen(shown: ScreenRun, size: tuple[int, int]) -> None:
    async def act(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        lines = await press()
        assert len(lines) == size[1] and max(map(len, lines)) <= size[0]
        text = "\n".join(lines)
        assert re.search(r"^→S leaf +stp x29, x30", text, re.M)  # the code, with the focused strategy's mark
        assert "return to main+0x10" in text and "← CFA of" in text  # the stack
        assert "eh_frame row from leaf: CFA = sp" in text
        for name in ("truth", *NAMES):
            assert re.search(rf"^[▶ ] {name} .* leaf <", text, re.M), name
        assert "SKIPPED   leaf < [middle+0x10] < main+0x10" in text
        assert "leads to main+0x10" in " ".join(text.split())
        assert "...EE..SS..SS...S...S.E.." in text  # the strip
        assert "help" in lines[-1] and "quit" in lines[-1]

    driven(shown, act, size)


def test_keys_move_focus_and_search(shown: ScreenRun) -> None:
    lies = [s for s, verdict in enumerate(shown.verdicts[0]) if verdict.outcome.lying]

    async def act(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        for key, step in (("n", 12), ("b", 11), ("0", 0), ("c", 3), ("right", 4), ("dollar_sign", 24)):
            assert f"step {step} of 0 to 24" in (await press(key))[0], key
        await press("0")
        seen = []
        while "no lie" not in "".join(await press("l")):
            seen.append(app.step)
        assert seen == [3, 7, 11, 16, 20, 22] and set(seen) <= set(lies)  # where it begins, not each step of it
        await press("down", "down")
        assert app.focused_strategy == 2 and "no lie of eh_frame" in "".join(await press("l"))
        await press("up", "slash", *"leaf+0x8", "enter")
        assert (app.focused_strategy, app.step) == (1, shown.run.step_at("leaf+0x8"))
        said = await press("slash", *"nowhere", "enter")
        assert any("no symbol" in line for line in said) and app.step == shown.run.step_at("leaf+0x8")
        help_lines = await press("question_mark")
        assert any("previous lie" in line for line in help_lines)
        assert any("escape" in line and "ctrl+c" in line for line in help_lines)
        assert not any("previous lie" in line for line in await press("n"))

    driven(shown, act)


def test_a_key_that_closes_the_help_does_nothing_else(shown: ScreenRun) -> None:
    async def act(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        before = app.step, app.focused_strategy
        for key in ("escape", "q", "n", "l", "tab", "w", "down"):
            assert "this help" in "".join(await press("question_mark")), key
            assert "this help" not in "".join(await press(key)), key
            assert app.is_running and (app.step, app.focused_strategy) == before, key

    driven(shown, act)


def test_a_low_terminal_scrolls_the_help_and_a_narrow_one_says_how_to_get_it(shown: ScreenRun) -> None:
    async def low(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        first = "".join(await press("question_mark"))
        assert "next step" in first and "more" in first and "never was" not in first
        assert "never was" in "".join(await press("pagedown", "pagedown", "pagedown"))
        assert app.focused_strategy == 0

    async def narrow(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        assert "? help" in (lines := await press())[-1] and "q quit" in lines[-1]
        whole = "".join(await press("question_mark"))
        assert "next step" in whole and "never was" in whole and "more" not in whole

    driven(shown, low, (60, 12))
    driven(shown, narrow, (60, 20))


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (160, 40)])
def test_the_whole_reason_is_seen_at_any_width(shown: ScreenRun, size: tuple[int, int]) -> None:
    async def act(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        lie = await press("l")
        whole = " ".join(why_text(shown, app.step, app.focused_strategy).plain.split())
        assert whole.startswith("fp_chain: ") and "leaf has left its record" in whole
        if size[0] < 100:
            assert any("(w: all)" in line for line in lie)
        inside = [line.strip(" │╭╮╰╯─▏▕┃") for line in await press("w")]
        assert whole.replace(" ", "") in "".join(inside).replace(" ", "")

    driven(shown, act, size)


def test_the_mouse_goes_to_instructions_strategies_and_steps(shown: ScreenRun) -> None:
    async def act(app: StepScreen, press: Callable[..., Awaitable[list[str]]], pilot: object) -> None:
        await pilot.click("#code", offset=(5, 2))  # type: ignore[attr-defined]
        assert app.step == shown.run.step_at("leaf+0x8")
        await pilot.click("#answers", offset=(5, 3))  # type: ignore[attr-defined]
        assert app.shown.unwinders[app.focused_strategy].name == "eh_frame"
        await pilot.click("#strip", offset=(3, 0))  # type: ignore[attr-defined]
        assert app.step == 3

    driven(shown, act)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: apt-get install tmux")
@pytest.mark.parametrize("quit_key", ["q", "C-c", "C-d", "Escape"])
def test_in_a_real_terminal(tmp_path: Path, quit_key: str) -> None:
    session = ["tmux", "-S", str(tmp_path / "socket")]
    command = f"{sys.executable} {COMMAND}; echo $? > {tmp_path}/status"
    start = [*session, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "-c", str(ROOT), command]
    subprocess.run(start, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def screen_with(pattern: str) -> None:
        end = time.monotonic() + 90
        while True:
            said = subprocess.run([*session, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout
            if re.search(pattern, said):
                return
            assert time.monotonic() < end, said
            time.sleep(0.1)

    screen_with(r"step 11 of 0 to 24[\s\S]*quit")
    if quit_key == "q":
        subprocess.run([*session, "send-keys", "l"], check=True)
        screen_with(r"step 16 of 0 to 24")
        subprocess.run([*session, "resize-window", "-x", "70", "-y", "24"], check=True)
        screen_with(r"(?m)^▶ fp_chain")
    subprocess.run([*session, "send-keys", quit_key], check=True)
    end = time.monotonic() + 30
    while not (tmp_path / "status").exists() or not (tmp_path / "status").read_text():
        assert time.monotonic() < end
        time.sleep(0.1)
    assert (tmp_path / "status").read_text().strip() == "0"


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
