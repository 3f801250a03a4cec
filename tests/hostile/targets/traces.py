"""Recorded runs in files: header and blocks damaged *inside*, with sizes, compression and checksums made right."""

import json
import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from runpy import run_path
from typing import Any

import zstandard

import testbed.vectors
from testbed.image import LoadedImage
from testbed.runs.files import load_run, save_run
from testbed.trace import Memory, Snapshot
from testbed.trace.file_blocks import MAGIC, VERSION
from testbed.vectors.collect import collect
from testbed.vectors.write import write_file
from testbed.words.errors import UnwindError
from tests.hostile import real
from tests.hostile.damage import damaged_bytes, damaged_json, damaged_lines_of_json, packed, parts_of
from tests.hostile.real import file_with, folder
from tests.hostile.target import Target
from unwinders import UNWINDERS
from unwinders.rows.walk import MAX_FRAMES

_START, _HEAD = struct.Struct("<8sIII"), struct.Struct("<4sIII")
_MOST = 1 << 24  # bytes of a block that are unpacked here to be damaged


@cache
def _seeds() -> Sequence[bytes]:
    found = []
    for run in real.runs()[::2]:
        path = folder() / "seed.trace"
        save_run(run, path)
        found.append(path.read_bytes())
    return found


def _blocks(content: bytes) -> list[tuple[bytes, bytes]] | None:
    """The kinds and frames of a trace file's blocks; the first one is the header, of no kind."""
    if len(content) < _START.size:
        return None
    size = _START.unpack_from(content)[2]
    at = _START.size + size
    found = [(b"", content[_START.size : at])]
    while at + _HEAD.size <= len(content):
        kind, stored, _, _ = _HEAD.unpack_from(content, at)
        found.append((kind, content[at + _HEAD.size : at + _HEAD.size + stored]))
        at += _HEAD.size + stored
    return found


def _file(blocks: Sequence[tuple[bytes, bytes]], sizes: Sequence[int | None]) -> bytes:
    """A trace file of these blocks, with right lengths and checksums. A size of None: what the frame really holds."""
    text = blocks[0][1]
    out = [_START.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text]
    for (kind, frame), size in zip(blocks[1:], sizes[1:], strict=True):
        size = _unpacked_size(frame) if size is None else size
        check = zlib.crc32(frame, zlib.crc32(_HEAD.pack(kind, len(frame), size & 0xFFFFFFFF, 0)))
        out.append(_HEAD.pack(kind, len(frame), size & 0xFFFFFFFF, check) + frame)
    return b"".join(out)


def _unpacked_size(frame: bytes) -> int:
    try:
        size = zstandard.frame_content_size(frame) if frame else 0
    except zstandard.ZstdError:
        size = 0
    return max(size, 0) & 0xFFFFFFFF


def _damaged(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """One block of a trace damaged behind its compression, or the list of blocks; now and then the plain bytes."""
    blocks = _blocks(content)
    if blocks is None or len(blocks) < 2 or not dice.randrange(10):
        return damaged_bytes(content, dice, seeds)
    sizes: list[int | None] = [None] * len(blocks)
    at = 0 if not dice.randrange(3) else dice.randrange(len(blocks))
    kind, frame = blocks[at]
    others = [each[1] for each in blocks]
    if at == 0:
        blocks[0] = (b"", damaged_json(frame, dice, others))
    else:
        match dice.randrange(8):
            case 0:
                del blocks[at], sizes[at]
            case 1:
                other = dice.randrange(1, len(blocks))
                blocks[at], blocks[other] = blocks[other], blocks[at]
            case 2:
                blocks.insert(at, blocks[at])
                sizes.insert(at, None)
            case 3:
                sizes[at] = dice.choice((0, 1, 0xFFFFFFFF, 1 << 26, dice.getrandbits(20)))
            case 4:
                blocks[at] = (kind, damaged_bytes(frame, dice, others))
            case _:
                blocks[at] = (kind, _repacked(frame, dice))
    return _file(blocks, sizes)


def _repacked(frame: bytes, dice: Random) -> bytes:
    try:
        plain = zstandard.ZstdDecompressor().decompress(frame, max_output_size=_MOST) if frame else b""
    except zstandard.ZstdError:
        return frame
    return zstandard.ZstdCompressor(level=1).compress(damaged_bytes(plain, dice, [plain or b"\0"]))


def _mended(content: bytes) -> bytes:
    """The same file with right checksums, where it still has the form of one."""
    blocks = _blocks(content)
    if blocks is None or content[:8] != MAGIC:
        return content
    at = _START.size + len(blocks[0][1])
    told: list[int | None] = [None]
    for _, frame in blocks[1:]:
        told.append(_HEAD.unpack_from(content, at)[2])
        at += _HEAD.size + len(frame)
    return _file(blocks, told)


def _read(content: bytes) -> None:
    """All that a trace has, and what two unwinders say at three of its steps."""
    run = load_run(file_with(content, "hostile.trace"))
    trace = run.trace
    for step in {0, len(trace) // 2, len(trace) - 1} if len(trace) else ():
        snapshot = trace.snapshot(step)
        for name in ("eh_frame", "fp_chain"):
            with suppress(UnwindError):
                UNWINDERS[name].unwind(snapshot)


TRACES = (Target("trace", "recorded runs in files", _seeds, _read, _damaged, _mended, weight=0.2),)


# Every unwinder at every kind of snapshot: registers missing or wild, memory in part, code elsewhere, files gone.


_WORDS = 24  # of an input: each is one change


@cache
def _snapshot_seeds() -> Sequence[bytes]:
    """Which snapshot, and changes (none): a kind, a place, a value, 2 + 2 + 8 bytes each."""
    return [packed([bytes([index]), b""]) for index in range(len(real.snapshots()))]


def _snapshot(which: bytes) -> Snapshot:
    return real.snapshots()[int.from_bytes(which, "little") % len(real.snapshots())]


def _damaged_snapshot(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """One change more."""
    which, changes = parts_of(content, 2)
    snapshot = _snapshot(which)
    near = [
        *snapshot.registers.values(),
        *(address for address, _ in snapshot.memory.regions),
        snapshot.images[0].entry,
    ]
    value = dice.choice(
        (
            *(0, 1, 7, 8, 0xFFFF_FFFF, 0x8000_0000, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, dice.getrandbits(64)),
            *(dice.choice(near) + dice.choice((-16, -8, -4, -1, 0, 0, 1, 2, 4, 8, 16)) for _ in range(8)),
        )
    )
    change = dice.randrange(8).to_bytes(2, "little") + dice.getrandbits(16).to_bytes(2, "little")
    return packed([which, changes + change + (value & (1 << 64) - 1).to_bytes(8, "little")])


def _changed(snapshot: Snapshot, changes: bytes) -> Snapshot:
    """A snapshot with changes made: registers, words of memory, what is mapped, which images there are."""
    registers = dict(snapshot.registers)
    memory = {start: bytearray(snapshot.memory.read(start, size)) for start, size in snapshot.memory.regions}
    images, mask = snapshot.images, snapshot.pac_mask
    mappings = snapshot.mappings
    word = snapshot.arch.word
    for at in range(0, min(len(changes), 12 * _WORDS) - 11, 12):
        kind, where = int.from_bytes(changes[at : at + 2], "little"), int.from_bytes(changes[at + 2 : at + 4], "little")
        value = int.from_bytes(changes[at + 4 : at + 12], "little") & snapshot.arch.word_mask
        names = list(snapshot.registers)
        name = (snapshot.arch.pc, snapshot.arch.sp, names[where % len(names)])[(where >> 3 & 1 and 2) or where & 1]
        if kind in (0, 1):
            registers[name] = value & (1 << snapshot.arch.by_name[name].bits) - 1
        elif kind == 2:
            if name not in (snapshot.arch.pc, snapshot.arch.sp):
                registers.pop(name, None)
        elif kind == 3:  # a word of the stack
            place = (snapshot.sp & -word) + word * (where % 64)
            for start, data in memory.items():
                if start <= place and place + word <= start + len(data):
                    data[place - start : place - start + word] = value.to_bytes(word, "little")
        elif kind == 4:  # less memory
            start = list(memory)[where % len(memory)]
            memory[start] = memory[start][: value % (len(memory[start]) + 1)]
        elif kind == 5:
            images = () if where % 3 == 0 else tuple(LoadedImage(each.image, each.bias + value) for each in images)
        elif kind == 6:
            mask = (None, 0x7F << 48, 0xFFFF << 39)[where % 3] if snapshot.arch.signature else mask
        else:  # a dump that says what was mapped, or does not
            mappings = ((), ((value & -4096, (value & -4096) + 4096),), None)[where % 3]
    parts = [(start, bytes(data)) for start, data in memory.items() if data]
    return replace(
        snapshot, registers=registers, memory=Memory.of(parts), images=images, pac_mask=mask, mappings=mappings
    )


def _read_snapshot(content: bytes, name: str) -> None:
    which, changes = parts_of(content, 2)
    snapshot = _changed(_snapshot(which), changes)
    unwinder = UNWINDERS[name]
    if unwinder.arches is not None and snapshot.arch.name not in unwinder.arches:
        return
    said = unwinder.unwind(snapshot)
    assert 1 <= len(said.frames) <= MAX_FRAMES + 1, "a walk is bounded"
    assert said.stopped is None or isinstance(said.stopped, UnwindError)
    str(said.stopped)


SNAPSHOTS = tuple(
    Target(
        f"snapshot_{name}",
        f"snapshots that are hard on {name}",
        _snapshot_seeds,
        partial(_read_snapshot, name=name),
        _damaged_snapshot,
    )
    for name in UNWINDERS
)


# What a stranger's command answers to test vectors, as the checker that lies beside them reads it.


@cache
def _checker() -> dict[str, Any]:
    """What the script defines, which is no module of the package."""
    return run_path(str(Path(testbed.vectors.__file__).parent / "kit" / "check_vectors.py"))


@cache
def _vectors() -> dict[str, Any]:
    """The vectors of one small program."""
    place = folder() / "vectors"
    (place / "x86_64").mkdir(parents=True, exist_ok=True)
    entry = write_file(collect("leaf_call", real.runs()[0], [UNWINDERS["fp_chain"]]), place)
    file: dict[str, Any] = json.loads((place / entry["file"]).read_text())
    return file


@cache
def _answer_seeds() -> Sequence[bytes]:
    """Right answers to some of them: whole stacks, with registers, and one that stops."""
    file, lines = _vectors(), []
    for vector in file["vectors"][:6]:
        pc = {**file["registers"], **vector["registers"]}["rip"]
        frames = [{"pc": pc, "cfa": vector.get("cfa"), "interrupted": True}]
        frames += [file["callers"][index] for index in vector["callers"]]
        lines.append({"id": vector["id"], "frames": frames, "root": True})
    lines.append({"id": file["vectors"][6]["id"], "frames": lines[0]["frames"][:1], "stopped": "no more"})
    return [b"\n".join(json.dumps(line).encode() for line in some) for some in (lines, lines[:2], lines[-1:])]


def _read_answers(content: bytes) -> None:
    checker, file = _checker(), _vectors()
    told = checker["answers_in"](content.splitlines())
    for vector in file["vectors"]:
        checker["result"](file, vector, told.get(vector["id"]), ["fp_chain"])


ANSWERS = (
    Target(
        "vector_answers",
        "answers to test vectors, as their checker reads them",
        _answer_seeds,
        _read_answers,
        damaged_lines_of_json,
        weight=0.5,
    ),
)


TARGETS = (*TRACES, *SNAPSHOTS, *ANSWERS)
