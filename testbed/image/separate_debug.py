"""Where the separate debug file of a stripped program is looked for, and which file is the right one.

With the folders that the user names, first to last::

    FOLDER/.build-id/xx/yyyy.debug        xx: the first byte of the build id, yyyy: the others
    the name in .gnu_debuglink: beside the program, in its folder .debug, in FOLDER/its folder, in FOLDER

Right is the file with the same build id; by its name, the one whose CRC is that in ``.gnu_debuglink``::

    .gnu_debuglink = name, zero, padding to a multiple of 4, CRC-32 of the whole file (32 bits)

Commands that check or run a file look in gdb's own folder too (`looked_in`). Of it nothing is said where a file is not
there: nobody asked. Without folders nothing is looked for.

Source: manual of gdb, section "Debugging Information in Separate Files".
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from testbed.image.model import Section

BUILD_ID, LINK, ALTERNATE = ".note.gnu.build-id", ".gnu_debuglink", ".gnu_debugaltlink"
_NT_GNU_BUILD_ID = 3
_BUILD_ID_NOTE = re.compile(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", re.DOTALL)
_MOST = 1 << 32  # bytes of a debug file that are read


@dataclass(frozen=True, slots=True)
class DebugDirs:
    """``folders`` to look in; ``known_as``: the program's path on the machine that it is from, if that is another.

    ``quiet``: what is not found is no note.
    """

    folders: tuple[Path, ...] = ()
    known_as: str = ""
    quiet: bool = False


NOWHERE = DebugDirs()
_OF_THE_SYSTEM = Path("/usr/lib/debug")  # gdb: set debug-file-directory


def looked_in(named: tuple[Path, ...] = (), sysroot: Path | None = None) -> DebugDirs:
    """The folders that somebody ``named``, then the system's: the one of a ``sysroot``, and this machine's."""
    below = () if sysroot is None else (sysroot / _OF_THE_SYSTEM.relative_to("/"),)
    return DebugDirs((*named, *below, _OF_THE_SYSTEM), quiet=not named)


@dataclass(frozen=True, slots=True)
class SeparateDebug:
    """The file that was found, and what was found and is not it."""

    path: Path | None = None
    content: bytes = field(default=b"", repr=False)
    notes: tuple[str, ...] = ()


def gnu_build_id(notes: bytes) -> bytes:
    """The descriptor of the NT_GNU_BUILD_ID note among ELF notes; empty where there is none."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + -(-name_size // 4) * 4
        if kind == _NT_GNU_BUILD_ID and notes[at + 12 : at + 12 + name_size] == b"GNU\0":
            return notes[start : start + size]
        at = start + -(-size // 4) * 4
    return b""


def debug_file_stamp(content: bytes, dirs: DebugDirs) -> str:
    """Which debug file a program file with this content has by its build id, and since when; "" for none."""
    note = _BUILD_ID_NOTE.search(content)
    identifier = content[note.end() : note.end() + note[1][0]].hex() if note else ""
    for folder in dirs.folders if identifier else ():
        place = folder / ".build-id" / identifier[:2] / f"{identifier[2:]}.debug"
        if place.is_file():
            return f"{place} {place.stat().st_mtime_ns}"
    return ""


def find_debug_file(path: Path, sections: Mapping[str, Section], dirs: DebugDirs) -> SeparateDebug:
    """The debug file of the program ``path``, by what its sections say. Raises nothing.

    That a file found by build id has that build id is for the reader to check.
    """
    if not dirs.folders:
        return SeparateDebug()
    note = sections.get(BUILD_ID)
    identifier = gnu_build_id(note.data) if note else b""
    if len(identifier) > 1:
        place = Path(".build-id", f"{identifier[0]:02x}", f"{identifier[1:].hex()}.debug")
        for folder in dirs.folders:
            if (content := _content(folder / place)) is not None:
                return SeparateDebug(folder / place, content)
    link = _link(sections)
    if link is None:
        said = f"no debug file for its build id {identifier.hex()}" if len(identifier) > 1 else ""
        return SeparateDebug(notes=(said,) if said and not dirs.quiet and ".debug_info" not in sections else ())
    name, wanted = link
    notes: list[str] = []
    for candidate in _candidates(path, name, dirs):
        if (content := _content(candidate)) is not None:
            if (found := zlib.crc32(content)) == wanted:
                return SeparateDebug(candidate, content, tuple(notes))
            notes.append(f"{candidate} is not its debug file: the CRC is {found:#010x}, {LINK} says {wanted:#010x}")
    return SeparateDebug(notes=(*notes, *([] if dirs.quiet else [f"its debug file {name} was not found"])))


def alternate_name(sections: Mapping[str, Section]) -> str:
    """The file that dwz moved shared debug information to: ``.gnu_debugaltlink`` is its name, zero, its build id."""
    section = sections.get(ALTERNATE)
    return section.data.partition(b"\0")[0].decode("utf-8", "replace") if section else ""


def _link(sections: Mapping[str, Section]) -> tuple[str, int] | None:
    """Name and CRC. A name with a folder in it is none: it would lead anywhere."""
    section = sections.get(LINK)
    if section is None:
        return None
    raw, end, _ = section.data.partition(b"\0")
    at = -(-(len(raw) + 1) // 4) * 4
    name = raw.decode("utf-8", "surrogateescape")
    if not end or not name or len(section.data) < at + 4 or "/" in name or name in (".", ".."):
        return None
    return name, int.from_bytes(section.data[at : at + 4], "little")


def _candidates(path: Path, name: str, dirs: DebugDirs) -> Iterator[Path]:
    own = path.absolute().parent
    yield own / name
    yield own / ".debug" / name
    known = PurePosixPath(dirs.known_as).parent if dirs.known_as else None
    for folder in dirs.folders:
        for there in dict.fromkeys((known or own, own, path.resolve().parent)):
            if ".." not in there.parts:
                yield folder / str(there).lstrip("/") / name
        yield folder / name


def _content(path: Path) -> bytes | None:
    """The bytes of a regular file of reasonable size; None for anything else."""
    try:
        if path.is_file() and path.stat().st_size <= _MOST:
            return path.read_bytes()
    except (OSError, ValueError):  # a name that cannot be one: too long
        pass
    return None
