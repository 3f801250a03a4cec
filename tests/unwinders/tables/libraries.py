"""Every row of real libraries beside readelf's reading of the same bytes.

The libraries are Debian's: the host's, and those that come with GCC for arm64 and arm32.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest

from testbed.arch import Arch
from testbed.contract.rows import Constant, RegisterPlus, Rule, UnwindRow, ValExpression
from testbed.image import Image, read_elf
from testbed.report.table_text import rule_text
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.frames import ARM32
from unwinders.formats.cfi import cfi_index
from unwinders.formats.eh_frame_hdr import search_table
from unwinders.formats.ehabi import IndexEntry, exception_index, operation_bytes
from unwinders.formats.ehabi_rows import (
    AuthenticateHere,
    EhabiOperation,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
    exidx_index,
)

# Rows as readelf interprets them, and ours in its words.
#
# `readelf --debug-dump=frames-interp` is an independent reading of the same bytes. It prints, for each entry, a line
# with its offset and pcs, then a table: LOC, CFA and one column per register that the entry mentions, the
# return-address column under the name `ra`. A rule is `u` (undefined, or not mentioned), `s` (same value), `c-16` (at
# CFA-16), `v+0` (is CFA+0), a register's name, `exp` or `vexp`. An FDE without instructions has no table: its one row
# is its CIE's.


_TITLE = re.compile(r"^Contents of the (?P<section>\S+) section:")
_CIE = re.compile(r"^(?P<offset>[0-9a-f]{8}) [0-9a-f]+ [0-9a-f]+ CIE ")
_FDE = re.compile(
    r"^(?P<offset>[0-9a-f]{8}) [0-9a-f]+ [0-9a-f]+ FDE "
    r"cie=(?P<cie>[0-9a-f]+) pc=(?P<start>[0-9a-f]+)\.\.(?P<end>[0-9a-f]+)"
)
_COLUMNS = re.compile(r"^ +LOC +CFA +(?P<names>.*)$")
_REGISTER = re.compile(r"\br\d+ \((\w+)\)")  # "r2 (rcx)": the value is in another register
_ROW = re.compile(r"^(?P<pc>[0-9a-f]+) (?P<cells>\S+ .*)$")


@dataclass(frozen=True)
class Row:
    """One row in readelf's words: where, which FDE, and every rule that is not `u`."""

    start: int
    end: int
    fde: int
    cfa: str
    rules: Mapping[str, str]


@dataclass
class Entry:
    """A CIE (no pcs) or an FDE as readelf prints it."""

    offset: int
    start: int = 0
    end: int = 0
    cie: int = 0
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)


def readelf_entries(path: Path, section: str) -> tuple[dict[int, Entry], list[Entry]]:
    """The CIEs by offset and the FDEs of one section."""
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed: apt-get install binutils")
    command = [readelf, "--debug-dump=frames-interp,no-follow-links", "-W", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cies: dict[int, Entry] = {}
    fdes: list[Entry] = []
    here, entry = False, Entry(0)
    for line in text.splitlines():
        if match := _TITLE.match(line):
            here = match["section"] == section
        elif not here or not line.strip() or "ZERO terminator" in line:
            continue
        elif match := _CIE.match(line):
            entry = cies[int(match["offset"], 16)] = Entry(int(match["offset"], 16))
        elif match := _FDE.match(line):
            offset, start, end, cie = (int(match[name], 16) for name in ("offset", "start", "end", "cie"))
            entry = Entry(offset, start, end, cie)
            fdes.append(entry)
        elif match := _COLUMNS.match(line):
            entry.columns = match["names"].split()
        elif match := _ROW.match(line):
            cfa, *rules = _REGISTER.sub(r"\1+0", match["cells"]).split()
            said = {name: rule for name, rule in zip(entry.columns, rules, strict=True) if rule != "u"}
            entry.rows.append((int(match["pc"], 16), cfa, said))
        else:
            raise AssertionError(f"a line of readelf that this test cannot read: {line!r}")
    return cies, fdes


def readelf_rows(path: Path, section: str) -> list[Row]:
    cies, fdes = readelf_entries(path, section)
    rows = []
    for fde in fdes:
        said = fde.rows or [(fde.start, cfa, rules) for _, cfa, rules in cies[fde.cie].rows]
        ends = [*(pc for pc, _, _ in said[1:]), fde.end]
        # Empty ranges are left out: what a directive after the last instruction says holds nowhere.
        rows += [
            Row(pc, end, fde.offset, cfa, rules) for (pc, cfa, rules), end in zip(said, ends, strict=True) if pc < end
        ]
    return sorted(rows, key=lambda row: row.start)


def in_readelfs_words(row: UnwindRow, section: str, arch: Arch) -> Row:
    rules = {}
    for name, rule in row.registers.items():
        text = _rule(rule, arch)
        if text != "u" and name in arch.by_name:
            rules["ra" if name == row.return_address else _name(name, arch)] = text
    assert row.cfa is not None
    cfa = "exp" if isinstance(row.cfa, ValExpression) else _rule(row.cfa, arch)
    return Row(row.start, row.end, int(row.found_by.removeprefix(f"{section}+"), 16), cfa, rules)


def _rule(rule: Rule, arch: Arch) -> str:
    if isinstance(rule, RegisterPlus):
        return f"{_name(rule.register, arch)}{rule.offset:+d}"
    return "u" if isinstance(rule, Constant) else rule_text(rule)


def _name(register: str, arch: Arch) -> str:
    """readelf's names: DWARF numbers for ARM32, and AADWARF64's older v0-v31 for the floating-point registers."""
    number = arch.by_name[register].dwarf
    return f"r{number}" if arch.word == 4 else re.sub(r"^d(\d+)$", r"v\1", register)


# Unwinding instructions as readelf shows them, and ours in its words.
#
# `readelf -u` prints a line for each function, ``0x20154 <fill>: 0x809b8480``, the same with ``@0x10124`` for an entry
# in the table, or ``0x1 [cantunwind]``; then the model; then one line per instruction: its bytes and what it does.


_INDEX_TITLE = re.compile(r"^Unwind section '\.ARM\.exidx' at offset 0x[0-9a-f]+ contains \d+ entr(y|ies):$")
_FUNCTION = re.compile(
    r"^0x(?P<start>[0-9a-f]+)(?: <[^>]+>)?: (?:0x1 \[(?P<cannot>cantunwind)\]|0x[0-9a-f]+|@0x[0-9a-f]+)$"
)
_MODEL = re.compile(r"^  Compact model index: \d$")
# Of entries for a routine of the program's own, readelf says no more than that.
_OWN_ROUTINE = re.compile(r"^  Personality routine: 0x[0-9a-f]+( <[^>]+>)?$")
# Short instructions are padded to the width of two bytes; readelf 2.40 forgets that for VFP.
_INSTRUCTION = re.compile(r"^  (?:0x[0-9a-f]{2} )+ *(?P<text>[a-z].*)$")

Said = dict[int, list[str] | None]


def readelf_index(path: Path) -> Said:
    """By function: what each instruction does, in readelf's words; None for one that cannot be unwound.

    Functions whose instructions it does not show are left out.
    """
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed: apt-get install binutils")
    text = subprocess.run([readelf, "-u", "-W", str(path)], capture_output=True, text=True, check=True).stdout
    said: Said = {}
    here: list[str] = []
    start = 0
    for line in text.splitlines():
        if not line.strip() or _INDEX_TITLE.match(line) or _MODEL.match(line):
            continue
        if match := _FUNCTION.match(line):
            here = []
            start = ARM32.code_address(int(match["start"], 16))
            said[start] = None if match["cannot"] else here
        elif _OWN_ROUTINE.match(line):
            del said[start]
        elif match := _INSTRUCTION.match(line):
            here.append(match["text"].strip())
        else:
            raise AssertionError(f"a line of readelf that this test cannot read: {line!r}")
    return {start: ended(entry) for start, entry in said.items()}


def ended(entry: list[str] | None) -> list[str] | None:
    """What comes before the first "finish": readelf prints the padding, too."""
    return entry if entry is None or "finish" not in entry else entry[: entry.index("finish")]


def said_of(image: Image, entry: IndexEntry) -> list[str] | None:
    if entry.cannot_unwind:
        return None
    return [operation_in_readelfs_words(operation) for operation in decode(operation_bytes(image, entry))]


def operation_in_readelfs_words(operation: EhabiOperation) -> str:
    match operation:
        case MoveVsp(distance):
            return f"vsp = vsp {'+' if distance > 0 else '-'} {abs(distance)}"
        case SetVsp(register):
            return f"vsp = r{register}"
        case Pop(registers):
            return "pop {" + ", ".join(f"r{register}" for register in registers) + "}"
        case PopVfp(first, 1, _):
            return f"pop {{D{first}}}"
        case PopVfp(first, count, _):
            return f"pop {{D{first}-D{first + count - 1}}}"
        case PopAuthenticationCode():
            return "pop {ra_auth_code}"
        case AuthenticateHere():
            return "vsp as modifier for PAC validation"


NAMES = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
FOLDERS = {
    "x86_64": Path("/lib/x86_64-linux-gnu"),
    "arm64": Path("/usr/aarch64-linux-gnu/lib"),
    "arm32": Path("/usr/arm-linux-gnueabihf/lib"),
}
SECTIONS = (".eh_frame", ".debug_frame", ".ARM.exidx")


@dataclass(frozen=True)
class Library:
    """A library that is installed, under the name that it is asked for by."""

    arch: str
    found: Path

    @property
    def path(self) -> Path:
        return self.found.resolve()

    @cached_property
    def package(self) -> str:
        """The Debian package that it came with, and its version."""
        return package_of(self.path) or package_of(self.found)


@dataclass
class Swept:
    """One section of a library, read by us and by readelf."""

    library: Library
    section: str
    functions: int = 0
    rows: int = 0
    compared: int = 0  # rows, or functions of `.ARM.exidx`, that readelf shows
    differing: list[str] = field(default_factory=list)
    broken: int = 0


def installed() -> list[Library]:
    """The libraries that are there."""
    return [
        Library(arch, folder / name) for arch, folder in FOLDERS.items() for name in NAMES if (folder / name).exists()
    ]


def package_of(path: Path) -> str:
    """The package of a file, with its version; empty where no package has it."""
    found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False)
    if found.returncode != 0 and path.is_relative_to("/usr"):
        return package_of(Path("/") / path.relative_to("/usr"))
    if found.returncode != 0:
        return ""
    name = found.stdout.partition(": ")[0]
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True)
    return f"{name.partition(':')[0]} {shown.stdout}"


def sweep(library: Library) -> list[Swept]:
    """Every section of call frame information in a library that holds anything."""
    image = read_elf(library.path)
    found = []
    for section in SECTIONS:
        if section in image.sections and len(image.sections[section].data) > 8:
            swept = Swept(library, section)
            (_entries if section == ".ARM.exidx" else _call_frames)(image, swept)
            found.append(swept)
    return found


def _call_frames(image: Image, swept: Swept) -> None:
    expected = {(row.start, row.end): row for row in readelf_rows(swept.library.path, swept.section)}
    read = [in_readelfs_words(row, swept.section, image.arch) for row in cfi_index(image, swept.section).all_rows()]
    ours = {(row.start, row.end): row for row in read}
    table = cfi_index(image, swept.section).all_rows()
    swept.functions = len({row.found_by for row in table})
    swept.rows, swept.broken = len(table), len(table.broken) + (table.unplaced is not None)
    swept.compared = len(expected)
    both = ((place, expected.get(place), ours.get(place)) for place in expected.keys() | ours.keys())
    swept.differing = [f"{at:#x}: readelf {theirs}, we {own}" for (at, _), theirs, own in both if theirs != own]
    if swept.section == ".eh_frame" and ".eh_frame_hdr" in image.sections:
        searched = search_table(image)
        swept.differing += [f"{row.start:#x}: not through the index" for row in table if searched.at(row.start) != row]


def _entries(image: Image, swept: Swept) -> None:
    expected = readelf_index(swept.library.path)
    ours = {entry.start: said_of(image, entry) for entry in exception_index(image) if isinstance(entry, IndexEntry)}
    table = exidx_index(image).all_rows()
    swept.functions, swept.rows = len(ours), len(table)
    swept.broken = sum(not isinstance(part.why, NoUnwindInfo) for part in table.broken)  # EXIDX_CANTUNWIND is none
    swept.compared = len(expected)
    swept.differing = [f"{at:#x}" for at, said in expected.items() if ours.get(at, ["missing"]) != said]


# The columns of docs/results/tables-of-libraries.md.
HEAD = (
    *("library", "of", "package", "section", "functions", "rows"),
    *("compared", "differ", "unread"),
)


def library_rows(found: Mapping[Library, Sequence[Swept]]) -> Iterator[tuple[str, ...]]:
    """A line for each section of each library; for a library without any, one that says so."""
    for library, sections in found.items():
        yield from _section_rows(sections)
        if not sections:
            yield (f"`{library.path.name}`", library.arch, library.package, "none", *("",) * (len(HEAD) - 4))


def _section_rows(found: Sequence[Swept]) -> Iterator[tuple[str, ...]]:
    for swept in found:
        yield (
            f"`{swept.library.path.name}`",
            swept.library.arch,
            swept.library.package,
            f"`{swept.section}`",
            *(f"{count:,}" for count in (swept.functions, swept.rows, swept.compared)),
            *(str(count) for count in (len(swept.differing), swept.broken)),
        )
