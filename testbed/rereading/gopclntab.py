"""`.gopclntab`: how far SP has gone down since a function's entry, at each pc, and what Go does at some functions.

The bytes at ``pcsp`` are pairs of LEB128 numbers: the change of SP's distance, as zigzag, from -1 on, and for how many
instructions' smallest sizes it holds; a change of 0 ends them, but for the first. Sources: Go, debug/gosym/pclntab.go
(``step``), runtime/traceback.go (``resolveInternal``, ``next``), internal/abi/symtab.go (the flags of a function).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from testbed.arch import Arch
from testbed.image import Image
from testbed.image.go_functions import GoEntry, GoFunctionTable, function_table, functions, name_at
from testbed.rereading.dwarf import SecondReader
from testbed.rereading.rows import CFA, Lost, NoRow, Plus, SecondRow, SecondRule, Word
from testbed.rereading.table_bytes import TableBytes

_TOP_OF_STACK, _SETS_SP, _IS_ASSEMBLY = 0x01, 0x02, 0x04
_OUTERMOST = (
    "runtime.goexit",
    "runtime.rt0_go",
)  # C, and the start code of older versions for arm64, call the second one
_START_CODE = ("_rt0_amd64", "_rt0_arm64")  # that jumps there
_BY_SIGNAL = ("runtime.sigpanic", "runtime.asyncPreempt", "runtime.debugCallV1", "runtime.debugCallV2")
# Before Go 1.17 a record has no flags.
_SET_SP = (
    *("gogo", "mcall", "morestack", "systemstack", "asmcgocall", "cgocallback", "sigreturn", "clone", "sigtramp"),
    *("walltime1", "nanotime1", "vdsoCall", "jmpdefer"),
)


class _Stretch(NamedTuple):
    """SP is ``down`` bytes below where it was at the entry, from ``start`` on; ``first``: the first that is below."""

    start: int
    down: int
    first: bool


def gopclntab(image: Image) -> SecondReader:
    """The rows of Go's functions: each one holds up to the next one's entry."""
    table, arch = function_table(image.sections), image.arch
    every = sorted(functions(table))
    flagged = any(_flags(table, each) for each in every)
    from_start = any(name_at(table, each.name) in _START_CODE for each in every)
    by_c = not from_start or not any(each.start <= image.entry < each.end for each in every)

    def row_at(pc: int) -> SecondRow | NoRow:
        i = bisect_right(every, pc, key=lambda each: each.start) - 1
        if i < 0 or pc >= every[i].end:
            return NoRow(f"no function of .gopclntab covers {pc:#x}")
        name = name_at(table, every[i].name)
        flags = _flags(table, every[i]) if flagged else _flags_by_name(name)
        stretch = _stretch(table, every[i], pc)
        if stretch is None or stretch.down < 0:
            return NoRow(f"{name} has no frame size at {pc:#x}")
        if name in _OUTERMOST[: 1 if by_c else 2]:
            return SecondRow(arch, every[i].start, every[i].end, every[i].record, None, Lost(), {}, False)
        if flags & _SETS_SP or flags & _TOP_OF_STACK:
            why = "is on a stack of its own" if flags & _TOP_OF_STACK else "sets SP"
            return NoRow(f"{name} {why}, and .gopclntab does not say where its caller's frame is")
        is_assembly = bool(flags & _IS_ASSEMBLY)
        if is_assembly and stretch.down and arch.link is not None and name not in _BY_SIGNAL:
            return NoRow(f"{name} is assembly, which may have left the return address in {arch.link}")
        return _row(arch, every[i], pc, stretch, name, is_assembly)

    return row_at


def _flags_by_name(name: str) -> int:
    package, _, function = name.partition(".")
    if name in (*_OUTERMOST, "runtime.mstart"):
        return _TOP_OF_STACK
    return _SETS_SP if package == "runtime" and function in _SET_SP else 0


def _flags(table: GoFunctionTable, each: GoEntry) -> int:
    """Behind ten fields of four bytes, from Go 1.20 on; before that nine, the first one a pointer up to 1.17."""
    behind = {0xFFFFFFFA: table.word + 32, 0xFFFFFFF0: 36, 0xFFFFFFF1: 40}[table.magic]
    return table.data[each.record + behind + 1]


def _stretch(table: GoFunctionTable, each: GoEntry, pc: int) -> _Stretch | None:
    """What holds at a pc."""
    at = each.record + (table.word if table.wide else 4) + 12
    pcsp = int.from_bytes(table.data[at : at + 4], "little")
    if not pcsp:
        return None
    place = table.tables + pcsp
    pairs = TableBytes(table.data, place, len(table.data))
    here, down, was_below = each.start, -1, False
    while here <= pc:
        change = pairs.leb128()
        if change == 0 and here != each.start:
            return None
        down += change // 2 if change % 2 == 0 else -(change // 2 + 1)
        start, here = here, here + pairs.leb128() * table.data[6]
        if pc < here:
            return _Stretch(start, down, down > 0 and not was_below)
        was_below = was_below or down > 0
    return None


def _row(arch: Arch, each: GoEntry, pc: int, stretch: _Stretch, name: str, is_assembly: bool) -> SecondRow:
    is_pushed, by_signal = arch.link is None, name in _BY_SIGNAL
    cfa = Plus(arch.sp, stretch.down + (arch.word if is_pushed else 0))
    registers: dict[str, SecondRule] = {}
    pointer = arch.frame_pointers[0]
    if not is_assembly:
        kept = not stretch.down or (stretch.first and pc == stretch.start)
        saved = Plus(CFA, -2 * arch.word) if is_pushed else Plus(arch.sp, -arch.word)
        registers[pointer] = Plus(pointer) if kept else Word(saved, arch.word)
    returns: SecondRule = Word(Plus(CFA, -arch.word), arch.word)
    if arch.link is not None:
        returns = Word(Plus(arch.sp), arch.word) if stretch.down else Plus(arch.link)
        if by_signal:  # the handler has put the link register's value there, and SP down by 16
            registers[arch.link], registers[arch.sp] = Word(Plus(CFA), arch.word), Plus(CFA, 16)
    return SecondRow(arch, each.start, each.end, each.record, cfa, returns, registers, False, by_signal)
