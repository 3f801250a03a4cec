"""What the tables say of instructions, held against what they did: in a part of the corpus, at every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import build_unit, units
from testbed.machine import record
from testbed.trace import Trace
from testbed.witness.carry import Instructions, effect_of
from testbed.witness.passage import Flow, MemoryWord, Passage, holds
from tests.witness.witnessed import recorded

PLANNED = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
SAMPLE = [unit for unit in PLANNED if unit.program in ("cxx_cleanups", "big_frame", "overaligned", "tail_branches")][
    ::5
]


def executed(trace: Trace) -> Iterator[tuple[int, list[int], list[int], Passage]]:
    """(step, registers before, registers after, passage) of every instruction that was executed to its end."""
    instructions = Instructions(trace)
    resumed = frozenset(trace.resumed)
    rows = trace.registers.tolist()
    flags = trace.arch.index[trace.arch.flags]
    for step in range(len(trace) - 1):
        size = int(trace.sizes[step])
        if not size or step + 1 in resumed:
            continue
        passage = instructions.at(step, int(trace.pc[step]), size, trace.isa(step))
        if passage.condition is None or holds(passage.condition, rows[step][flags]):
            yield step, rows[step], rows[step + 1], passage


def unknown_writes(trace: Trace) -> Counter[str]:
    """Registers that changed though nothing says that the instruction writes them.

    What a register has to do with its own address (``[x1], #8``) leaves it what it is, so those are not told.
    """
    arch = trace.arch
    found: Counter[str] = Counter()
    untold = {arch.pc, arch.sp, arch.flags, arch.link}
    for step, before, after, passage in executed(trace):
        told = {spot for spot, _ in passage.moves if isinstance(spot, str)}
        for name, old, new in zip(arch.index, before, after, strict=True):
            if old != new and name not in untold and name not in told and not _updated(passage, arch.index[name]):
                found[f"{name} at step {step}"] += 1
    return found


def _updated(passage: Passage, column: int) -> bool:
    words = [spot for move in passage.moves for spot in (move[0], *move[1]) if isinstance(spot, MemoryWord)]
    return any(word.base == column for word in words)


def wrong_addresses(trace: Trace) -> tuple[int, list[str]]:
    """How many words were loaded or stored, and those whose address turned out to be another one."""
    arch, wrong, count = trace.arch, list[str](), 0
    for step, before, after, passage in executed(trace):
        for to, sources in passage.moves:
            if len(sources) != 1 or passage.flow is not Flow.NEXT:
                continue
            source = sources[0]
            if isinstance(to, str) and isinstance(source, MemoryWord) and _whole(arch.index, to, after, trace):
                held = trace.memory(step).unsigned(source.address(before) & arch.word_mask, arch.word)
                value = after[arch.index[to]]
            elif isinstance(to, MemoryWord) and isinstance(source, str) and _whole(arch.index, source, before, trace):
                held = trace.memory(step + 1).unsigned(to.address(before) & arch.word_mask, arch.word)
                value = before[arch.index[source]]
            else:
                continue
            count += 1
            if value and held & 0xFF != value & 0xFF:
                wrong.append(f"step {step}: {to} {sources}")
    return count, wrong


def _whole(index: dict[str, int], name: str, row: Sequence[int], trace: Trace) -> bool:
    """A register of one word, and nothing that is computed from a part of it."""
    return name in index and trace.arch.by_name[name].bits == 8 * trace.arch.word and bool(row)


@pytest.mark.parametrize("unit", SAMPLE, ids=str)
def test_the_tables_know_what_is_written_and_where_memory_is(unit: Unit) -> None:
    trace = record(build_unit(unit, PROGRAMS).image)
    assert not unknown_writes(trace)
    count, wrong = wrong_addresses(trace)
    assert count and not wrong


RETURNS_42 = {
    "x86_64": "mov eax, 42\nret",
    "arm64": "mov x0, #42\nret",
    "a32": "mov r0, #42\nbx lr",
    "thumb": "movs r0, #42\nbx lr",
}


@pytest.mark.parametrize(
    ("isa", "code", "written"),
    [
        ("x86_64", "0f05", {"rax", "rcx", "r11"}),
        ("arm64", "010000d4", {"x0"}),
        ("a32", "000000ef", {"r0"}),
        ("thumb", "00df", {"r0"}),
    ],
)
def test_a_system_call_writes_its_result_and_keeps_the_link_register(isa: str, code: str, written: set[str]) -> None:
    trace = recorded(isa, f"fn main\n{RETURNS_42[isa]}\n")
    passage = effect_of(trace, trace.isa(0), bytes.fromhex(code), 0)
    assert passage.flow is Flow.NEXT
    assert {name: sources for name, sources in passage.moves} == dict.fromkeys(written, ())
