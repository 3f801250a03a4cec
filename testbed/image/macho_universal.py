"""Universal files: one Mach-O file per architecture, behind a directory.

Layout (Apple, ``mach-o/fat.h``; every number big-endian)::

    magic cafebabe, count; entries {cpu type, subtype, offset, size, alignment} of 4 bytes each
    magic cafebabf, the same with offset and size of 8 bytes, and 4 reserved ones behind
"""

from __future__ import annotations

from testbed.arch import Arch
from testbed.image.file_bytes import FileBytes
from testbed.image.macho_arches import arch_of_cpu

UNIVERSAL, UNIVERSAL_64 = b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"
_MOST_SLICES = 64  # a Java class file begins as a universal file does, with a larger number here


def slice_for(file: FileBytes, wanted: Arch | None) -> FileBytes:
    """The part of a universal file for an architecture; without one, for the only one that is known here.

    Raises ImageError where that is no choice, or the part lies outside the file.
    """
    wide = file.data[:4] == UNIVERSAL_64

    def big_endian(offset: int, size: int) -> int:
        return int.from_bytes(file.take(offset, size, "the universal header"), "big")

    count = big_endian(4, 4)
    if count > _MOST_SLICES:
        raise file.error(4, f"a universal file of {count} parts; at most {_MOST_SLICES} are believed")
    there: dict[Arch, tuple[int, int]] = {}
    for i in range(count):
        at = 8 + i * (32 if wide else 20)
        arch = arch_of_cpu(big_endian(at, 4))
        if arch is not None:
            where = (
                (big_endian(at + 8, 8), big_endian(at + 16, 8))
                if wide
                else (big_endian(at + 8, 4), big_endian(at + 12, 4))
            )
            there.setdefault(arch, where)
    known = ", ".join(map(str, there)) or "no architecture that is known here"
    if wanted is None and len(there) == 1:
        wanted = next(iter(there))
    if wanted is None:
        raise file.error(4, f"a universal file with {known}: say which (--arch)")
    if wanted not in there:
        raise file.error(4, f"a universal file with {known}, not {wanted}")
    return file.part(*there[wanted], f"the part for {wanted}")
