"""Which convention a function follows, and why it is not the platform's.

Asked in this order, the first to answer decides: who owns the file (`Image.conventions`: an option, a program's
header), the function's symbol, the file's format and producer. What nobody says follows its platform.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

from testbed.arch import Arch
from testbed.conventions import CONVENTIONS, Convention, convention_named, platform
from testbed.image import Image, LoadedImage, Symbol, image_covering, once_per_image
from testbed.words.errors import UsageError
from testbed.words.nearest import nearest


class Chosen(NamedTuple):
    """A function's convention. ``why`` it is not the platform's; "" where it is."""

    convention: Convention
    why: str


class Marker(NamedTuple):
    """What shows a convention: the pattern of a function's name, a variant symbol, or what ``file`` says of all.

    Of a file whose code is in part another language's, ``bounds`` are the symbols between which the convention's lies.
    """

    convention: str
    why: str
    name: str = ""
    variant: bool = False
    file: Callable[[Image], str] | None = None  # what of a file shows it; "": nothing
    bounds: tuple[str, str] = ("", "")


def _any_section(*names: str) -> Callable[[Image], str]:
    return lambda image: next((name for name in names if name in image.sections), "")


def _any_symbol(*names: str) -> Callable[[Image], str]:
    return lambda image: next((name for name in names if image.symbol_named(name)), "")


_OF_GO = _any_section(".gopclntab", ".data.rel.ro.gopclntab", "__gopclntab", ".note.go.buildid")
_OF_OCAML = _any_symbol("caml_frametable", "caml_system__frametable")
# What the runtime has for OCaml code to call (runtime/amd64.S, arm64.S, arm.S).
_RUNTIME = "call_gc|alloc1|alloc2|alloc3|allocN|c_call|c_call_stack_args|raise_exn|perform|reperform|resume|runstack"
# By symbol first, then by file.
MARKERS = (
    Marker("aarch64_vector_pcs", "its symbol says STO_AARCH64_VARIANT_PCS", variant=True),
    Marker("aarch64_vector_pcs", "its name is that of a vector function, _ZGVn or _ZGVs", name=r"_ZGV[ns]\w+"),
    Marker("svml", "its name is one of SVML, __svml_", name=r"__svml_\w+"),
    Marker("go_abi0", "its name ends in .abi0", name=r".*\.abi0"),
    Marker("ocaml", "its name is one of OCaml code, caml and a module", name=r"caml[A-Z]\w*(__|\.).*"),
    Marker("ocaml", "OCaml code calls it by its own convention", name=rf"caml_({_RUNTIME})", file=_OF_OCAML),
    Marker("go", "the file has", file=_OF_GO, bounds=("runtime.text", "runtime.etext")),
    Marker("go_abi0", "the file has", file=_OF_GO, bounds=("runtime.text", "runtime.etext")),
)


@dataclass(frozen=True, slots=True)
class TakenConvention:
    """That some functions were judged by a convention that is not the platform's, and why.

    ``instead`` is the platform's; of the registers ``unwatched``, which it also saves, not all bits are recorded.
    """

    name: str
    title: str
    instead: str
    why: str
    functions: int
    unwatched: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"{self.functions} function{'s' * (self.functions != 1)} by {self.title}, not {self.instead}: {self.why}"
        return f"{said} (not all bits watched: {self.unwatched[0]} to {self.unwatched[-1]})" if self.unwatched else said


@dataclass(frozen=True)
class _OfImage:
    image: Image

    @cached_property
    def names(self) -> Mapping[int, list[str]]:
        found: dict[int, list[str]] = {}
        for symbol in self.image.symbols:
            found.setdefault(symbol.address, []).append(symbol.name)
        return found

    @cached_property
    def markers(self) -> list[tuple[Marker, Convention, str, range | None]]:
        """The markers that may show anything of this file: with what of it does, and where."""
        known, found = CONVENTIONS[self.image.arch.name], []
        for marker in MARKERS:
            shows = marker.file(self.image) if marker.file else marker.name or "variant"
            if marker.convention in known and shows:
                whole = not marker.name and not marker.variant
                ends = [self.image.symbol_named(name) for name in marker.bounds]
                span = range(ends[0].address, ends[1].address) if ends[0] and ends[1] else None
                found.append((marker, known[marker.convention], f"{marker.why} {shows}" if whole else marker.why, span))
        return found

    def at(self, address: int) -> Chosen:
        function = self.image.function_at(address)
        names = self.names[function.address] if function else []
        for pattern, name in reversed(self.image.conventions):
            known = name.split("-")[0] in CONVENTIONS[self.image.arch.name]
            if known and (pattern == "*" or any(fnmatchcase(each, pattern) for each in names)):
                return Chosen(convention_named(self.image.arch, name), "it was said")
        for marker, convention, why, span in self.markers:
            if _shows(marker, function, names) and (span is None or address in span):
                return Chosen(convention, why)
        return Chosen(platform(self.image.arch), "")


def _shows(marker: Marker, function: Symbol | None, names: Iterable[str]) -> bool:
    if marker.variant:
        return function is not None and function.variant
    return not marker.name or any(re.fullmatch(marker.name, name) for name in names)


@once_per_image
def _of_image(image: Image) -> _OfImage:
    return _OfImage(image)


@once_per_image
def chosen(image: Image, address: int) -> Chosen:
    """The convention of the function at a link-time address, and why it is not the platform's.

    What is said of a convention that the architecture does not have is said of other architectures.
    """
    return _of_image(image).at(address)


def chosen_at(images: tuple[LoadedImage, ...], pc: int) -> Chosen | None:
    """The convention of the function at a run-time pc; None where no file has it."""
    loaded = image_covering(images, pc)
    return chosen(loaded.image, pc - loaded.bias) if loaded else None


def convention_at(images: tuple[LoadedImage, ...], pc: int, arch: Arch) -> Convention:
    """The same, and the platform's where no file has it."""
    choice = chosen_at(images, pc)
    return choice.convention if choice else platform(arch)


def taken(choices: Iterable[Chosen]) -> tuple[TakenConvention, ...]:
    """The conventions of some functions that are not their platform's, the commonest first."""
    return tuple(
        TakenConvention(its.name, its.title, platform(its.arch).title, why, functions, its.unwatched)
        for (its, why), functions in Counter(choice for choice in choices if choice.why).most_common()
    )


def said_of(text: str) -> tuple[str, str]:
    """``NAME`` (of all functions) or ``GLOB=NAME``, as it is typed: a pattern of functions and a convention's name.

    Raises UsageError for a name that no architecture has.
    """
    pattern, _, name = text.rpartition("=")
    known = {each: None for of in CONVENTIONS.values() for each in of}
    if name.split("-")[0] not in known:
        raise UsageError(f"no convention {name!r}; {nearest(name.split('-')[0], known)}")
    return pattern or "*", name


def check_said(arch: Arch, said: Iterable[tuple[str, str]]) -> None:
    """Raises UsageError where a convention was said that there is not for an architecture."""
    for _, name in said:
        convention_named(arch, name)
