"""The stepper in a real browser: it loads, steps, links and filters."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest

import testbed
from benchmarks.workload import TARGETS, scale_for, workload
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import cell_of
from testbed.campaign.names import true_frames
from testbed.campaign.results import Cell, Matrix, UnitResult
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.image import Image, LoadedImage, Symbol
from testbed.naming.symbolize import symbolize
from testbed.report.answers import Answers, answers_of
from testbed.report.json_forms import schema
from testbed.report.plots import plot_matrix, plot_run
from testbed.report.stepper import stepper_data, write_stepper
from testbed.report.styles import STYLES, PrintedBacktrace, shown
from testbed.report.timeline import Change, changes, timeline
from testbed.runs.judging import judge
from testbed.runs.run import Run, run_built, run_program
from testbed.trace import Memory, Snapshot
from testbed.verdicts.one import Verdict
from testbed.words.errors import NoUnwindInfo, UsageError
from testbed.words.outcome import Outcome
from tests.golden.whole import golden
from tests.image.hand_made import BASE, image_of
from tests.report.chromium import FLAGS, chromium, judged, opened
from unwinders import UNWINDERS

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture(scope="module")
def leaf_call(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stepper") / "leaf_call.html"
    write_stepper(*judged("leaf_call", "arm64", "keystone"), path)
    return path


def where(page: Any) -> str:
    return str(page.inner_text("#where .mono"))


def test_it_loads_nothing(leaf_call: Path) -> None:
    text = leaf_call.read_text()
    assert "src=" not in text
    assert "<link" not in text
    assert "@import" not in text


def test_it_steps_by_keys_buttons_slider_and_click(leaf_call: Path) -> None:
    with opened(leaf_call) as page:
        page.keyboard.press("Home")
        assert where(page) == "_start"
        page.keyboard.press("ArrowRight")
        assert where(page) == "_start+0x4"
        page.keyboard.press("c")
        assert where(page) == "main"
        page.click("button[data-move=NEXT_DIFFERENCE]")
        assert page.evaluate("stepper.at()") == 4
        page.fill("#step", "12")
        page.keyboard.press("Tab")
        assert where(page) == "leaf+0x4"
        assert page.inner_text("#code tr[aria-current=step] .text") == "mov x29, sp"
        run, *_ = judged("leaf_call", "arm64", "keystone")
        assert set(page.inner_text("#site-words").split()) == {word.name for word in run.words(12)}
        page.focus("#slider")
        page.keyboard.press("End")
        assert page.evaluate("stepper.at()") == 24
        page.click("#code tr[data-line] >> nth=0")
        assert where(page) == "_start"
        box = page.locator("#flame").bounding_box()
        page.mouse.click(box["x"] + box["width"] * 12.5 / 25, box["y"] + 5)
        assert page.evaluate("stepper.at()") == 12


def test_a_deep_link_opens_its_step_and_follows(leaf_call: Path) -> None:
    with opened(leaf_call, fragment="#step=17") as page:
        assert page.evaluate("stepper.at()") == 17
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("location.hash === '#step=16'")
        page.evaluate("location.hash = '#step=3'")
        page.wait_for_function("stepper.at() === 3")
        page.evaluate("location.hash = '#step=999999'")
        page.wait_for_function("stepper.at() === 24")


def test_a_missing_frame_is_a_gap_and_explained(leaf_call: Path) -> None:
    with opened(leaf_call, fragment="#step=11") as page:
        heads = page.locator("#callers thead th").all_inner_texts()
        assert [head.split() for head in heads if "fp_chain" in head.split()] == [["SKIPPED", "fp_chain"]]
        assert page.locator("#callers .gap").all_inner_texts() == ["[middle+0x10]"]
        assert page.locator("#callers .differs").count() == 0  # main and _start are true
        assert "leaf has not linked its record yet" in page.inner_text("#why")
        page.wait_for_function("document.getElementById('live').textContent.includes('fp_chain skipped')")


def test_a_false_frame_stands_between_the_true_ones_and_repeats_are_folded(tmp_path: Path) -> None:
    run, answers, cells = judged("recursion", "arm64", "clang-O0", ("qi_stack_frame", "eh_frame"))
    write_stepper(run, answers, cells, tmp_path / "page.html")
    deepest = max(range(len(run)), key=lambda step: len(run.truth(step).frames))
    twice = next(k for k, verdict in enumerate(answers.each[0].verdicts) if verdict.outcome is Outcome.PHANTOM)
    with opened(tmp_path / "page.html", fragment=f"#step={deepest}") as page:
        assert any("×5" in row for row in page.locator("#callers td.truth").all_inner_texts())
        page.evaluate(f"stepper.go({twice})")
        assert page.locator("#callers .differs").count() == 1
        assert page.locator("#callers .gap").count() == 0


def test_each_unwinder_has_a_sentence_and_its_phases(leaf_call: Path) -> None:
    with opened(leaf_call, fragment="#focus=fp_chain_entry") as page:
        said = page.inner_text("#sentence")
        assert said.startswith("fp_chain_entry loses leaf's caller at leaf+0x4")
        assert "sees it from leaf+0x8 on: mov x29, sp links the frame record" in said
        assert page.evaluate("stepper.at()") == 4  # its own first lie, not that of fp_chain
        assert page.locator("#seen tbody tr").count() == 1
        page.wait_for_function("location.hash === '#step=4&focus=fp_chain_entry'")
        page.click("#strips button.unwinder >> nth=1")
        rows = [" ".join(row.split()) for row in page.locator("#seen tbody tr").all_inner_texts()]
        assert rows[-1] == "eh_frame, eh_frame_hdr right at every instruction 4/4 3/3 12/12 3/3 3/3"


def test_unwinders_can_be_filtered(leaf_call: Path) -> None:
    with opened(leaf_call, fragment="#step=11") as page:
        page.fill("#only", "eh_frame_hdr")
        assert page.locator("#strips .row:visible").count() == 1
        assert "fp_chain" not in page.inner_text("#callers")
        page.fill("#only", "")
        page.click("#strips button.unwinder >> nth=0")  # this one alone
        assert page.locator("#strips button.unwinder >> nth=0").get_attribute("aria-pressed") == "true"
        assert callers_of(page) == {"truth", "SKIPPED", "fp_chain", "#"}
        page.click("#strips button.unwinder >> nth=2")  # another one alone
        assert "fp_chain" not in callers_of(page)
        page.click("#strips button.unwinder >> nth=2")  # and all again
        assert {"fp_chain", "eh_frame"} <= callers_of(page)


def callers_of(page: Any) -> set[str]:
    """The words above the columns of the callers."""
    return {word.strip(",") for word in " ".join(page.locator("#callers thead th").all_inner_texts()).split()}


def test_it_opens_at_the_first_lie_and_explains_its_colours(leaf_call: Path) -> None:
    with opened(leaf_call) as page:
        assert (page.evaluate("stepper.at()"), where(page)) == (3, "main")
        words = page.inner_text("#words")
        assert "S skipped" in words and ". exact" in words
        assert "hung" not in words and "crashed" not in words  # only what occurs
        assert "?" not in words


def test_the_sign_of_what_nothing_explains_is_in_the_legend_beside_the_strips(tmp_path: Path) -> None:
    run, *_ = judged("leaf_call", "arm64", "keystone")
    answers = answers_of(run, [replace(UNWINDERS["fp_chain"], assumption=None)])
    cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
    write_stepper(run, answers, cells, tmp_path / "open.html")
    with opened(tmp_path / "open.html") as page:
        assert "? unexplained" in page.inner_text("#words")


def test_more_steps_than_pixels_are_columns_of_shares(tmp_path: Path) -> None:
    """A run that is exact nearly everywhere looks so: of each column the part is coloured that its steps are."""
    run = run_built(workload(TARGETS[1], scale_for(TARGETS[1], 4_000)))
    answers = answers_of(run, [UNWINDERS["stack_scan"]])
    cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
    write_stepper(run, answers, cells, tmp_path / "long.html")
    counts = """() => { const c = document.querySelectorAll("#strips canvas")[0], seen = new Map();
      const d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
      for (const pixel of d) seen.set(pixel, (seen.get(pixel) || 0) + 1);
      return Math.max(...seen.values()) / d.length; }"""
    exact = cells[0].exact / cells[0].sites
    assert 0.3 < exact < 0.97
    with opened(tmp_path / "long.html") as page:
        assert abs(page.evaluate(counts) - exact) < 0.08


def test_outcomes_have_their_colour_on_the_strip(leaf_call: Path) -> None:
    """The strip of fp_chain at its skipped step is not the colour of its exact one, and is not one flat colour."""
    tones = """(steps) => { const c = document.querySelectorAll("#strips canvas")[0], w = c.width / 25;
      const d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
      const at = (step) => { const x = Math.round(step * w) + 2, seen = new Set();
        for (let y = 1; y < c.height - 2; y++) for (let i = 0; i < 8; i++) seen.add(d[y * c.width + x + i]);
        return [...seen]; };
      return steps.map(at); }"""
    with opened(leaf_call) as page:
        exact, skipped = page.evaluate(tones, [0, 11])
    assert len(exact) == 1
    assert len(skipped) > 1
    assert exact[0] not in skipped


def test_without_scripts_there_is_the_sentence_and_nothing_that_waits(leaf_call: Path) -> None:
    executable = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(leaf_call.as_uri())
        seen = page.locator("body").inner_text()
        buttons = page.locator("button").filter(visible=True).count()
        browser.close()
    assert "please allow it" in seen
    assert "reading" not in seen and buttons == 0


def test_a_phone_shows_whole_names(leaf_call: Path) -> None:
    with opened(leaf_call, **PHONE) as page:
        cut = page.evaluate(
            "[...document.querySelectorAll('.unwinder .name')].filter((e) => e.scrollWidth > e.clientWidth)"
            ".map((e) => e.textContent)"
        )
        assert page.locator(".unwinder .name").count() > 2 and cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_only_down(leaf_call: Path, scheme: str) -> None:
    with opened(leaf_call, fragment="#step=12", color_scheme=scheme, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.tap("button[data-move=NEXT]")
        assert where(page) == "leaf+0x8"


def test_a_long_run_is_a_small_page_that_opens(tmp_path: Path) -> None:
    """20,000 steps: well below 10 MB for 50,000, and every step can be reached."""
    target = TARGETS[0]
    run = run_built(workload(target, scale_for(target, 25_000)), budget=20_000)
    answers = answers_of(run, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]])
    path = tmp_path / "long.html"
    write_stepper(run, answers, [cell_of(run, each.unwinder, each.verdicts) for each in answers.each], path)
    assert path.stat().st_size < 60 * len(run)
    with opened(path, fragment="#step=19999") as page:
        assert page.evaluate("stepper.at()") == 19_999
        assert where(page) == run.where(int(run.trace.pc[19_999]))
        page.keyboard.press("b")
        page.keyboard.press("+")
        assert page.evaluate("stepper.at()") == 19_998
        follows = int(np.flatnonzero(answers.speaker != np.arange(len(run)))[-1])
        page.evaluate(f"stepper.go({follows})")
        assert f"as at step {answers.speaker[follows]}:" in page.inner_text("#site-words")


def test_words_of_a_long_run_are_those_of_the_first_step_of_a_kind_and_numbers_are_its_own() -> None:
    run = run_built(workload(TARGETS[0], scale_for(TARGETS[0], 25_000)), budget=20_000)
    answers = answers_of(run, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"], UNWINDERS["stack_scan"]])
    cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
    facts, columns = stepper_data(run, answers, cells)
    told, kind = columns["told"], columns["kind"]
    assert len(told) < len(run) / 50 and all(kind[told] == np.arange(len(told)))
    seen = set()
    for step in range(0, len(run), 37):
        speaker = int(told[kind[step]])
        assert run.function(int(run.trace.pc[step])) == run.function(int(run.trace.pc[speaker]))
        for i, each in enumerate(answers.each):
            said = each.unwinder.unwind(run[step])
            verdict = judge(run, step, said, each.unwinder)
            heard = judge(run, speaker, each.unwinder.unwind(run[speaker]), each.unwinder)
            assert list(Outcome)[columns[f"s{i}outcome"][step]] is verdict.outcome is heard.outcome
            assert columns[f"s{i}depth"][step] == verdict.depth
            assert columns[f"s{i}unexplained"][step] == verdict.unexplained
            assert facts["notes"][columns[f"s{i}why"][kind[step]]] == run.why(heard, speaker)
            assert facts["notes"][columns[f"s{i}note"][kind[step]]] == run.difference(heard)
            pcs, end = answers.chain(int(each.callers[step]))
            assert pcs == tuple(frame.pc for frame in said.frames[1:])
            assert (end == "") == (said.stopped is None)
            seen.add(verdict.outcome)
    assert len(seen) > 2


# The timeline: valid for both viewers, balanced, and the same stacks as the truth and the unwinders.


def stacks(events: Sequence[dict[str, object]], steps: int) -> list[list[object]]:
    """The open frames after all events at or before each step, by replaying; fails where a close does not match."""
    at: list[list[object]] = []
    open_: list[object] = []
    rest = list(events)
    for step in range(steps):
        while rest and rest[0]["at"] == step:
            event = rest.pop(0)
            if event["type"] == "O":
                open_.append(event["frame"])
            else:
                assert open_.pop() == event["frame"]
        at.append(list(open_))
    for event in rest:
        assert (event["at"], event["type"], open_.pop()) == (steps, "C", event["frame"])
    assert open_ == []
    return at


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("leaf_call", "arm64", "keystone"), ("recursion", "x86_64", "clang-O0"), ("tail_call", "arm32", "keystone")],
)
def test_a_timeline_replays_to_the_stacks(program: str, arch: str, recipe: str) -> None:
    run, answers, _ = judged(program, arch, recipe)
    data = timeline(run, answers)
    jsonschema.validate(data, schema("timeline"))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    truth, *lanes = [stacks(profile["events"], len(run)) for profile in data["profiles"]]
    assert [len(stack) for stack in truth] == [len(run.truth(step)) for step in range(len(run))]
    for each, lane in zip(answers.each, lanes, strict=True):
        for step, stack in enumerate(lane):
            said = each.unwinder.unwind(run[step])
            claimed = [f"({said.stopped.reason})"] if said.stopped else []
            claimed += reversed(run.frame_names(said.frames))
            assert [names[int(str(frame))] for frame in stack] == claimed


def test_trace_events_say_the_same_as_the_profiles() -> None:
    run, answers, _ = judged("leaf_call", "arm64", "keystone")
    data = timeline(run, answers)
    for thread, profile in enumerate(data["profiles"]):
        names = [frame["name"] for frame in data["shared"]["frames"]]
        evented = [(e["type"] == "O", names[e["frame"]], e["at"]) for e in profile["events"]]
        traced = [
            (e["ph"] == "B", e["name"], e["ts"]) for e in data["traceEvents"] if e["tid"] == thread and e["ph"] in "BE"
        ]
        assert traced == evented
    truth, chain = (stacks(profile["events"], len(run)) for profile in data["profiles"][:2])
    shorter = [step for step, (a, b) in enumerate(zip(truth, chain, strict=True)) if len(a) > len(b)]
    assert shorter == [step for step, verdict in enumerate(answers.each[0].verdicts) if not verdict.exact]


def test_another_activation_of_the_same_function_is_another_frame() -> None:
    assert list(changes(iter([[(0, "main"), (1, "f")], [(0, "main"), (2, "f")]]))) == [
        Change(0, True, "main"),
        Change(0, True, "f"),
        Change(1, False, "f"),
        Change(1, True, "f"),
        Change(2, False, "f"),
        Change(2, False, "main"),
    ]


# What unwinders say at every step, kept small: nothing is lost, and the native way says the same.


def said(run: Run, answers: Answers) -> list[list[tuple[object, ...]]]:
    return [
        [(*answers.chain(int(node)), float(cfa)) for node, cfa in zip(each.callers, each.cfa, strict=True)]
        for each in answers.each
    ]


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [("callee_saved", "arm64", "keystone"), ("recursion", "x86_64", "clang-O2"), ("leaf_call", "arm32", "keystone")],
)
def test_answers_keep_what_was_said(program: str, arch: str, recipe: str) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    applicable = [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]
    readably = answers_of(run, applicable, natively=False)
    for each, chains in zip(readably.each, said(run, readably), strict=True):
        for step, (pcs, end, cfa) in enumerate(chains):
            backtrace = each.unwinder.unwind(run[step])
            assert pcs == tuple(frame.pc for frame in backtrace.frames[1:])
            assert end == ("" if backtrace.stopped is None else f"{backtrace.stopped.reason}: {backtrace.stopped}")
            assert cfa == (-1 if backtrace.frames[0].cfa is None else backtrace.frames[0].cfa)
    natively = answers_of(run, applicable, natively=True)
    assert said(run, natively) == said(run, readably)
    for one, other in zip(natively.each, readably.each, strict=True):
        assert tuple(one.verdicts) == other.verdicts
    assert len(np.unique(np.stack([readably.pc, readably.cfa, readably.outer]), axis=1).T) == len(readably.pc)


# The plots: files that a viewer opens.


def judged_leaf_call() -> tuple[Run, list[tuple[Cell, Sequence[Verdict]]]]:
    run, answers, cells = judged("leaf_call", "arm64", "keystone")
    return run, [(cell, each.verdicts) for cell, each in zip(cells, answers.each, strict=True)]


def test_a_run_is_plotted_and_the_same_run_gives_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'unwind-testbed[plot]'")
    run, by_unwinder = judged_leaf_call()
    for name in ("a.svg", "b.svg", "c.png"):
        plot_run(run, by_unwinder, tmp_path / name)
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_matrix_is_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'unwind-testbed[plot]'")
    _, _, cells = judged("leaf_call", "arm64", "keystone")
    plot_matrix(Matrix((UnitResult(cells[0].unit, cells),), 1), tmp_path / "m.svg")
    assert "fp_chain" in (tmp_path / "m.svg").read_text()  # a comment beside each text's outlines


def test_a_wrong_suffix_and_a_missing_library_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, by_unwinder = judged_leaf_call()
    with pytest.raises(UsageError, match=r"a plot ends in \.svg or \.png"):
        plot_run(run, by_unwinder, tmp_path / "a.jpg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"unwind-testbed\[plot\]"):
        plot_run(run, by_unwinder, tmp_path / "a.svg")


# Backtraces in the dialects that people know, on sites whose frames are known: each whole, in ``golden/outputs``.


def site(program: str, arch: str, location: str, recipe: str = "clang-O2", most: int | None = None) -> PrintedBacktrace:
    """The true frames at a place; of a walk that stops, the first ones."""
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    step = run.step_at(location)
    stop = NoUnwindInfo("nothing covers it") if most else None
    said = Backtrace(true_frames(run, step)[:most], stop)
    return shown(run[step], said, symbolize(run.trace.images, said), program)


def of_file(image: Image, *callers: int) -> PrintedBacktrace:
    """A walk through a file made by hand, of which only the first frame has registers."""
    frames = (Frame(FrameKind.INTERRUPTED, BASE + 4, {}), *(Frame(FrameKind.CALLER, pc, {}) for pc in callers))
    registers = {register.name: 0 for register in image.arch.registers}
    snapshot = Snapshot(image.arch, registers, Memory.of(()), (LoadedImage(image),))
    said = Backtrace(frames, NoUnwindInfo("no more"))
    return shown(snapshot, said, symbolize(snapshot.images, said))


def short_call() -> PrintedBacktrace:
    """``blx r3`` is 98 47: Thumb's short call."""
    image = image_of(symbols=(Symbol("f", BASE, 0x10, True),), arch="arm32")
    thumb, code = ARCHES["arm32"].isa_named("thumb"), bytes.fromhex("00bf00bf984700bf")
    assert thumb is not None
    segment = replace(image.segments[0], data=code + image.segments[0].data[len(code) :])
    return of_file(replace(image, segments=(segment,), isa_marks=((BASE, thumb),)), BASE + 6)


SITES: Mapping[str, Callable[[], PrintedBacktrace]] = {
    "inlined": partial(site, "inline_chain", "arm64", "leaf#2"),
    "within_a_line": partial(site, "inline_chain", "arm64", "leaf+0x4"),
    "thumb": partial(site, "inline_chain", "arm32", "leaf", "clang-thumb-O2"),
    "tail_calls": partial(site, "tail_chain", "arm64", "leaf"),
    "ambiguous": partial(site, "tail_branches", "arm64", "leaf"),
    "stopped": partial(site, "tail_branches", "arm64", "meet", most=2),
    "cxx": partial(site, "cxx_names", "x86_64", "_ZN5shape4areaEi"),
    "short_call": short_call,
    "no_name_and_no_image": lambda: of_file(image_of(symbols=(Symbol("f", BASE, 0x10, True),)), BASE + 0x80, 0x40),
}


@pytest.mark.parametrize("name", SITES)
def test_a_backtrace_is_printed_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    one = SITES[name]()
    assert json.loads("\n".join(STYLES["json"](one)))["stopped"] == (one.stopped or None)
    told = ("\n".join((f"== {style}", *lines(one), "")) for style, lines in STYLES.items())
    golden(f"styles/{name}.txt", "\n".join(told), request)
