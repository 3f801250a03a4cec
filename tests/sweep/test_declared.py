"""Sources with right and wrong tables, and what the static pass says of each entry.

`declared/NAME.ARCH.S` is written as those of `tests/checks/declared`: ``pytest -n0 --update-golden`` writes what is
said.
"""

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from testbed.checks.inputs import program_file
from testbed.checks.second_pass import call_entries
from testbed.cli.table_readers import READERS
from testbed.image import Image, read_image
from testbed.sweep import sweep_file as sweep_file_module
from testbed.sweep.model import AskedEntry, CalledEntry, EntryAnswer, ExecutedAnswer, Sample, SweptContent
from testbed.sweep.native import room, rows
from testbed.sweep.static_pass import TABLES, static_pass
from testbed.sweep.sweep_file import checksum_of, sweep_file
from testbed.words.errors import TestbedError
from tests.checks import declared_cases
from tests.checks.declared_cases import DeclaredCase, cases_of
from tests.sweep.table_damage import again

pytest.importorskip("ziglang", reason="needs pip install ziglang")

CASES = [case for source in sorted((Path(__file__).parent / "declared").glob("*.S")) for case in cases_of(source)]
RIGHT = [
    case
    for case in declared_cases.CASES
    if re.search("every row (that was executed )?is right(?!,? but)", "".join(case.said[:1]))
    and "counted as not executed" not in case.block  # those of calls that prove nothing
    and "wrong on a forced path" not in case.block  # a doubt that check tells of, too
    and "a jump to where no code is" not in case.block  # what others return to: only execution shows that
    and case.options.arch in ("x86_64", "arm64")
    and case.source.suffix == ".S"
    and not case.options.flags
]


def swept(case: DeclaredCase, folder: Path) -> SweptContent:
    path = folder / f"code{case.source.suffix}"
    path.write_text(case.text, encoding="utf-8")
    with program_file(path, case.options.arch, case.options.flags) as built:
        return sweep_file(built, checksum_of(built))


def test_nothing_that_was_read_of_a_file_is_kept_when_it_was_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images: list[Image] = []

    def read(path: Path) -> Image:
        images.append(read_image(path))
        return images[-1]

    monkeypatch.setattr(sweep_file_module, "read_image", read)
    assert swept(CASES[0], tmp_path).entries
    assert [image.read_of_it for image in images] == [{}]


def told(found: SweptContent) -> Iterator[str]:
    """All that is said of a file, addresses as places in their functions."""
    assert not found.failure
    yield f"{found.agreed} of {found.entries} agree{f', {found.private} private' if found.private else ''}"
    for doubt in found.doubts:

        def named(address: re.Match[str], start: int = doubt.start, name: str = doubt.function) -> str:
            return f"{name}+{int(address[0], 16) - start:#x}"

        yield f"{doubt.answer.value}: {doubt.cause}"
        yield re.sub(r"(?<![-+])\b0x[0-9a-f]{4,}\b", named, doubt.words)


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_what_is_said(case: DeclaredCase, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    said = tuple(told(swept(case, tmp_path)))
    if request.config.getoption("--update-golden") and said != case.said:
        kept = "".join(f"{line}\n" for line in case.block.splitlines() if not line.startswith("// |"))
        text = case.source.read_text(encoding="utf-8")
        assert text.count(f"// case: {case.block.rstrip()}\n") == 1
        marks = "".join(f"// | {line}\n" for line in said)
        new = text.replace(f"// case: {case.block.rstrip()}\n", f"// case: {kept}{marks}")
        case.source.write_text(new, encoding="utf-8")
        return
    assert said == case.said


def test_nothing_is_contradicted_where_the_instruction_set_is_a_guess(tmp_path: Path) -> None:
    case = next(
        each for each in CASES if each.source.stem == "exception_index.arm32" and each.name == "a save is not told"
    )
    (source := tmp_path / "code.S").write_text(case.text, encoding="utf-8")
    with program_file(source, case.options.arch, case.options.flags) as built:
        image = read_image(built)
    verdicts = static_pass(image, ".ARM.exidx").out[:, room.VERDICT]
    assert room.SUSPECT in verdicts
    thumb = next(isa for _, isa in image.isa_marks if isa.name == "thumb")
    stripped = replace(image, isa_marks=((0, thumb),), data_marks=frozenset())
    found = static_pass(stripped, ".ARM.exidx").out
    assert [room.CANNOT_TELL, room.NO_SET] in found[:, [room.VERDICT, room.ABOUT]].tolist()
    assert (found[:, room.VERDICT] == room.SUSPECT).sum() == 0


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_nobody_is_accused_whose_rows_are_right_when_executed(case: DeclaredCase, tmp_path: Path) -> None:
    suspects = [doubt for doubt in swept(case, tmp_path).doubts if doubt.answer is EntryAnswer.SUSPECT]
    assert [doubt for doubt in suspects if not (doubt.is_part and doubt.came == -1)] == []  # a call leads to a part


# What execution says of entries that the static pass doubts: by the way that is doubted, or by nothing.


# Two ways lead to 1: one of them is never taken by itself, and the frame is gone on it where {row} is missing.
TWO_WAYS = """\
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        testq   %rdi, %rdi
        je      1f
        addq    $1, %rbx
1:      movq    %rbx, %rax
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        {row}
        ret
        .cfi_endproc
        .size f, .-f
"""
RESTORED = ".cfi_restore %rbx"
COLD = """\
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        testq   %rdi, %rdi
        je      f.cold
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, .-f
        .section .text.unlikely, "ax", @progbits
        .type f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        xorl    %eax, %eax
        popq    %rbx
        nop
        ret
        .cfi_endproc
        .size f.cold, .-f.cold
"""


def built(text: str, folder: Path) -> Path:
    source, path = folder / "code.S", folder / "code.so"
    source.write_text(text)
    with program_file(source, "x86_64", ()) as made:
        path.write_bytes(made.read_bytes())
    return path


def doubted(path: Path) -> tuple[AskedEntry, ...]:
    return sweep_file(path, checksum_of(path)).doubts


def called(path: Path, *asked: AskedEntry, sample: Sample | None = None) -> tuple[CalledEntry, ...]:
    return call_entries(path, asked, sample, READERS)


def test_a_wrong_row_is_confirmed(tmp_path: Path) -> None:
    path = built(TWO_WAYS.format(row="").replace(".cfi_adjust_cfa_offset -8", "nop"), tmp_path)
    (found,) = called(path, *doubted(path))
    assert (found.answer, found.verdict, found.severity) == (EntryAnswer.SUSPECT, ExecutedAnswer.CONFIRMED, "error")
    assert "CFA = %rsp+16, and the true CFA is %rsp+8" in found.words


def test_a_wrong_part_is_called_by_who_jumps_there(tmp_path: Path) -> None:
    path = built(COLD, tmp_path)
    (asked,) = doubted(path)
    assert asked.is_part
    (found,) = called(path, asked)
    assert found.verdict in (ExecutedAnswer.CONFIRMED, ExecutedAnswer.CONFIRMED_FORCED)


def test_only_the_way_that_is_doubted_acquits(tmp_path: Path) -> None:
    """The same right instruction: control comes there from the addition and the branch, and from nowhere else."""
    path = built(TWO_WAYS.format(row=RESTORED), tmp_path)
    assert doubted(path) == ()
    (entry,) = called(path, sample=Sample(1, 1.0, "content"))
    assert (entry.answer, entry.verdict) == (EntryAnswer.AGREES, ExecutedAnswer.ACQUITTED)
    start = entry.start
    ways = {"branch": (7, 0xD), "addition": (9, 0xD), "test": (4, 0xD), "anywhere": (-1 - start, 0xD)}
    for name, (came, at) in ways.items():
        asked = AskedEntry(
            entry.section, start, start + 0x12, EntryAnswer.SUSPECT, start + at, start + came, is_part=False
        )
        (found,) = called(path, asked)
        taken = name != "test"
        assert (found.verdict is ExecutedAnswer.NOT_DECIDED) is not taken, name
        assert found.verdict in (ExecutedAnswer.ACQUITTED, ExecutedAnswer.ACQUITTED_FORCED) or not taken


@pytest.mark.parametrize(
    ("first", "verdict"),
    [("xgetbv", ExecutedAnswer.NOT_DECIDED), ("vmovdqu64 (%rdi), %zmm0", ExecutedAnswer.CONFIRMED)],
)
def test_what_cannot_be_executed_is_not_decided(first: str, verdict: ExecutedAnswer, tmp_path: Path) -> None:
    """The emulator has neither: but of what changes vectors only it is known that it goes on."""
    text = TWO_WAYS.format(row="").replace("f:      .cfi_startproc\n", f"f:      .cfi_startproc\n {first}\n")
    path = built(text.replace(".cfi_adjust_cfa_offset -8", "nop"), tmp_path)
    (found,) = called(path, *doubted(path))
    assert (found.answer, found.verdict) == (EntryAnswer.SUSPECT, verdict)
    assert found.words


def many(number: int) -> str:
    """The function under another name, the label, too."""
    text = TWO_WAYS.format(row=RESTORED).replace("1f", "2f").replace("1:", "2:")
    return text.replace(" f", f" f{number}").replace("\nf:", f"\nf{number}:").replace("-f", f"-f{number}")


def test_a_sample_is_the_same_every_time_and_of_its_seed(tmp_path: Path) -> None:
    path = built("".join(map(many, range(40))), tmp_path)
    drawn = [{each.start for each in called(path, sample=Sample(seed, 0.2, "content"))} for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert 2 <= len(drawn[0]) <= 16


def test_a_file_that_cannot_be_called_says_why(tmp_path: Path) -> None:
    path = tmp_path / "none.so"
    path.write_bytes(b"\x7fELF and nothing else")
    (found,) = called(path, AskedEntry(".eh_frame", 0x1000, 0x1010, EntryAnswer.SUSPECT, 0x1000, -1, is_part=False))
    assert found.verdict is ExecutedAnswer.NOT_DECIDED
    assert "ELF" in found.words


# Damaged rows are noticed, and damaged files cost no more than a finding.


DAMAGED = sorted((Path(__file__).parent / "declared").glob("*.S"))
NAMED = {source.name: source for source in DAMAGED}


@pytest.fixture
def as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_JIT", "0")


def built_image(source: Path) -> Image:
    arch = source.name.split(".")[1]
    with program_file(source, arch, ()) as built:
        return read_image(built)


def damages(row: NDArray[np.int64], kept: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A row, wrong in one way each: the CFA and every rule of a saved register."""

    def with_number(column: int, value: int) -> NDArray[np.int64]:
        made = row.copy()
        made[column] = value
        return made

    for distance in (8, -8):
        yield f"CFA {distance:+}", with_number(rows.CFA_OFFSET, row[rows.CFA_OFFSET] + distance)
    saved = [rows.RULES + int(k) for k in kept if row[rows.RULES + int(k)] & 7 == rows.AT_CFA]
    for column in saved:
        yield f"rule {column - rows.RULES} by 8", with_number(column, row[column] + (8 << rows.BITS))
        yield f"rule {column - rows.RULES} gone", with_number(column, rows.SAME)
    for one, other in itertools.pairwise(saved):
        made = row.copy()
        made[one], made[other] = row[other], row[one]
        yield f"rules {one - rows.RULES} and {other - rows.RULES} swapped", made
    unsaved = [rows.RULES + int(k) for k in kept if row[rows.RULES + int(k)] == rows.SAME]
    for column in unsaved[:2]:
        yield f"rule {column - rows.RULES} invented", with_number(column, -64 << rows.BITS | rows.AT_CFA)


# Rows whose damage changes nothing for an unwinder: the register has its value still, or has it again.
EQUAL = ("gone",)


@pytest.mark.parametrize("name", ["vector_first.x86_64.S", "realigned.x86_64.S", "table.x86_64.S", "saves.arm64.S"])
@pytest.mark.usefixtures("as_python")
def test_every_damaged_row_is_noticed(name: str) -> None:
    made = static_pass(built_image(NAMED[name]))
    assert (made.out[:, room.VERDICT] == room.AGREES).all()
    missed, tried = [], 0
    for k, row in enumerate(made.swept.rows):
        for what, damaged in damages(row, made.machine.kept):
            told = made.swept.rows.copy()
            told[k] = damaged
            tried += 1
            if (again(made, told)[:, room.VERDICT] == room.AGREES).all():
                missed.append(f"row of {row[rows.PC]:#x}: {what}")
    assert tried > 20
    assert [line for line in missed if not line.endswith(EQUAL)] == []


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("name", ["vector_first.x86_64.S", "saves.arm64.S"])  # a row may begin a byte earlier there
@pytest.mark.usefixtures("as_python")
def test_a_cfa_that_is_told_late_or_early_is_noticed(name: str, *, late: bool) -> None:
    made = static_pass(built_image(NAMED[name]))
    told = made.swept.rows
    for k in range(1, len(told)):
        if told[k, rows.CFA_OFFSET] != told[k - 1, rows.CFA_OFFSET]:
            changed = told.copy()
            changed[k, rows.PC] += 1 if late else -1
            if made.machine.which:  # an instruction of arm64 has 4 bytes
                changed[k, rows.PC] += 3 if late else -3
            assert (again(made, changed)[:, room.VERDICT] == room.SUSPECT).any()


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("as_python")
def test_damaged_tables_and_code_are_no_error(name: str, seed: int) -> None:
    image = built_image(NAMED[name])
    chance = random.Random(seed)
    content = bytearray(image.content)
    section = next(image.sections[table] for table in TABLES if table in image.sections)
    text = image.sections[".text"]
    for _ in range(chance.randrange(1, 12)):
        place = chance.choice((section, section, text))
        content[place.offset + chance.randrange(len(place.data))] = chance.choice(
            (0, 0xFF, 0x80, chance.randrange(256))
        )
    damaged = replace(image, content=bytes(content))
    found = static_pass(damaged, section.name)
    assert set(np.unique(found.out[:, room.VERDICT])) <= {room.AGREES, room.SUSPECT, room.CANNOT_TELL}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("as_python")
def test_a_section_that_says_anything_is_no_error(seed: int) -> None:
    image = built_image(NAMED["vector_first.x86_64.S"])
    chance = random.Random(seed)
    section = image.sections[".eh_frame"]
    content = bytearray(image.content)
    content[section.offset : section.offset + len(section.data)] = chance.randbytes(len(section.data))
    content[section.offset : section.offset + 4] = (len(section.data) - 8).to_bytes(4, "little")
    static_pass(replace(image, content=bytes(content)))


@pytest.mark.usefixtures("as_python")
def test_a_file_that_is_none_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none"
    path.write_bytes(b"\x7fELF and nothing else")
    assert "ELF" in sweep_file(path, "0").failure
    with pytest.raises(TestbedError):
        read_image(path)
