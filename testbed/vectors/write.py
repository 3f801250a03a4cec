"""A set of test vectors in a folder: files of vectors, program files, the index, and the kit that explains them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.arch import Arch
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.truth.phases import Phase
from testbed.vectors.encode import as_text, encoded, image_name, plain
from testbed.vectors.model import FORMAT, VERSION, Expected, VectorFile
from testbed.words.errors import UsageError
from testbed.words.files import write_whole
from testbed.words.own_files import own_version
from testbed.words.traits import Trait

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
