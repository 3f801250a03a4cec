"""One file swept: its tables, what is said of each entry, and who made it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from testbed.image import Image, read_image
from testbed.image.debug.entries import read_units
from testbed.image.debug.forms import Attribute
from testbed.image.file_bytes import file_content
from testbed.sweep.model import AskedEntry, DoubtfulEntry, EntryAnswer, Sample, SweptContent
from testbed.sweep.native import entries, room
from testbed.sweep.static_pass import MOST_DEBUG_INFO, TABLES, StaticPass, cause_of, is_part, sentence_of, static_pass
from testbed.words.errors import ImageError, TestbedError
from testbed.words.printable import printable

ELF = b"\x7fELF"
_ANSWERS = {room.SUSPECT: EntryAnswer.SUSPECT, room.CANNOT_TELL: EntryAnswer.CANNOT_TELL}


def files_below(paths: tuple[Path, ...]) -> Iterator[Path]:
    """The ELF files among some paths and below those that are folders, in order; a link is not followed below one."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                each = Path(folder, name)
                if not each.is_symlink() and each.is_file() and _is_elf(each):
                    yield each


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == ELF
    except OSError:
        return False


def checksum_of(path: Path) -> str:
    """The SHA-256 of a file's content. Raises ImageError where it cannot be read."""
    return hashlib.sha256(file_content(path)).hexdigest()


def sweep_file(path: Path, checksum: str) -> SweptContent:
    """What is said of every entry of a file. Whatever is wrong with the file as a whole is its ``failure``."""
    began = time.process_time()
    try:
        image = read_image(path)
        try:
            return _swept(image, path, checksum, began)
        finally:
            image.read_of_it.clear()  # it leads to the image in turn: nobody would free either for some time
    except TestbedError as error:
        return SweptContent(path, checksum, failure=str(error))
    except MemoryError:
        return SweptContent(path, checksum, failure=f"{path}: its tables need more memory than there is")


def _swept(image: Image, path: Path, checksum: str, began: float) -> SweptContent:
    if image.relocatable:
        raise ImageError(path, 0, "an object file: its addresses are not known yet; sweep what it is linked into")
    if not any(segment.executable and segment.filled for segment in image.segments):
        raise ImageError(path, 0, "it holds no code: sweep the file that it belongs to")
    passes = {name: static_pass(image, name) for name in TABLES if image.sections.get(name)}
    doubts = [doubt for name, each in passes.items() for doubt in _doubts(image, name, each)]
    outs = [each.out for each in passes.values()]
    return SweptContent(
        path,
        checksum,
        image.arch.name,
        _producer(image),
        _compiler(image),
        sum(len(out) for out in outs),
        sum(int(out[:, room.INSTRUCTIONS].sum()) for out in outs),
        sum(int((out[:, room.VERDICT] == room.AGREES).sum()) for out in outs),
        sum(int(((out[:, room.VERDICT] == room.AGREES) & (out[:, room.PRIVATE] != 0)).sum()) for out in outs),
        time.process_time() - began,
        tuple(doubts),
    )


def _doubts(image: Image, section: str, made: StaticPass) -> Iterator[DoubtfulEntry]:
    for i in (made.out[:, room.VERDICT] != room.AGREES).nonzero()[0]:
        found, entry = made.out[i], made.swept.entries[i]
        told = made.swept.rows[found[room.OUT_ROW]] if found[room.ABOUT] < room.NO_INSTRUCTION else None
        start = int(entry[entries.START])
        symbol = image.function_at(start)
        yield DoubtfulEntry(
            section,
            start,
            int(entry[entries.END]),
            _ANSWERS[int(found[room.VERDICT])],
            int(found[room.OUT_AT]),
            int(found[room.OUT_FROM]),
            is_part(made, int(i)),
            symbol.name if symbol else "",
            cause_of(found, told),
            int(told[0]) if told is not None else start,
            sentence_of(image.arch, found, told),
            bool(found[room.AT_CALLS]),
        )


def agreeing(image: Image, sample: Sample) -> Iterator[AskedEntry]:
    """Entries of a file that agree, drawn: each by itself, whatever else is swept, and the same ones every time."""
    limit = int(sample.share * (1 << 64))
    for name in (name for name in TABLES if image.sections.get(name)):
        made = static_pass(image, name)
        for i in (made.out[:, room.VERDICT] == room.AGREES).nonzero()[0]:
            start = int(made.swept.entries[i][entries.START])
            drawn = hashlib.sha256(f"{sample.seed} {sample.checksum} {name} {start}".encode()).digest()
            if int.from_bytes(drawn[:8], "little") < limit:
                end = int(made.swept.entries[i][entries.END])
                yield AskedEntry(name, start, end, EntryAnswer.AGREES, start, -1, is_part(made, int(i)))


def _producer(image: Image) -> str:
    """The compilers that ``.comment`` names, each once."""
    section = image.sections.get(".comment")
    if section is None:
        return ""
    lines = section.data[:4096].split(b"\0")
    return printable("; ".join(dict.fromkeys(line.decode("utf-8", "replace") for line in lines if line)))


def _compiler(image: Image) -> str:
    """What the units of debug information say who compiled them, each once, without options; "" where it is long."""
    section = image.sections.get(".debug_info")
    if section is None or section.filled > MOST_DEBUG_INFO:
        return ""
    try:
        units, _ = read_units(image)
        said = [unit.top.text(Attribute.PRODUCER) for unit in units if unit.top is not None]
    except TestbedError:
        return ""
    return "; ".join(dict.fromkeys(text.partition(" -")[0] for text in said if text))
