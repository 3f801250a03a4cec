"""What gdb asks of a target that does not run: its description, registers, memory.

Source: manual of gdb, appendix "Remote Serial Protocol", sections "Packets" and "General Query Packets"; appendix
"Target Descriptions".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from xml.sax.saxutils import quoteattr

from testbed.arch import Arch
from testbed.remote.gdb_targets import GDB_TARGETS
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory

PACKET_SIZE = 0x4000
FEATURES = f"PacketSize={PACKET_SIZE:x};QStartNoAckMode+;qXfer:features:read+"

_TRANSFER = re.compile(r"qXfer:features:read:target\.xml:([0-9a-f]+),([0-9a-f]+)")
_MEMORY = re.compile(r"m([0-9a-f]+),([0-9a-f]+)")
_FIXED = {
    "?": "S05",
    "qAttached": "1",  # so that gdb detaches at its end, instead of killing
    "qC": "QC1",
    "qfThreadInfo": "m1",
    "qsThreadInfo": "l",
    "T1": "OK",
    "c": "S05",  # LLDB goes on to the next snapshot that is shown, and forgets what it read of the one before
    "C05": "S05",
}


@dataclass(slots=True)
class ShownSnapshot:
    """One snapshot at a time, as a target of gdb; another one may take its place between two stops."""

    snapshot: Snapshot

    def answer(self, request: str) -> str | None:
        """The reply to a request: "" for what is not supported, None for a request that ends the conversation."""
        return answer(self.snapshot, request)


def answer(snapshot: Snapshot, request: str, features: str = FEATURES) -> str | None:
    """The reply of a target that stands at a snapshot, and that supports ``features``."""
    if request == "g":
        return "".join(_value(snapshot, name, size) for name, size in layout(snapshot.arch))
    if match := _MEMORY.fullmatch(request):
        return memory(snapshot, int(match[1], 16), min(int(match[2], 16), PACKET_SIZE // 2 - 4))
    if request[:1] == "p" and re.fullmatch("[0-9a-f]+", request[1:]):
        registers = layout(snapshot.arch)
        number = int(request[1:], 16)
        return _value(snapshot, *registers[number]) if number < len(registers) else "E01"
    if request.startswith("qSupported"):
        return features
    if match := _TRANSFER.fullmatch(request):
        start, size = int(match[1], 16), int(match[2], 16)
        text = description(snapshot.arch)
        return ("m" if start + size < len(text) else "l") + text[start : start + size]
    if request == "qHostInfo":  # LLDB's
        return _host(snapshot)
    if request[:1] in ("k", "D") or request.startswith("vKill"):
        return None
    return "OK" if request[:1] == "H" else _FIXED.get(request, "")


def triple(snapshot: Snapshot) -> str:
    """LLDB's name of the target: of a Mach-O program, one that has such files."""
    target = GDB_TARGETS[snapshot.arch.name]
    if target.apple_triple and any(image.image.content[:4] not in (b"", b"\x7fELF") for image in snapshot.images[:1]):
        return target.apple_triple
    return target.triple


def memory(snapshot: Snapshot, address: int, size: int) -> str:
    """``size`` bytes in hexadecimal; fewer where the mapping ends before, an error where there is none."""
    try:
        return snapshot.memory.read(address, size).hex()
    except UnreadableMemory:
        pass
    try:
        return snapshot.memory.read(address, snapshot.memory.mapped_until(address) - address).hex()
    except UnreadableMemory:
        return "E01"


def _value(snapshot: Snapshot, name: str | None, size: int) -> str:
    masked = name in GDB_TARGETS[snapshot.arch.name].masks
    value = snapshot.pac_mask if masked else snapshot.registers.get(name or "")
    if value is None:
        return "xx" * size
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little").hex()


@cache
def layout(arch: Arch) -> tuple[tuple[str | None, int], ...]:
    """The registers of the ``g`` packet in order: our name (None: nothing is recorded of it), and bytes."""
    ours, masks = GDB_TARGETS[arch.name].ours, GDB_TARGETS[arch.name].masks
    names = [
        (ours.get(name, name), bits // 8)
        for registers in GDB_TARGETS[arch.name].features.values()
        for name, bits in registers
    ]
    return tuple((name if name in arch.by_name or name in masks else None, size) for name, size in names)


def _host(snapshot: Snapshot) -> str:
    mask = snapshot.pac_mask
    bits = f"addressing_bits:{(mask & -mask).bit_length() - 1};" if mask else ""
    return f"triple:{triple(snapshot).encode().hex()};ptrsize:{snapshot.arch.word};endian:little;{bits}"


@cache
def description(arch: Arch) -> str:
    """The target description: gdb needs it for registers that are not in its own idea of the architecture."""
    lines = ['<?xml version="1.0"?>', "<target>", f"<architecture>{GDB_TARGETS[arch.name].architecture}</architecture>"]
    for feature, registers in GDB_TARGETS[arch.name].features.items():
        lines.append(f"<feature name={quoteattr(feature)}>")
        lines.append('<vector id="pair" type="uint64" count="2"/>')
        for name, bits in registers:
            kind = _KINDS.get(bits, "int")
            if GDB_TARGETS[arch.name].ours.get(name, name) == arch.pc:
                kind = "code_ptr"
            elif GDB_TARGETS[arch.name].ours.get(name, name) == arch.sp:
                kind = "data_ptr"
            lines.append(f'<reg name={quoteattr(name)} bitsize="{bits}" type="{kind}"/>')
        lines.append("</feature>")
    return "\n".join([*lines, "</target>", ""])


_KINDS = {32: "int32", 64: "int64", 80: "i387_ext", 128: "pair"}
