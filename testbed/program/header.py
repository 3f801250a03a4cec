"""The header that each source file starts with: the ``// key: value`` lines, closed by the first line that is not a
``//`` comment; a line ``//   more`` (three spaces or more) continues the value above. Keys:

========================  ======================================================================
``summary``               one sentence: what is interesting here (required in the corpus)
``exit``                  the status that the program exits with (required there): proof that it ran right
``entry``                 the entry symbol (default ``_start``)
``traits``                declared words for people, comma-separated names of ``Trait`` members
``frames``                ``LOCATION = f, g, h``: the true frames whenever execution is at LOCATION (a
                          symbol or a label, optionally ``+0x4`` and ``#2`` for the second visit only)
``logical``               ``LOCATION = f, [g], <h>``: the calls that the source made to get there: ``[g]`` was
                          inlined, ``<h>`` left by a tail call
``frame-record``          the name of the frame-record layout, where the file does not use the default
``recipes``               only these recipes (glob patterns, comma-separated); without it all that fit but the
                          ones that a program must ask for (``macho-*``)
``clang-only``            why keystone cannot assemble this file
``trap``                  ``NUMBER REFERENCE, REFERENCE``: a trap of `testbed.words.traits` that this file shows, and
                          where it happened (``owner/name#12`` or an ``https`` address)
``twin``                  the program that differs from this one in its tables only, and has the right ones
``wrong``                 ``LABEL..LABEL``, comma-separated: the instructions whose table rows are wrong
``untabled``              ``LABEL..LABEL``, comma-separated: code that no table covers
``sources``               further sources, comma-separated, in folders beside this one: ``parts/second.c``; one that
                          ends in ``.ISA.S`` is for that instruction set
``include``               folders beside this file in which compilers look for what it includes
``flags``                 what compilers and assemblers are told behind the recipe's own flags
``syntax``                ``att``: x86 assembly, in C too, is in AT&T syntax (keystone does not read it)
``cpu``                   the CPU model that it runs on, where the usual one cannot do what it shows (``signing``:
                          return addresses get signatures)
``exchanged``             ``F, G``: the search table of ``.eh_frame_hdr`` has the entries of these two functions
                          the wrong way round (recipes ``keystone*``: a linker does not do that)
``signal``                ``at LABEL handler F restorer G``: a signal that arrives before that instruction (a
                          visit ``#2`` may be given); ``... on alternate stack``; ``at fault`` for a wild jump
========================  ======================================================================

``frames``, ``logical``, ``trap`` and ``signal`` may be given several times. ``LABEL..LABEL`` excludes its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from testbed.arch import ARCHES
from testbed.conventions.chosen import said_of
from testbed.words.catalogue import nearest
from testbed.words.errors import ProgramError, UsageError
from testbed.words.traits import TRAPS, Trait


@dataclass(frozen=True, slots=True)
class Expectation:
    """Declared truth: at ``location`` (every visit, or only the ``visit``-th) the frames are ``frames``."""

    location: str
    visit: int | None
    frames: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Trapped:
    """A trap that a program shows: its number in `testbed.words.traits`, and where it happened."""

    number: int
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """The instructions from the one at ``start`` up to, not including, the one at ``end``."""

    start: str
    end: str
    line: int


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal: it arrives instead of the next instruction when that is the one at ``location`` (None: when a jump
    leads nowhere), on the ``visit``-th time. ``handler`` returns to ``restorer``, which gives the state back."""

    location: str | None
    visit: int
    handler: str
    restorer: str
    alternate_stack: bool
    line: int


@dataclass(frozen=True, slots=True)
class Header:
    """The parsed header of one source file."""

    summary: str
    exit: int | None  # None: nobody declared it (a file from elsewhere)
    entry: str = "_start"
    traits: frozenset[Trait] = frozenset()
    frames: tuple[Expectation, ...] = ()
    logical: tuple[Expectation, ...] = ()
    frame_record: str | None = None
    conventions: tuple[tuple[str, str], ...] = ()  # patterns of functions, and the convention that they follow
    recipes: tuple[str, ...] = ()
    clang_only: str | None = None
    traps: tuple[Trapped, ...] = ()
    twin: str | None = None
    wrong: tuple[Span, ...] = ()
    untabled: tuple[Span, ...] = ()
    exchanged: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    cpu: str | None = None
    sources: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    syntax: str | None = None


_KEY_LINE = re.compile(r"^//\s?(?P<key>[a-z-]+):\s*(?P<value>.*?)\s*$")
_CONTINUED = re.compile(r"^//\s{3,}(?P<value>\S.*?)\s*$")
_COUNT = r"[1-9]\d{0,8}"
_PLACE = r"[A-Za-z_.$][\w.$]*(?:\+0x[0-9a-f]+)?"
_LOCATION = re.compile(rf"^(?P<at>{_PLACE})(?:#(?P<visit>{_COUNT}))?$")
_SPAN = re.compile(rf"^(?P<start>{_PLACE})\.\.(?P<end>{_PLACE})$")
_SIGNAL = re.compile(
    rf"^at (?:(?P<fault>fault)|(?P<at>{_PLACE})(?:#(?P<visit>{_COUNT}))?)"
    r" handler (?P<handler>\w+) restorer (?P<restorer>\w+)(?P<alternate> on alternate stack)?$"
)
_TRAP = re.compile(r"^(?P<number>\d{1,9})\s+(?P<references>.+)$")
_REFERENCE = re.compile(r"^(?:[\w.-]+/[\w.-]+#\d+|https://\S+)$")
BESIDE = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*")  # a file or folder below that of the source
_FLAG = re.compile(r"-(?:pg|g0|[fmO][\w=+,.:-]*|[DU]\w+(?:=[\w.+-]*)?|std=[\w+]+|Wa,[\w=,-]+|Wl,--no-eh-frame-hdr)")
_FLAGS_SAID = "-f... -m... -O... -D... -U... -std=... -Wa,... -Wl,--no-eh-frame-hdr"
_RUNS_CODE = re.compile(r"-f(?:pass-)?plugin|-fload|-fuse-ld|-mllvm|-fdebug-prefix-map|-fdump|-fprofile-use|-fdiag")
_REPEATED = ("frames", "logical", "trap", "signal")
_KEYS = (
    *("summary", "exit", "entry", "traits", "frames", "logical", "frame-record", "convention", "recipes", "clang-only"),
    *("trap", "twin", "wrong", "untabled", "exchanged", "signal", "cpu", "sources", "include", "flags", "syntax"),
)
_RECORDS = [record.name for arch in ARCHES.values() for isa in arch.isas for record in isa.records]
_CPUS = [name for arch in ARCHES.values() for name in arch.cpus]


def parse_header(path: Path | str, text: str, *, own: bool = False) -> Header:
    """The header of a source. Raises ProgramError with the line for anything that is not in the grammar.

    A user's ``own`` one needs no ``summary``, no ``exit``, and no header: it has one if line 1 is ``// key: value``.
    """
    values = {} if own and not _KEY_LINE.match(text.partition("\n")[0]) else _values(path, text)

    def given(key: str) -> tuple[str, int]:
        return values[key][0]

    for required in () if own else ("summary", "exit"):
        if required not in values:
            line = next((i for i, content in enumerate(text.splitlines(), 1) if not content.startswith("//")), 1)
            raise ProgramError(path, line, f"the header has no '// {required}: ...' line")
    return Header(
        summary=given("summary")[0] if "summary" in values else f"the source {Path(path).name}",
        exit=_status(path, *given("exit")) if "exit" in values else None,
        entry=given("entry")[0] if "entry" in values else "_start",
        traits=_traits(path, *given("traits")) if "traits" in values else frozenset(),
        frames=tuple(_expectation(path, "frames", value, line) for value, line in values.get("frames", ())),
        logical=tuple(_expectation(path, "logical", value, line) for value, line in values.get("logical", ())),
        frame_record=_one_of(path, "frame record", _RECORDS, *given("frame-record"))
        if "frame-record" in values
        else None,
        conventions=_conventions(path, *given("convention")) if "convention" in values else (),
        recipes=_listed(given("recipes")[0]) if "recipes" in values else (),
        clang_only=given("clang-only")[0] if "clang-only" in values else None,
        traps=tuple(_trap(path, value, line) for value, line in values.get("trap", ())),
        twin=given("twin")[0] if "twin" in values else None,
        wrong=_spans(path, "wrong", *given("wrong")) if "wrong" in values else (),
        untabled=_spans(path, "untabled", *given("untabled")) if "untabled" in values else (),
        exchanged=_exchanged(path, *given("exchanged")) if "exchanged" in values else (),
        signals=tuple(_signal(path, value, line) for value, line in values.get("signal", ())),
        cpu=_one_of(path, "CPU model", _CPUS, *given("cpu")) if "cpu" in values else None,
        sources=_beside(path, "sources", *given("sources")) if "sources" in values else (),
        include=_beside(path, "include", *given("include")) if "include" in values else (),
        flags=_flags(path, *given("flags")) if "flags" in values else (),
        syntax=_one_of(path, "other syntax", ["att"], *given("syntax")) if "syntax" in values else None,
    )


def _status(path: Path | str, value: str, line: int) -> int:
    if not value.isdecimal() or len(value) > 9 or int(value) > 255:
        raise ProgramError(path, line, f"exit: a status from 0 to 255 is needed, not {value!r}")
    return int(value)


def _values(path: Path | str, text: str) -> dict[str, list[tuple[str, int]]]:
    """Every value of every key, with its line; only some keys have more than one."""
    values: dict[str, list[tuple[str, int]]] = {}
    last: str | None = None
    for line, content in enumerate(text.splitlines(), 1):
        if not content.startswith("//"):
            break
        if (more := _CONTINUED.match(content)) and last is not None:
            before, at = values[last][-1]
            values[last][-1] = (f"{before} {more['value']}", at)
            continue
        match = _KEY_LINE.match(content)
        if match is None:
            raise ProgramError(path, line, f"not a header line ('// key: value'): {content!r}")
        key, value = match["key"], match["value"]
        if key not in _KEYS:
            raise ProgramError(path, line, f"unknown header key {key!r}; {nearest(key, _KEYS)}")
        if not value:
            raise ProgramError(path, line, f"header key {key!r} has no value")
        if key in values and key not in _REPEATED:
            raise ProgramError(path, line, f"header key {key!r} is already given in line {values[key][0][1]}")
        values.setdefault(key, []).append((value, line))
        last = key
    return values


def _listed(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _expectation(path: Path | str, key: str, value: str, line: int) -> Expectation:
    location, equals, names = value.partition("=")
    match = _LOCATION.match(location.strip())
    if not equals or match is None or not _listed(names):
        raise ProgramError(path, line, f"{key}: 'LOCATION = f, g, h' is needed, not {value!r}")
    return Expectation(match["at"], int(match["visit"]) if match["visit"] else None, _listed(names), line)


def _traits(path: Path | str, value: str, line: int) -> frozenset[Trait]:
    declared = {trait.name: trait for trait in Trait if trait.declared}
    for name in _listed(value):
        if name not in declared:
            raise ProgramError(path, line, f"{name!r} is no trait that a header declares; {nearest(name, declared)}")
    return frozenset(declared[name] for name in _listed(value))


def _conventions(path: Path | str, value: str, line: int) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(said_of(each) for each in _listed(value))
    except UsageError as error:
        raise ProgramError(path, line, str(error)) from error


def _one_of(path: Path | str, what: str, known: list[str], value: str, line: int) -> str:
    if value not in known:
        raise ProgramError(path, line, f"no {what} {value!r}; {nearest(value, known)}")
    return value


def _beside(path: Path | str, key: str, value: str, line: int) -> tuple[str, ...]:
    for name in _listed(value):
        if not BESIDE.fullmatch(name):
            raise ProgramError(path, line, f"{key}: what lies beside this file is needed, not {name!r}")
    return _listed(value)


def _flags(path: Path | str, value: str, line: int) -> tuple[str, ...]:
    for flag in value.split():
        if not _FLAG.fullmatch(flag) or _RUNS_CODE.match(flag):
            raise ProgramError(path, line, f"flags: {flag!r} is not among {_FLAGS_SAID}")
    return tuple(value.split())


def _trap(path: Path | str, value: str, line: int) -> Trapped:
    match = _TRAP.match(value)
    if match is None:
        raise ProgramError(path, line, f"trap: 'NUMBER REFERENCE, REFERENCE' is needed, not {value!r}")
    number, references = int(match["number"]), _listed(match["references"])
    if number not in TRAPS:
        raise ProgramError(
            path, line, f"trap: there is no trap {number}; they are numbered {min(TRAPS)} to {max(TRAPS)}"
        )
    for reference in references:
        if not _REFERENCE.match(reference):
            raise ProgramError(path, line, f"trap: 'owner/name#12' or an https address is needed, not {reference!r}")
    return Trapped(number, references)


def _spans(path: Path | str, key: str, value: str, line: int) -> tuple[Span, ...]:
    matches = [(part, _SPAN.match(part)) for part in _listed(value)]
    for part, match in matches:
        if match is None:
            raise ProgramError(path, line, f"{key}: 'LABEL..LABEL' is needed, not {part!r}")
    return tuple(Span(match["start"], match["end"], line) for _, match in matches if match)


def _exchanged(path: Path | str, value: str, line: int) -> tuple[str, ...]:
    if len(_listed(value)) != 2:
        raise ProgramError(path, line, f"exchanged: 'F, G' is needed, not {value!r}")
    return _listed(value)


def _signal(path: Path | str, value: str, line: int) -> Signal:
    match = _SIGNAL.match(value)
    if match is None:
        form = "at LABEL handler F restorer G"
        raise ProgramError(path, line, f"signal: '{form}' (and maybe 'on alternate stack') is needed, not {value!r}")
    return Signal(
        None if match["fault"] else match["at"],
        int(match["visit"] or 1),
        match["handler"],
        match["restorer"],
        bool(match["alternate"]),
        line,
    )
