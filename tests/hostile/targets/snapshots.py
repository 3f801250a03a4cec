"""Every strategy at every kind of snapshot: registers missing or wild, memory in part, code elsewhere, files gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from random import Random

from testbed.image import LoadedImage
from testbed.trace import Memory, Snapshot
from testbed.words.errors import UnwindError
from tests.hostile import real
from tests.hostile.damage import packed, unpacked
from tests.hostile.target import Target
from unwinders import UNWINDERS
from unwinders.rows.walk import MAX_FRAMES

_WORDS = 24  # of an input: each is one change


@cache
def _seeds() -> Sequence[bytes]:
    """Which snapshot, and changes (none): a kind, a place, a value, 2 + 2 + 8 bytes each."""
    return [packed([bytes([index]), b""]) for index in range(len(real.snapshots()))]


def _damaged(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """One change more."""
    parts = unpacked(content)
    if parts is None or len(parts) != 2:
        return content
    snapshot = real.snapshots()[parts[0][0] % len(real.snapshots())]
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
    return packed([parts[0], parts[1] + change + (value & (1 << 64) - 1).to_bytes(8, "little")])


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


def _read(content: bytes, strategy: str) -> None:
    parts = unpacked(content)
    if parts is None or len(parts) != 2 or not parts[0]:
        return
    snapshot = _changed(real.snapshots()[parts[0][0] % len(real.snapshots())], parts[1])
    unwinder = UNWINDERS[strategy]
    if unwinder.arches is not None and snapshot.arch.name not in unwinder.arches:
        return
    said = unwinder.unwind(snapshot)
    assert 1 <= len(said.frames) <= MAX_FRAMES + 1, "a walk is bounded"
    assert said.stopped is None or isinstance(said.stopped, UnwindError)
    str(said.stopped)


TARGETS = tuple(
    Target(f"snapshot_{name}", f"snapshots that are hard on {name}", _seeds, partial(_read, strategy=name), _damaged)
    for name in UNWINDERS
)
