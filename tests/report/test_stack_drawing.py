"""The stack drawn from the journal and the truth: what each word is, on every architecture."""

from __future__ import annotations

import pytest

import testbed
from testbed.contract.frames import behind_call
from testbed.naming.symbolize import Origin, symbolize
from testbed.report.stack_drawing import StackWord, WordKind, changed_registers, draw_stack
from testbed.runs.frames_beside import told
from testbed.runs.judging import judge
from testbed.runs.run import Run
from unwinders import UNWINDERS


def at(run: Run, location: str) -> dict[int, StackWord]:
    """The words at a location, by their distance from the CFA of the innermost frame."""
    step = run.step_at(location)
    cfa = run.truth(step).frames[0].cfa
    assert cfa is not None
    return {word.address - cfa: word for word in draw_stack(run, step).words}


def test_an_arm64_prologue_saves_the_frame_pointer_and_the_return_address() -> None:
    run = testbed.run("leaf_call", arch="arm64")
    before, after = at(run, "leaf"), at(run, "leaf+0x4")
    assert -8 not in before or before[-8].kind is WordKind.BELOW
    assert after[-8].kind is WordKind.RETURN_ADDRESS
    assert (after[-16].kind, after[-16].register) == (WordKind.SAVED_FP, "x29")
    assert run.truth(run.step_at("leaf")).frames[1].activation == after[-16].saved_of
    assert after[-16].marks == ("SP",)
    assert "CFA of leaf" in after[0].marks
    assert at(run, "leaf+0x8")[-16].marks == ("SP", "FP x29")


def test_on_x86_64_the_call_itself_writes_the_return_address() -> None:
    run = testbed.run("leaf_call", arch="x86_64")
    step = run.step_at("leaf")
    word = at(run, "leaf")[-8]
    assert word.kind is WordKind.RETURN_ADDRESS
    assert word.written == step - 1
    assert word.value == run.truth(step).frames[1].pc


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
    assert seen == set(run.arch.preserved)


def test_one_register_is_saved_in_one_place() -> None:
    """The same value elsewhere is a local; after a pop, the same activation may save it again at another place."""
    program = testbed.assemble(
        "x86_64",
        """
_start:
    call outer
    mov edi, 0
    mov eax, 60
    syscall
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
""",
    )
    run = testbed.run(program)
    entry = run.step_at("outer")
    kinds = {word.address - int(run.trace.sp[entry]): word.kind for word in draw_stack(run, entry + 3).words}
    assert (kinds[-8], kinds[-24]) == (WordKind.SAVED_REGISTER, WordKind.LOCAL)
    again = run.step_at("inner") + 2
    top = next(word for word in draw_stack(run, again).words if "SP" in word.marks)
    assert (top.kind, top.register) == (WordKind.SAVED_REGISTER, "rbx")


def test_what_a_pop_leaves_is_below_sp_and_a_red_zone_is_not() -> None:
    program = testbed.assemble(
        "x86_64",
        """
_start:
    call leaf
    mov edi, 0
    mov eax, 60
    syscall
leaf:
    push rbx
    mov qword ptr [rsp - 8], 7
    pop rbx
    ret
""",
    )
    ran = testbed.run(program)
    entry = ran.step_at("leaf")
    used = next(word for word in draw_stack(ran, entry + 2).words if word.value == 7)
    assert used.kind is WordKind.RED_ZONE
    back = entry + 4
    below = [word for word in draw_stack(ran, back).words if word.address < int(ran.trace.sp[back])]
    assert {word.kind for word in below} == {WordKind.BELOW}


def test_a_limit_leaves_the_far_end_out() -> None:
    run = testbed.run("recursion", arch="arm64")
    step = run.step_at("bottom")
    whole, part = draw_stack(run, step), draw_stack(run, step).nearest(5)
    assert part.words == whole.words[:5]
    assert part.left_out == len(whole.words) - 1 - 5  # the edge is no word


def test_changed_registers_are_those_of_the_step_before() -> None:
    run = testbed.run("leaf_call", arch="arm64")
    step = run.step_at("leaf+0x8")
    assert [name for name, _, _ in changed_registers(run, step)] == ["x29"]
    assert changed_registers(run, 0) == ()


def test_a_frame_pointer_of_zero_is_that_of_the_instruction_set_in_force() -> None:
    for recipe, register in (("keystone", "r11"), ("keystone-thumb", "r7")):
        run = testbed.run("leaf_call", arch="arm32", recipe=recipe)
        word = at(run, "main+0x4" if register == "r11" else "main+0x2")[-8]
        assert (word.kind, word.register, word.value) == (WordKind.SAVED_FP, register, 0)


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


def test_what_a_handler_saves_is_the_interrupted_codes() -> None:
    """A handler finds what the kernel left alone: its push of rbp keeps the interrupted function's, told by name."""
    run = testbed.run("signal_alternate", arch="x86_64")
    step = run.step_at("on_second") + 1
    word = next(word for word in draw_stack(run, step).words if "SP" in word.marks)
    assert (word.kind, word.saved_of) == (WordKind.SAVED_FP, run.truth(step).frames[2].activation)
    assert word.label == "rbp of count"
    kernels = testbed.run("signal_alternate", arch="arm64")  # there it makes x29 lead to a record in its frame
    saved = at(kernels, "on_signal+0x4")[-16]
    assert saved.label == "x29 of give_back"
    drawn = draw_stack(run, step)
    assert drawn.elsewhere
    assert not {word.kind for word in drawn.words} & {WordKind.LOCAL, WordKind.RED_ZONE}


def test_the_interrupted_functions_red_zone_is_told_above_the_signals_frame() -> None:
    run = testbed.run("signal_bare", arch="x86_64")
    signal = next(activation for activation in run.watched.activations if activation.signal)
    words = {word.address: word for word in draw_stack(run, signal.opened).words}
    assert signal.cfa is not None
    zone = [words[address] for address in range(signal.cfa - 128, signal.cfa, 8)]
    assert {word.owner for word in zone} == {signal.parent}
    assert words[signal.cfa - 136].owner == signal.index


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
