"""Real ORC tables, ours, and `.eh_frame`: the same CFA, return address and BP at every pc; objtool reads its own.

objtool makes the table from the instructions, not from call frame information: two ways to one truth.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import Built, build
from testbed.build.recipes import PREBUILT, RECIPES
from testbed.image import Image
from testbed.matrix import Unit
from testbed.program import Language, Program
from testbed.rows import AtCfa, AtRegister, RegisterPlus, RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.run import judge_all, run_built
from tests.unwinders import producers
from tests.unwinders.test_sframe_producers import EXPRESSIBLE, assert_equal_at_every_pc
from unwinders.formats.cfi import cfi_table
from unwinders.formats.orc import ENTRIES, orc_table
from unwinders.orc import ORC

X86_64 = ARCHES["x86_64"]
WRITTEN = [unit for unit in EXPRESSIBLE if unit.arch == X86_64.name]
C_PROGRAMS = [p for p in PROGRAMS.values() if any(s.language is Language.C for s in p.sources.values())]
FLAGS = ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
CASES = [pytest.param(p, flag, id=f"{p.name}{flag[2:]}") for p in C_PROGRAMS for flag in FLAGS]
OBJTOOLS = producers.objtools() or [None]
# objtool stops at a jump table that it cannot follow (Linux builds without them).
OPTIONS = ("-O2", "-fno-jump-tables")


def sayable(row: UnwindRow) -> bool:
    """True where ORC has words for a row of `.eh_frame`. Expressions are compared by what they mean, elsewhere."""
    ra, bp = row.registers.get("rip"), row.registers.get("rbp", SameValue())
    if isinstance(ra, Undefined):
        return True
    by_name = (
        isinstance(row.cfa, RegisterPlus)
        and row.cfa.offset < 0x8000
        and (
            row.cfa.register in ("rsp", "rbp")
            or (row.cfa.register in ("r10", "r13", "rdi", "rdx") and not row.cfa.offset)
        )
    )
    return by_name and ra == AtCfa(-8) and isinstance(bp, AtCfa | SameValue)


@pytest.mark.parametrize("unit", WRITTEN, ids=str)
def test_written_entries_are_the_rows_of_eh_frame(unit: Unit) -> None:
    image = build(PROGRAMS[unit.program], X86_64, RECIPES[unit.recipe]).image
    eh_frame, orc = cfi_table(image, ".eh_frame"), orc_table(image)
    said = tuple(row for row in eh_frame if sayable(row))
    entries = tuple(row for row in orc if (there := eh_frame.at(row.start)) is not None and sayable(there))
    assert assert_equal_at_every_pc(image, RowTable(ENTRIES, entries), RowTable(".eh_frame", said)) > 10


def made(program: Program, flag: str, folder: Path, chosen: Path | None) -> Image:
    if chosen is None:
        pytest.skip("objtool is not installed: apt-get install linux-kbuild-6.1")
    source = program.source_for(X86_64.isas[0])
    assert source is not None
    whole = producers.compiled(producers.written(source, folder), X86_64, folder, *OPTIONS, flag, intel=True)
    return producers.by_objtool(chosen, whole, X86_64, folder)


@pytest.mark.parametrize("chosen", OBJTOOLS, ids=lambda path: path.parts[3] if path else "none")
@pytest.mark.parametrize(("program", "flag"), CASES)
def test_objtools_table_is_exact_at_every_instruction(
    program: Program, flag: str, chosen: Path | None, tmp_path: Path
) -> None:
    image = made(program, flag, tmp_path, chosen)
    source = program.source_for(X86_64.isas[0])
    assert source is not None
    run = run_built(Built(program, X86_64, PREBUILT, X86_64.isas[0], source, image.path, image, frozenset()))
    assert not run.failure
    assert {verdict.outcome.value for verdict in judge_all(run, ORC)} == {"exact"}


@pytest.mark.parametrize("chosen", OBJTOOLS, ids=lambda path: path.parts[3] if path else "none")
@pytest.mark.parametrize(("program", "flag"), CASES[:4])
def test_entries_are_those_that_objtool_prints(
    program: Program, flag: str, chosen: Path | None, tmp_path: Path
) -> None:
    """``--dump=orc``, of the object; 6.1 prints ``.text+1: sp:sp+16 bp:prevsp-16 type:call end:0``."""
    image = made(program, flag, tmp_path, chosen)
    assert chosen is not None
    dumped = producers.run(chosen, "--dump=orc", "orc.o", cwd=tmp_path, SRCARCH="x86")
    line = re.compile(r"^(?P<at>\S+): ?(?:type:\S+ )?sp:(?P<sp>\S+) bp:(?P<bp>\S+)", re.M)
    said = [(match["sp"], match["bp"]) for match in line.finditer(dumped) if match["sp"] != "(und)"]
    assert len(said) > 5
    assert [words(row.cfa, row.registers["rbp"]) for row in orc_table(image)] == said


def words(cfa: Rule | None, bp: Rule) -> tuple[str, str]:
    assert isinstance(cfa, RegisterPlus)
    sp = f"{cfa.register.removeprefix('r')}{cfa.offset:+d}"
    match bp:
        case SameValue():
            return sp, "(und)"
        case AtCfa(offset):
            return sp, f"prevsp{offset:+d}"
        case AtRegister(register, offset):
            return sp, f"{register.removeprefix('r')}{offset:+d}"
    raise AssertionError(bp)


def test_the_hash_in_the_header_is_that_of_the_kernels_own_file() -> None:
    """What scripts/orc_hash.sh does: certain lines of orc_types.h, hashed."""
    from hashlib import sha1

    headers = sorted(Path("/usr/src").glob("linux-headers-*/arch/x86/include/asm/orc_types.h"))
    newer = [h for h in headers if "ORC_TYPE_END_OF_STACK" in h.read_text(encoding="utf-8")]
    if not newer:
        pytest.skip("no kernel headers since 6.4: apt-get install linux-headers-6.12.*-common")
    kept, inside = [], False
    for line in newer[-1].read_text(encoding="utf-8").splitlines(keepends=True):
        kept += [line] if re.match(r"#define ORC_(REG|TYPE)_", line) else []
        inside = inside or line == "struct orc_entry {\n"
        kept += [line] if inside else []
        inside = inside and not line.startswith("}")
    image = build(PROGRAMS["leaf_call"], X86_64, RECIPES["keystone"]).image
    assert sha1("".join(kept).encode()).digest() == image.sections[".orc_header"].data
    assert ENTRIES in image.sections
