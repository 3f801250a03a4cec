"""A set of test vectors in a folder: files of vectors as JSON, program files, the index, the kit that explains them."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from testbed.arch import Arch
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.image import Image, LoadedImage
from testbed.truth.phases import Phase
from testbed.vectors.model import FORMAT, VERSION, Expected, SiteClass, Vector, VectorCaller, VectorFile
from testbed.words.errors import UsageError
from testbed.words.files import own_version, write_whole
from testbed.words.table_formats import BY_SECTION
from testbed.words.traits import TRAPS, Trait

# Test vectors as JSON: the layout is told in ``kit/README.md`` and by ``kit/vectors.schema.json``.
#
# What repeats stands once: registers as differences to the file's, blocks of memory, callers and site classes as
# indices into the file's lists. Addresses and registers are hexadecimal text, since JSON's own numbers lose bits above
# 2**53. A key without a value is absent. Text has no quote and no backslash inside, so that a small reader of JSON is
# enough.


ListedItem = TypeVar("ListedItem", bound=Hashable)


def encoded(file: VectorFile) -> dict[str, Any]:
    """A file of vectors as values of JSON."""
    base = _base_registers(file.vectors)
    callers, classes, blocks = _Listed[VectorCaller](), _Listed[Any](), _Listed[tuple[int, bytes]]()
    vectors = [_vector(file, vector, base, callers, classes, blocks) for vector in file.vectors]
    run, header = file.run, file.run.built.source.header
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": run.program.name,
        "summary": plain(header.summary),
        "arch": run.arch.name,
        "recipe": run.recipe.name,
        "recipe_summary": plain(run.recipe.summary),
        "tools": plain(run.built.tools),
        "show": f"testbed run {file.named} --arch {run.arch} --recipe {run.recipe.name} --machine --at @ID",
        "traps": [
            {"number": trap.number, "trap": plain(TRAPS[trap.number]), "references": list(trap.references)}
            for trap in header.traps
        ],
        "image": _image(file, run.loaded),
        **({"pac_mask": hex(run.arch.signature)} if run.arch.signature else {}),
        "mapped": [[hex(region.address), hex(region.end)] for region in run.trace.initial],
        "techniques": list(file.techniques),
        "registers": _hexadecimal(base),
        "classes": classes.items,
        "callers": [_caller(caller) for caller in callers.items],
        "blocks": [[hex(address), data.hex()] for address, data in blocks.items],
        "vectors": vectors,
    }


def as_text(data: Mapping[str, Any]) -> str:
    """JSON with a line for each key of the whole and for each item of its lists."""
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"  {_compact(item)}" for item in value)
            lines.append(f" {_compact(key)}: [\n{items}\n ]")
        else:
            lines.append(f" {_compact(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


class _Listed(Generic[ListedItem]):
    """Items in the order in which they were first met, and the place of each."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, item: Any) -> int:
        if key not in self._places:
            self._places[key] = len(self.items)
            self.items.append(item)
        return self._places[key]


def _vector(
    file: VectorFile,
    vector: Vector,
    base: Mapping[str, int],
    callers: _Listed[VectorCaller],
    classes: _Listed[Any],
    blocks: _Listed[tuple[int, bytes]],
) -> dict[str, Any]:
    own = {name: value for name, value in vector.registers.items() if value != base[name]}
    its = vector.site_class
    key = its.words, tuple(its.expected.items()), tuple(its.because.items())
    return {
        "id": vector.step,
        "phase": vector.phase.value,
        "where": plain(vector.where),
        "instruction": plain(vector.instruction),
        **({"isa": vector.isa} if len(file.run.arch.isas) > 1 else {}),
        "visits": vector.visits,
        "class": classes.place(key, _site_class(its)),
        "registers": _hexadecimal(own),
        **({"cfa": hex(vector.cfa)} if vector.cfa is not None else {}),
        "callers": [callers.place(id(caller), caller) for caller in vector.callers],
        "memory": [blocks.place(block, block) for block in vector.blocks],
    }


def _site_class(its: SiteClass) -> dict[str, Any]:
    def of(kind: Expected) -> dict[str, str]:
        return {name: its.because[name] for name, expected in its.expected.items() if expected is kind}

    return {"words": list(its.words), "stop": of(Expected.STOP), "lie": of(Expected.LIE)}


def _caller(caller: VectorCaller) -> dict[str, Any]:
    return {
        "pc": hex(caller.pc),
        **({"also": [hex(pc) for pc in caller.also]} if caller.also else {}),
        **({"cfa": hex(caller.cfa)} if caller.cfa is not None else {}),
        "kind": caller.kind,
        "function": plain(caller.function),
        "registers": _hexadecimal(caller.registers),
    }


def _image(file: VectorFile, loaded: LoadedImage) -> dict[str, Any]:
    image = loaded.image
    return {
        "file": image_name(file),
        "sha256": hashlib.sha256(image.content).hexdigest(),
        "bias": hex(loaded.bias & image.arch.word_mask),
        "entry": hex(loaded.entry),
        "segments": [
            {
                "address": hex(segment.address + loaded.bias),
                "size": segment.size,
                "offset": segment.offset,
                "file_size": len(segment.data),
                "flags": "".join(
                    letter if given else "-"
                    for letter, given in zip(
                        "rwx", (segment.readable, segment.writable, segment.executable), strict=True
                    )
                ),
            }
            for segment in image.segments
        ],
        "sections": {
            name: {
                **({"address": hex(section.address + loaded.bias)} if section.address else {}),
                "offset": section.offset,
                "size": len(section.data),
            }
            for name, section in image.sections.items()
            if _is_for_unwinding(name) and section.data
        },
        "frame_records": _frame_records(image),
    }


def _frame_records(image: Image) -> dict[str, Any]:
    records = {isa.name: image.frame_record_of(isa) for isa in image.arch.isas}
    return {
        isa: {
            "pointer": record.pointer,
            "saved_pointer": record.saved_pointer,
            "return_address": record.return_address,
        }
        for isa, record in records.items()
    }


def image_name(file: VectorFile) -> str:
    """The name of the program file beside the vectors."""
    return f"{file.stem}.{file.run.recipe.tool.suffix}"


def _is_for_unwinding(name: str) -> bool:
    """What code and unwinders read: neither other debug information nor the linker's own tables."""
    parts = ("eh_frame", "unwind", ".ARM.ex", ".orc", ".plt", "__stubs")
    return name in (".text", "__text", *BY_SECTION) or any(part in name for part in parts)


def _base_registers(vectors: Sequence[Vector]) -> dict[str, int]:
    """Of each register the value that most of the vectors have; of equally frequent ones, the first."""
    counts: dict[str, Counter[int]] = {}
    for vector in vectors:
        for name, value in vector.registers.items():
            counts.setdefault(name, Counter())[value] += 1
    return {name: max(found, key=lambda value: found[value]) for name, found in counts.items()}


def _hexadecimal(values: Mapping[str, int]) -> dict[str, str]:
    return {name: hex(value) for name, value in values.items()}


def plain(text: str) -> str:
    """Text without a character that JSON writes with a backslash."""
    plain = text.replace("\\", "/").replace('"', "'")
    return "".join(letter if " " <= letter <= "~" else " " if letter.isspace() else "?" for letter in plain)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


KIT = Path(__file__).with_name("kit")
INDEX = "index.json"


def write_file(file: VectorFile, folder: Path) -> dict[str, Any]:
    """Write the vectors of one program and the program; the entry of the index. Raises UsageError where that fails."""
    place = folder / file.run.arch.name
    text = as_text(encoded(file)).encode("ascii")
    _written(lambda: place.mkdir(parents=True, exist_ok=True), place)
    _write(place / f"{file.stem}.json", text)
    _write(place / image_name(file), file.run.built.image.content)
    return {
        "file": f"{file.run.arch}/{file.stem}.json",
        "arch": file.run.arch.name,
        "program": file.run.program.name,
        "recipe": file.run.recipe.name,
        "vectors": len(file.vectors),
        "sha256": hashlib.sha256(text).hexdigest(),
    }


def write_index(
    entries: Sequence[Mapping[str, Any]], arches: Iterable[Arch], unwinders: Iterable[Unwinder], folder: Path
) -> None:
    """Write the index of a set, and the kit beside it. Raises UsageError where that fails."""
    index = {
        "format": f"{FORMAT} index",
        "version": VERSION,
        "generator": f"testbed {own_version()}",
        "vectors": sum(entry["vectors"] for entry in entries),
        "phases": {phase.value: plain(phase.meaning) for phase in Phase},
        "outcomes": {expected.value: plain(expected.meaning) for expected in Expected},
        "words": {word.name: plain(word.value) for word in Trait},
        "techniques": {unwinder.name: _technique(unwinder) for unwinder in unwinders},
        "arches": {arch.name: _arch(arch) for arch in arches},
        "files": list(entries),
    }
    _write(folder / INDEX, as_text(index).encode("ascii"))
    for path in sorted(KIT.iterdir()):
        if path.is_file():
            _write(folder / path.name, path.read_bytes())


def new_folder(folder: Path) -> None:
    """Make the folder of a set. Raises UsageError for one that has something in it already, or cannot be made."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"{folder} exists, and is no folder: name a new one")
    _written(lambda: folder.mkdir(parents=True, exist_ok=True), folder)
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: name a new folder, so that nothing old is left among the vectors")


def _technique(unwinder: Unwinder) -> dict[str, Any]:
    clauses = unwinder.assumption.clauses if unwinder.assumption else ()
    return {
        "summary": plain(unwinder.summary),
        **({"sections": sorted(unwinder.needs)} if unwinder.needs else {}),
        "assumes": {clause.name: plain(clause.holds) for clause in clauses},
    }


def _arch(arch: Arch) -> dict[str, Any]:
    return {
        "word": arch.word,
        "pc": arch.pc,
        "sp": arch.sp,
        **({"link": arch.link} if arch.link else {}),
        "preserved": list(platform(arch).preserved),
        "registers": [
            {"name": r.name, "bits": r.bits, **({"dwarf": r.dwarf} if r.dwarf is not None else {})}
            for r in arch.registers
        ],
    }


def _write(path: Path, content: bytes) -> None:
    _written(lambda: write_whole(path, content), path)


def _written(act: Callable[[], None], path: Path) -> None:
    try:
        act()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
