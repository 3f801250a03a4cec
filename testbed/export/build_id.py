"""What names the contents of a program file, so that a dump's reader finds the same file and its symbols.

The GNU build id where the file has one; of a Mach-O file its LC_UUID. Otherwise what Breakpad computes: the first
page of the code, folded by XOR into 16 bytes (Breakpad, FileID::HashElfTextSection).
"""

from __future__ import annotations

import struct

from testbed.image import Image
from testbed.image.separate_debug import gnu_build_id

_LC_UUID = 0x1B
_HASHED = 4096


def build_id(image: Image) -> bytes:
    """The identifier of an image: of any length, 16 bytes where it is computed."""
    note = image.sections.get(".note.gnu.build-id")
    return (note and gnu_build_id(note.data)) or mach_o_uuid(image.content) or _folded(image)


def debug_identifier(identifier: bytes) -> str:
    """As Breakpad's symbol stores name it: the first 16 bytes as a GUID, whose first three fields are little-endian,
    and the age 0."""
    guid = identifier[:16].ljust(16, b"\0")
    fields = (guid[3::-1], guid[5:3:-1], guid[7:5:-1], guid[8:])
    return b"".join(fields).hex().upper() + "0"


def mach_o_uuid(content: bytes) -> bytes:
    """The 16 bytes of a Mach-O file's LC_UUID; nothing where it has none, and for other files."""
    if content[:4] != b"\xcf\xfa\xed\xfe" or len(content) < 32:
        return b""
    count, at = struct.unpack_from("<I", content, 16)[0], 32
    for _ in range(count):
        if at + 24 > len(content):
            break
        command, size = struct.unpack_from("<II", content, at)
        if command == _LC_UUID:
            return content[at + 8 : at + 24]
        at += max(size, 8)
    return b""


def _folded(image: Image) -> bytes:
    text = image.sections.get(".text") or image.sections.get("__TEXT,__text")
    code = text.data if text else next((s.data for s in image.segments if s.executable), b"")
    out = bytearray(16)
    for i, byte in enumerate(code[:_HASHED]):
        out[i % 16] ^= byte
    return bytes(out)
