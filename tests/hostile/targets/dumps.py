"""Stopped threads in files: ELF cores, Mach-O cores, minidumps, JSON; read, and unwound by every strategy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from testbed.export.core import core_bytes
from testbed.export.macho_core import macho_core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.snapshot_json import snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.naming.symbolize import symbolize
from testbed.trace import Memory, Snapshot
from testbed.words.errors import UnwindError, UsageError
from tests.hostile import real
from tests.hostile.damage import damaged_bytes, damaged_json
from tests.hostile.folder import file_with, folder
from tests.hostile.target import Damage, Target
from unwinders import UNWINDERS


def _json(snapshot: Snapshot) -> bytes:
    return json.dumps(snapshot_data(snapshot)).encode()


def _short(snapshot: Snapshot) -> Snapshot:
    """A snapshot with a few words of stack and of code, so that damage meets structure and not only memory."""
    parts = []
    for address, size in ((snapshot.pc & -64, 0x40), (snapshot.sp & -64, 0x100)):
        end = snapshot.memory.mapped_until(address)
        parts.append((address, snapshot.memory.read(address, min(size, end - address))))
    return replace(snapshot, memory=Memory.of(parts))


@cache
def _seeds(write: Callable[[Snapshot], bytes]) -> Sequence[bytes]:
    found = []
    for snapshot in real.snapshots()[::3]:
        try:
            found.append(write(_short(snapshot)))
        except UsageError:  # Apple has no such core of this architecture
            continue
    return found


def _read(content: bytes) -> None:
    foreign = read_snapshot(file_with(content), Places(sysroot=folder(), skip_missing=True))
    snapshot = foreign.snapshot
    str(snapshot)
    images = [loaded.image for loaded in snapshot.images]
    for unwinder in UNWINDERS.values():
        if any(unwinder.applies_to(image) for image in images) or unwinder.name in ("fp_chain", "stack_scan"):
            try:
                symbolize(snapshot.images, unwinder.unwind(snapshot))
            except UnwindError:
                continue


def _target(name: str, what: str, write: Callable[[Snapshot], bytes], damage: Damage) -> Target:
    return Target(name, what, partial(_seeds, write), _read, damage, weight=0.5)


TARGETS = (
    _target("core", "ELF cores: headers, notes, mapped files, memory", core_bytes, damaged_bytes),
    _target("macho_core", "Mach-O cores", macho_core_bytes, damaged_bytes),
    _target("minidump", "minidumps: directory, streams, contexts, memory lists", minidump_bytes, damaged_bytes),
    _target("snapshot_json", "JSON snapshots", _json, damaged_json),
)
