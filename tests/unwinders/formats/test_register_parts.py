"""Rules about halves of registers: GCC's numbers for d8 to d15 on arm32, and rows that say d8."""

import pytest

from testbed.arch import ARCHES
from testbed.contract.rows import AtRegister, Offset, Rule, SameValue, Undefined
from tests.unwinders.frames import ARM32, rows, sleb, uleb
from unwinders.formats.cfi_rows import WholeRegisters, register_name

DEF_CFA = b"\x0c\x0d\x00"  # sp + 0
S16 = 80  # the older numbers of AADWARF32: s0 is 64


def at_cfa(number: int, offset: int) -> bytes:
    """DW_CFA_offset_extended_sf, in units of -4 bytes."""
    return b"\x11" + uleb(number) + sleb(offset // -4)


# instructions, and what the last row says of registers
HALVES: list[tuple[bytes, dict[str, Rule]]] = [
    # GCC's two halves are one register; the current number of the whole one says the same
    *(
        (instructions, {f"d{register}": Offset(-16)})
        for register in range(8, 16)
        for low in [S16 + 2 * (register - 8)]
        for instructions in (
            at_cfa(low, -16) + at_cfa(low + 1, -12),
            at_cfa(low + 1, -12) + at_cfa(low, -16),
            at_cfa(256 + register, -16),
        )
    ),
    # what cannot be put together is unknown, and never unchanged
    *(
        (halves, {"d8": whole})
        for halves, whole in (
            (at_cfa(80, -16), Undefined()),  # the other half was not saved: together they are no value of the caller's
            (at_cfa(81, -16), Undefined()),
            (at_cfa(80, -12) + at_cfa(81, -16), Undefined()),  # the wrong way round
            (at_cfa(80, -16) + at_cfa(81, -8), Undefined()),
            (b"\x07\x50\x07\x51", Undefined()),
            (b"\x07\x50", Undefined()),
            (b"\x08\x50\x08\x51", SameValue()),
            (b"\x08\x51", SameValue()),
            (at_cfa(80, -16) + b"\x08\x51", Undefined()),
            (at_cfa(80, -16) + at_cfa(81, -12) + at_cfa(264, -16), Undefined()),  # said twice
        )
    ),
    (at_cfa(80, -16) + at_cfa(81, -12) + b"\x44\x06\x50\x06\x51", {}),  # both halves restored
    # registers that nobody records keep their number: s0 to s15 are d0 to d7, a call may change them
    (at_cfa(64, -16) + at_cfa(65, -12), {"dwarf64": Offset(-16), "dwarf65": Offset(-12)}),
]


@pytest.mark.whole
@pytest.mark.parametrize(("instructions", "rules"), HALVES)
def test_halves_are_put_together_to_registers(instructions: bytes, rules: dict[str, Rule]) -> None:
    assert dict(rows(instructions, DEF_CFA, arch=ARM32, data=-4, ra=14)[-1].registers) == rules


def test_halves_may_be_counted_from_another_register() -> None:
    rules = {"s18": AtRegister("r7", 8), "s19": AtRegister("r7", 12), "r4": Offset(-4)}
    assert WholeRegisters(ARM32).of(rules) == {"r4": Offset(-4), "d9": AtRegister("r7", 8)}


def test_rows_that_share_their_rules_still_do() -> None:
    whole, rules = WholeRegisters(ARM32), {"s16": Offset(-16), "s17": Offset(-12)}
    assert whole.of(rules) is whole.of(rules)
    plain = {"r4": Offset(-4)}
    assert whole.of(plain) is plain


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_parts_are_of_recorded_registers_and_cover_them(arch) -> None:  # type: ignore[no-untyped-def]
    by_whole: dict[str, list[tuple[int, int]]] = {}
    for number, part in arch.parts.items():
        assert number not in arch.by_dwarf
        assert part.name not in arch.by_name
        assert register_name(arch, number) == part.name
        by_whole.setdefault(part.whole, []).append((part.first_bit, part.bits))
    for whole, parts in by_whole.items():
        covered = [bit for first, bits in sorted(parts) for bit in range(first, first + bits)]
        assert covered == list(range(arch.by_name[whole].bits))
