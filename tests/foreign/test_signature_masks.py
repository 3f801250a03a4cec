"""Which bits of a return address are its signature is a fact of the process, so a snapshot carries it.

A program that signs is recorded where addresses have 48 bits. Here its signed addresses get the signatures that a
process with 39, 42, 48 or 52 bits would have given them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.contract.frames import Backtrace
from testbed.export.core import core_bytes
from testbed.export.macho_core import macho_core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.snapshot_json import snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.image import image_covering
from testbed.remote.snapshot_target import answer, layout
from testbed.runs.run import Run
from testbed.trace import Memory, Snapshot
from testbed.words.errors import UsageError
from tests.foreign.small import small
from unwinders import UNWINDERS

HERE = Places(sysroot=Path("/"))  # the program files are those of this machine

ARM64 = ARCHES["arm64"]
BITS = (39, 42, 48, 52)
PROGRAMS = [("pac_ret", "keystone"), ("pac_ret", "clang-asm"), ("recursion", "clang-O2-fp-pac")]
STRIPPING = ("eh_frame", "eh_frame_hdr", "sframe", "prologue_analysis", "builtin_return_address")
FILES: dict[str, Callable[[Snapshot], bytes]] = {
    "core": core_bytes,
    "minidump": minidump_bytes,
    "macho-core": macho_core_bytes,
    "json": lambda snapshot: json.dumps(snapshot_data(snapshot)).encode(),
}


def mask_of(bits: int) -> int:
    """Linux: GENMASK(54, bits), the bits between those of an address and those that the processor ignores."""
    return (1 << 55) - (1 << bits)


@cache
def recorded(program: str, recipe: str) -> Run:
    return testbed.run(program, arch="arm64", recipe=recipe)


def signed_for(snapshot: Snapshot, bits: int) -> Snapshot:
    """The snapshot as it would be with addresses of so many bits: signatures elsewhere, and all of them set."""

    def moved(word: int) -> int:
        address = word & ~ARM64.signature
        loaded = image_covering(snapshot.images, address - 1)
        return address | mask_of(bits) if address != word and loaded else word

    registers = {n: moved(v) if n in ("x29", "x30") else v for n, v in snapshot.registers.items()}
    parts = []
    for start, size in snapshot.memory.regions:
        data = snapshot.memory.read(start, size)
        if start <= snapshot.sp < start + size:
            data = b"".join(struct.pack("<Q", moved(word)) for (word,) in struct.iter_unpack("<Q", data))
        parts.append((start, data))
    return replace(snapshot, registers=registers, memory=Memory.of(parts), pac_mask=mask_of(bits))


def told(said: Backtrace) -> object:
    frames = [(f.kind, f.pc, f.cfa) for f in said.frames]
    return frames, said.stopped and (said.stopped.reason, said.stopped.pc)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(("program", "recipe"), PROGRAMS)
def test_signatures_are_taken_off_by_the_snapshots_mask(program: str, recipe: str, bits: int) -> None:
    run = recorded(program, recipe)
    strategies = [UNWINDERS[name] for name in STRIPPING if UNWINDERS[name].applies_to(run.built.image)]
    signed = 0
    for step in range(0, len(run), max(1, len(run) // 12)):
        snapshot = run[step]
        other = signed_for(snapshot, bits)
        signed += other.memory.read(snapshot.sp, 64) != snapshot.memory.read(snapshot.sp, 64)
        for unwinder in strategies:
            assert told(unwinder.unwind(other)) == told(unwinder.unwind(snapshot)), f"{unwinder}, step {step}"
    assert signed


def test_without_a_mask_a_signed_address_is_no_frame() -> None:
    """The mask that most processes have would make a false frame of another one's address."""
    run = recorded("pac_ret", "keystone")
    stopped = 0
    for step in range(0, len(run), 3):
        unknown = replace(signed_for(run[step], 39), pac_mask=None)
        for name in STRIPPING:
            whole, said = UNWINDERS[name].unwind(run[step]), UNWINDERS[name].unwind(unknown)
            pcs = [frame.pc for frame in said.frames]
            assert pcs == [frame.pc for frame in whole.frames][: len(pcs)]
            if len(pcs) < len(whole.frames):
                assert said.stopped is not None and said.stopped.reason == "UnsupportedRule"
                assert "pac_mask" in str(said.stopped)
                stopped += 1
    assert stopped > 20


def test_without_a_mask_an_address_inside_an_image_has_no_signature() -> None:
    """The same program on a core that cannot sign: its hints do nothing, and its rows still say "signed"."""
    run = recorded("pac_ret", "keystone")
    snapshot = run[len(run) // 2]
    plain = replace(signed_for(snapshot, 55), pac_mask=None)  # of 55 bits no bit is left for a signature
    assert told(UNWINDERS["eh_frame"].unwind(plain)) == told(UNWINDERS["eh_frame"].unwind(snapshot))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kind", FILES)
def test_every_format_carries_the_mask(kind: str, bits: int, tmp_path: Path) -> None:
    run = recorded("pac_ret", "keystone")
    snapshot = signed_for(run[len(run) // 2], bits)
    path = tmp_path / "snapshot"
    path.write_bytes(FILES[kind](snapshot))
    back = read_snapshot(path, HERE).snapshot
    assert back.pac_mask is not None
    assert back.pac_mask & (1 << 55) - 1 == mask_of(bits)  # a Mach-O core says how many bits are the address
    for name in STRIPPING:
        assert told(UNWINDERS[name].unwind(back)) == told(UNWINDERS[name].unwind(snapshot)), name


@pytest.mark.parametrize("kind", ["core", "minidump"])
def test_code_pointers_have_a_mask_of_their_own(kind: str, tmp_path: Path) -> None:
    content = bytearray(FILES[kind](small("arm64")))
    at = content.index(struct.pack("<2Q", ARM64.signature, ARM64.signature))
    struct.pack_into("<2Q", content, at, mask_of(52), mask_of(39))
    (tmp_path / "x").write_bytes(content)
    assert read_snapshot(tmp_path / "x", Places(skip_missing=True)).snapshot.pac_mask == mask_of(39)


@pytest.mark.parametrize("kind", FILES)
def test_where_it_is_not_known_no_file_says_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(FILES[kind](replace(small("arm64"), pac_mask=None)))
    assert read_snapshot(path, Places(skip_missing=True)).snapshot.pac_mask is None


@pytest.mark.parametrize(("version", "says"), [(3, (47, 0, 0)), (4, (47, 47, 0))])
def test_lldbs_note_of_the_addresses_bits(version: int, says: tuple[int, ...], tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(small("arm64")))
    at = content.index(struct.pack("<IIQ", 3, 48, 0))
    struct.pack_into("<4I", content, at, version, *says)
    (tmp_path / "x").write_bytes(content)
    assert read_snapshot(tmp_path / "x", HERE).snapshot.pac_mask == (1 << 64) - (1 << 47)


@pytest.mark.parametrize("bits", BITS)
def test_a_debugger_is_told_the_snapshots_mask(bits: int) -> None:
    snapshot = replace(small("arm64"), pac_mask=mask_of(bits))
    names = [name for name, _ in layout(ARM64)]
    assert answer(snapshot, f"p{names.index('pauth_cmask'):x}") == mask_of(bits).to_bytes(8, "little").hex()
    assert f"addressing_bits:{bits};" in (answer(snapshot, "qHostInfo") or "")
    unknown = replace(snapshot, pac_mask=None)
    assert answer(unknown, f"p{names.index('pauth_cmask'):x}") == "xx" * 8
    assert "addressing_bits" not in (answer(unknown, "qHostInfo") or "")


@pytest.mark.parametrize(
    ("arch", "mask", "said"),
    [
        ("arm64", (1 << 48) - 1, "no mask of signature bits"),  # the address's bits instead of the others
        ("arm64", 1 << 64, "no mask of signature bits"),
        ("x86_64", 0x7F << 48, "x86_64 signs no return addresses"),
    ],
)
def test_a_mask_that_cannot_be_one_is_refused(arch: str, mask: int, said: str) -> None:
    registers = {ARCHES[arch].pc: 0, ARCHES[arch].sp: 0}
    with pytest.raises(UsageError, match=said):
        Snapshot.from_parts(arch=arch, registers=registers, memory=[], images=[], pac_mask=mask)
    assert Snapshot.from_parts(arch=arch, registers=registers, memory=[], images=[]).pac_mask is None
