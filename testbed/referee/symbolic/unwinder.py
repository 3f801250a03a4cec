"""symbolic, Sentry's library: a program's unwind tables as Breakpad's STACK CFI text, which crash servers walk by.

symbolic reads the tables, DWARF's or Mach-O's compact ones, and writes rules; it has no walker for them in Python, so
the rules are evaluated by ours (`testbed.referee.symbolic.unwinder`). What is judged is what the text says. It says
nothing of signal frames: behind one, the interrupted pc is looked up as if it were a return address.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder, interrupted_frame
from testbed.conventions import platform
from testbed.export.register_layouts import LAYOUTS
from testbed.image import Image, image_covering
from testbed.referee.model import Find, Found, OtherVersions, Referee, called, read_findings
from testbed.referee.process.file_tool import SECONDS, JsonProcess, python_script
from testbed.referee.process.limits import own_packages, wheel_in
from testbed.referee.process.without_tables import file_of
from testbed.trace import Memory, Snapshot
from testbed.words.errors import MalformedTable, NoProgress, NoUnwindInfo, UnknownRegister, UnwindError

# Breakpad's STACK CFI records: their text read, and their rules evaluated. This part is ours, not a referee's.
#
# Records, addresses relative to where the image begins::
#
#     STACK CFI INIT <address> <size> <rules>     the rules at the first instruction of a range
#     STACK CFI <address> <rules>                 from that address on these replace rules of the same registers
#
#     rules = {<register>: <expression>}          .cfa, .ra and the architecture's registers
#
# An expression is in postfix notation: registers, ``.cfa``, numbers, ``+ - * / % @`` (align) and ``^`` (read a word).
# The caller's SP is the CFA; a general register that the ABI preserves keeps its value where it has no rule. A range's
# rules without ``.ra`` are those of DWARF's undefined return address: nobody called.
#
# Source: Breakpad, docs/symbol_files.md, "STACK CFI records".

_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "@": lambda a, b: a // b * b if b else 0,
}
_KEPT = 32  # images whose text is kept
_MOST_WORDS = 256  # of one expression
Rules = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Records:
    """The ranges of an image, ascending: start, end, and (address, rules that change there), the first at the start."""

    starts: tuple[int, ...]
    ranges: tuple[tuple[int, tuple[tuple[int, Rules], ...]], ...]

    def rules_at(self, address: int) -> Rules | None:
        """All rules in force at an address, None where no range covers it."""
        i = bisect_right(self.starts, address) - 1
        if i < 0 or address >= self.ranges[i][0]:
            return None
        rules: dict[str, tuple[str, ...]] = {}
        for start, changes in self.ranges[i][1]:
            if start > address:
                break
            rules.update(changes)
        return rules


@lru_cache(maxsize=_KEPT)
def read_records(text: str) -> Records:
    """The records of a text; other lines are skipped. Raises MalformedTable with the line's number as its offset."""
    found: list[tuple[int, int, list[tuple[int, Rules]]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words[:2] != ["STACK", "CFI"]:
            continue
        try:
            if words[2] == "INIT":
                start = int(words[3], 16)
                found.append((start, start + int(words[4], 16), [(start, _rules(words[5:]))]))
            else:
                found[-1][2].append((int(words[2], 16), _rules(words[3:])))
        except (ValueError, IndexError) as error:
            raise MalformedTable("STACK CFI", number, f"no STACK CFI record: {line[:80]!r}") from error
    found.sort(key=lambda each: each[0])
    return Records(tuple(start for start, _, _ in found), tuple((end, tuple(rows)) for _, end, rows in found))


def _rules(words: list[str]) -> Rules:
    rules: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words:
        if word.endswith(":"):
            name = word[:-1].removeprefix("$")
            rules[name] = ()
        else:
            rules[name] = (*rules[name], word)  # a rule without a register: KeyError would be a bug
    return rules


def caller(
    arch: Arch, rules: Rules, registers: Mapping[str, int], memory: Memory
) -> tuple[int, int | None, dict[str, int]]:
    """CFA, return address (None: nobody called) and the caller's other registers.

    Raises UnknownRegister, UnreadableMemory, or MalformedTable for an expression that is none.
    """
    if ".cfa" not in rules:
        raise MalformedTable("STACK CFI", 0, "the rules have no .cfa")
    cfa = evaluated(arch, rules[".cfa"], registers, memory, None)
    general = LAYOUTS[arch.name].core[0].block.offsets  # STACK CFI speaks of no floating-point register
    out = {name: registers[name] for name in platform(arch).preserved if name in registers and name in general}
    for name, expression in rules.items():
        if name in arch.by_name:
            out.pop(name, None)
            if expression != (".undef",):
                out[name] = evaluated(arch, expression, registers, memory, cfa)
    out[arch.sp] = out.get(arch.sp, cfa) if arch.sp in rules else cfa
    if ".ra" not in rules or rules[".ra"] == (".undef",):
        return cfa, None, out
    return cfa, evaluated(arch, rules[".ra"], registers, memory, cfa), out


def evaluated(arch: Arch, words: tuple[str, ...], registers: Mapping[str, int], memory: Memory, cfa: int | None) -> int:
    """The value of an expression, as a word."""
    if len(words) > _MOST_WORDS:
        raise MalformedTable("STACK CFI", 0, f"an expression of {len(words)} words")
    stack: list[int] = []
    for word in words:
        if word in _OPERATORS or word == "^":
            if len(stack) < (1 if word == "^" else 2):
                raise MalformedTable("STACK CFI", 0, f"no operand for {word!r} in {' '.join(words)!r}")
            if word == "^":
                stack.append(memory.unsigned(stack.pop(), arch.word))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(_OPERATORS[word](left, right) & arch.word_mask)
        else:
            stack.append(_operand(arch, word.removeprefix("$"), registers, cfa))
    if len(stack) != 1:
        raise MalformedTable("STACK CFI", 0, f"{' '.join(words)!r} leaves {len(stack)} values")
    return stack[0]


def _operand(arch: Arch, word: str, registers: Mapping[str, int], cfa: int | None) -> int:
    if word == ".cfa" and cfa is not None:
        return cfa
    if word in arch.by_name:
        if word not in registers:
            raise UnknownRegister(word)
        return registers[word]
    try:
        return int(word) & arch.word_mask
    except ValueError as error:
        raise MalformedTable("STACK CFI", 0, f"{word!r} is no register of {arch} and no number") from error


PACKAGE = "symbolic"
MAX_FRAMES = 1024


@cache
def find() -> Found | None:
    """The package symbolic that is installed for this Python; None where there is none."""
    own = own_packages(PACKAGE)
    return in_packages(own) if own else None


def in_packages(packages: str) -> Found | None:
    """The package symbolic in a folder of packages; None where there is none."""
    return wheel_in(packages, PACKAGE)


class Texts:
    """The STACK CFI text of images, asked for once each; of one at which symbolic died or hung, why."""

    def __init__(self, command: Callable[[int, int], Sequence[str]], seconds: float = SECONDS) -> None:
        self.command, self.seconds = command, seconds
        self.child: JsonProcess | None = None
        self.kept: OrderedDict[Image, str | UnwindError] = OrderedDict()

    def of(self, image: Image) -> str:
        """Raises ToolCrashed, ToolHung, or NoUnwindInfo with what symbolic says is wrong with the file."""
        if image not in self.kept:
            self.kept[image] = self._asked(image)
            while len(self.kept) > _KEPT:
                self.kept.popitem(last=False)
        said = self.kept[image]
        if isinstance(said, UnwindError):
            raise type(said)(*said.args)
        return said

    def _asked(self, image: Image) -> str | UnwindError:
        if self.child is not None and not self.child.ours:
            self.child = None
        try:
            self.child = self.child or JsonProcess(self.command)
            said = self.child.ask({"file": str(file_of(image))}, seconds=self.seconds)
        except UnwindError as error:
            self.child = None
            return error
        return NoUnwindInfo(" ".join(said["error"].split())) if said["error"] else str(said["text"])


@cache
def texts_of(found: Found | None) -> Texts:
    """The texts that one symbolic makes, in one process."""
    return Texts(python_script(Path(__file__).with_name("inside.py"), found.packages if found else ""))


def unwind(find: Find, snapshot: Snapshot) -> Backtrace:
    """The backtrace of a snapshot by the rows that symbolic reads out of its files."""
    return unwind_by(texts_of(find()), snapshot)


def unwind_by(texts: Texts, snapshot: Snapshot) -> Backtrace:
    """The walk by the text's rules: at most MAX_FRAMES frames, each but the first further out than the one before."""
    arch = snapshot.arch
    frame = interrupted_frame(snapshot)
    done: list[Frame] = []
    try:
        while len(done) < MAX_FRAMES:
            loaded = image_covering(snapshot.images, frame.lookup_pc)
            if loaded is None:
                raise NoUnwindInfo(f"no image covers {frame.pc:#x}")
            start = min(segment.address for segment in loaded.image.segments) + loaded.bias
            rules = read_records(texts.of(loaded.image)).rules_at(frame.lookup_pc - start)
            if rules is None:
                raise NoUnwindInfo(f"no STACK CFI record covers {frame.lookup_pc - start:#x}")
            cfa, value, registers = caller(arch, rules, frame.registers, snapshot.memory)
            done.append(Frame(frame.kind, frame.pc, frame.registers, cfa, frame.found_by))
            if not value:
                return Backtrace(tuple(done), None)
            if cfa < frame.registers[arch.sp] or (cfa == frame.registers[arch.sp] and len(done) > 1):
                done.pop()
                raise NoProgress(f"the CFA {cfa:#x} is not above SP {frame.registers[arch.sp]:#x}")
            pc = arch.code_address(value)
            frame = Frame(FrameKind.CALLER, pc, registers | {arch.pc: pc}, found_by="STACK CFI")
        raise NoProgress(f"more than {MAX_FRAMES} frames")
    except UnwindError as stop:
        stop.pc = frame.pc
        return Backtrace((*done, frame), stop)


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The unwinders of the symbolic that is found."""

    def unwinder(name: str, summary: str, section: str, arches: frozenset[str] | None = None) -> Unwinder:
        return Unwinder(
            name=name,
            summary=summary,
            unwind=partial(unwind, find),
            tool=called("symbolic", find),
            needs=frozenset({section}),
            arches=arches,
            counted=True,
        )

    return (
        unwinder("symbolic", "symbolic's text of .eh_frame", ".eh_frame"),
        unwinder("symbolic_debug_frame", "symbolic's text of .debug_frame", ".debug_frame", frozenset({"arm32"})),
        unwinder("symbolic_compact", "symbolic's text of compact unwind tables", "__TEXT,__unwind_info"),
    )


REFEREE = Referee(
    name="symbolic",
    summary="symbolic, Sentry's library, which turns unwind tables into Breakpad's STACK CFI text",
    package="pip install symbolic",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, unwinders=unwinders),
)
