"""Unwinders to begin with, one folder for each language: a program by frame pointers, and what speaks the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from testbed.words.errors import UsageError

_HERE = Path(__file__).parent
PAGE = _HERE / "protocol.md"
SCHEMA = _HERE / "protocol.schema.json"


@dataclass(frozen=True, slots=True)
class Example:
    """A language: what builds the program ("" : nothing has to), what starts it, and what the compiler is called."""

    language: str
    build: str
    command: str
    compiler: str

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(sorted(path for path in (_HERE / "examples" / self.language).iterdir() if path.is_file()))


_ALL = (
    Example("c", "cc -O2 -o my_unwinder my_unwinder.c testbed_host.c", "./my_unwinder", "cc"),
    Example("rust", "rustc --edition 2021 -O my_unwinder.rs", "./my_unwinder", "rustc"),
    Example("go", "go build -o my_unwinder my_unwinder.go testbed_host.go", "./my_unwinder", "go"),
    Example("python", "", "python3 my_unwinder.py", "python3"),
)
EXAMPLES: Mapping[str, Example] = MappingProxyType({each.language: each for each in _ALL})


def write_example(example: Example, folder: Path) -> tuple[Path, ...]:
    """Write an example's files, and the protocol's page and schema. Raises UsageError where one is there already."""
    sources = (*example.files, PAGE, SCHEMA)
    targets = tuple(folder / source.name for source in sources)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if there := [target.name for target in targets if target.exists()]:
            raise UsageError(f"{folder} has {', '.join(there)} already: give another folder")
        for source, target in zip(sources, targets, strict=True):
            target.write_bytes(source.read_bytes())
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from error
    return targets
