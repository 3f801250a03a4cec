"""Unwind tables, code and debug information: the sections of a real file, damaged, in that file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from testbed.conventions.chosen import chosen
from testbed.image import Image, LoadedImage, Section
from testbed.image.debug import debug_info
from testbed.image.go_functions import go_symbols
from testbed.naming.symbolize import symbolize
from testbed.native.compiled import VARIABLE
from testbed.rereading import reread
from testbed.sweep.sweep_file import sweep_file
from testbed.trace import Snapshot
from testbed.words.errors import UnwindError
from tests.hostile import real
from tests.hostile.damage import among_parts, damaged_bytes, packed, unpacked
from tests.hostile.target import Target
from tests.unwinders.frames import START
from tests.unwinders.go_tables import AT, EVERY, MAGIC, made
from unwinders import UNWINDERS
from unwinders.formats.gopclntab import gopclntab_table

# The sections that a strategy reads, in the order in which an input has them.
SECTIONS: Mapping[str, Sequence[str]] = {
    "eh_frame": (".eh_frame",),
    "eh_frame_hdr": (".eh_frame_hdr", ".eh_frame"),
    "debug_frame": (".debug_frame",),
    "ehabi": (".ARM.exidx", ".ARM.extab"),
    "sframe": (".sframe",),
    "orc": (".orc_unwind_ip", ".orc_unwind", ".orc_header"),
    "compact_unwind": ("__TEXT,__unwind_info", "__TEXT,__eh_frame"),
}
_DEBUG = (
    *(".debug_info", ".debug_abbrev", ".debug_line", ".debug_line_str", ".debug_str", ".debug_str_offsets"),
    *(".debug_addr", ".debug_rnglists", ".debug_ranges", ".debug_loclists"),
)


def _whole(content: bytes, dice: object, seeds: object) -> bytes:
    """The part that says which file it is: never damaged."""
    return content


def _seeds(names: Sequence[str]) -> Sequence[bytes]:
    """For each real file that has the first section: which file it is, then its sections."""
    found = []
    for index, each in enumerate(real.built()):
        sections = each.image.sections
        if names[0] in sections:
            found.append(packed([bytes([index]), *(_data(each.image, name) for name in names)]))
    return found


def _data(image: Image, name: str) -> bytes:
    return image.sections[name].data if name in image.sections else b""


def _with_sections(content: bytes, names: Sequence[str]) -> tuple[Image, Sequence[Snapshot]] | None:
    """The file with what an input says in its sections, and two snapshots of its run with that file."""
    parts = unpacked(content)
    if not parts or len(parts) != 1 + len(names) or len(parts[0]) != 1 or parts[0][0] >= len(real.built()):
        return None
    index = parts[0][0]
    old = real.built()[index].image
    sections = dict(old.sections)
    for name, data in zip(names, parts[1:], strict=True):
        if name in sections:
            sections[name] = Section(name, sections[name].address, sections[name].offset, data)
    image = replace(old, sections=sections)
    return image, [_of(snapshot, image) for snapshot in real.snapshots()[2 * index : 2 * index + 2]]


def _of(snapshot: Snapshot, image: Image) -> Snapshot:
    return replace(snapshot, images=tuple(LoadedImage(image, loaded.bias) for loaded in snapshot.images))


def _read_table(content: bytes, strategy: str) -> None:
    """All rows, and two backtraces by them."""
    made = _with_sections(content, SECTIONS[strategy])
    if made is None:
        return
    image, snapshots = made
    unwinder = UNWINDERS[strategy]
    for snapshot in snapshots:
        unwinder.unwind(snapshot)
    if unwinder.rows is not None:
        table = unwinder.rows(image)
        for broken in table.broken:
            str(broken.why)


def _read_debug(content: bytes) -> None:
    made = _with_sections(content, _DEBUG)
    if made is None:
        return
    image, snapshots = made
    info = debug_info(image)
    for problem in info.problems:
        str(problem)
    for snapshot in snapshots:
        symbolize(snapshot.images, UNWINDERS["fp_chain"].unwind(snapshot))
    for function in info.functions[:50]:
        for start, end in function.ranges[:4]:
            info.line_at(start)
            info.inlined_at(end - 1)


def _go_seeds() -> Sequence[bytes]:
    """Tables of each version, with what says where their code begins."""
    found = [made(*EVERY, version=version) for version in MAGIC]
    found.append(made(*EVERY, module=START))
    relocation = b"".join(n.to_bytes(8, "little") for n in (AT + 24, 8, START))
    return [packed([_data(each, ".gopclntab"), _data(each, ".go.module"), relocation]) for each in found]


def _read_go(content: bytes) -> None:
    """All rows, those of the second reader, the functions' names, whose convention they follow, and a backtrace."""
    parts = unpacked(content)
    if not parts or len(parts) != 3:
        return
    usual = made(*EVERY)
    names = (".gopclntab", ".go.module", ".rela.dyn")
    sections = {name: Section(name, AT if not i else 0x5000, 0, parts[i]) for i, name in enumerate(names)}
    image = replace(usual, sections=sections)
    symbols = go_symbols(sections, image.account)
    for pc in range(START, START + 200, 7):
        reread(image, ".gopclntab", pc)
        str(chosen(replace(image, symbols=symbols), pc).why)
    snapshot = _of(real.snapshots()[0], image)
    try:
        UNWINDERS["gopclntab"].unwind(snapshot)
        for broken in gopclntab_table(image).broken:
            str(broken.why)
    except UnwindError:
        return


@cache
def _code_seeds() -> Sequence[bytes]:
    found = []
    for index, each in enumerate(real.built()):
        code = next(segment.data for segment in each.image.segments if segment.executable)
        found.append(packed([bytes([index]), code[:2048]]))
    return found


def _read_code(content: bytes) -> None:
    """The code of a program replaced by an input: what is derived from instructions."""
    parts = unpacked(content)
    if not parts or len(parts) != 2 or len(parts[0]) != 1 or parts[0][0] >= len(real.built()):
        return
    index = parts[0][0]
    old = real.built()[index].image
    segments = list(old.segments)
    at = next(i for i, segment in enumerate(segments) if segment.executable)
    data = parts[1][: segments[at].size]
    segments[at] = replace(segments[at], data=data + segments[at].data[len(data) :])
    image = replace(old, segments=tuple(segments))
    for snapshot in real.snapshots()[2 * index : 2 * index + 2]:
        for name in ("prologue_analysis", "fp_chain_entry", "stack_scan_strict"):
            try:
                UNWINDERS[name].unwind(_of(snapshot, image))
            except UnwindError:
                continue


_SWEPT = (".eh_frame", ".debug_frame", ".gcc_except_table", ".text")


def _sweep_seeds() -> Sequence[bytes]:
    """As `_seeds`; the pass is compiled here, for that takes longer than an input may."""
    seeds = _seeds(_SWEPT)
    with patch.dict(os.environ, {VARIABLE: "1"}):
        _sweep(seeds[0])
    return seeds


def _sweep(content: bytes) -> None:
    """Parts of a program file overwritten by an input, as far as it reaches: the static pass over the whole file."""
    parts = unpacked(content)
    if not parts or len(parts) != 1 + len(_SWEPT) or len(parts[0]) != 1 or parts[0][0] >= len(real.built()):
        return
    image = real.built()[parts[0][0]].image
    made = bytearray(image.content)
    for name, data in zip(_SWEPT, parts[1:], strict=True):
        if name in image.sections:
            section = image.sections[name]
            made[section.offset : section.offset + len(section.data)] = (data + section.data[len(data) :])[
                : len(section.data)
            ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "damaged")
        path.write_bytes(made)
        swept = sweep_file(path, "0")
    assert swept.failure or swept.agreed + len(swept.doubts) == swept.entries


TARGETS = (
    Target(
        "sweep",
        "tables, landing pads and code of a program file: the static pass over all of it",
        _sweep_seeds,
        _sweep,
        among_parts([_whole, damaged_bytes]),
        weight=0.25,
    ),
    *(
        Target(
            name,
            f"the sections of {name} in a program file: all rows, two backtraces",
            partial(_seeds, names),
            partial(_read_table, strategy=name),
            among_parts([_whole, damaged_bytes]),
            weight=0.5,
        )
        for name, names in SECTIONS.items()
    ),
    Target(
        "gopclntab",
        "Go's table of functions, and what says where its code begins: both readers, names, conventions",
        _go_seeds,
        _read_go,
        among_parts([damaged_bytes]),
        weight=0.5,
    ),
    Target(
        "debug_info",
        "DWARF sections of debug information: functions, lines, inlined calls, names of a backtrace",
        partial(_seeds, _DEBUG),
        _read_debug,
        among_parts([_whole, damaged_bytes]),
        weight=0.25,
    ),
    Target(
        "code",
        "instructions: prologue_analysis and what else looks at code",
        _code_seeds,
        _read_code,
        among_parts([_whole, damaged_bytes]),
        weight=0.05,
    ),
)
