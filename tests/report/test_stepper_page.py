"""The stepper in a real browser: it loads, steps, links and filters."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import testbed
from benchmarks.workload import TARGETS, scale_for, workload
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.cells import cell_of
from testbed.campaign.names import true_frames
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.image import Image, LoadedImage, Symbol
from testbed.naming.symbolize import symbolize
from testbed.report.answers import Answers, answers_of
from testbed.report.json_forms import schema
from testbed.report.stepper import stepper_data, write_stepper
from testbed.report.styles import STYLES, PrintedBacktrace, shown
from testbed.report.timeline import Change, changes, timeline
from testbed.runs.run import Run, judge, run_built, run_program
from testbed.trace import Memory, Snapshot
from testbed.words.errors import NoUnwindInfo
from testbed.words.outcome import Outcome
from tests.golden.whole import golden
from tests.image.hand_made import BASE, image_of
from tests.report.chromium import FLAGS, PHONE, SCROLLS_ONLY_DOWN, Walk, chromium, judged, opened, walk
from unwinders import UNWINDERS

TOUCHED = {**PHONE, "has_touch": True}
FIRST, SECOND, THIRD = (f"#strips button.unwinder >> nth={k}" for k in range(3))
AT = "stepper.at()"


@pytest.fixture(scope="module")
def leaf_call(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stepper") / "leaf_call.html"
    write_stepper(*judged("leaf_call", "arm64", "keystone"), path)
    return path


def test_it_loads_nothing(leaf_call: Path) -> None:
    text = leaf_call.read_text()
    assert [part for part in ("src=", "<link", "@import") if part in text] == []


def where(name: str) -> tuple[str, str, str]:
    """A step of a walk: the page is at this place."""
    return ("is", "document.querySelector('#where .mono').innerText", name)


WALKS: Mapping[str, tuple[str, Walk]] = {
    "it opens where its sentence is about and explains its colours, only those that occur": (
        "",
        [
            *(("is", AT, 11), where("leaf"), ("says", "#sentence", "fp_chain sees leaf's caller")),
            *(("says", "#words", word) for word in ("S skipped", ". exact")),
            *(("lacks", "#words", word) for word in ("hung", "crashed", "?")),
        ],
    ),
    "it steps by keys, buttons, slider and click": (
        "",
        [
            *(("press", "Home"), where("_start"), ("press", "ArrowRight"), where("_start+0x4")),
            *(("press", "c"), where("main")),
            *(("click", "button[data-move=NEXT_DIFFERENCE]"), ("is", AT, 4)),
            *(("fill", "#step", "12"), ("press", "Tab"), where("leaf+0x4")),
            ("says", "#code tr[aria-current=step] .text", "mov x29, sp"),
            *(("focus", "#slider"), ("press", "End"), ("is", AT, 24)),
            *(("click", "#code tr[data-line] >> nth=0"), where("_start")),
        ],
    ),
    "a deep link opens its step and follows": (
        "#step=17",
        [
            *(("is", AT, 17), ("press", "ArrowLeft"), ("wait_for_function", "location.hash === '#step=16'")),
            *(("evaluate", "location.hash = '#step=3'"), ("wait_for_function", "stepper.at() === 3")),
            *(("evaluate", "location.hash = '#step=999999'"), ("wait_for_function", "stepper.at() === 24")),
        ],
    ),
    "a sentence and phases of each unwinder": (
        "#focus=fp_chain_entry",
        [
            ("says", "#sentence", "fp_chain_entry loses leaf's caller at leaf+0x4"),
            ("says", "#sentence", "sees it from leaf+0x8 on: mov x29, sp links the frame record"),
            ("is", AT, 12),  # in its own sentence, not in that of fp_chain
            ("count", "#seen tbody tr", 1),
            ("wait_for_function", "location.hash === '#step=12&focus=fp_chain_entry'"),
            ("click", SECOND),
            ("says", "#seen tbody tr >> nth=-1", "right at every instruction"),
        ],
    ),
    "unwinders can be filtered": (
        "#step=11",
        [
            *(("fill", "#only", "eh_frame_hdr"), ("count", "#strips .row:visible", 1)),
            *(("lacks", "#callers", "fp_chain"), ("fill", "#only", "")),
            ("click", FIRST),  # this one alone
            ("is", "document.querySelector('#strips button.unwinder').ariaPressed", "true"),
            *(("says", "#callers thead", "fp_chain"), ("lacks", "#callers thead", "eh_frame")),
            *(("click", THIRD), ("lacks", "#callers thead", "fp_chain")),  # another one alone
            *(("click", THIRD), ("says", "#callers thead", "fp_chain"), ("says", "#callers thead", "eh_frame")),  # all
        ],
    ),
    "a missing frame is a gap and explained": (
        "#step=11",
        [
            *(("count", "#callers .gap", 1), ("says", "#callers .gap", "[middle+0x10]")),
            ("count", "#callers .differs", 0),  # main and _start are true
            ("says", "#why", "leaf has not linked its record yet"),
            ("wait_for_function", "document.getElementById('live').textContent.includes('fp_chain skipped')"),
        ],
    ),
}


@pytest.mark.parametrize("name", WALKS)
def test_the_page_does_what_a_reader_asks(leaf_call: Path, name: str) -> None:
    fragment, steps = WALKS[name]
    with opened(leaf_call, fragment=fragment) as page:
        walk(page, steps)


def test_a_click_on_the_flame_goes_to_its_step_with_its_words(leaf_call: Path) -> None:
    run, *_ = judged("leaf_call", "arm64", "keystone")
    with opened(leaf_call) as page:
        box = page.locator("#flame").bounding_box()
        page.mouse.click(box["x"] + box["width"] * 12.5 / 25, box["y"] + 5)
        walk(page, [("is", AT, 12)])
        assert set(page.inner_text("#site-words").split()) == {word.name for word in run.words(12)}


def test_a_false_frame_stands_between_the_true_ones_and_repeats_are_folded(tmp_path: Path) -> None:
    run, answers, cells = judged("recursion", "arm64", "clang-O0", ("qi_stack_frame", "eh_frame"))
    write_stepper(run, answers, cells, tmp_path / "page.html")
    deepest = max(range(len(run)), key=lambda step: len(run.truth(step).frames))
    twice = next(k for k, verdict in enumerate(answers.each[0].verdicts) if verdict.outcome is Outcome.PHANTOM)
    with opened(tmp_path / "page.html", fragment=f"#step={deepest}") as page:
        assert any("×5" in row for row in page.locator("#callers td.truth").all_inner_texts())
        walk(
            page,
            [("evaluate", f"stepper.go({twice})"), ("count", "#callers .differs", 1), ("count", "#callers .gap", 0)],
        )


def test_the_sign_of_what_nothing_explains_is_in_the_legend_beside_the_strips(tmp_path: Path) -> None:
    run, *_ = judged("leaf_call", "arm64", "keystone")
    answers = answers_of(run, [replace(UNWINDERS["fp_chain"], assumption=UNWINDERS["eh_frame"].assumption)])
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_only_down_and_shows_whole_names(leaf_call: Path, scheme: str) -> None:
    names = "[...document.querySelectorAll('.unwinder .name')]"
    steps = [
        *(SCROLLS_ONLY_DOWN, ("tap", "button[data-move=NEXT]"), where("leaf+0x8")),
        *(("is", f"{names}.length > 2", True), ("is", f"{names}.every((e) => e.scrollWidth <= e.clientWidth)", True)),
    ]
    with opened(leaf_call, fragment="#step=12", **{**TOUCHED, "color_scheme": scheme}) as page:
        walk(page, steps)


def test_a_long_run_is_a_small_page_that_opens(tmp_path: Path) -> None:
    """20,000 steps: well below 10 MB for 50,000, and every step can be reached."""
    target = TARGETS[0]
    run = run_built(workload(target, scale_for(target, 25_000)), budget=20_000)
    answers = answers_of(run, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]])
    path = tmp_path / "long.html"
    write_stepper(run, answers, [cell_of(run, each.unwinder, each.verdicts) for each in answers.each], path)
    assert path.stat().st_size < 60 * len(run)
    with opened(path, fragment="#step=19999") as page:
        walk(
            page,
            [
                *(("is", AT, 19_999), where(run.where(int(run.trace.pc[19_999])))),
                *(("press", "b"), ("press", "+"), ("is", AT, 19_998)),
            ],
        )
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
    segment = replace(image.segments[0], held=code + image.segments[0].data[len(code) :])
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
