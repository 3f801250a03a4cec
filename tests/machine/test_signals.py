"""Signals that arrive, and signatures of return addresses."""

from dataclasses import replace
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.conventions import platform
from testbed.image import Image, LoadedImage
from testbed.machine import record, record_light, start_machine
from testbed.machine.recording import record_native
from testbed.machine.signals import ALTERNATE_SIZE, alternate_top
from testbed.machine.start import load, new_engine
from testbed.machine.stops import Fault
from testbed.machine.unicorn_arches import UNICORN
from testbed.report.step_view import listing
from testbed.runs.run import Run, judge, judge_all, run_program
from testbed.trace import Exited, Snapshot, Trace
from testbed.truth import observe
from testbed.words.errors import EmulationError, UsageError
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from tests.machine.snippets import image_of
from unwinders import UNWINDERS

EVERYWHERE = [("x86_64", "keystone"), ("arm64", "keystone"), ("arm32", "keystone"), ("arm32", "keystone-thumb")]
TABLE = {"x86_64": "eh_frame", "arm64": "eh_frame", "arm32": "debug_frame"}
everywhere = pytest.mark.parametrize(("arch", "recipe"), EVERYWHERE)


@cache
def ran(program: str, arch: str, recipe: str) -> Run:
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    assert run.failure == ""
    return run


def arrivals(run: Run) -> list[int]:
    """The steps that a signal interrupted."""
    return [step for step in range(len(run)) if run.trace.interrupted(step)]


def word(at: Snapshot, offset: int, size: int = 0) -> int:
    """What lies at an offset from SP."""
    return at.memory.unsigned(at.sp + offset, size or at.arch.word)


@everywhere
def test_a_signal_arrives_where_the_header_says_and_nothing_is_lost(arch: str, recipe: str) -> None:
    run = ran("signal", arch, recipe)
    steps = arrivals(run)
    assert [run.trace.pc[s] for s in steps] == [run.at(f"leaf{at}").pc for at in ("", "_linking", "_body", "_popped")]
    assert len(run.trace.resumed) == len(steps) == 4
    for interrupted, resumed in zip(steps, run.trace.resumed, strict=True):
        assert run.trace.registers[interrupted].tolist() == run.trace.registers[resumed].tolist()
        assert run.function(int(run.trace.pc[interrupted + 1])) == "on_signal"


# Offsets from SP at the handler's first instruction, computed by hand from the kernel's headers: siginfo's first word,
# and in struct sigcontext the stack pointer and the program counter.
LAYOUT = {"x86_64": (8 + 304, 8 + 40 + 15 * 8, 8 + 40 + 16 * 8), "arm64": (0, 128 + 176 + 256, 128 + 176 + 264)}
LAYOUT["arm32"] = (0, 128 + 20 + 12 + 13 * 4, 128 + 20 + 12 + 15 * 4)


@everywhere
def test_the_frame_is_laid_out_as_the_kernel_lays_it_out(arch: str, recipe: str) -> None:
    run = ran("signal", arch, recipe)
    for step in arrivals(run):
        before, handler = run[step], run[step + 1]
        number, sp, pc = LAYOUT[arch]
        assert word(handler, number, 4) == 11
        assert (word(handler, sp), word(handler, pc)) == (before.sp, before.pc)
        assert handler.sp < before.sp - run.arch.signal_frame.red_zone
        assert (handler.sp + run.arch.entry_cfa) % platform(run.arch).stack_alignment == 0
        for name in platform(run.arch).preserved:
            if name != "x29":
                assert handler.registers[name] == before.registers[name], "a handler gets what was there"


@pytest.mark.parametrize("recipe", ["keystone", "clang-asm"])
def test_the_kernel_keeps_the_extended_state_below_the_red_zone(recipe: str) -> None:
    """The psABI lets a leaf use 128 bytes below SP; `fpstate`, which the kernel fills, ends below them."""
    run = ran("signal", "x86_64", recipe)
    extended = run.arch.signal_frame.extended
    assert extended is not None and extended.size >= 512
    for step in arrivals(run):
        fpstate = word(run[step + 1], 8 + 40 + 23 * 8)
        assert fpstate % 64 == 0
        assert run[step].sp - 128 - extended.size - 64 < fpstate <= run[step].sp - 128 - extended.size


def test_the_kernel_of_arm64_makes_a_frame_record_of_the_interrupted_state() -> None:
    run = ran("signal", "arm64", "keystone")
    for step in arrivals(run):
        before, handler = run[step].registers, run[step + 1]
        pointer = handler.registers["x29"]
        record = [handler.memory.unsigned(pointer + offset, 8) for offset in (0, 8)]
        assert record == [before["x29"], before["x30"]]


@everywhere
@pytest.mark.parametrize("program", ["signal", "signal_nested", "signal_alternate"])
def test_tables_that_mark_the_trampoline_are_exact_everywhere(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    verdicts = judge_all(run, UNWINDERS[TABLE[arch]])
    assert [run.where(int(run.trace.pc[s])) for s, v in enumerate(verdicts) if not v.exact] == []
    assert sum(Trait.SIGNAL in run.words(step) for step in range(len(run))) > 10


@everywhere
def test_the_interrupted_frame_has_every_register_of_the_interrupted_state(arch: str, recipe: str) -> None:
    run = ran("signal", arch, recipe)
    step = arrivals(run)[1]
    frames = run.truth(step + 1).frames
    assert run.frame_names(frames)[:3] == ("on_signal", "give_back", "leaf")
    assert [frame.calling for frame in frames[:3]] == [False, False, False]
    assert frames[1].cfa == run[step].sp
    assert dict(frames[2].registers) == dict(run[step].registers)


def test_a_false_register_of_an_interrupted_frame_is_a_lie_even_where_a_call_would_not_preserve_it() -> None:
    run = ran("signal", "x86_64", "keystone")
    step = arrivals(run)[1] + 1
    said = UNWINDERS["eh_frame"].unwind(run[step])
    assert judge(run, step, said).exact
    leaf = said.frames[2]
    changed = replace(leaf, registers={**leaf.registers, "rdi": leaf.registers["rdi"] ^ 1})
    verdict = judge(run, step, replace(said, frames=(*said.frames[:2], changed, *said.frames[3:])))
    assert (verdict.outcome, "rdi" in verdict.difference) == (Outcome.WRONG_REGISTER, True)


@everywhere
def test_an_alternate_stack_is_used_and_kept_by_a_second_signal(arch: str, recipe: str) -> None:
    run = ran("signal_alternate", arch, recipe)
    top = alternate_top(run.arch)
    first, second = (run[step + 1].sp for step in arrivals(run))
    assert top - ALTERNATE_SIZE < second < first < top
    assert not top - ALTERNATE_SIZE < run.at("leaf").sp <= top


@everywhere
def test_a_call_through_a_null_pointer_is_a_frame_with_a_caller(arch: str, recipe: str) -> None:
    run = ran("null_call", arch, recipe)
    (step,) = arrivals(run)
    null = run.truth(step)
    assert null.pcs[0] == 0
    assert run.frame_names(null.frames)[1:] == ("work", "main", "_start")
    assert null.frames[1].pc == run.at("work_back").pc
    assert Trait.NO_CODE in run.words(step)
    handler = run.truth(step + 1)
    assert handler.pcs[2:] == null.pcs
    for name in ("eh_frame", "eh_frame_hdr", "debug_frame"):
        if UNWINDERS[name].applies_to(run.built.image):
            said = UNWINDERS[name].unwind(run[step + 1])
            assert [frame.pc for frame in said.frames] == list(handler.pcs[:3])
            assert said.stopped is not None, "a pc of zero that was interrupted is not the end of the stack"


def test_each_fault_is_caught_once() -> None:
    """The handler of the only declared fault does not repair it: the second one ends the run."""
    run = ran("null_call", "x86_64", "keystone")
    (signal,) = run.built.source.header.signals
    trace = record(run.built.image, signals=[signal])
    assert trace.end == Exited(16)
    assert record(run.built.image).end != Exited(16), "without the signal the call through null is an error"


def test_a_signal_to_a_label_that_is_not_there_is_an_error() -> None:
    run = ran("signal", "x86_64", "keystone")
    (signal, *_) = run.built.source.header.signals
    bad = type(signal)(signal.location, 1, "nobody", signal.restorer, False, 1)
    with pytest.raises(UsageError, match="no symbol 'nobody'"):
        record(run.built.image, signals=[bad])


def test_code_that_only_a_signal_reached_is_listed_once_and_the_listing_ends() -> None:
    """A signal is a step without an instruction: its pc is listed by the step that executes it, if one does."""
    run = ran("signal_nested", "arm64", "keystone")
    lines = listing(run).lines
    assert [line.pc for line in lines] == sorted({line.pc for line in lines})
    assert all(line.size for line in lines)
    assert {run.trace.pc[s] for s in arrivals(run)} <= {line.pc for line in lines}
    assert not any("signal arrives" in line.text for line in lines if line.executed and line.function)


# The signing core: return addresses get signatures, keys and modifiers count, and the usual core does nothing.


ARM64 = ARCHES["arm64"]
FRAME = """
fn main
    paciasp
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl leaf
    ldp x29, x30, [sp], #16
back:
    autiasp
plain:
    ret
fn leaf
    pacibsp
inside:
    mov w0, #42
    autibsp
    ret
"""


def signing(body: str) -> Trace:
    return record(image_of("arm64", body), cpu="signing")


def links(trace: Trace) -> dict[str, int]:
    """The link register at each label."""
    image = trace.images[0].image
    symbols = {symbol.address: symbol.name for symbol in image.symbols}
    column = trace.column("x30").tolist()
    return {symbols[pc]: link for pc, link in zip(trace.pc.tolist(), column, strict=True) if pc in symbols}


def test_signing_changes_the_upper_bits_and_authenticating_gives_them_back() -> None:
    at = links(signing(FRAME))
    for entry, signed in (("main", "back"), ("leaf", "inside")):
        changed = at[entry] ^ at[signed]
        assert changed
        assert changed & ~ARM64.signature == 0
        assert ARM64.without_signature(at[signed]) == at[entry]
    assert at["plain"] == at["main"]


def test_the_program_runs_to_its_end_with_signatures_and_without() -> None:
    image = image_of("arm64", FRAME)
    assert record(image, cpu="signing").end == record(image).end == Exited(42)
    usual = links(record(image))
    assert usual["back"] == usual["main"] and usual["inside"] == usual["leaf"]


def test_the_two_keys_sign_differently_and_so_do_two_stack_pointers() -> None:
    text = "fn main\n mov x9, x30\n mov x10, #1\n {}\nsigned:\n mov x30, x9\n mov w0, #42\n ret\n"
    key_a, key_b = (links(signing(text.format(sign)))["signed"] for sign in ("paciasp", "pacibsp"))
    deeper = links(signing(text.format("sub sp, sp, #16\n paciasp\n add sp, sp, #16")))["signed"]
    assert len({key_a, key_b, deeper}) == 3


def test_signatures_are_the_same_in_every_run() -> None:
    first, second = (record(image_of("arm64", FRAME), seed=seed, cpu="signing") for seed in (1, 2))
    assert links(first) == links(second)


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("another key", "paciasp\n autibsp"),
        ("another stack pointer", "paciasp\n sub sp, sp, #16\n autiasp"),
        ("another address", "paciasp\n add x30, x30, #4\n autiasp"),
        ("no signature", "nop\n autiasp"),
    ],
)
def test_what_was_signed_otherwise_is_noticed(what: str, code: str) -> None:
    """Authentication leaves an address that is none; the run ends where it is jumped to."""
    trace = signing(f"fn main\n {code}\nreturning:\n ret\n")
    broken = links(trace)["returning"]
    assert broken & ARM64.signature, what
    assert isinstance(trace.end, EmulationError)
    assert trace.end.pc == broken
    assert int(trace.pc[-1]) == trace.images[0].image.symbol_named("returning").address  # type: ignore[union-attr]


def test_a_combined_return_authenticates_too() -> None:
    good = "fn main\n pacibsp\n mov w0, #42\n retab\n"
    bad = good.replace("retab", "retaa")
    march = ".arch armv8.3-a\n"
    assert signing(march + good).end == Exited(42)
    end = signing(march + bad).end
    assert isinstance(end, EmulationError) and end.pc is not None
    assert ARM64.without_signature(end.pc) != end.pc


def test_the_keys_of_the_machine_decide() -> None:
    usual = UNICORN["arm64"].cpus["signing"]
    other = replace(
        usual, system=tuple((at, keep, bits ^ (0xFF if keep == 0 else 0)) for at, keep, bits in usual.system)
    )
    signatures = set()
    for cpu in (usual, other):
        uc = new_engine(ARM64, cpu)
        uc.mem_map(0x1000, 0x1000)
        uc.mem_write(0x1000, bytes.fromhex("3f2303d5"))  # paciasp
        uc.reg_write(UNICORN["arm64"].registers["x30"], 0x1004)
        uc.emu_start(0x1000, 0x1004)
        signatures.add(uc.reg_read(UNICORN["arm64"].registers["x30"]))
    assert len(signatures) == 2


def test_both_recorders_write_the_same() -> None:
    image: Image = image_of("arm64", FRAME)
    light, native = (
        recorder(start_machine(load(image), seed=1, cpu="signing"), 1000) for recorder in (record_light, record_native)
    )
    assert not isinstance(light.ending, Fault)
    assert light.registers.tolist() == native.registers.tolist()


def test_an_architecture_without_the_model_has_its_usual_one() -> None:
    for arch in ARCHES.values():
        assert bool(arch.signature) == ("signing" in arch.cpus)
    image = image_of("x86_64", "fn main\n mov eax, 42\n ret\n")
    assert record(LoadedImage(image), cpu="signing").end == Exited(42)


def test_the_truth_closes_an_activation_however_it_authenticates() -> None:
    trace = signing(FRAME)
    truth = observe(trace)
    names = [trace.images[0].image.function_at(int(pc)).name for pc in trace.pc]  # type: ignore[union-attr]
    depth = {"_start": 1, "main": 2, "leaf": 3}
    assert [len(truth.stack(step)) for step in range(len(trace))] == [depth[name] for name in names]
