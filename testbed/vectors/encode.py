"""Test vectors as JSON: the layout is told in ``kit/README.md`` and by ``kit/vectors.schema.json``.

What repeats stands once: registers as differences to the file's, blocks of memory, callers and site classes as indices
into the file's lists. Addresses and registers are hexadecimal text, since JSON's own numbers lose bits above 2**53.
A key without a value is absent. Text has no quote and no backslash inside, so that a small reader of JSON is enough.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from testbed.image import Image, LoadedImage
from testbed.vectors.model import FORMAT, VERSION, Expected, SiteClass, Vector, VectorCaller, VectorFile
from testbed.words.table_formats import BY_SECTION
from testbed.words.traits import TRAPS

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
