"""Every reader of files from elsewhere, with the files that are the worst for it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.foreign import Places, read_snapshot
from testbed.image import LoadedImage, read_image
from testbed.image.debug import debug_info
from testbed.trace import Snapshot
from testbed.trace.file import load_trace
from testbed.words.errors import BudgetExceeded
from tests.hard_input import worst_dumps, worst_programs, worst_tables
from unwinders import UNWINDERS

Read = Callable[[Path], object]
Make = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class WorstFile:
    """A file of about so many bytes, and who reads it."""

    reader: str
    make: Make
    read: Read

    @property
    def name(self) -> str:
        return f"{self.reader}: {(self.make.__doc__ or '').split(chr(10))[0].split('. ')[0].rstrip('.')}"


def _image(path: Path) -> object:

    return read_image(path)


def _names(path: Path) -> object:
    """Names and lines of a few pcs, after debug information was read whole."""

    image = read_image(path)
    info = debug_info(image)
    for pc in range(image.segments[0].address, image.segments[0].address + 64):
        info.line_at(pc), info.function_at(pc), info.inlined_at(pc)
    for problem in info.problems:
        if isinstance(problem, BudgetExceeded):
            raise problem
    return info


def _dump(path: Path) -> object:

    return read_snapshot(path, Places(skip_missing=True))


def _trace(path: Path) -> object:

    return load_trace(path).load()


def _table(unwinder: str) -> Read:
    """All rows of one unwinder's table."""

    def read(path: Path) -> object:

        rows = UNWINDERS[unwinder].rows
        table = rows(read_image(path))
        for broken in getattr(table, "broken", ()):
            raise broken.why
        return table

    return read


def _stack(unwinder: str) -> Read:
    """A backtrace through the file: a stack of its own addresses."""

    def read(path: Path) -> object:

        image = read_image(path)
        base, words = 0x7FFF_0000_0000, 4096
        stack = b"".join((image.segments[0].address + 1 + i % 4000).to_bytes(8, "little") for i in range(words))
        names = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", *(f"r{i}" for i in range(8, 16)))
        registers = dict.fromkeys(names, base) | {"rip": image.segments[0].address + 1, "rsp": base}
        snapshot = Snapshot.of_loaded(image.arch, registers, [(base, stack)], (LoadedImage(image),))
        with image.account.working():
            return UNWINDERS[unwinder].unwind(snapshot)

    return read


def _worst(reader: str, read: Read, *makes: Make) -> list[WorstFile]:
    return [WorstFile(reader, make, read) for make in makes]


P, D, T = worst_programs, worst_dumps, worst_tables
WORST: tuple[WorstFile, ...] = (
    *_worst("ELF", _image, P.overlapping_segments, P.scattered_segments, P.segments_times_sections),
    *_worst("ELF", _image, P.overlapping_sections, P.compressed_sections, P.long_names, P.symbols_again_and_again),
    *_worst("ELF", _image, P.most_symbols),
    *_worst("Mach-O", _image, P.macho_names, P.macho_fixups),
    *_worst("debug information", _names, P.entries_without_bytes, P.most_entries, P.shared_names, P.shared_lines),
    *_worst("debug information", _names, P.shared_ranges, P.small_units),
    *_worst("ELF core", _dump, D.overlapping_core, D.many_pieces, D.many_mappings, D.many_vdsos),
    *_worst("minidump", _dump, D.overlapping_ranges, D.module_names),
    *_worst("Mach-O core", _dump, D.macho_core),
    *_worst("JSON snapshot", _dump, D.compressed_json, D.small_json, D.small_pieces),
    *_worst("trace file", _trace, D.trace_that_unpacks),
    *_worst(".eh_frame", _table("eh_frame"), T.long_cie, T.many_registers),
    *_worst(".eh_frame_hdr", _table("eh_frame_hdr"), T.overlapping_fdes),
    *_worst(".ARM.exidx", _table("ehabi"), T.shared_exidx),
    *_worst(".sframe", _table("sframe"), T.shared_pages),
    *_worst("expressions of a stack", _stack("eh_frame"), T.expressions),
    *_worst("instructions", _table("prologue_analysis"), T.pushes, T.small_functions, T.branches),
)
