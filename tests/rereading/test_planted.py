"""A mistake in the reader of a technique is noticed by the second reader of its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.contract.rows import Undefined
from testbed.image import Image
from testbed.words.errors import ToolchainMissing
from tests.rereading.beside import TECHNIQUES, differences
from unwinders import UNWINDERS
from unwinders.formats import cfi_rows, compact_unwind, eh_frame_hdr, ehabi_rows, orc, sframe

Shifted = list[tuple[int, int]]


def _next_fde(reader: Any, count: int, usual: Callable[..., Any] = eh_frame_hdr._usual_pairs) -> Shifted | None:
    pairs = usual(reader, count)
    return pairs and [(pc, fde) for (pc, _), (_, fde) in zip(pairs, [*pairs[1:], pairs[0]], strict=True)]


MACHINE = cfi_rows._RowMachine
DEFECTS = {
    "the CFA is a word further": (
        *(".eh_frame", "recursion", "x86_64", "clang-O2", MACHINE, "distance"),
        lambda self, reader: reader.uleb() + 8,
    ),
    "signatures are passed over": (
        *(".eh_frame", "recursion", "arm64", "clang-O2-pac", MACHINE, "toggle_signed"),
        lambda self, bits, reader, at: None,
    ),
    "what is restored is lost": (
        *(".eh_frame", "early_return", "arm64", "clang-asm", MACHINE, "restore"),
        lambda self, name, reader, at: self.set(name, Undefined(), reader, at),
    ),
    "the index leads to the FDE behind": (
        *(".eh_frame_hdr", "recursion", "x86_64", "clang-O2", eh_frame_hdr, "_usual_pairs"),
        _next_fde,
    ),
    "registers are one too high": (
        *(".debug_frame", "recursion", "arm32", "clang-O2", cfi_rows, "register_name"),
        lambda arch, number: arch.by_dwarf.get(number + 1, "none"),
    ),
    "popped registers are one too high": (
        *(".ARM.exidx", "big_frame", "arm32", "clang-O2", ehabi_rows, "_masked"),
        lambda mask, first_register: tuple(first_register + 1 + i for i in range(10) if mask >> i & 1),
    ),
    "a large distance is too small": (
        *(".ARM.exidx", "big_frame", "arm32", "clang-O2", ehabi_rows, "_FURTHEST_ULEB"),
        0x200,
    ),
    "SP is taken for FP": (".sframe", "recursion", "x86_64", "clang-O2-sframe", sframe, "_FROM_SP", 0),
    "offsets of SP are zero": (
        *(".orc_unwind", "leaf_call", "x86_64", "keystone", orc, "_WITHOUT_OFFSET"),
        tuple(orc.OrcRegister),
    ),
    "saved registers are other ones": (
        *("__compact_unwind", "recursion", "x86_64", "macho-O2-nofp", compact_unwind, "permutation"),
        lambda number, count: tuple(range(7 - count, 7)),
    ),
}


def fresh(image: Image) -> Image:
    """The same file as another image, of which nothing is read yet."""
    return replace(image)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_mistake_of_the_first_reader_is_noticed(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    format, program, arch, recipe, owner, name, instead = DEFECTS[defect]
    try:
        image = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe]).image
    except ToolchainMissing as error:
        pytest.skip(str(error))
    rows = UNWINDERS[TECHNIQUES[format]].rows
    assert rows is not None
    pcs = sorted({row.start for row in rows(image)})
    assert list(differences(fresh(image), format, pcs)) == []
    monkeypatch.setattr(owner, name, instead)
    assert list(differences(fresh(image), format, pcs))
