"""An unwinder asked about test vectors.

This is the only place where vectors meet the package; what checks them does not know it. The folder of the vectors is
in the environment, under FOLDER.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.arch import ARCHES, Arch
from testbed.contract.frames import Backtrace, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.image.read import read_image
from testbed.trace import Snapshot
from testbed.trace.memory import Memory

FOLDER = "TESTBED_VECTORS"


def answer(unwinder: Unwinder, file: Any, vector: Any, registers: dict[str, int], memory: Any) -> dict[str, Any]:
    """What an unwinder says of one vector."""
    snapshot = snapshot_of(Path(os.environ[FOLDER]), file, registers, memory)
    return as_answer(unwinder.unwind(snapshot))


def snapshot_of(folder: Path, file: Any, registers: dict[str, int], memory: Any) -> Snapshot:
    """The machine of a vector as unwinders see it."""
    arch, said = ARCHES[file["arch"]], file["image"]
    records = tuple((isa, *layout.values()) for isa, layout in said["frame_records"].items())
    image = loaded(arch, folder / file["arch"] / said["file"], said["sha256"], said["bias"], records)
    regions = [(start, bytes(region)) for start, region in memory.regions]
    mask = int(file["pac_mask"], 16) if "pac_mask" in file else None
    return Snapshot(arch, registers, Memory.of(regions), (image,), pac_mask=mask)


def as_answer(said: Backtrace) -> dict[str, Any]:
    frames = []
    for i, frame in enumerate(said.frames):
        told: dict[str, Any] = {"pc": frame.pc, "cfa": frame.cfa}
        if i:
            told |= {"registers": dict(frame.registers), "interrupted": frame.kind is FrameKind.INTERRUPTED}
        frames.append(told)
    return (
        {"frames": frames, "root": True} if said.stopped is None else {"frames": frames, "stopped": str(said.stopped)}
    )


@lru_cache(maxsize=4)
def loaded(
    arch: Arch, path: Path, sha256: str, bias: str, records: tuple[tuple[str, str, int, int], ...]
) -> LoadedImage:
    """The program file, with the layouts of frame records that the vectors give."""
    assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    known = {
        (isa.name, r.pointer, r.saved_pointer, r.return_address): (isa.name, r)
        for isa in arch.isas
        for r in isa.records
    }
    return LoadedImage(
        replace(read_image(path, arch=arch), frame_records=dict(known[each] for each in records)), int(bias, 16)
    )
