"""ELF core files: one stopped thread, its memory and its mapped files, as the Linux kernel writes them.

Layout::

    ELF header            ET_CORE, the machine, e_flags of the architecture
    program headers       PT_NOTE, then one PT_LOAD per piece of memory
    notes                 NT_PRSTATUS, NT_PRPSINFO, the vector registers' note, NT_AUXV, NT_FILE
    memory                each piece at a page boundary of the file

Unlike most of the kernel's, such a core holds the program's code and read-only data too, so that it can be read
without the program's file. ``EI_OSABI`` is ELFOSABI_LINUX: LLDB takes no other.

Source: System V ABI, chapters 4 and 5; linux/elfcore.h, uapi/linux/elf.h; fs/binfmt_elf.c (fill_files_note).
"""

from __future__ import annotations

import struct

from testbed.arch import Arch
from testbed.export.dumped_memory import PAGE, Piece, filled, has_any, mapped_files, pieces
from testbed.export.register_layouts import CORE_PAC_MASK, LAYOUTS, PARTIAL, PARTIAL_OWNER
from testbed.trace import Snapshot

PROCESS = 1000  # the process's and the thread's number
_STOP = 5  # SIGTRAP
_KIND = "an ELF core"
_PROGRAM, _NOTES = 1, 4  # PT_LOAD, PT_NOTE
_PRPSINFO, _AUXV, _FILE = 3, 6, 0x4649_4C45
_AT_NULL, _AT_PAGESZ, _AT_ENTRY, _AT_HWCAP = 0, 6, 9, 16


def core_bytes(snapshot: Snapshot, *, code: bool = True) -> bytes:
    """A snapshot as an ELF core file.

    Without ``code``, what is mapped from files and not writable is left to the files, as the kernel does it. Raises
    UsageError where a register is not known: such a core has no way to say so.
    """
    arch = snapshot.arch
    wide = arch.word == 8
    memory = pieces(snapshot)
    notes = b"".join(_notes(snapshot))
    header_size, entry_size = (64, 56) if wide else (52, 32)
    at = header_size + entry_size * (1 + len(memory))
    headers = [_program_header(wide, _NOTES, 4, at, 0, len(notes), len(notes), 4)]
    at = _rounded(at + len(notes))
    body = []
    for piece in memory:
        in_file = _comes_from_a_file(snapshot, piece) and not code
        size = 0 if in_file else len(piece.data)
        flags = 4 | 2 * piece.writable | piece.executable
        headers.append(_program_header(wide, _PROGRAM, flags, at, piece.address, size, len(piece.data), PAGE))
        if size:
            body.append(piece.data.ljust(_rounded(size), b"\0"))
            at += _rounded(size)
    start = _elf_header(arch, header_size, entry_size, len(headers)) + b"".join(headers) + notes
    return b"".join((start.ljust(_rounded(len(start)), b"\0"), *body))


def _notes(snapshot: Snapshot) -> list[bytes]:
    arch = snapshot.arch
    layouts = LAYOUTS[arch.name]
    status = filled(layouts.core[0].block, snapshot, _KIND)
    struct.pack_into("<i", status, 0, _STOP)
    # Three integers, a short and its padding, two words of signal sets; then the numbers of the process.
    struct.pack_into("<i", status, 16 + 2 * arch.word, PROCESS)
    # Words: type, value. Debuggers find a program's load bias from its entry.
    entries = [
        (_AT_PAGESZ, PAGE),
        (_AT_HWCAP, layouts.hwcap),
        *((_AT_ENTRY, loaded.entry) for loaded in snapshot.images[:1]),
        (_AT_NULL, 0),
    ]
    word = "Q" if arch.word == 8 else "I"
    return [
        _note("CORE", layouts.core[0].type, bytes(status)),
        _note("CORE", _PRPSINFO, _process_info(snapshot, layouts.process_info)),
        *(
            _note(note.owner, note.type, bytes(filled(note.block, snapshot, _KIND)))
            for note in layouts.core[1:]
            if has_any(note.block, snapshot)
        ),
        *([_note("LINUX", CORE_PAC_MASK, struct.pack("<2Q", *(snapshot.pac_mask,) * 2))] if snapshot.pac_mask else []),
        *([] if snapshot.is_whole else [_note(PARTIAL_OWNER, PARTIAL, b"")]),
        _note("CORE", _AUXV, b"".join(struct.pack(f"<2{word}", *entry) for entry in entries)),
        _note("CORE", _FILE, _file_note(snapshot, word)),
    ]


def _process_info(snapshot: Snapshot, size: int) -> bytes:
    """``struct elf_prpsinfo``: it ends with the program's name (16 bytes) and its command line (80 bytes)."""
    out = bytearray(size)
    out[1:2] = b"R"
    struct.pack_into("<i", out, size - 96 - 16, PROCESS)
    if snapshot.images:
        name = snapshot.images[0].image.path.name.encode()
        out[size - 96 : size - 80] = name[:15].ljust(16, b"\0")
        out[size - 80 :] = name[:79].ljust(80, b"\0")
    return bytes(out)


def _file_note(snapshot: Snapshot, word: str) -> bytes:
    """NT_FILE: count, page size, {start, end, offset in pages} for each mapping, then the names."""
    files = mapped_files(snapshot)
    out = struct.pack(f"<2{word}", len(files), PAGE)
    for each in files:
        out += struct.pack(f"<3{word}", each.start, each.end, each.offset // PAGE)
    return out + b"".join(str(each.path).encode("utf-8", "surrogateescape") + b"\0" for each in files)


def _note(owner: str, kind: int, content: bytes) -> bytes:
    name = owner.encode() + b"\0"
    return struct.pack("<III", len(name), len(content), kind) + b"".join(
        part.ljust(-(-len(part) // 4) * 4, b"\0") for part in (name, content)
    )


def _elf_header(arch: Arch, size: int, entry_size: int, count: int) -> bytes:
    wide = arch.word == 8
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1, 1, 3]) + bytes(8)
    words = "QQQ" if wide else "III"
    return ident + struct.pack(
        f"<HHI{words}IHHHHHH",
        4,
        LAYOUTS[arch.name].elf_machine,
        1,
        0,
        size,
        0,
        LAYOUTS[arch.name].elf_flags,
        size,
        entry_size,
        count,
        0,
        0,
        0,
    )


def _program_header(
    wide: bool, kind: int, flags: int, offset: int, address: int, in_file: int, in_memory: int, alignment: int
) -> bytes:
    if wide:
        return struct.pack("<IIQQQQQQ", kind, flags, offset, address, 0, in_file, in_memory, alignment)
    return struct.pack("<IIIIIIII", kind, offset, address, 0, in_file, in_memory, flags, alignment)


def _comes_from_a_file(snapshot: Snapshot, piece: Piece) -> bool:
    """True where every byte of a piece is what some mapped file shows there."""
    files = mapped_files(snapshot)
    covered = piece.address
    for each in files:
        if each.start <= covered < each.end:
            covered = each.end
    return not piece.writable and covered >= piece.end


def _rounded(size: int) -> int:
    return -(-size // PAGE) * PAGE
