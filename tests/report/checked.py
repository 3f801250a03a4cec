"""Checks of files written by hand: every kind of finding, evidence and repair that a report may have to tell."""

from dataclasses import replace
from pathlib import Path

from testbed.arch import ARCHES
from testbed.checks.consequence import no_row
from testbed.checks.model import (
    Consequence,
    FileCheck,
    FindingKind,
    FunctionCheck,
    HowKnown,
    LaterDirectives,
    Repair,
    Severity,
    SourceEdit,
    SourcePlace,
    TableFinding,
    WrongThing,
)

CFA = WrongThing("CFA", "CFA = rsp+0x8", "the true CFA is rsp+0x10 here")
RBX = WrongThing("rbx", "rbx is still in rbx", "the caller's rbx is at CFA-0x10")

LOST = Consequence(
    Severity.ERROR,
    "the caller is lost",
    "crc32_z < no code (the caller's rbx)",
    "crc32_z < caller < main",
    "crc32_z+0x6",
)
WRONG_RBX = Consequence(
    Severity.WARNING,
    "rbx is shown wrong in the caller",
    "crc32_z < caller (rbx wrong) < main",
    "crc32_z < caller < main",
    "crc32_z+0x10",
)

WRONG = TableFinding(
    kind=FindingKind.WRONG_ROW,
    table=".eh_frame",
    function="crc32_z",
    pc=0x1004,
    where="crc32_z+0x4",
    instruction="push rbx",
    things=(CFA,),
    evidence=HowKnown.EXECUTED,
    instructions=4,
    repair=Repair((".cfi_def_cfa_offset 0x10",), "", 4, no_patch="it is in the macro SAVE"),
    source="zlib/crc32.S",
    line=120,
    consequence=LOST,
    place=SourcePlace("zlib/crc32.S", 118, 9, "SAVE %rbx", "SAVE", "zlib/macros.h", 7, "pushq \\r"),
    written="pushq %rbx",
)
USE = SourcePlace("zlib/crc32.S", 118, 9, "SAVE %rbx", "SAVE", "zlib/macros.h", 8, ".cfi_adjust_cfa_offset 0")
EDITS = (
    SourceEdit("zlib/macros.h", 8, 3, ".cfi_adjust_cfa_offset 0", ".cfi_adjust_cfa_offset 8", USE),
    SourceEdit("zlib/crc32.S", 141, 1, "", " .cfi_adjust_cfa_offset -8\n", replace(USE, line=140), behind=True),
)
PATCHED = replace(WRONG, place=USE, repair=Repair((".cfi_def_cfa_offset 0x10",), "", 4, edits=EDITS))
NO_LINE = "no line of assembly is known of it"
RESTORED = replace(
    WRONG,
    pc=0x1010,
    where="crc32_z+0x10",
    instruction="mov eax, dword ptr [rdi]",
    things=(CFA, RBX),
    evidence=HowKnown.FORCED,
    instructions=1,
    repair=Repair((".cfi_restore_state",), "crc32_z+0x8", 1, no_patch=NO_LINE),
    source="",
    line=0,
    consequence=WRONG_RBX,
    place=None,
    written="",
)
STATIC = replace(RESTORED, table=".debug_frame", evidence=HowKnown.STATIC, instructions=2, repair=None)
NO_ROW = replace(
    WRONG,
    kind=FindingKind.NO_ROW,
    function="inflate",
    pc=0x2000,
    where="inflate+0x0",
    instruction="push rbp",
    things=(),
    instructions=12,
    repair=Repair((".cfi_startproc",), "", 1, (LaterDirectives("inflateEnd", (".cfi_endproc",)),), no_patch=NO_LINE),
    source="",
    line=0,
    consequence=no_row("inflate"),
    place=None,
    written="",
)
UNREADABLE = replace(
    NO_ROW,
    kind=FindingKind.UNREADABLE,
    consequence=None,
    pc=0x2010,
    where="inflate+0x10",
    instruction="",
    things=(WrongThing("row", "nothing that can be read", ".eh_frame+0x40: no CIE at 0x10"),),
    evidence=HowKnown.STATIC,
    instructions=1,
    repair=None,
)
WHOLE_TABLE = replace(UNREADABLE, table=".sframe", function="", pc=0, where="", instructions=0)
START = replace(
    NO_ROW,
    kind=FindingKind.START_WITHOUT_ROW,
    function="_start",
    pc=0x3000,
    where="_start+0x0",
    instruction="endbr64",
    consequence=None,
)

FUNCTIONS = (
    FunctionCheck("crc32_z", 0x1000, 0x1100, 64, executed=50, forced=10, static=4, calls=5, returned=5),
    FunctionCheck("inflate", 0x2000, 0x2400, 256, executed=100, forced=20, without_row=12, calls=64, returned=60),
    FunctionCheck("_start", 0x3000, 0x3010, 4, without_row=4, note="it never returns: nothing to compare"),
)

CHECK = FileCheck(
    path=Path("build/libz.so.1"),
    arch=ARCHES["x86_64"],
    tables=(".eh_frame", ".debug_frame"),
    functions=FUNCTIONS,
    findings=(START, STATIC, WRONG, NO_ROW, RESTORED, UNREADABLE),
    seed=1,
    runs=64,
    steps=20_000,
    compared=12_345,
    dropped={"fell off the function's end": 3, "SP out of any stack": 1},
)

CLEAN = FileCheck(
    path=Path("build/memcpy.o"),
    arch=ARCHES["arm64"],
    tables=(".eh_frame",),
    functions=(FunctionCheck("memcpy", 0, 0x80, 32, executed=32, calls=3, returned=3),),
    findings=(),
    seed=1,
    runs=64,
    steps=20_000,
    compared=96,
)
