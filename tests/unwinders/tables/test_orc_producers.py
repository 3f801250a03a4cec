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
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.rows import AtCfa, AtRegister, RegisterPlus, RowTable, Rule, SameValue, Undefined, UnwindRow
from testbed.image import Image
from testbed.program.model import Program
from testbed.runs.judging import judge_all
from testbed.runs.run import run_built
from tests.golden import STRATEGIES, of_unit
from tests.unwinders import producers
from tests.unwinders.compact_rows import EXPRESSIBLE, assert_equal_at_every_pc
from unwinders.formats.cfi import cfi_table
from unwinders.formats.orc import ENTRIES, orc_table
from unwinders.tables.orc import ORC

X86_64 = ARCHES["x86_64"]
WRITTEN = [unit for unit in EXPRESSIBLE if unit.arch == X86_64.name]
C_PROGRAMS = [p for p in PROGRAMS.values() if RECIPES["clang-O2"].source_of(p, ARCHES["x86_64"])]
# What has rows besides those of `_start`, in functions that have a symbol for objtool to begin at.
CALLED = PROGRAMS.keys() - {"end_false", "end_undefined", "end_zero", "no_symbol"}
BUILT = [u for u in units(PROGRAMS.values(), [X86_64], RECIPES.values()) if ORC.name in of_unit(STRATEGIES, u)]
FLAGS = ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
# ORC's offsets have 16 bits; of a frame of 64 KiB objtool writes the lower ones without a word.
TOO_LARGE = {"probed_frame"}
CASES = [
    pytest.param(p, flag, id=f"{p.name}{flag[2:]}") for p in C_PROGRAMS if p.name not in TOO_LARGE for flag in FLAGS
]
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
    run = run_built(Built(program, X86_64, PREBUILT, X86_64.isas[0], source, image.path, image))
    assert not run.failure
    assert {verdict.outcome.value for verdict in judge_all(run, ORC)} == {"exact"}
    assert chosen is not None
    said = dumped(chosen, image)
    assert [at for at, (sp, _) in said.items() if sp != "(und)"] == [row.start for row in orc_table(image)]
    assert_as_dumped(image, said)


Dumped = dict[int, tuple[str, str]]


def dumped(chosen: Path, image: Image) -> Dumped:
    """``objtool --dump=orc``: what SP and BP are from each address on.

    6.1 prints ``41001f: sp:bp+16 bp:prevsp-16 type:call end:0``, newer ones ``41001f:type:call sp:bp+16 ...``; of a
    table in the other one's layout the type is not what it says, but these two fields are the same.
    """
    text = producers.run(chosen, "--dump=orc", image.path, cwd=image.path.parent, SRCARCH="x86")
    line = re.compile(r"^(?P<at>[0-9a-f]+): ?(?:type:\S+ )?sp:(?P<sp>\S+) bp:(?P<bp>\S+)", re.M)
    said = {int(match["at"], 16): (match["sp"], match["bp"]) for match in line.finditer(text)}
    assert len(said) > 3
    return said


def assert_as_dumped(image: Image, said: Dumped) -> None:
    """Our row at each address that is listed; ``(und)`` for SP is the outermost frame, or nothing known."""
    table = orc_table(image)
    assert {row.start for row in table} <= said.keys()
    for at, (sp, bp) in said.items():
        row = table.at(at)
        if sp == "(und)":
            assert row is None or isinstance(row.registers["rip"], Undefined), hex(at)
        else:
            assert row is not None
            assert words(row.cfa, row.registers["rbp"]) == (sp, bp), hex(at)


@pytest.mark.parametrize("chosen", OBJTOOLS, ids=lambda path: path.parts[3] if path else "none")
@pytest.mark.parametrize("unit", BUILT, ids=str)
def test_every_built_table_is_read_as_objtool_reads_it(unit: Unit, chosen: Path | None) -> None:
    if chosen is None:
        pytest.skip("objtool is not installed: apt-get install linux-kbuild-6.1")
    image = build(PROGRAMS[unit.program], X86_64, RECIPES[unit.recipe]).image
    assert_as_dumped(image, dumped(chosen, image))


def differing(unit: Unit, chosen: Path | None, folder: Path) -> tuple[list[str], list[str]]:
    """The offsets at which objtool's table of an assembly program and ours differ, and where objtool has none.

    It has none where it believes that nothing leads: behind a call of what never returns, or `push` and `ret`.


    The outermost function is left out: objtool is told of it by an annotation, we by its directives.
    """
    if chosen is None:
        pytest.skip("objtool is not installed: apt-get install linux-kbuild-6.1")
    source = PROGRAMS[unit.program].source_for(X86_64.isas[0])
    assert source is not None
    real = producers.by_objtool(chosen, producers.written(source, folder), X86_64, folder)
    ours = build(PROGRAMS[unit.program], X86_64, RECIPES[unit.recipe]).image
    text, start = ours.sections[".text"], real.sections[".text"].address
    assert len(real.sections[".text"].data) == len(text.data)
    theirs, written = orc_table(real), orc_table(ours)
    found, silent, compared = [], [], 0
    for at in range(len(text.data)):
        here = written.at(text.address + at)
        if here is None or isinstance(here.registers["rip"], Undefined):
            continue
        there = theirs.at(start + at)
        compared += 1
        if there is None:
            silent.append(hex(at))
        elif (here.cfa, here.registers) != (there.cfa, there.registers):
            found.append(hex(at))
    assert compared - len(silent) > 10
    return found, silent


# objtool reads instructions: a call leaves SP as it was, and each symbol is a function of its own.
OTHERWISE = {"callee_pops": "after `ret 8` SP is elsewhere", "cold_split": "the cold part begins in mid-function"}
RIGHT = [u for u in WRITTEN if not any(s.header.wrong for s in PROGRAMS[u.program].sources.values())]
TWICE = [u for u in RIGHT if u.program not in OTHERWISE and u.program in CALLED]


@pytest.mark.parametrize("chosen", OBJTOOLS, ids=lambda path: path.parts[3] if path else "none")
@pytest.mark.parametrize("unit", TWICE, ids=str)
def test_written_and_real_tables_have_the_same_rows(unit: Unit, chosen: Path | None, tmp_path: Path) -> None:
    """objtool's table, made from the instructions, and ours, made from the directives of the same source."""
    found, _ = differing(unit, chosen, tmp_path)
    assert found == []


@pytest.mark.parametrize("chosen", OBJTOOLS, ids=lambda path: path.parts[3] if path else "none")
@pytest.mark.parametrize("unit", [u for u in WRITTEN if u not in RIGHT or u.program in OTHERWISE], ids=str)
def test_where_directives_are_wrong_or_instructions_do_not_say_it_the_two_differ(
    unit: Unit, chosen: Path | None, tmp_path: Path
) -> None:
    assert any(differing(unit, chosen, tmp_path))


def words(cfa: Rule | None, bp: Rule) -> tuple[str, str]:
    assert isinstance(cfa, RegisterPlus | AtRegister)
    sp = f"{short(cfa.register)}{cfa.offset:+d}"
    sp = f"({sp})" if isinstance(cfa, AtRegister) else sp
    match bp:
        case SameValue():
            return sp, "(und)"
        case AtCfa(offset):
            return sp, f"prevsp{offset:+d}"
        case AtRegister(register, offset):
            return sp, f"{short(register)}{offset:+d}"
    raise AssertionError(bp)


def short(register: str) -> str:
    """``bp`` for rbp, but r10."""
    return re.sub(r"^r(?=[a-z])", "", register)


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
