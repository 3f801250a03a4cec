"""Every instruction that capstone decodes is decoded, whatever its operands are."""

from __future__ import annotations

import random

import pytest
from capstone import Cs

from testbed.arch import ARCHES, Isa
from testbed.image.capstone_isas import CAPSTONE
from unwinders.analysis.function_code import decoder_of
from unwinders.analysis.operations import Store

ISAS = {isa.name: isa for arch in ARCHES.values() for isa in arch.isas}
# Top bytes of arm64's SVE, SME, system and single accesses, which are rare among random words.
_RARE = bytes.fromhex("e0e1c0c1a0808184e4e5a4a5850425656419d5f8")


def decoded(isa: Isa, code: bytes) -> int:
    decoder = Cs(*CAPSTONE[isa.name])
    decoder.detail = True
    decode, _ = decoder_of(isa)
    count, registers = 0, next(arch for arch in ARCHES.values() if isa in arch.isas).by_name
    for insn in decoder.disasm(code, 0x1000, 1):
        found = decode(insn, isa, lambda address, size: None)
        assert (found.address, found.size) == (insn.address, insn.size)
        stores = [each for each in found.operations if isinstance(each, Store) and each.source]
        assert all(8 * store.size <= registers[store.source or ""].bits for store in stores), insn.mnemonic
        count += 1
    return count


@pytest.mark.parametrize("word", [0xE1206200, 0xE1006200, 0xD53BD0B0, 0xD51BD0BF, 0xE0000000, 0xC0080000])
def test_registers_of_other_kinds_are_read(word: int) -> None:
    """LLVM's libunwind stores ZA rows: `str za[w15, 0], [x16]`."""
    assert decoded(ISAS["arm64"], word.to_bytes(4, "little")) <= 1


@pytest.mark.parametrize("name", ISAS)
def test_random_instructions_are_read(name: str) -> None:
    rng, count = random.Random(name), 0
    for k in range(3000):
        code = bytearray(rng.randbytes(16))
        if name == "arm64" and k % 2:
            code[3] = rng.choice(_RARE)
        count += decoded(ISAS[name], bytes(code))
    assert count > 800
