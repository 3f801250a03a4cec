"""Real ORC tables: exact at every instruction of a run.

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
from testbed.program.model import Program
from testbed.runs.judging import judge_all
from testbed.runs.run import run_built
from tests.unwinders import producers
from unwinders.formats.orc import ENTRIES
from unwinders.tables.orc import ORC

X86_64 = ARCHES["x86_64"]
C_PROGRAMS = [p for p in PROGRAMS.values() if RECIPES["clang-O2"].source_of(p, ARCHES["x86_64"])]
FLAGS = ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
# ORC's offsets have 16 bits; of a frame of 64 KiB objtool writes the lower ones without a word.
TOO_LARGE = {"probed_frame"}
CASES = [
    pytest.param(p, flag, id=f"{p.name}{flag[2:]}") for p in C_PROGRAMS if p.name not in TOO_LARGE for flag in FLAGS
]
OBJTOOLS = producers.objtools() or [None]
# objtool stops at a jump table that it cannot follow (Linux builds without them).
OPTIONS = ("-O2", "-fno-jump-tables")


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
