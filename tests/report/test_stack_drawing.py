"""The stack drawn from the journal and the truth: what each word is, on every architecture."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

import testbed
from programs import PROGRAMS
from testbed.campaign.cells import Unit
from testbed.campaign.score_card import score_unit
from testbed.contract.unwinder import behind_call
from testbed.conventions import platform
from testbed.naming.beside import beside, counted
from testbed.naming.symbolize import Origin, symbolize
from testbed.report.answers import NOTHING
from testbed.report.page import packed, unpacked
from testbed.report.stack_drawing import StackWord, WordKind, changed_registers, draw_stack
from testbed.report.stepper import answer_data, stepper_data, unwinder_sentence, write_stepper
from testbed.runs.frames_beside import told
from testbed.runs.run import Run, judge, judge_all
from testbed.truth.phases import PHASES
from tests.corpus import ran
from tests.golden.whole import golden
from tests.report.chromium import judged, opened
from unwinders import UNWINDERS

START = "_start:\n    call {0}\n    mov edi, 0\n    mov eax, 60\n    syscall\n"
# The same value elsewhere is a local; after a pop, the same activation may save it again at another place.
SAVED_TWICE = (
    START.format("outer")
    + """
outer:
    push rbx
    sub rsp, 16
    mov qword ptr [rsp], rbx
    add rsp, 16
    pop rbx
    jmp inner
inner:
    sub rsp, 8
    push rbx
    pop rbx
    add rsp, 8
    ret
"""
)
# What a pop leaves is below SP, and a red zone is not.
BELOW_SP = (
    START.format("leaf")
    + """
leaf:
    push rbx
    mov qword ptr [rsp - 8], 7
    pop rbx
    ret
"""
)
# A word of the caller's frame that gets the value which rbx holds, too.
STORED_ABOVE = (
    START.format("outer")
    + """
outer:
    mov ebx, 77
    sub rsp, 16
    mov rdi, rsp
    call fill
    add rsp, 16
    ret
fill:
    mov qword ptr [rdi], rbx
    ret
"""
)


def assembled(text: str) -> Run:
    return testbed.run(testbed.assemble("x86_64", text))


RUNS: Mapping[str, tuple[Callable[[], Run], str, int]] = {
    "arm64_prologue": (partial(ran, "leaf_call", "arm64"), "leaf", 6),
    "x86_64_call": (partial(ran, "leaf_call", "x86_64"), "leaf", 6),
    "a32_pointer_of_zero": (partial(ran, "leaf_call", "arm32", "keystone"), "main", 3),
    "thumb_pointer_of_zero": (partial(ran, "leaf_call", "arm32", "keystone-thumb"), "main", 3),
    "saved_twice": (partial(assembled, SAVED_TWICE), "outer", 8),
    "below_sp": (partial(assembled, BELOW_SP), "leaf", 6),
    "stored_above": (partial(assembled, STORED_ABOVE), "fill", 2),
    "deep": (partial(ran, "recursion", "arm64"), "bottom", 1),
    "handler_on_its_stack": (partial(ran, "signal_alternate", "x86_64"), "on_second", 2),
    "handler_with_a_record": (partial(ran, "signal_alternate", "arm64"), "on_signal", 2),
    "red_zone_below_a_signal": (partial(ran, "signal_bare", "x86_64"), "on_signal", 2),
}


def described(word: StackWord, base: int) -> str:
    if word.kind is WordKind.UNTOUCHED and not word.marks:
        return f"        {word.kind.name:14} {word.label}"
    value = "" if word.value is None else hex(word.value)
    marks = "".join(f" <- {mark}" for mark in word.marks)
    return f"{word.address - base:+#7x} {word.kind.name:14} {value:18} step {word.written} {word.label}{marks}"


def drawn(run: Run, step: int) -> str:
    """A step's words from SP up, by their distance from the innermost CFA; those that are alike once."""
    drawing, base = draw_stack(run, step), run.truth(step).frames[0].cfa or int(run.trace.sp[0])
    changed = " ".join(name for name, _, _ in changed_registers(run, step))
    words = (f"{said} x{times}" for said, times in counted(described(word, base) for word in drawing.words))
    part = drawing.nearest(5)
    assert part.words == drawing.words[:5] if drawing.left_out < part.left_out else part == drawing
    where = run.where(int(run.trace.pc[step]))
    head = f"@{step} {where} {drawing.elsewhere} {part.left_out} {drawing.return_address}".rstrip()
    return "\n".join((head, changed, *words))


@pytest.mark.parametrize("name", RUNS)
def test_a_stack_is_drawn_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    """At a function's first step, and at the next ones."""
    make, location, steps = RUNS[name]
    run = make()
    first = run.step_at(location)
    golden(f"stacks/{name}.txt", "\n\n".join(drawn(run, step) for step in range(first, first + steps)) + "\n", request)


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_every_callee_saved_register_is_found_where_it_was_saved(arch: str) -> None:
    """The program saves all of them; a word that says it holds a register holds the value its caller had."""
    run = testbed.run("callee_saved", arch=arch)
    seen: set[str] = set()
    for step in range(len(run)):
        for word in draw_stack(run, step).words:
            if word.kind not in (WordKind.SAVED_FP, WordKind.SAVED_REGISTER):
                continue
            seen.add(word.register)
            caller = next(f for f in run.truth(step).frames if f.activation == word.saved_of)
            column = run.arch.by_name[word.register]
            if column.bits == 8 * run.arch.word:
                assert word.value == caller.registers[word.register]
    assert seen == set(platform(run.arch).preserved)


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
@pytest.mark.parametrize("program", ["signal", "signal_alternate", "signal_nested"])
def test_a_signals_frame_is_the_kernels_and_holds_the_interrupted_registers(program: str, arch: str) -> None:
    run = testbed.run(program, arch=arch)
    seen: set[str] = set()
    for step in range(len(run)):
        for word in draw_stack(run, step).words:
            owner = run.watched.activations[word.owner]
            if owner.signal:
                assert word.kind in (WordKind.SIGNAL_FRAME, WordKind.UNTOUCHED, WordKind.BELOW)
                assert word.label != "local of give_back"
            if word.kind is not WordKind.SIGNAL_FRAME or not word.register:
                continue
            assert word.saved_of == owner.parent
            held = int(run.trace.column(word.register)[owner.opened - 1])
            pieces = [held >> 8 * at & run.arch.word_mask for at in (0, run.arch.word)]
            assert word.value in pieces or word.changed
            seen.add(word.register)
            name = run.function(int(run.trace.pc[owner.opened - 1]))
            assert word.changed or word.label == f"signal frame: saved {word.register} of {name}"
    assert seen >= set(run.arch.signal_frame.registers) - {"sp"}


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
@pytest.mark.parametrize("program", ["signal", "signal_alternate", "signal_nested"])
def test_an_answers_frames_have_the_names_of_the_true_ones(program: str, arch: str) -> None:
    """A trampoline is looked up at its pc, whoever says it: pc - 1 is another function's."""
    run = testbed.run(program, arch=arch)
    unwinder = UNWINDERS["fp_chain"] if arch == "arm32" else UNWINDERS["eh_frame"]
    signals = 0
    for step in range(len(run)):
        said, true = unwinder.unwind(run[step]), run.truth(step).frames
        names = {frame.pc: run.place(frame) for frame in true}
        for index, frame in enumerate(said.frames):
            if frame.pc in names:
                signals += not behind_call(said.frames, index) and index > 0
                assert run.place(frame) == names[frame.pc]
        if said.stopped is None and [f.pc for f in said.frames] == [f.pc for f in true]:
            assert repr(said) in (f"<Backtrace {run.truth(step)} (root)>", f"<Backtrace of {len(true)} frames, root>")
            assert [text for _, text in told(run, step, said)] == [run.place(frame) for frame in true]
            named = symbolize(run.trace.images, said).frames
            assert [each.place for each in named if each.origin is Origin.PHYSICAL] == [
                run.place(frame) for frame in true
            ]
    assert signals or arch == "arm32"


def test_a_difference_names_a_trampoline_by_its_own_name() -> None:
    run = testbed.run("signal_alternate", arch="arm64")
    unwinder, step = UNWINDERS["fp_chain"], run.step_at("on_second")
    said = unwinder.unwind(run[step])
    assert "not give_back" in run.difference(judge(run, run[step], said, unwinder))


# The stepper draws what Python draws: the same columns, words of the stack, frames and changed registers.


def test_packed_columns_come_back() -> None:
    facts, columns = stepper_data(*judged("leaf_call", "arm64", "keystone"))
    again, back = unpacked(packed(facts, columns))
    assert again == facts
    assert {name: column.tolist() for name, column in back.items()} == {
        name: column.tolist() for name, column in columns.items()
    }


@pytest.mark.parametrize(
    ("program", "arch", "recipe"),
    [
        ("callee_saved", "arm64", "keystone"),
        ("callee_saved", "x86_64", "keystone"),
        ("callee_saved", "arm32", "keystone-thumb"),
        ("pac_ret", "arm64", "keystone"),
        ("alloca_vla", "x86_64", "clang-O2"),
        ("leaf_no_frame", "x86_64", "keystone"),
        ("inline_chain", "x86_64", "clang-O2"),
        ("signal_nested", "arm64", "clang-asm"),
        ("signal_alternate", "x86_64", "keystone"),
        ("signal_bare", "x86_64", "keystone"),
    ],
)
def test_the_page_draws_what_python_draws(tmp_path: Path, program: str, arch: str, recipe: str) -> None:
    run, answers, cells = judged(program, arch, recipe, tuple(UNWINDERS))
    path = tmp_path / "page.html"
    write_stepper(run, answers, cells, path)
    steps = list(range(len(run))) if len(run) < 200 else list(range(0, len(run), len(run) // 150))
    with opened(path) as page:
        drawn = page.evaluate(
            """(steps) => steps.map((step) => ({
              words: stepper.model.stackAt(step).words.map((w) =>
                [w.address, w.kind, w.written, stepper.model.wordLabel(w), w.marks]),
              returns: stepper.model.stackAt(step).returnAddress,
              truth: stepper.model.truthAt(step).map((f) => [f.pc, f.name, f.inlined]),
              said: stepper.model.facts.unwinders.map((_, i) => stepper.model.saidAt(i, step).frames.map((f) => f.pc)),
              aligned: stepper.model.facts.unwinders.map((_, i) => {
                const { at, extra, end } = stepper.model.alignedAt(i, step), out = [];
                for (let level = 0; level <= end; level++) {
                  out.push(...(extra.get(level) ?? []).map((f) => [null, f.pc]));
                  if (level < end) out.push([level, at[level] && at[level].pc]);
                }
                return out; }),
              changed: stepper.model.changedAt(step).map((i) => stepper.model.names[i]),
            }))""",
            steps,
        )
    for step, shown in zip(steps, drawn, strict=True):
        words = [
            [w.address, w.kind.name, -1 if w.written is None else w.written, w.label, list(w.marks)]
            for w in draw_stack(run, step).words
        ]
        assert shown["words"] == words and shown["returns"] == draw_stack(run, step).return_address, step
        assert shown["truth"] == [
            [frame.pc, run.place(frame), [call.function for call in run.calls(frame)[:-1]]]
            for frame in run.truth(step).frames
        ]
        assert set(shown["changed"]) - {run.arch.pc} == {name for name, _, _ in changed_registers(run, step)}
        for each, said in zip(answers.each, shown["said"], strict=True):
            claimed = [frame.pc for frame in each.unwinder.unwind(run[step]).frames]
            assert said == claimed
        for each, aligned in zip(answers.each, shown["aligned"], strict=True):
            assert aligned == placed(run.truth(step).pcs, [f.pc for f in each.unwinder.unwind(run[step]).frames]), step
            assert int(each.callers[step]) != NOTHING


def placed(true: Sequence[int], said: Sequence[int]) -> list[list[int | None]]:
    """Each frame as its level in the truth, or None, and the pc that was said there, or None."""
    return [[each.true, None if each.said is None else said[each.said]] for each in beside(true, said)]


# An unwinder's sentence names the instruction that changed what it sees, and what that instruction did.

HEAR = "goes wrong at middle, 1 frame further out: "


@pytest.mark.parametrize(
    ("program", "arch", "chosen", "sentence"),
    [
        ("leaf_call", "arm64", "eh_frame", "right at every instruction"),
        (
            "leaf_call",
            "arm64",
            "fp_chain",
            "sees leaf's caller from leaf+0x8 on: `mov x29, sp` links the frame record; "
            "loses it at leaf+0x14: `ldp x29, x30, [sp], #0x10` unlinks the frame record",
        ),
        (
            "leaf_call",
            "x86_64",
            "fp_chain",
            "sees leaf's caller from leaf+0x4 on: `mov rbp, rsp` links the frame record; "
            "loses it at leaf+0xc: `pop rbp` unlinks the frame record",
        ),
        (
            "leaf_call",
            "arm64",
            "stack_scan",
            "sees leaf's caller from leaf+0x4 on: `stp x29, x30, [sp, #-0x10]!` stores the return address; "
            "loses it at leaf+0x14: `ldp x29, x30, [sp], #0x10` takes the return address off the stack",
        ),
        ("leaf_call", "arm64", "qi_stack_frame", f"{HEAR}the pointer 0x7ffffffeffc0 leads to middle+0x10 (leaf"),
        (
            "leaf_call",
            "arm64",
            "fp_chain_entry",
            "loses leaf's caller at leaf+0x4, behind `stp x29, x30, [sp, #-0x10]!`: x29 leads to main+0x10 (middle's "
            "return address), and the caller goes on at middle+0x10: leaf has not linked its record yet (`mov x29, sp` "
            "runs next); sees it from leaf+0x8 on: `mov x29, sp` links the frame record; "
            "loses it at leaf+0x14: `ldp x29, x30, [sp], #0x10` unlinks the frame record",
        ),
        (
            "stale_addresses",
            "x86_64",
            "stack_scan",
            "loses keeper's caller at keeper+0x8, behind `sub rsp, 0x40`: [0x7ffffffeffc8] = second+0x9 (an earlier "
            "call of helper returned there) passes first, and the caller goes on at main+0x15; "
            "sees it from keeper+0x29 on, behind `add rsp, 0x40`",
        ),
        ("leaf_no_frame", "arm32", "fp_chain", "never sees leaf's caller: r11 leads to _start+0x10 (main"),
        ("no_table", "x86_64", "eh_frame", "never sees"),
        ("signal_alternate", "x86_64", "fp_chain", "does not always see give_back's caller: rbp leads to on_second"),
    ],
)
def test_the_sentence(program: str, arch: str, chosen: str, sentence: str) -> None:
    run, *_ = judged(program, arch, "keystone")
    said = unwinder_sentence(run, judge_all(run, UNWINDERS[chosen]))
    assert said.startswith(sentence)
    assert said == sentence or ";" not in sentence  # those that are written out here are whole


CHANGE = re.compile(r"\b(sees|loses) (?:it|\S+'s caller) (?:from|at) (\S+?)(?: on\b|,|:)")


@pytest.mark.parametrize(("program", "arch"), [("leaf_no_frame", "arm64"), ("callee_saved", "x86_64")])
def test_every_change_that_is_told_is_one(program: str, arch: str) -> None:
    """At each place that a sentence names, the innermost frame's caller is found at some visit, or lost at some."""
    run, *_ = judged(program, arch)
    told = 0
    for unwinder in UNWINDERS.values():
        if unwinder.applies_to(run.built.image):
            verdicts = judge_all(run, unwinder)
            for kind, where in CHANGE.findall(unwinder_sentence(run, verdicts)):
                visits = [k for k in range(len(run)) if run.where(int(run.trace.pc[k])) == where]
                assert (kind == "sees") in [verdicts[k].exact or verdicts[k].frame > 0 for k in visits], unwinder.name
                told += 1
    assert told


def test_the_phases_are_those_of_the_score() -> None:
    run, answers, cells = judged("leaf_call", "arm64", "keystone")
    facts = answer_data(run, answers, cells, {})
    unit = Unit("leaf_call", "arm64", "keystone")
    scored = score_unit(unit, PROGRAMS, [answer.unwinder for answer in answers.each])
    for chosen in facts["unwinders"]:
        counts = scored.counts[chosen["name"]]
        for i, here in enumerate(map(counts.within, PHASES)):
            assert chosen["phases"][i] == [here.judged, here.exact, here.stopped, here.lying]
