"""Program files: ELF, Mach-O, archives, and debug files elsewhere, found by a CRC that is right."""

import json
import lzma
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from testbed.arch import ARCHES
from testbed.checks.inputs import _machine_of
from testbed.export.core import core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.write import macho_core_bytes, snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.image import Image, LoadedImage, describe, read_image
from testbed.image.debug import debug_info
from testbed.image.elf_companions import CORRUPT, ElfParts, SymbolTables, with_companions
from testbed.image.separate_debug import DebugDirs
from testbed.naming.symbolize import symbolize
from testbed.trace import Memory, Snapshot
from testbed.words.errors import UnwindError, UsageError
from tests.hostile import real
from tests.hostile.damage import damaged_bytes, damaged_json
from tests.hostile.real import file_with, folder
from tests.hostile.target import Damage, Target
from unwinders import UNWINDERS

_PATH = Path("hostile")


@cache
def _elf_seeds() -> Sequence[bytes]:
    """Programs, and where GNU's tools are: one with compressed debug information, a stripped one, an object file."""
    files = list(real.elf_files())
    objcopy = shutil.which("objcopy")
    with_debug = next(each for each in files if b".debug_info" in each)
    if objcopy:
        for how in ("--compress-debug-sections=zlib", "--compress-debug-sections=zlib-gnu", "--strip-all"):
            with tempfile.TemporaryDirectory() as place:
                source, out = Path(place) / "in", Path(place) / "out"
                source.write_bytes(with_debug)
                if not subprocess.run([objcopy, how, source, out], capture_output=True, check=False).returncode:
                    files.append(out.read_bytes())
    return files


def _looked_at(image: Image) -> None:
    """All that others ask of a file."""
    loaded = LoadedImage(image, 0x1000 if image.position_independent else 0)
    for symbol in image.symbols[:20]:
        describe((loaded,), symbol.address + loaded.bias)
        image.isa_at(symbol.address)
        image.bytes_at(symbol.address, 16)
        image.function_at(symbol.address + 1)
    describe((loaded,), loaded.entry)
    image.covers(image.entry)
    str(image)


def _read_image(content: bytes) -> None:
    _looked_at(read_image(_PATH, content=content))


def _read_universal(content: bytes) -> None:
    for name in ("arm64", "x86_64"):
        _looked_at(read_image(_PATH, content=content, arch=ARCHES[name]))


@cache
def _universal_seeds() -> Sequence[bytes]:
    """Two architectures in one file: a header of big-endian numbers, 20 bytes for each of them."""
    first, second = real.macho_files()[0], real.macho_files()[-1]
    at = 0x4000
    end = at + (len(first) + 0x3FFF & -0x4000)
    head = (0xCAFEBABE, 2, 0x0100_000C, 0, at, len(first), 14, 0x0100_0007, 3, end, len(second), 14)
    packed = b"".join(number.to_bytes(4, "big") for number in head)
    return [packed.ljust(at, b"\0") + first.ljust(end - at, b"\0") + second]


def _member(name: str, content: bytes) -> bytes:
    head = f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}".encode() + b"`\n"
    return head + content + b"\n" * (len(content) & 1)


@cache
def _archive_seeds() -> Sequence[bytes]:
    one, other = real.elf_files()[7][:700], real.elf_files()[8][:500]
    thin = (
        b"!<thin>\n" + _member("/", b"a.o/\nb.o/\n") + f"{'/0':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{64:<10}`\n".encode()
    )
    return [b"!<arch>\n" + _member("a.o", one) + _member("b.o", other), thin, one]


def _read_archive(content: bytes) -> None:
    path = file_with(content, "a.a")
    _machine_of(path, path)


def _read_companions(content: bytes) -> None:
    """The input as the separate debug file of a program, by a right CRC, and as its MiniDebugInfo."""
    own = real.built()[7].image
    bare = ElfParts(own.arch, own.segments, {".text": own.sections[".text"]}, SymbolTables((), {}, ()), own.account)
    text = own.sections[".text"]
    file_with(content, "program.debug")
    link = b"program.debug\0".ljust(16, b"\0") + zlib.crc32(content).to_bytes(4, "little")
    for name, data in ((".gnu_debuglink", link), (".gnu_debugdata", lzma.compress(content, preset=0))):
        given = replace(bare, sections={**bare.sections, name: replace(text, name=name, held=data)})
        with suppress(*(CORRUPT if name == ".gnu_debugdata" else ())):  # which reading the whole file tells as its own
            found = with_companions(folder() / "program", given, DebugDirs((folder(),)))
            for problem in debug_info(replace(own, sections=found.sections)).problems:
                str(problem)


IMAGES = (
    Target("elf", "whole ELF files: segments, sections, symbols", _elf_seeds, _read_image, damaged_bytes, weight=0.25),
    Target(
        "macho",
        "whole Mach-O files: commands, symbols, fixups",
        real.macho_files,
        _read_image,
        damaged_bytes,
        weight=0.5,
    ),
    Target(
        "macho_universal",
        "Mach-O files of several architectures",
        _universal_seeds,
        _read_universal,
        damaged_bytes,
        weight=0.5,
    ),
    Target("archive", "archives and thin archives, up to the linker", _archive_seeds, _read_archive, damaged_bytes),
    Target(
        "debug_files",
        "separate debug files behind a right CRC, MiniDebugInfo behind right compression",
        _elf_seeds,
        _read_companions,
        damaged_bytes,
        weight=0.05,
    ),
)


# Stopped threads in files: ELF cores, Mach-O cores, minidumps, JSON; read, and unwound by every unwinder.


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
        with suppress(UsageError):  # Apple has no such core of this architecture
            found.append(write(_short(snapshot)))
    return found


def _read(content: bytes) -> None:
    foreign = read_snapshot(file_with(content), Places(sysroot=folder(), skip_missing=True))
    snapshot = foreign.snapshot
    str(snapshot)
    images = [loaded.image for loaded in snapshot.images]
    for unwinder in UNWINDERS.values():
        if any(unwinder.applies_to(image) for image in images) or unwinder.name in ("fp_chain", "stack_scan"):
            with suppress(UnwindError):
                symbolize(snapshot.images, unwinder.unwind(snapshot))


def _target(name: str, what: str, write: Callable[[Snapshot], bytes], damage: Damage) -> Target:
    return Target(name, what, partial(_seeds, write), _read, damage, weight=0.5)


DUMPS = (
    _target("core", "ELF cores: headers, notes, mapped files, memory", core_bytes, damaged_bytes),
    _target("macho_core", "Mach-O cores", macho_core_bytes, damaged_bytes),
    _target("minidump", "minidumps: directory, streams, contexts, memory lists", minidump_bytes, damaged_bytes),
    _target("snapshot_json", "JSON snapshots", _json, damaged_json),
)


TARGETS = (*IMAGES, *DUMPS)
