"""Which convention a function follows, and why it is not the platform's.

Asked in this order, the first to answer decides:

1. who owns the file: an option, a program's header (`Image.conventions`);
2. the function's debug information, which its compiler wrote (DW_AT_calling_convention);
3. its symbol: what it is marked with, then its name;
4. who made its unit (DW_AT_producer);
5. the file's format.

What nobody says follows its platform. ``.comment`` is not asked: it names compilers of a file, not of a function, and
none of those that write it follows another convention by itself.
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
from testbed.image.debug import debug_info, says_conventions
from testbed.image.go_functions import code_span
from testbed.words.catalogue import nearest
from testbed.words.errors import UsageError


class Chosen(NamedTuple):
    """A function's convention. ``why`` it is not the platform's; "" where it is."""

    convention: Convention
    why: str


class FunctionFacts(NamedTuple):
    """What a file says of one function: its symbols, whether they are marked, what debug information says of it."""

    names: tuple[str, ...]
    variant: bool
    number: int
    producer: str


class Marker(NamedTuple):
    """What shows a convention: a number in debug information, a marked symbol, a name, a producer, or a kind of file.

    All that is given must hold. ``file`` says what of a file shows it, "" if nothing does; where code of other
    languages is in such a file, too, ``span`` is where the convention's own lies.
    """

    convention: str
    why: str
    number: int = 0
    variant: bool = False
    name: str = ""
    producer: str = ""
    file: Callable[[Image], str] | None = None
    span: Callable[[Image], range | None] | None = None

    def fits(self, facts: FunctionFacts) -> bool:
        """True where a function is one of these, its file apart."""
        return (
            self.number in (0, facts.number)
            and facts.variant >= self.variant
            and (not self.name or any(re.fullmatch(self.name, name) for name in facts.names))
            and re.match(self.producer, facts.producer) is not None
        )


def _any_section(*names: str) -> Callable[[Image], str]:
    return lambda image: next((name for name in names if name in image.sections), "")


def _any_symbol(*names: str) -> Callable[[Image], str]:
    return lambda image: next((name for name in names if image.symbol_named(name)), "")


def _code_of_go(image: Image) -> range | None:
    """Where a file's Go lies, beside C that cgo linked to it: between two symbols, else what Go's table covers."""
    begin, end = image.symbol_named("runtime.text"), image.symbol_named("runtime.etext")
    return range(begin.address, end.address) if begin and end else code_span(image.sections)


_OF_GO = _any_section(".gopclntab", ".note.go.buildid")
_UNITS = ("caml_system", "caml_shared_startup")  # what each program has, and each plug-in (.cmxs)
_OF_OCAML = _any_symbol("caml_frametable", *(f"{unit}{mark}frametable" for unit in _UNITS for mark in ("__", ".", "$")))
# What the runtime has for OCaml code to call (runtime/amd64.S, arm64.S, arm.S of OCaml 4.14 to 5.4).
_RUNTIME = (
    "(call_gc|call_realloc_stack|call_local_realloc|alloc[123N]|c_call|c_call(_copy)?_stack_args)(_avx(512)?)?|"
    "ml_array_(bound|align)_error|raise_exn|reraise_exn|perform|reperform|resume|runstack"
)
# What ocamlopt makes for a program as a whole, without debug information (asmcomp/cmm_helpers.ml).
_FOR_ALL = r"program|(apply|curry|send|tuplify)\d+\w*"
# Numbers: llvm/BinaryFormat/Dwarf.def. DW_CC_LLVM_AAPCS, by which clang marks vector calls, says too little.
MARKERS = (
    Marker("preserve_most", "its debug information says DW_CC_LLVM_PreserveMost", number=0xC9),
    Marker("preserve_all", "its debug information says DW_CC_LLVM_PreserveAll", number=0xCA),
    Marker("preserve_none", "its debug information says DW_CC_LLVM_PreserveNone", number=0xCD),
    Marker("svml", "its debug information says DW_CC_LLVM_IntelOclBicc", number=0xC5),
    Marker("aarch64_vector_pcs", "its symbol says STO_AARCH64_VARIANT_PCS", variant=True),
    Marker("aarch64_vector_pcs", "its name is that of a vector function, _ZGVn or _ZGVs", name=r"_ZGV[ns]\w+"),
    Marker("svml", "its name is one of SVML, __svml_", name=r"__svml_\w+"),
    Marker("go_abi0", "its name ends in .abi0", name=r".*\.abi0"),
    Marker("ocaml", "its name is one of OCaml code, caml and a module", name=r"caml[A-Z]\w*(__|\.|\$).*"),
    Marker("ocaml", "OCaml code calls it by its own convention", name=rf"caml_({_RUNTIME})", file=_OF_OCAML),
    Marker("ocaml_raise", "it goes on in an OCaml handler", name="caml_raise_exception", file=_OF_OCAML),
    Marker("ocaml", "ocamlopt makes it for each program", name=rf"caml_({_FOR_ALL})", file=_OF_OCAML),
    Marker("ocaml", "ocamlopt made its unit", producer="ocamlopt"),
    Marker("go", "the file has", file=_OF_GO, span=_code_of_go),
    Marker("go_abi0", "the file has", file=_OF_GO, span=_code_of_go),
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


class _Shown(NamedTuple):
    """A marker that may show something of a file, its convention, why, and where (None: in all of it)."""

    marker: Marker
    convention: Convention
    why: str
    span: range | None


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
    def markers(self) -> list[_Shown]:
        """The markers that may show anything of this file: those of its architecture, with what its format says."""
        known, found = CONVENTIONS[self.image.arch.name], []
        for marker in MARKERS:
            shows = marker.file(self.image) if marker.file else ""
            if marker.convention in known and (shows or not marker.file):
                why = marker.why if marker.name or not shows else f"{marker.why} {shows}"
                span = marker.span(self.image) if marker.span else None
                found.append(_Shown(marker, known[marker.convention], why, span))
        return found

    def at(self, address: int) -> Chosen:
        function = self.image.function_at(address)
        names = tuple(self.names[function.address]) if function else ()
        for pattern, name in reversed(self.image.conventions):
            known = name.split("-")[0] in CONVENTIONS[self.image.arch.name]
            if known and _fits(pattern, self.image, names):
                return Chosen(convention_named(self.image.arch, name), "it was said")
        facts = self._facts(address, function, names)
        for marker, convention, why, span in self.markers:
            if marker.fits(facts) and (span is None or address in span):
                return Chosen(convention, why)
        return Chosen(platform(self.image.arch), "")

    def _facts(self, address: int, function: Symbol | None, names: tuple[str, ...]) -> FunctionFacts:
        said = debug_info(self.image).function_at(address) if says_conventions(self.image) else None
        variant = function is not None and function.variant
        return FunctionFacts(names, variant, said.convention if said else 0, said.producer if said else "")


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
    """``NAME`` (of all functions), ``GLOB=NAME`` or ``FILE!GLOB=NAME``, as it is typed: a pattern and a name.

    Raises UsageError for a name that no architecture has.
    """
    pattern, _, name = text.rpartition("=")
    known = {each: None for of in CONVENTIONS.values() for each in of}
    if name.split("-")[0] not in known:
        raise UsageError(f"no convention {name!r}; {nearest(name.split('-')[0], known)}")
    return pattern or "*", name


def _fits(pattern: str, image: Image, names: Iterable[str]) -> bool:
    """True where a pattern is that of a function of a file, which has these names."""
    file, _, functions = pattern.rpartition("!")
    fits = functions in ("", "*") or any(fnmatchcase(each, functions) for each in names)
    return fits and fnmatchcase(image.path.name, file or "*")


def fitting_nothing(image: Image, said: Iterable[tuple[str, str]]) -> list[str]:
    """The patterns that fit no function of a file; those that may be said of another file are left out."""
    of_address = _of_image(image).names
    names = {name for each in image.symbols if each.is_function for name in of_address[each.address]}
    of_this = [pattern for pattern, _ in said if pattern.rpartition("!")[0] in ("", image.path.name)]
    return [pattern for pattern in of_this if not _fits(pattern, image, names)]


def check_patterns(image: Image, said: Iterable[tuple[str, str]]) -> None:
    """Raises UsageError where a convention was said of functions that a program does not have."""
    for pattern in fitting_nothing(image, said):
        known = (each.name for each in image.symbols if each.is_function)
        raise UsageError(f"--convention: {image.path.name} has no function {pattern!r}; {nearest(pattern, known)}")


def check_said(arch: Arch, said: Iterable[tuple[str, str]]) -> None:
    """Raises UsageError where a convention was said that there is not for an architecture."""
    for _, name in said:
        convention_named(arch, name)
