"""What became of a judged process, as values: threads, unwinders, whose code each step is, where each goes wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from testbed.image import Image, LoadedImage, image_covering
from testbed.image.model import Section, once_per_image
from testbed.image.symbols import readable, symbol_for
from testbed.micro.functions import table_ranges
from testbed.process import ProcessRun
from testbed.process.starting import plan_of
from testbed.trace import Trace
from testbed.trace.by_address import AskedOnce
from testbed.truth import Truth
from testbed.truth.watched import Watched
from testbed.verdicts.verdict import Counts

# Whose code each step of a process executes: the program's own functions, a library's, or start-up and linker.
#
# A person who runs a program asks about it, and the dynamic linker makes most of a short run's steps. So an unwinder's
# results are counted for each function of the program's *own files*: the program, and what lies in its folder or
# below. All other libraries are one entry, and so is the dynamic linker, with what linkers and compilers put into
# every program to start and end it, and to call libraries.


# Of the files that compilers link to every program of a C library, by name.
_START_FILES = frozenset(
    (
        *("_start", "_start_c", "_init", "_fini", "call_weak_fn", "_dl_relocate_static_pie", "__do_global_dtors_aux"),
        *("frame_dummy", "register_tm_clones", "deregister_tm_clones", "__libc_csu_init", "__libc_csu_fini"),
    )
)
_START_SECTIONS = (".init", ".fini")  # `_init` and `_fini`, also without a name
ENTRY = "_start"  # what the code at a program's or a dynamic linker's entry is called
_START = 0x40  # bytes: it sets up a stack and calls
_START_FILES_CODE = 0x200  # bytes that are linked behind it at most, which no table describes


class CodePart(Enum):
    """Whose code it is."""

    OWN = "your code"
    LIBRARY = "libraries"
    LINKER = "start-up and linker"


@dataclass(frozen=True, slots=True)
class ProcessCode:
    """Some code of a process: a function of the program's own files, or all that is of another part.

    ``start`` is the function's link-time address in ``file``; a part as a whole has neither. Own code that no file has
    was made at run time.
    """

    part: CodePart
    function: str = ""
    file: Path | None = None
    start: int = 0


@dataclass(frozen=True, slots=True)
class CodeShare:
    """How one unwinder fares at the steps of some code that are judged. The rest of ``steps`` are honest stops.

    It is ``right`` where it finds all callers. Steps are ``called`` where a caller is of the program's own code; of
    these it is ``within`` where it finds all out to the outermost such caller.
    """

    code: ProcessCode
    steps: int
    right: int
    lies: int
    called: int
    within: int

    def __add__(self, other: CodeShare) -> CodeShare:
        mine, its = ((each.steps, each.right, each.lies, each.called, each.within) for each in (self, other))
        return CodeShare(self.code, *map(sum, zip(mine, its, strict=True)))


class _CodeOf:
    """The code at the addresses that were executed until now, each looked up once."""

    def __init__(self, images: tuple[LoadedImage, ...]) -> None:
        self.images = images
        self.parts = {id(loaded): part for loaded, part in zip(images, parts_of(images), strict=True)}
        self.numbers: dict[ProcessCode, int] = {}
        self.asked = AskedOnce(lambda pc: self.numbers.setdefault(self.at(pc), len(self.numbers)))

    def at(self, pc: int) -> ProcessCode:
        loaded = image_covering(self.images, pc)
        if loaded is None:
            return ProcessCode(CodePart.OWN, "code that no file has")
        image, part = loaded.image, self.parts[id(loaded)]
        if part is not CodePart.OWN:
            return ProcessCode(part)
        start, function, _ = function_at(image, pc - loaded.bias) or (0, f"{image.path.name}, elsewhere", "")
        if starts_program(image, function):
            return ProcessCode(CodePart.LINKER)
        return ProcessCode(part, function, image.path, start)


_code_of = lru_cache(maxsize=4)(_CodeOf)  # a long run is judged in pieces, which execute the same code


def part_at(images: tuple[LoadedImage, ...], pc: int) -> CodePart:
    """Whose the code at a run-time address is."""
    return _code_of(images).at(pc).part


def code_of_steps(trace: Trace, begins: int, stop: int) -> tuple[tuple[ProcessCode, ...], NDArray[np.int64]]:
    """The code of a process, as far as it was looked up, and which of it each step of a range is of."""
    known = _code_of(trace.images)
    of_step = known.asked.at(trace.pc[begins:stop])
    return tuple(known.numbers), of_step


def own_steps(trace: Trace, begins: int, stop: int) -> NDArray[np.bool_]:
    """Of each step of a range whether it is of the program's own code."""
    codes, of_step = code_of_steps(trace, begins, stop)
    found: NDArray[np.bool_] = np.array([code.part is CodePart.OWN for code in codes], np.bool_)[of_step]
    return found


def own_reach(watched: Watched) -> NDArray[np.int64]:
    """Of each activation how many frames further out the outermost one of the program's own code is; 0: none is."""
    activations = watched.activations
    known = _code_of(watched.trace.images)
    callers = known.asked.at(activations.return_address - np.uint64(1))
    own = np.array([code.part is CodePart.OWN for code in known.numbers], np.bool_)[callers]
    up, found, far = activations.parent.copy(), (own & (activations.parent >= 0)).astype(np.int64), 1
    while len(left := np.flatnonzero(up >= 0)):  # rounds as in `testbed.truth.frame_sites.heights`
        beyond = found[up[left]]
        found[left] = np.where(beyond > 0, beyond + far, found[left])
        up[left] = up[up[left]]
        far *= 2
    return found


def starts_program(image: Image, function: str) -> bool:
    """True for code of no function of the program's: start files, and a linker's stubs that lead to libraries.

    A program without start files is its own, from `_start` on.
    """
    starts = function.startswith(".plt") or function in _START_SECTIONS
    return starts or (function in _START_FILES and ".init" in image.sections)


def parts_of(images: Iterable[LoadedImage]) -> tuple[CodePart, ...]:
    """Whose each mapped file is; the first one is the program."""
    files = [loaded.image for loaded in images]
    if not files:
        return ()
    program = files[0].path.resolve()
    linker = plan_of(files[0]).interpreter

    def part(image: Image) -> CodePart:
        path = image.path.resolve()
        if image is files[0]:
            return CodePart.OWN
        if linker is not None and image is files[min(1, len(files) - 1)]:  # mapped before all that it maps
            return CodePart.LINKER
        return CodePart.OWN if program.parent in path.parents else CodePart.LIBRARY

    return tuple(map(part, files))


def joined_code(shares: Iterable[CodeShare]) -> tuple[CodeShare, ...]:
    """One share per code, the most steps first."""
    found: dict[ProcessCode, CodeShare] = {}
    for share in shares:
        found[share.code] = found[share.code] + share if share.code in found else share
    return tuple(sorted(found.values(), key=lambda each: (-each.steps, each.code.function)))


def shares_of_code(
    codes: tuple[ProcessCode, ...],
    of_step: NDArray[np.int64],
    *,
    right: NDArray[np.bool_],
    lies: NDArray[np.bool_],
    called: NDArray[np.bool_],
    within: NDArray[np.bool_],
) -> tuple[CodeShare, ...]:
    """The judged steps of a thread, counted by code."""
    columns = [
        np.bincount(of_step[chosen], minlength=len(codes)).tolist()
        for chosen in (np.ones(len(of_step), np.bool_), right, lies, called, within)
    ]
    return tuple(CodeShare(code, *numbers) for code, *numbers in zip(codes, *columns, strict=True) if numbers[0])


@once_per_image
def function_at(image: Image, link: int) -> tuple[int, str, str] | None:
    """Where the function at a link-time pc begins, what it is called, and how `testbed check` calls it; or None.

    Without a symbol a function is where its entry in the file's table begins. What a linker wrote into a `.plt` is no
    part of the function in front of it, whose symbol may have no size.
    """
    section = next((each for each in image.sections.values() if each.address and _inside(each, link)), None)
    if section is not None and section.name.startswith(".plt"):
        return section.address, section.name, f"{link:#x}"
    symbol = symbol_for(image, link)
    if symbol is not None:
        return symbol.address, readable(symbol), symbol.name
    if section is not None and section.name in _START_SECTIONS:
        return section.address, section.name, f"{section.address:#x}"
    if image.entry <= link < _end_of_start(image):
        return image.entry, ENTRY, f"{image.entry:#x}"
    starts, ends = _described(image)
    i = bisect_right(starts, link) - 1
    if i >= 0 and link < ends[i]:
        return starts[i], f"+{starts[i] - image.base:#x}", f"{starts[i]:#x}"  # `testbed check` calls it so
    return None


@lru_cache(maxsize=16)
def _end_of_start(image: Image) -> int:
    """Where the code ends that begins at a file's entry, with what start files have behind it.

    That is where a table describes the next function, or the section ends; or soon, if that is not near.
    """
    entry, (starts, _) = image.entry, _described(image)
    following = starts[bisect_right(starts, entry) :][:1]
    ends = (each.address + len(each.data) for each in image.sections.values() if each.address and _inside(each, entry))
    near = [end for end in (*following, *ends) if end <= entry + _START_FILES_CODE]
    return min(near, default=entry + _START)


@lru_cache(maxsize=16)
def _described(image: Image) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the functions begin and end that the entries of a file's tables are for, in link-time addresses."""
    ranges = sorted(table_ranges(image))
    return tuple(start for start, _ in ranges), tuple(end for _, end in ranges)


def _inside(section: Section, address: int) -> bool:
    return section.address <= address < section.address + len(section.data)


@dataclass(frozen=True, eq=False)
class WatchedThread:
    """A thread, or a part of it, and the truth about it.

    Its steps are the rows of the trace from ``begins`` on, before ``ends`` if that is given; the first of them is step
    ``first`` of the thread. Rows before are those of the parent on whose stack it goes on, or of an earlier part.
    """

    number: int
    watched: Truth = field(repr=False)
    begins: int
    ends: int | None = None
    first: int = 0

    @property
    def stop(self) -> int:
        return len(self.watched.trace) if self.ends is None else self.ends

    @property
    def steps(self) -> int:
        return self.stop - self.begins

    @cached_property
    def code(self) -> tuple[tuple[ProcessCode, ...], NDArray[np.int64]]:
        """The code that its steps are of, and which of it each is."""
        return code_of_steps(self.watched.trace, self.begins, self.stop)

    @cached_property
    def reach(self) -> NDArray[np.int64]:
        """Of each activation how many frames further out the outermost one of the program's own code is."""
        return own_reach(self.watched)

    @property
    def transition(self) -> int:
        """How many steps have no single right answer."""
        return int(self.watched.transition[self.begins : self.stop].sum()) - self.undecided

    @property
    def undecided(self) -> int:
        """Of how many steps no effect tells whose they are."""
        return int(self.watched.undecided[self.begins : self.stop].sum())

    @property
    def activations(self) -> int:
        """How many were opened at these steps."""
        opened = self.watched.activations.opened
        return int(((opened >= self.begins) & (opened < self.stop)).sum())


@dataclass(frozen=True, eq=False)
class WatchedProcess:
    """A process that ran, with the truth about each of its threads: an interrupt leaves no step of it out."""

    run: ProcessRun
    threads: tuple[WatchedThread, ...]
    left: ClassVar[int] = 0

    @property
    def steps(self) -> int:
        return sum(thread.steps for thread in self.threads)


@dataclass(frozen=True, slots=True)
class CountedThread:
    """What is left of a thread that was watched in pieces."""

    number: int
    steps: int
    activations: int
    transition: int
    undecided: int


@dataclass(frozen=True, eq=False)
class CountedProcess:
    """A process that was watched in pieces, of which no step is held.

    ``pieces`` is how many there were of a thread, ``left`` how many steps an interrupt left out.
    """

    run: ProcessRun
    threads: tuple[CountedThread, ...]
    pieces: int
    left: int = 0

    @property
    def steps(self) -> int:
        return sum(thread.steps for thread in self.threads)


@dataclass(frozen=True, slots=True)
class WrongReason:
    """Why an unwinder goes wrong, and at how many steps."""

    because: str
    steps: int


@dataclass(frozen=True, slots=True)
class WrongPlace:
    """A function at whose frames an unwinder goes wrong, and why.

    ``because`` is the reason at most of the steps, and ``also`` are the others, with their steps. It is "" where an
    assumption foretells something else; ``unforeseen`` says then what was said at the first such step, and what was
    foretold. Where no assumption is stated, it is what is wrong there, or the reason to stop. ``first`` is the first
    step with that reason, of the thread ``thread``, ``where`` the instruction that was executed there; ``lies`` of the
    ``steps`` claim something false, and at ``whole`` of them every caller is found, and no root is claimed. ``file`` is
    the program or library, None where no file has this code. ``known`` is what `testbed check` calls the function: its
    symbol's name, or where its entry in the table begins; "" where there is neither.
    """

    function: str
    library: str
    because: str
    steps: int
    lies: int
    first: int
    thread: int
    where: str
    file: Path | None = None
    known: str = ""
    part: CodePart = CodePart.OWN
    whole: int = 0
    unforeseen: str = field(default="", compare=False)
    also: tuple[WrongReason, ...] = ()

    @property
    def explained(self) -> bool:
        return bool(self.because)

    @property
    def not_right(self) -> int:
        """At how many steps a caller is missing or false."""
        return self.steps - self.whole

    @property
    def command(self) -> str:
        """What holds this function's table against its code, without this run; "" where no command can."""
        return f"testbed check {self.file} --function {self.known}" if self.file and self.known else ""

    def __str__(self) -> str:
        return f"{self.function} in {self.library}"


@dataclass(frozen=True, kw_only=True)
class UnwinderShare(Counts):
    """One unwinder over all threads; a site is explained by a place of it, or by none.

    ``done_by`` is as in `Unwinder`. ``sampled``: only so many steps were chosen, by the seed, of all. ``code`` has the
    judged steps by whose code they are, the program's own by function.
    """

    name: str
    sampled: bool
    done_by: str = ""
    places: tuple[WrongPlace, ...] = field(default=(), repr=False)
    code: tuple[CodeShare, ...] = field(default=(), repr=False)

    def of(self, part: CodePart) -> CodeShare:
        """The steps of one part, added up."""
        return sum((each for each in self.code if each.code.part is part), CodeShare(ProcessCode(part), 0, 0, 0, 0, 0))

    @property
    def stops(self) -> int:
        """Honest stops before the last true caller, with crashes and hangs."""
        return self.stopped - self.whole


def reaches_own_code(shares: Sequence[UnwinderShare]) -> bool:
    """False where unwinders were asked at every step, and no step is of the program's own code: it never began."""
    whole = [each for each in shares if not each.sampled]
    return not whole or any(each.of(CodePart.OWN).steps for each in whole)
