"""A debugger is told which bits of a return address are its signature, and takes them off."""

from __future__ import annotations

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.referee import REFEREES
from testbed.remote.snapshot_target import answer, description, layout
from testbed.runs.judging import judge_all
from testbed.words.outcome import Outcome


@pytest.mark.parametrize("arch", ARCHES)
def test_the_masks_are_registers_of_their_own_where_addresses_are_signed(arch: str) -> None:
    at = testbed.run("leaf_call", arch=arch).at("leaf")
    signs = bool(ARCHES[arch].signature)
    assert ("org.gnu.gdb.aarch64.pauth" in description(ARCHES[arch])) == signs
    assert ("addressing_bits:48;" in (answer(at, "qHostInfo") or "")) == signs
    names = [name for name, _ in layout(ARCHES[arch])]
    assert ("pauth_cmask" in names) == signs
    if signs:
        said = answer(at, f"p{names.index('pauth_cmask'):x}")
        assert said == ARCHES[arch].signature.to_bytes(8, "little").hex()
        assert (answer(at, "g") or "").endswith(said * 2)


@pytest.mark.parametrize(("program", "recipe"), [("pac_ret", "clang-asm"), ("recursion", "clang-O2-fp-pac")])
def test_gdb_takes_signatures_off(program: str, recipe: str) -> None:
    gdb = REFEREES["gdb"]
    if gdb.find() is None:
        pytest.skip(gdb.package)
    run = testbed.run(program, arch="arm64", recipe=recipe)
    (with_tables,) = (unwinder for unwinder in gdb.unwinders if unwinder.name == "gdb")
    assert {verdict.outcome for verdict in judge_all(run, with_tables)} == {Outcome.EXACT}
