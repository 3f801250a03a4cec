"""From a backtrace to the calls that a reader of the source expects: names, lines, inlined and tail-called frames.

An unwinder finds *physical* frames. Each becomes one or more named frames, innermost first:

* the calls that were inlined at its pc, each with the line that execution is at in it;
* the function itself;
* the functions that tail-called away between it and its caller, where exactly one chain is possible
  (`testbed.image.debug.tail_chains`): reconstructed, and marked so. Where more than one is, that is said instead.

A return address is looked up at ``pc - 1``, inside the call; an interrupted pc, a signal's among them, as it is
(`Frame.lookup_pc`). What cannot be read is missing, never guessed: a frame without a name is file and offset.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from testbed.contract.unwinder import Backtrace, Frame, FrameKind, behind_call
from testbed.image import LoadedImage, image_covering
from testbed.image.debug import DebugInfo, debug_info
from testbed.image.demangling import brief, demangled, last_part, whole_function
from testbed.image.symbols import place_in, symbol_for
from testbed.words.errors import BudgetExceeded, DebugInfoError

if TYPE_CHECKING:
    from testbed.image.debug.functions import Function, Inlined
    from testbed.image.debug.lines import Line
    from testbed.image.debug.tail_chains import Certainty, Chain, Link
    from testbed.image.model import Symbol

_TARGET = re.compile(r"(?<=[ ])#?(0x[0-9a-f]{4,})$")
_ADDRESS = re.compile(r"(?<![#+\w])0x[0-9a-f]{4,16}\b")


class Origin(Enum):
    """Why a named frame is there."""

    PHYSICAL = "a frame on the stack"
    INLINED = "inlined into the frame below it: the debug information says so"
    TAIL_CALL = "tail-called away: reconstructed from call sites"


@dataclass(frozen=True, slots=True)
class NamedFrame:
    """One call as a reader of the source knows it.

    ``pc`` is a run-time address, None where a function has several tail calls to the next. ``physical`` is the index
    of the frame it came from, ``caller`` whether that frame's pc is a return address. ``function`` is the readable name
    ("": none), ``symbol`` the linker's and ``offset`` the distance from it. ``entry`` is the run-time address of the
    function's first instruction, None for an inlined call.
    """

    origin: Origin
    physical: int
    pc: int | None
    caller: bool
    function: str
    module: LoadedImage | None
    line: Line | None = None
    symbol: str = ""
    offset: int | None = None
    entry: int | None = None

    @property
    def module_offset(self) -> int | None:
        """The link-time address: what a symbolizer is given together with the file."""
        return None if self.pc is None or self.module is None else self.pc - self.module.bias

    @property
    def place(self) -> str:
        """``function+0x4``: the distance from the symbol, else from the file's beginning; bare hex in no image."""
        if self.pc is None:
            return self.function
        if self.module is None:
            return f"{self.pc:#x}"
        image, link = self.module.image, self.pc - self.module.bias
        return place_in(image, symbol_for(image, link - self.caller), link)

    def __str__(self) -> str:
        return (brief(self.function) or self.place) + self.mark

    @property
    def mark(self) -> str:
        """ " [inlined]" or " [tail call]" for a frame that is not on the stack."""
        return {Origin.PHYSICAL: "", Origin.INLINED: " [inlined]", Origin.TAIL_CALL: " [tail call]"}[self.origin]


@dataclass(frozen=True, slots=True)
class Unsure:
    """Tail calls above the physical frame ``physical`` that cannot be told: why, and some of the possible chains."""

    physical: int
    certainty: Certainty
    because: str
    candidates: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        from testbed.image.debug.tail_chains import Certainty

        what = "ambiguous tail calls" if self.certainty is Certainty.AMBIGUOUS else "tail calls not known"
        chains = ", or ".join(" -> ".join(chain) or "none" for chain in self.candidates)
        return f"{what}: {self.because}" + (f": {chains}" if chains else "")


@dataclass(frozen=True, slots=True)
class NamedBacktrace:
    """All named frames, innermost first; where tail calls are unsure; what debug information could not be read."""

    frames: tuple[NamedFrame, ...]
    unsure: tuple[Unsure, ...]
    problems: tuple[DebugInfoError | BudgetExceeded, ...]

    def of(self, physical: int) -> tuple[NamedFrame, ...]:
        """The named frames that one physical frame became."""
        return tuple(frame for frame in self.frames if frame.physical == physical)

    def unsure_at(self, physical: int) -> Unsure | None:
        return next((one for one in self.unsure if one.physical == physical), None)

    def __str__(self) -> str:
        return " < ".join(map(str, self.frames))


def symbolize(images: Sequence[LoadedImage], said: Backtrace | Sequence[Frame]) -> NamedBacktrace:
    """The names of a backtrace's frames. Raises nothing: what is damaged is missing, and listed in ``problems``."""
    frames = said.frames if isinstance(said, Backtrace) else tuple(said)
    loaded = tuple(images)
    named: list[NamedFrame] = []
    unsure: list[Unsure] = []
    problems: dict[DebugInfoError | BudgetExceeded, None] = {}
    for i, frame in enumerate(frames):
        caller = behind_call(frames, i)
        module = image_covering(loaded, frame.pc - caller)
        named.extend(_named(module, i, frame.pc, frame.pc - caller, caller=caller))
        if module is not None:
            problems.update(dict.fromkeys(debug_info(module.image).met))
        if module is None or i + 1 == len(frames):
            continue
        chain = _tail_calls(loaded, module, frame, frames[i + 1])
        if chain is None:
            continue
        for link in reversed(chain.links):
            named.extend(_tail_called(module, i, link))
        if not chain.certain:
            unsure.append(Unsure(i, chain.certainty, chain.because, chain.candidates))
    return NamedBacktrace(tuple(named), tuple(unsure), tuple(problems))


def names_at(images: Sequence[LoadedImage], pc: int, *, caller: bool = False) -> tuple[NamedFrame, ...]:
    """The inlined calls at one run-time address, innermost first, then the function that they are in."""
    lookup = pc - 1 if caller else pc
    return tuple(_named(image_covering(tuple(images), lookup), 0, pc, lookup, caller=caller))


def inlined_at(images: Sequence[LoadedImage], pc: int, *, caller: bool = False) -> tuple[str, ...]:
    """The brief names of the calls that were inlined at one run-time address, innermost first."""
    module = image_covering(tuple(images), pc - caller)
    calls = debug_info(module.image).inlined_at(pc - caller - module.bias) if module is not None else ()
    return tuple(brief(_called(call)) for call in calls)


def name_of(images: Sequence[LoadedImage], pc: int, *, caller: bool = False) -> NamedFrame:
    """The function at one run-time address, inlined calls left out."""
    return names_at(images, pc, caller=caller)[-1]


def with_names(images: Sequence[LoadedImage], text: str) -> str:
    """An instruction's text with its target by name, where it ends in the address of code that has one."""
    match = _TARGET.search(text)
    module = image_covering(tuple(images), target := int(match[1], 16)) if match else None
    if match is None or module is None or (symbol := symbol_for(module.image, target - module.bias)) is None:
        return text
    return text[: match.start()] + place_in(module.image, symbol, target - module.bias)


def with_places(
    images: Sequence[LoadedImage], text: str, *, caller: bool = False, uncalled: Collection[int] = ()
) -> str:
    """A sentence with its code addresses by name, where they have one; with ``caller`` they are return addresses.

    Those in ``uncalled`` are not: no call is in front of them.
    """
    return _ADDRESS.sub(lambda match: _place(tuple(images), int(match[0], 16), match[0], caller, uncalled), text)


def _place(images: tuple[LoadedImage, ...], address: int, text: str, caller: bool, uncalled: Collection[int]) -> str:
    caller = caller and address not in uncalled
    module = image_covering(images, address - caller)
    symbol = symbol_for(module.image, address - caller - module.bias) if module is not None else None
    return place_in(module.image, symbol, address - module.bias) if module is not None and symbol else text


def _named(
    module: LoadedImage | None, index: int, pc: int, lookup: int, *, caller: bool, origin: Origin = Origin.PHYSICAL
) -> Iterator[NamedFrame]:
    """The inlined calls at a pc, innermost first, then its function."""
    if module is None:
        yield NamedFrame(origin, index, pc, caller, "", None)
        return
    info, link = debug_info(module.image), lookup - module.bias
    # A line without its function may be that of a call inlined there: beside the symbol it would be a lie.
    damaged = info.function_at(link) is None and info.met
    place = None if damaged else info.line_at(link)
    for call in info.inlined_at(link):
        yield NamedFrame(Origin.INLINED, index, pc, caller, _called(call), module, place)
        place = call.called_from
    symbol = symbol_for(module.image, link)
    function = info.function_at(link)
    yield NamedFrame(
        origin=origin,
        physical=index,
        pc=pc,
        caller=caller,
        function=_of_symbol(function, symbol) if symbol else _called(function) if function else "",
        module=module,
        line=place,
        symbol=symbol.name if symbol else "",
        offset=pc - module.bias - symbol.address if symbol else None,
        entry=_entry(info, link, function, module),
    )


def _of_symbol(function: Function | None, symbol: Symbol) -> str:
    """What a reader calls a function at a symbol: debug information seldom says in which namespace a static one is."""
    of_symbol = demangled(symbol.name)
    unsaid = function is not None and not function.linkage_name and last_part(of_symbol) == function.name
    return of_symbol if unsaid or function is None else _called(function) or of_symbol


def _called(function: Function | Inlined) -> str:
    """What a reader calls it."""
    return demangled(function.linkage_name) if function.linkage_name else function.name


def _entry(info: DebugInfo, link: int, function: Function | None, module: LoadedImage) -> int | None:
    """Where the function begins: of a split-off piece, the whole function's entry."""
    if function is not None:
        return _begins(info, function) + module.bias
    symbol = symbol_for(info.image, link)
    if symbol is None:
        return None
    whole = info.image.symbol_named(whole_function(symbol.name))
    return (whole or symbol).address + module.bias


def _begins(info: DebugInfo, function: Function) -> int:
    """A function's link-time entry: what is called, and that is what its symbol says.

    GCC lets the debug information of a function begin behind the room to patch at its entry
    (``-fpatchable-function-entry``), which is executed first.
    """
    symbol = symbol_for(info.image, function.entry)
    if symbol is not None and symbol.name in (function.linkage_name, function.name):
        return symbol.address
    return function.entry


def _tail_called(module: LoadedImage, index: int, link: Link) -> Iterator[NamedFrame]:
    """The frames of a function that tail-called away; the inlined ones too, where the jump's place is known."""
    site = link.site
    if site is not None and site.pc is not None:
        pc = site.pc + module.bias
        yield from _named(module, index, pc, pc, caller=False, origin=Origin.TAIL_CALL)
        return
    if site is not None and site.return_pc is not None:
        pc = site.return_pc + module.bias
        yield from _named(module, index, pc, pc - 1, caller=True, origin=Origin.TAIL_CALL)
        return
    entry = _begins(debug_info(module.image), link.function)
    symbol = symbol_for(module.image, entry)
    yield NamedFrame(
        origin=Origin.TAIL_CALL,
        physical=index,
        pc=None,
        caller=False,
        function=_called(link.function),
        module=module,
        symbol=symbol.name if symbol else "",
        entry=entry + module.bias,
    )


def _tail_calls(images: tuple[LoadedImage, ...], module: LoadedImage, frame: Frame, caller: Frame) -> Chain | None:
    """The chain between a frame and its caller; None where the question makes no sense, or nothing can answer."""
    if caller.kind is not FrameKind.CALLER or image_covering(images, caller.lookup_pc) is not module:
        return None
    info = debug_info(module.image)
    executing = info.function_at(frame.lookup_pc - module.bias)
    if executing is None:
        return None
    from testbed.image.debug.tail_chains import tail_chain  # for a function that debug information names

    return tail_chain(info, caller.pc - module.bias, executing)
