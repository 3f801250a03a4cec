"""A recorded run as a target of gdb, asked by hand."""

from functools import cache
from xml.etree import ElementTree

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.remote import Replay, ShownSnapshot
from testbed.remote.gdb_targets import GDB_TARGETS
from testbed.remote.snapshot_target import description, layout
from testbed.runs.run import Run, run_program

ARCH_NAMES = tuple(ARCHES)


@cache
def run_of(arch: str, program: str = "leaf_call") -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], "clang-asm")


def replay(arch: str, location: str = "@0") -> Replay:
    run = run_of(arch)
    return Replay(run.trace, run.step_at(location))


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_the_description_names_the_registers_of_the_g_packet(arch: str) -> None:
    target = ElementTree.fromstring(description(ARCHES[arch]))
    sizes = [int(register.attrib["bitsize"]) // 8 for register in target.iter("reg")]
    assert sizes == [size for _, size in layout(ARCHES[arch])]
    known = {name for name, _ in layout(ARCHES[arch]) if name}
    masks = GDB_TARGETS[arch].masks
    assert known == {*ARCHES[arch].by_name, *masks}  # whatever is recorded is shown


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_registers_are_those_of_the_snapshot(arch: str) -> None:
    run = run_of(arch)
    snapshot = run.at("leaf")
    said = ShownSnapshot(snapshot).answer("g")
    assert said is not None
    at = 0
    for number, (name, size) in enumerate(layout(run.arch)):
        digits = said[at : at + 2 * size]
        at += 2 * size
        assert ShownSnapshot(snapshot).answer(f"p{number:x}") == digits
        masked = name in GDB_TARGETS[run.arch.name].masks
        value = snapshot.pac_mask if masked else snapshot.registers.get(name or "")
        if value is None:
            assert digits == "xx" * size
        else:
            assert int.from_bytes(bytes.fromhex(digits), "little") == value & ((1 << 8 * size) - 1)
    assert at == len(said)
    assert ShownSnapshot(snapshot).answer("pfff") == "E01"


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_memory_is_that_of_the_step_and_ends_where_the_mapping_does(arch: str) -> None:
    run = run_of(arch)
    first, later = ShownSnapshot(run[0]), ShownSnapshot(run.at("leaf+0x4"))
    sp = later.snapshot.sp
    assert later.answer(f"m{sp:x},20") == later.snapshot.memory.read(sp, 32).hex()
    assert first.answer(f"m{sp:x},20") == run[0].memory.read(sp, 32).hex() != later.answer(f"m{sp:x},20")
    top = later.snapshot.memory.mapped_until(sp)
    assert later.answer(f"m{top - 4:x},40") == later.snapshot.memory.read(top - 4, 4).hex()
    assert later.answer("m0,8") == "E01"


def test_a_description_is_sent_in_parts() -> None:
    target = replay("x86_64")
    text, start = "", 0
    while True:
        part = target.answer(f"qXfer:features:read:target.xml:{start:x},100")
        assert part is not None and part[0] in "ml"
        text += part[1:]
        start += 0x100
        if part[0] == "l":
            break
    assert text == description(ARCHES["x86_64"])


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_steps_go_forward_and_back_to_the_recordings_ends(arch: str) -> None:
    target = replay(arch)
    steps = len(target.trace)
    assert target.answer("bs") == "T05replaylog:begin;" and target.step == 0
    for k in range(1, steps):
        assert target.answer("vCont;s:1;c" if k % 2 else "s") == "T05"
        assert target.step == k
    assert target.answer("s") == "T05replaylog:end;" and target.step == steps - 1
    for k in reversed(range(steps - 1)):
        assert target.answer("bs") == "T05" and target.step == k


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_breakpoints_stop_a_run_in_both_directions(arch: str) -> None:
    run = run_of(arch)
    leaf = run.step_at("leaf")
    address = int(run.trace.pc[leaf])
    target = replay(arch)
    assert target.answer(f"Z0,{address:x},4") == "OK"
    assert target.answer("vCont;c") == "T05swbreak:;" and target.step == leaf
    assert target.answer("c") == "T05replaylog:end;" and target.step == len(run) - 1
    assert target.answer("bc") == "T05swbreak:;" and target.step == leaf
    assert target.answer("bc") == "T05replaylog:begin;" and target.step == 0
    assert target.answer(f"z0,{address:x},4") == "OK"
    assert target.answer(f"Z1,{address:x},4") == "OK"
    assert target.answer("c") == "T05hwbreak:;" and target.step == leaf


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_a_watched_word_stops_behind_its_write_and_backward_before_it(arch: str) -> None:
    run = run_of(arch)
    i = len(run.trace.writes) - 1
    step, address = int(run.trace.writes.step[i]), int(run.trace.writes.address[i])
    earlier = [int(run.trace.writes.step[j]) for j in range(i) if int(run.trace.writes.address[j]) == address]
    target = replay(arch, f"@{step}")
    assert target.answer(f"Z2,{address:x},4") == "OK"
    assert target.answer("c") == f"T05watch:{address:x};" and target.step == step + 1
    assert target.answer("bc") == f"T05watch:{address:x};" and target.step == step
    assert target.answer("bc") == (f"T05watch:{address:x};" if earlier else "T05replaylog:begin;")
    assert target.answer(f"Z3,{address:x},4") == ""  # reads are not recorded


def test_the_past_cannot_be_changed_and_says_so() -> None:
    target = replay("arm64")
    before = target.answer("g")
    for request in ("G00", "P0=00", "M1000,1:00", "X1000,0:"):
        assert target.answer(request) == "E.a recorded run cannot be changed"
    assert target.answer("g") == before


def test_a_monitor_command_says_where_this_is() -> None:
    target = replay("arm64", "@3")
    said = target.answer("qRcmd," + b"step".hex())
    assert bytes.fromhex(said or "").decode() == f"step @3 of @0 to @{len(target.trace) - 1}\n"
    assert b"monitor step" in bytes.fromhex(target.answer("qRcmd," + b"help".hex()) or "")
    assert target.answer("qRcmd,zz") == "E01"


def test_what_is_not_known_is_answered_by_nothing_and_the_end_by_none() -> None:
    target = replay("arm64")
    assert target.answer("vMustReplyEmpty") == ""
    assert target.answer("qSupported:xmlRegisters=i386") != ""
    assert target.answer("k") is None and target.answer("D") is None


HUGE = "f" * 16
ODD = (
    f"Z2,{HUGE},1",
    f"Z2,{HUGE},{HUGE}",
    f"Z0,{'f' * 40},1",
    "Z2,-1,1",
    f"m{HUGE},{HUGE}",
    f"m{'f' * 400},1",
    "m-1,4",
    "m0,0",
    f"p{HUGE}",
    f"qXfer:features:read:target.xml:{HUGE},{HUGE}",
    "qRcmd,zz",
    "qRcmd,ff",
    "vCont;s:p-1.-1",
    "x" * 10_000,
    "\xff\0",
)


@pytest.mark.parametrize("request_", ODD, ids=lambda text: text[:20].encode("unicode_escape").decode())
def test_an_odd_request_has_an_answer_and_the_run_goes_on(request_: str) -> None:
    target = replay("x86_64")
    assert isinstance(target.answer(request_), str)
    assert target.answer("c") is not None
    assert isinstance(target.answer("bc"), str)
    assert isinstance(target.answer("g"), str)
