"""Mach-O core files (MH_CORE), as LLDB and `testbed export` write them: registers and memory.

Read too is which bits of a pointer may be its signature, and which program files were loaded where, if the note "all
image infos" says it. In a core without that note nothing does: `--file PATH@BASE` is for it.

Source: Mach-O, mach-o/loader.h; LLDB, ObjectFileMachO.cpp (GetCorefileAllImageInfos).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from testbed.arch import Arch
from testbed.export.register_layouts import LAYOUTS, MACHO_ADDRESS_BITS, MACHO_IMAGES
from testbed.foreign.model import MOST_PIECES, TAKE_IT_AGAIN, Dump, DumpBytes, Module, disjoint, registers_in
from testbed.image.macho_arches import MACH_O, arch_of_cpu
from testbed.words.budget import Account

_CORE, _SEGMENT, _THREAD, _NOTE = 4, 0x19, 0x4, 0x31
_HEADER = 32
_IMAGE_SIZE, _SEGMENT_SIZE = 48, 32
_NOT_KNOWN = (1 << 64) - 1
_EXECUTE = 4  # VM_PROT_EXECUTE, in the protection that a segment begins with


def read_macho_core(path: Path, content: bytes, account: Account, thread: int = 0) -> Dump:
    """The core file ``path``, whose bytes are ``content``; ``thread`` counts from 0, in the order of the file.

    Raises SnapshotFileError (file, offset, what is wrong, what to do), and BudgetExceeded: what is read draws on
    ``account``.
    """
    file = DumpBytes(path, content, 0, account)
    file.take(0, _HEADER, "the header")
    cpu, kind, count = (file.unsigned(at, 4, "the header") for at in (4, 12, 16))
    arch = arch_of_cpu(cpu)
    if arch is None:
        known = ", ".join(f"{name} ({of.cpu:#x})" for name, of in MACH_O.items() if of)
        raise file.error(4, f"unknown architecture: cpu type {cpu:#x}; known are {known}")
    if kind != _CORE:
        raise file.error(12, f"a Mach-O file of type {kind}, not a core (4): give a core file")
    if count > MOST_PIECES:
        raise file.error(16, f"{count} load commands; {TAKE_IT_AGAIN}")
    memory, mapped, threads, at, mask, whole = [], [], [], _HEADER, None, False
    modules: tuple[Module, ...] = ()
    for number in range(count):
        file.account.spend("entries", 2, at)
        what = f"load command {number}; {TAKE_IT_AGAIN}:"
        command, size = file.unsigned(at, 4, what), file.unsigned(at + 4, 4, what)
        part = file.part(at, max(size, 8), what)
        if command == _SEGMENT:
            address, size_there, offset, in_file = (part.unsigned(24 + 8 * i, 8, what) for i in range(4))
            mapped.append((address, min(address + size_there, 1 << 64)))
            whole |= bool(part.unsigned(60, 4, what) & _EXECUTE)  # LLDB also writes stacks alone: no code
            memory.append((address, file.take(offset, in_file, f"the memory at {address:#x}; {TAKE_IT_AGAIN}:")))
            if address + in_file > 1 << 64:
                raise file.error(at, f"memory at {address:#x} leaves the address space; {TAKE_IT_AGAIN}")
        elif command == _THREAD:
            threads.append(part)
        elif command == _NOTE:
            owner, place = part.take(8, 16, what).rstrip(b"\0"), part.unsigned(24, 8, what)
            if owner == MACHO_ADDRESS_BITS:
                mask = _signature_mask(file.part(place, 8, "the note of the addresses' bits"))
            elif owner == MACHO_IMAGES:
                modules = tuple(_modules(file, place))
        at += max(size, 8)
    if not 0 <= thread < len(threads):
        raise file.error(16, f"there is no thread {thread}: the file has {len(threads)}, counted from 0")
    registers = _registers(arch, threads[thread])
    mappings = tuple((start, end) for start, end in mapped if start < end) if whole else ()
    return Dump(path, "Mach-O core", arch, registers, disjoint(memory), modules, len(threads), mask, mappings, account)


def _signature_mask(note: DumpBytes) -> int | None:
    """LLDB's note "addrable bits", versions 3 and 4: how many low bits are the address. The others may be a signature.

    Zero: all bits, or it is not known.
    """
    version, bits = (note.unsigned(at, 4, "the note of the addresses' bits") for at in (0, 4))
    return (1 << 64) - (1 << bits) if version in (3, 4) and 0 < bits < 64 else None


def _modules(file: DumpBytes, at: int) -> Iterator[Module]:
    """LLDB's note "all image infos", version 1: {version, count, where the entries begin, size of one}.

    An entry: where its path is (0: not known), UUID, address (all ones: each segment has its own), where its segments
    are {name, address, 0}, how many. One without a path names no file, and one without an address lies nowhere.
    """
    what = "the note of all images"
    version, count = (file.unsigned(at + 4 * i, 4, what) for i in range(2))
    if version != 1:
        return
    if count > MOST_PIECES:
        raise file.error(at + 4, f"{count} images; {TAKE_IT_AGAIN}")
    first, size = file.unsigned(at + 8, 8, what), max(file.unsigned(at + 16, 4, what), _IMAGE_SIZE)
    for entry in range(first, first + count * size, size):
        file.account.spend("entries", 1, file.start + entry)
        path_at, start = file.unsigned(entry, 8, what), file.unsigned(entry + 24, 8, what)
        if start == _NOT_KNOWN:
            segments, number = file.unsigned(entry + 32, 8, what), file.unsigned(entry + 40, 4, what)
            start = _lowest(file, segments, number)
        if path_at and start != _NOT_KNOWN:
            uuid = file.take(entry + 8, 16, what)
            name = file.string(path_at, "the path of an image")
            yield Module(name, start, file.start + entry, identifier=uuid if any(uuid) else b"")


def _lowest(file: DumpBytes, at: int, count: int) -> int:
    """The lowest address of segments that were loaded; all ones where there is none. Nothing is at __PAGEZERO."""
    lowest = _NOT_KNOWN
    for segment in range(at, at + count * _SEGMENT_SIZE, _SEGMENT_SIZE):
        file.account.spend("entries", 1, file.start + segment)
        name = file.take(segment, 16, "a segment of an image").rstrip(b"\0")
        if name != b"__PAGEZERO":
            lowest = min(lowest, file.unsigned(segment + 16, 8, "a segment of an image"))
    return lowest


def _registers(arch: Arch, command: DumpBytes) -> dict[str, int]:
    """LC_THREAD: {flavor, count in words of 4 bytes, state} until its end."""
    blocks = LAYOUTS[arch.name].mach_o
    out: dict[str, int] = {}
    at = 8
    while at + 8 <= len(command):
        flavor, size = command.unsigned(at, 4, "LC_THREAD"), 4 * command.unsigned(at + 4, 4, "LC_THREAD")
        if flavor in blocks:
            out |= registers_in(arch, blocks[flavor], command.part(at + 8, size, "a thread state"), "a thread state")
        at += 8 + size
    return out
