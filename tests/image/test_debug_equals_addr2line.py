"""Debug information as addr2line reads it, and damaged."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES, Tool
from testbed.campaign.cells import Unit, run_unit, units
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image, LoadedImage, Section, read_image
from testbed.image.debug import debug_info
from testbed.image.demangling import demangled
from testbed.naming.symbolize import Origin, symbolize
from testbed.words.errors import DebugInfoError, ImageError
from tests.corpus import UNITS, tool
from tests.image.debugged import (
    CELLS,
    DWARF_4,
    MACHINES,
    Place,
    addr2line,
    built,
    built_by_gcc,
    code_of,
    llvm_symbolizer,
)
from tests.image.hand_made import (
    BASE,
    SIZE,
    abstract,
    first_child,
    function,
    image_of,
    inlined,
    inlined_from,
    instance_of,
    unit,
)

ADDR2LINE, LLVM = "addr2line", "llvm-symbolizer"
# Every executed address of a unit, named by us and by two independent readers: equal, or different for a known reason.
#
# Both readers get link-time addresses: of a file that was loaded with a slide, the slide taken off.


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


INLINES = ("inline_chain", "inlined_call", "cxx_names")


def of_every_address(image: Image) -> Compared:
    found = beside(image, code_of(image, image.arch))
    assert found.unexplained == []
    assert debug_info(image).problems == ()
    assert found.counts[ADDR2LINE, SAME] > 20
    return found


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_every_address_of_a_dwarf_5_file(program: str, arch: str, recipe: str) -> None:
    found = of_every_address(built(program, arch, recipe))
    assert not found.counts[ADDR2LINE, "indexed range list"] or program in INLINES


@pytest.mark.parametrize(("program", "arch", "recipe"), [cell for cell in CELLS if cell[2] != "clang-O0"])
def test_every_address_of_a_dwarf_4_file(program: str, arch: str, recipe: str) -> None:
    image = built(program, arch, recipe, DWARF_4)
    of_every_address(image)
    sections = image.sections
    assert ".debug_str_offsets" not in sections and ".debug_rnglists" not in sections, "this must be DWARF 4"


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("program", ["inline_chain", "inlined_call", "tail_branches", "function_pointers"])
def test_every_address_of_what_gcc_made(program: str, arch: str, version: int) -> None:
    """Another producer: other forms, other range lists. addr2line is excused nowhere."""
    found = of_every_address(built_by_gcc(program, arch, version))
    assert {why for reader, why in found.counts if reader == ADDR2LINE} == {SAME}


_DEEP = """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int main(int count, char **words) {
    std::map<std::string, std::vector<int>> found;
    for (int i = 0; i < count; i++) found[words[i]].push_back(i);
    std::vector<std::string> keys;
    for (auto &pair : found) keys.push_back(pair.first);
    std::sort(keys.begin(), keys.end());
    return (int)keys.size();
}
"""


@pytest.mark.parametrize("version", [4, 5])
def test_a_cxx_program_of_real_size_with_deep_inlining(version: int, tmp_path: Path) -> None:
    """From the library's templates: hundreds of inlined calls, ``.cold`` pieces, C++ names.

    Linkers' names are compared: LLVM's demangler, which we use, leaves some that only gcc writes as they are
    (``XsrSt...``), and it spells ``> >`` as ``>>``. binutils 2.40 gives a few lines of DWARF 5 a wrong file
    (line 217 of a file that has 12); LLVM's reader decides.
    """
    compiler = tool("g++", "g++")
    (tmp_path / "deep.cc").write_text(_DEEP)
    subprocess.run([compiler, "-O2", "-g", f"-gdwarf-{version}", "deep.cc", "-o", "deep"], cwd=tmp_path, check=True)
    image = read_image(tmp_path / "deep")
    if image.arch.name not in MACHINES:
        pytest.skip("g++ makes files for another machine")
    pcs = [pc for f in debug_info(image).functions for start, end in f.ranges for pc in range(start, end)][::3]

    def spelled(chain: list[Place]) -> list[Place]:
        return [(demangled(name), file.rpartition("/")[2], line) for name, file, line in chain]

    depths, differing = Counter[int](), 0
    for pc, theirs in zip(pcs, addr2line(image, pcs, readable=False), strict=True):
        here = named(image, pc)
        if spelled(here) != spelled(theirs):
            [other] = llvm_symbolizer(image, [pc])
            assert [(file, line) for _, file, line in here] == [(file, line) for _, file, line in other], hex(pc)
            assert [name for name, _, _ in spelled(here)] == [name for name, _, _ in spelled(theirs)]
            differing += 1
        depths[len(here)] += 1
    assert differing < len(pcs) // 100
    assert version == 5 or not differing
    assert max(depths) > 8
    assert sum(count for depth, count in depths.items() if depth > 3) > 300
    assert any(".cold" in symbol.name for symbol in image.symbols)


def compressed(image: Image, folder: Path) -> Path:
    out = folder / "squeezed"
    command = [tool("objcopy", "binutils"), "--compress-debug-sections=zlib-gabi", image.path, out]
    subprocess.run(command, check=True)
    return out


def test_compressed_sections_say_the_same(tmp_path: Path) -> None:
    image = built("inline_chain", "x86_64", "clang-O2", DWARF_4)
    path = compressed(image, tmp_path)
    assert path.stat().st_size < image.path.stat().st_size
    small = read_image(path)
    pcs = code_of(image, image.arch)
    assert [named(small, pc) for pc in pcs] == [named(image, pc) for pc in pcs]


def test_a_damaged_compressed_section_is_one_typed_error(tmp_path: Path) -> None:
    path = compressed(built("inline_chain", "x86_64", "clang-O2", DWARF_4), tmp_path)
    with path.open("rb") as stream:
        where = ELFFile(stream).get_section_by_name(".debug_info")["sh_offset"]
    content = bytearray(path.read_bytes())
    content[where + 24 : where + 40] = b"\xff" * 16  # behind the header of 24 bytes
    path.write_bytes(content)
    with pytest.raises(ImageError, match="squeezed: at offset"):
        read_image(path)


# Damaged debug information: a typed error or a missing name, never a wrong one, never a hang.


SECTIONS = (
    *(".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_str_offsets"),
    *(".debug_addr", ".debug_rnglists", ".debug_ranges"),
)
FILES = [("inline_chain", "arm64", ()), ("tail_branches", "x86_64", ()), ("inline_chain", "x86_64", DWARF_4)]


def with_section(image: Image, name: str, data: bytes) -> Image:
    old = image.sections[name]
    return replace(image, sections={**image.sections, name: Section(name, old.address, old.offset, data)})


def said(image: Image, pcs: list[int]) -> dict[int, list[Place]]:
    return {pc: named(image, pc) for pc in pcs}


def only_missing(damaged: list[tuple[str, str, int]], whole: list[tuple[str, str, int]]) -> bool:
    """The function is right or missing; what else is said was said before, in its order."""
    if damaged[-1][0] not in ("", whole[-1][0]):
        return False
    rest = iter(whole)
    for name, file, line in damaged:
        for true in rest:
            if name in ("", true[0]) and ((not file and not line) or (file in ("", true[1]) and line in (0, true[2]))):
                break
        else:
            return False
    return True


# Which sections there are: DWARF 4 has its own for ranges, and no indices; two of these programs have range lists.
ONLY_4, ONLY_5 = {".debug_ranges"}, {".debug_line_str", ".debug_str_offsets", ".debug_addr", ".debug_rnglists"}
CUT = [
    (section, *file)
    for section in SECTIONS
    for file in FILES
    if section not in (ONLY_5 if file[2] else ONLY_4) and not ("rnglists" in section and file[0] == "tail_branches")
]


@pytest.mark.parametrize(("section", "program", "arch", "extra"), CUT)
def test_a_section_that_is_cut_off_costs_names_and_tells_no_wrong_one(
    section: str, program: str, arch: str, extra: tuple[str, ...]
) -> None:
    image = built(program, arch, "clang-O2", extra)
    pcs = code_of(image, image.arch)[::3]
    whole = said(image, pcs)
    data = image.sections[section].data
    worse = 0
    for keep in sorted({*range(0, len(data), max(1, len(data) // 24)), len(data) - 1}):
        damaged = with_section(image, section, data[:keep])
        info = debug_info(damaged)
        now = said(damaged, pcs)
        for pc in pcs:
            assert only_missing(now[pc], whole[pc]), f"{section}[:{keep}] at {pc:#x}: {now[pc]}, was {whole[pc]}"
        worse += now != whole
        assert now == whole or info.problems or keep == 0, f"{section}[:{keep}] loses names without a word"
        assert all(isinstance(problem, DebugInfoError) for problem in info.problems)
    assert worse, "nothing was lost: this section is not read"


def test_abstract_origins_in_a_circle_are_an_error_and_the_function_is_missing() -> None:
    first = first_child()
    one, two = instance_of(first + 5), instance_of(first)  # each 5 bytes: they name each other
    image = image_of(one, two, function("f", BASE, 0x40, inlined(first, BASE + 8, 8)), function("g", BASE + 0x40, 0x40))
    info = debug_info(image)
    assert [f.name for f in info.functions] == ["g"]
    [problem] = info.problems
    assert "cycle" in problem.detail and problem.section == ".debug_info"
    assert "hand-made: .debug_info+0x" in str(problem)


def test_an_origin_that_is_no_entry_is_an_error() -> None:
    info = debug_info(image_of(function("f", BASE, 0x40, inlined(0x7FFF, BASE + 8, 8))))
    assert info.functions == ()
    assert "0x7fff is no entry" in info.problems[0].detail


@pytest.mark.parametrize("low", [0, BASE - 8, BASE + SIZE - 4, BASE + SIZE, -1, -4])
def test_a_range_that_leaves_the_image_names_nothing(low: int) -> None:
    image = image_of(function("gone", low, 0x10), function("f", BASE + 0x100, 0x10))
    info = debug_info(image)
    assert [f.name for f in info.functions] == ["f"]
    assert info.function_at(low) is None
    assert info.problems == ()  # a linker's tombstone is no damage


def test_an_inlined_call_begins_in_its_own_code() -> None:
    """GCC says of some that they begin in front of it, at an instruction of their caller."""
    first, found = first_child(), list[int | None]()
    for entry in (BASE + 12, BASE + 4):
        info = debug_info(
            image_of(abstract("inner"), function("f", BASE, 0x40, inlined_from(first, BASE + 8, 8, entry)))
        )
        found += [call.entry for call in info.inlined_at(BASE + 8)]
    assert found == [BASE + 12, BASE + 8]


def test_an_inlined_range_outside_names_nothing_and_an_inside_one_does() -> None:
    first = first_child()
    calls = (inlined(first, 0x9000, 8), inlined(first, BASE + 8, 8))
    info = debug_info(image_of(abstract("inner"), function("f", BASE, 0x40, *calls)))
    assert [call.name for call in info.inlined_at(BASE + 8)] == ["inner"]
    assert info.inlined_at(BASE + 16) == ()
    assert info.inlined_at(0x9000) == ()


def test_nesting_without_end_is_an_error() -> None:
    first = first_child()
    deep = b""
    for _ in range(600):
        deep = inlined(first, BASE, 8, deep)
    info = debug_info(image_of(abstract("inner"), function("f", BASE, 0x40, deep)))
    assert info.functions == ()
    assert "nested deeper" in info.problems[0].detail


def test_an_image_without_debug_information_has_no_problems() -> None:
    info = debug_info(image_of())
    assert (info.functions, info.tables, info.problems) == ((), (), ())
    assert info.line_at(BASE) is None
    assert info.function_at(BASE) is None


def test_a_unit_is_read_when_an_address_of_its_code_is_asked_and_one_without_ranges_when_any_is() -> None:
    parts = {low: unit(function(f"f{low:#x}", BASE + low, 0x10), low=BASE + low, size=0x10) for low in (0, 0x10)}
    nowhere = unit(function("anywhere", BASE + 0x20, 0x10), low=0, size=0x10)
    info = debug_info(image_of(b"", more={".debug_info": b"".join((*parts.values(), nowhere))}))
    seen = []
    for low in (0x14, 0x4, 0x24, 0x34):
        function_there = info.function_at(BASE + low)
        seen.append((function_there and function_there.name, len(info.read)))
    assert seen == [("f0x10", 2), ("f0x0", 3), ("anywhere", 3), (None, 3)]
    assert [f.name for f in info.functions] == ["f0x0", "f0x10", "anywhere"]


# Function, file, line and inlined calls at executed addresses, of every recipe: what addr2line and LLVM's reader say.

PART = 20
RECIPES_THERE = sorted({(u.arch, u.recipe) for u in UNITS})


@pytest.mark.parametrize(("arch", "recipe"), RECIPES_THERE)
def test_every_executed_address_has_the_names_that_the_readers_give(
    arch: str, recipe: str, request: pytest.FixtureRequest
) -> None:
    chosen = units(PROGRAMS.values(), [ARCHES[arch]], [RECIPES[recipe]])
    found = Compared()
    part = chosen[len(recipe) % min(PART, len(chosen)) :: PART]
    for each in chosen if request.config.getoption("--everything") else part:
        found.add(compared(each))
    assert found.unexplained == []
    assert found.executed > 0
    for reader in {reader for reader, _ in found.counts}:
        said = {why: count for (one, why), count in found.counts.items() if one == reader}
        assert sum(said.values()) == found.executed
        assert said.keys() - {SAME} <= {why for why, (*readers, _) in EXPLAINED.items() if reader in readers}
    assert LLVM in {reader for reader, _ in found.counts}
