"""Random bytes in `.sframe`: it is read, or it is a typed error inside the section; it never runs away."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from testbed.contract.frames import Backtrace
from testbed.contract.rows import RowTable
from testbed.image import LoadedImage
from testbed.words.errors import MalformedTable, UnsupportedRule
from tests.unwinders.frames import START, X86_64, snapshot
from tests.unwinders.mutations import mutated
from tests.unwinders.sframes import fre, made, section
from unwinders.formats.sframe import MAX_ROWS, sframe_table
from unwinders.rows.walk import MAX_FRAMES
from unwinders.tables.sframe import SFRAME

MUTATIONS = 1500
VERSIONS = (1, 2, 3)


def sound_section(version: int, *, masked: bool) -> bytes:
    """Three functions with rows of every kind that the version has."""
    plain = [fre(0, 8), fre(1, 16, -16), fre(4, 300, -16, size=2), fre(9, 16, -16, base=0, size=4)]
    root = [fre(0)] if version > 1 else [fre(0, 8)]
    functions = [(START, 0x40, plain), (START + 0x40, 0x60, plain[:2]), (START + 0x100, 0x20, root)]
    flags = 5 if version > 1 else 1
    return section(*functions, version=version, flags=flags, info=0x10 if masked else 0, block=16 if version > 1 else 0)


def result(content: bytes) -> RowTable | MalformedTable | UnsupportedRule:
    try:
        return sframe_table(made(content))
    except (MalformedTable, UnsupportedRule) as error:
        return error


def mutations(seed: int, count: int) -> Iterator[tuple[bytes, RowTable | MalformedTable | UnsupportedRule]]:
    random = Random(seed)
    for _ in range(count):
        version, masked = random.choice(VERSIONS), random.random() < 0.3
        content = mutated(sound_section(version, masked=masked), random)
        yield content, result(content)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("masked", [False, True])
def test_the_sections_that_are_mutated_are_sound(version: int, masked: bool) -> None:
    table = result(sound_section(version, masked=masked))
    assert isinstance(table, RowTable), table
    assert len(table) >= 6


@pytest.mark.parametrize("seed", range(3))
def test_a_mutated_section_is_read_or_malformed(seed: int) -> None:
    sound = malformed = 0
    for content, said in mutations(seed, MUTATIONS):
        if isinstance(said, MalformedTable):
            malformed += 1
            assert said.section == ".sframe"
            assert 0 <= said.offset <= len(content)
        elif isinstance(said, RowTable):
            sound += 1
            assert len(said) <= MAX_ROWS
            for left, right in zip(said.rows, said.rows[1:], strict=False):
                assert left.start < left.end <= right.start < right.end
    assert min(sound, malformed) > MUTATIONS // 10, "both must be exercised"


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_behind_a_sound_header_are_read_or_malformed(seed: int) -> None:
    random = Random(seed)
    for _ in range(1000):
        whole = sound_section(random.choice(VERSIONS), masked=False)
        kept = random.randint(0, 28)
        said = result(whole[:kept] + random.randbytes(len(whole) - kept))
        assert isinstance(said, RowTable | MalformedTable | UnsupportedRule)


def test_mutated_rows_give_an_answer_at_every_pc() -> None:
    """Whatever a table says, applying it ends: a caller, the root, or an UnwindError kept as the reason."""
    stack = [(0x8000, bytes(range(256)) * 4)]
    values = {register.name: 0x8000 + 8 * i for i, register in enumerate(X86_64.registers)}
    reasons = set()
    for content, said in mutations(99, 300):
        if not isinstance(said, RowTable):
            continue
        loaded = [LoadedImage(made(content))]
        for row in said.rows[:8]:
            at = snapshot(X86_64, values | {"rip": row.start, "rsp": 0x8000}, stack, loaded)
            backtrace: Backtrace = SFRAME.unwind(at)
            assert 1 <= len(backtrace.frames) <= MAX_FRAMES
            reasons.add(type(backtrace.stopped).__name__)
    assert {"NoUnwindInfo", "UnreadableMemory"} <= reasons
