"""Who reads a file's tables, by name: checks know no unwinder, and their jobs go to other processes as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from testbed.arch import PerArch
from testbed.checks.row_columns import Evaluate
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.words.errors import UnwindError, UsageError
from testbed.words.table_formats import TABLE_FORMATS

_ELF = b"\x7fELF"
_USUAL = PerArch({"x86_64": "eh_frame", "arm64": "eh_frame", "arm32": "ehabi"})  # what programs are unwound by


@dataclass(frozen=True, slots=True)
class Readers:
    """Where the unwinders are, as ``module:NAME``: a catalogue by name, which of them, an evaluator of expressions."""

    catalogue: str
    names: tuple[str, ...]
    evaluate: str = ""

    def tables(self, image: Image, patterns: tuple[str, ...]) -> Mapping[str, RowTable | UnwindError]:
        """The tables of a file that match some patterns (none: all), by unwinder; or why one cannot be read.

        An ELF file without any has an empty one, of its architecture's kind: what is called has no row then. Raises
        UsageError where there is none that matches, and for another file without any.
        """
        found: dict[str, RowTable | UnwindError] = {}
        unwinders = _unwinders(self.catalogue)
        for name in self.names:
            unwinder = unwinders[name]
            if unwinder.rows is None or not unwinder.needs <= image.sections.keys():
                continue
            if patterns and not any(fnmatchcase(said, pattern) for pattern in patterns for said in (name, f".{name}")):
                continue
            try:
                table = unwinder.rows(image)
            except UnwindError as why:
                found[name] = why
                continue
            # A section that nobody uses there may hold nothing but its end: .eh_frame on arm32.
            if unwinder.applies_to(image) or len(table):
                found[name] = table
        name = _USUAL[image.arch.name]
        if not found and not patterns and name in self.names and image.content.startswith(_ELF):
            return {name: RowTable(TABLE_FORMATS[name].section, ())}
        if not found:
            raise UsageError(f"{image.path}: no unwind table{self._instead(image, patterns)}")
        return found

    def _instead(self, image: Image, patterns: tuple[str, ...]) -> str:
        """What a file has, of which nothing matches."""
        if not patterns:
            return f" in it that is read ({', '.join(self.names)})"
        others = self.tables(image, ()).items()
        there = [name for name, table in others if isinstance(table, UnwindError) or len(table)]
        return f" that matches {' or '.join(patterns)} in it; it has {', '.join(there) or 'no other either'}"

    @property
    def evaluator(self) -> Evaluate | None:
        return _named(self.evaluate) if self.evaluate else None


def _unwinders(reference: str) -> Mapping[str, Unwinder]:
    found: Mapping[str, Unwinder] = _named(reference)
    return found


def _named(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
