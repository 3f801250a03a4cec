"""Every executed address of a unit, named by us and by two independent readers: equal, or different for a known reason.

Both readers get link-time addresses: of a file that was loaded with a slide, the slide taken off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from programs import PROGRAMS
from testbed.build.recipes import RECIPES, Tool
from testbed.campaign.cells import Unit, run_unit
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image, LoadedImage
from testbed.image.debug import debug_info
from testbed.image.demangling import demangled
from testbed.naming.symbolize import Origin, symbolize
from tests.image.debugged import Place, addr2line, llvm_symbolizer

ADDR2LINE, LLVM = "addr2line", "llvm-symbolizer"
SAME = "the same"
# Why a reader may say something else, and which one does.
EXPLAINED = {
    "file without a line": (ADDR2LINE, LLVM, "code without debug information: the reader takes a file from STT_FILE"),
    "assembler's label": (ADDR2LINE, "a name with .L is not for people: we pass over it where code has no other"),
    "nearest label": (LLVM, "LLVM names the outermost function by the nearest symbol, and a label is one, too"),
    "copy of a function": (LLVM, "LLVM keeps the compiler's mark of a copy, `f() (.isra.0)`; we say `f()`"),
    "row without a file": (
        ADDR2LINE,
        "clang's row for a probe's loop has line 0 and no file: addr2line says <unknown>",
    ),
    "indexed range list": (ADDR2LINE, "addr2line loses inlined calls whose ranges are named by index; LLVM has them"),
}


@dataclass
class Compared:
    """Addresses by (reader, :data:`SAME` or a key of EXPLAINED); those without a reason, in words."""

    executed: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def add(self, other: Compared) -> None:
        self.executed += other.executed
        self.counts.update(other.counts)
        self.unexplained += other.unexplained


def named(image: Image, pc: int, bias: int = 0) -> list[Place]:
    """What we say of a link-time address, at the run-time one."""
    frames = symbolize((LoadedImage(image, bias),), [Frame(FrameKind.INTERRUPTED, pc + bias, {})]).frames
    assert all(frame.origin is not Origin.TAIL_CALL for frame in frames)
    return [(f.function, f.line.file, f.line.line) if f.line else (f.function, "", 0) for f in frames]


def compared(unit: Unit) -> Compared:
    """The names at each address that the unit executes, in its image, beside those of the readers."""
    run = run_unit(unit, PROGRAMS)
    loaded = run.loaded
    pcs = sorted({pc - loaded.bias for pc in set(run.trace.pc.tolist()) if loaded.covers(pc)})
    for_binutils = RECIPES[unit.recipe].tool is not Tool.CLANG_MACH_O
    return beside(loaded.image, pcs, (LLVM, ADDR2LINE) if for_binutils else (LLVM,), loaded.bias)


def beside(image: Image, pcs: list[int], readers: Sequence[str] = (LLVM, ADDR2LINE), bias: int = 0) -> Compared:
    """The names at addresses of an image beside those of readers."""
    found = Compared(len(pcs))
    said = {reader: (llvm_symbolizer if reader == LLVM else addr2line)(image, pcs) for reader in readers}
    for i, pc in enumerate(pcs):
        here = named(image, pc, bias)
        for reader, chains in said.items():
            why = SAME if here == chains[i] else _why(reader, image, pc, here, chains[i], said[LLVM][i])
            if why:
                found.counts[reader, why] += 1
            else:
                found.unexplained.append(f"{image.path} at {pc:#x}: {here}, {reader}: {chains[i]}")
    return found


def _why(reader: str, image: Image, pc: int, ours: list[Place], theirs: list[Place], llvm: list[Place]) -> str:
    """The reason of a difference, "" for none."""
    named_alike = [name for name, _, _ in ours] == [name for name, _, _ in theirs]
    if named_alike and debug_info(image).function_at(pc) is None and not theirs[-1][2]:
        return "file without a line"
    if reader == LLVM and ours == [(re.sub(r" \(\.\w+\.\d+\)$", "", name), *place) for name, *place in theirs]:
        return "copy of a function"
    if reader == LLVM:
        return "nearest label" if _by_label(image, pc, ours, theirs) else ""
    if named_alike and {place[1:] for place in theirs} == {("<unknown>", 0)} and not any(ours[-1][1:]):
        return "row without a file"
    if theirs[-1][0].startswith(".L") and len(theirs) == len(ours) == 1 and not theirs[0][2]:
        return "assembler's label"
    lost = len(theirs) < len(ours) and theirs[-1][0] == ours[-1][0] and ".debug_rnglists" in image.sections
    return "indexed range list" if lost and (ours == llvm or _by_label(image, pc, ours, llvm)) else ""


def _by_label(image: Image, pc: int, ours: list[Place], theirs: list[Place]) -> bool:
    """True where nothing differs but the outermost name, and theirs is a symbol nearer to the address."""
    places = [(file if line else "", line) for _, file, line in ours] == [
        (file if line else "", line) for _, file, line in theirs
    ]
    inner = [name for name, _, _ in ours[:-1]] == [name for name, _, _ in theirs[:-1]]
    labels = {demangled(symbol.name) for symbol in image.symbols if symbol.address <= pc and not symbol.is_function}
    return places and inner and theirs[-1][0] in labels
