"""The words about sites: as sources and programs mark them, and as the same facts are found again in a plain way.

`words/NAME.ISA.S` says behind a label which words its sites have, visit by visit, ``//  A B | C``; one set is that of
every visit.
"""

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, FrameRecord
from testbed.build.recipes import recipes_for
from testbed.image import image_covering
from testbed.machine import record
from testbed.program.model import parse_header
from testbed.runs.run import Run, run_program
from testbed.trace import Snapshot
from testbed.truth import TrueFrame, disagreements, observe
from testbed.truth.events import code_of
from testbed.truth.expectations import _agree
from testbed.truth.frame_traits import RULES
from testbed.words.errors import UnreadableMemory
from testbed.words.traits import Trait
from tests.machine.snippets import image_of
from tests.truth.jumps import TAIL
from tests.truth.watched import steps_at, watch

# Words about an interrupted activation, found again in a plain way: from the snapshot, the true stack, and names.


CALLS = ("call", "bl", "blr", "blx", "blraa", "blrab", "blraaz")


@dataclass(frozen=True, eq=False)
class Site:
    """The interrupted activation of a step. ``opened`` says at which step each activation began."""

    run: Run
    step: int
    opened: Mapping[int, int]

    @cached_property
    def frames(self) -> tuple[TrueFrame, ...]:
        return self.run.truth(self.step).frames

    @cached_property
    def now(self) -> Snapshot:
        return self.run[self.step]

    @property
    def first(self) -> int:
        return self.opened[self.frames[0].activation]

    @property
    def sp(self) -> int:
        return self.now.registers[self.run.arch.sp]

    @property
    def link(self) -> int:
        arch = self.run.arch
        return arch.without_signature(self.now.registers[arch.link]) if arch.link else 0

    @property
    def returns(self) -> tuple[int, ...]:
        """Where control may go behind the activation; nowhere from the outermost one."""
        return tuple(a for each in self.frames[1:2] for a in (each.pc, each.goes_on) if a is not None)

    @property
    def record(self) -> FrameRecord:
        isa = self.run.trace.isa(self.step)
        return self.run.loaded.image.frame_records.get(isa.name, isa.records[0])

    @property
    def pointer(self) -> int:
        return self.now.registers[self.record.pointer]

    @property
    def inside(self) -> bool:
        """FP leads into the activation's part of the stack."""
        cfa, arch = self.frames[0].cfa, self.run.arch
        end = cfa if cfa is not None else self.run[self.first].registers[arch.sp] + arch.word
        return self.sp <= self.pointer < end

    def word(self, address: int) -> int | None:
        """A word of memory, as an address without signature."""
        arch = self.run.arch
        memory = self.run.trace.memory(self.step)
        try:
            return arch.without_signature(memory.unsigned(address & arch.word_mask, arch.word))
        except UnreadableMemory:
            return None

    @property
    def linked(self) -> bool:
        return self.called and self.inside and self.word(self.pointer + self.record.return_address) in self.returns

    @property
    def called(self) -> bool:
        """An instruction, or the jump of one that made a return address, has a caller for it; of a signal none has."""
        return bool(self.returns) and not self.is_signal

    @cached_property
    def own_words(self) -> list[int]:
        """The addresses that lie between SP and the CFA; of the outermost activation, in all that is mapped."""
        arch, memory = self.run.arch, self.run.trace.memory(self.step)
        start, end = -(-self.sp // arch.word) * arch.word, self.frames[0].cfa
        if end is None or (end <= start and self.is_signal):  # an alternate stack
            end = memory.mapped_until(start)
        count = max(0, end - start) // arch.word
        try:
            words = struct.unpack(f"<{count}{'Q' if arch.word == 8 else 'I'}", memory.read(start, count * arch.word))
        except UnreadableMemory:  # the CFA lies on another stack
            return []
        return [arch.without_signature(word) for word in words if word]

    @property
    def in_front(self) -> set[int]:
        """Of these the ones before the return address; all, where that is not there."""
        places = [i for i, word in enumerate(self.own_words) if word in self.returns]
        return {word for word in self.own_words[: places[0] if places else None] if self.is_code(word)}

    def is_code(self, address: int) -> bool:
        return any(start <= address <= end for start, end in code_of(self.run.trace))

    @property
    def living(self) -> set[int]:
        return {frame.pc for frame in self.frames[1:]}

    @property
    def restorers(self) -> set[str]:
        return {signal.restorer for signal in self.run.built.source.header.signals}

    @property
    def is_signal(self) -> bool:
        return self.run.function(self.now.pc) in self.restorers

    @property
    def handles(self) -> bool:
        return bool(self.returns) and self.run.function(self.frames[1].pc) in self.restorers and not self.is_signal

    def named(self, pc: int) -> str:
        """The function that a symbol gives a pc, or nothing."""
        loaded = image_covering(self.run.trace.images, pc)
        symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
        return symbol.name if symbol else ""


def mixed(at: Site) -> bool:
    """The caller is the code before the first step; of a handler it is the trampoline, which runs when it is over."""
    caller = at.run.trace.pc.tolist().index(at.frames[1].pc) if at.handles else at.first - 1
    return bool(at.returns) and at.run.trace.isa(at.step) is not at.run.trace.isa(caller)


def reused(at: Site) -> bool:
    return at.pointer != at.run[at.first].registers[at.record.pointer] and not at.inside and not at.is_signal


def tail_called(at: Site) -> bool:
    here = at.named(at.now.pc)
    return here not in ("", at.named(at.run[at.first].pc)) and not at.is_signal


def hand_made(at: Site) -> bool:
    return at.called and not at.handles and at.run.instruction(at.first - 1).split()[0] not in CALLS


def return_changed(at: Site) -> bool:
    place = (at.frames[0].cfa or 0) - at.run.arch.entry_cfa
    return len(at.returns) > 1 and at.returns[1] == (at.link if at.run.arch.link else at.word(place))


PLAIN: Mapping[Trait, Callable[[Site], bool]] = {
    Trait.FIRST: lambda at: at.first == at.step and not at.is_signal,  # that began with the call of its handler
    Trait.ROOT: lambda at: len(at.frames) == 1,
    Trait.LINKED: lambda at: at.linked,
    Trait.UNLINKED: lambda at: at.called and not at.linked,
    Trait.FP_REUSED: reused,
    Trait.MOVED_UP: lambda at: at.frames[0].cfa is not None and at.sp > at.frames[0].cfa and not at.is_signal,
    Trait.SECOND_ISA: lambda at: at.run.trace.isa(at.step) is not at.run.arch.isas[0],
    Trait.MIXED_ISA: mixed,
    Trait.LINK_LIVE: lambda at: at.link != 0 and at.link in at.returns[:1],
    Trait.LINK_STALE: lambda at: (
        at.run.arch.link is not None
        and bool(at.returns or at.now.registers[at.run.arch.link])
        and at.link not in at.returns[:1]
    ),
    Trait.RETURN_CHANGED: return_changed,
    Trait.UNKEPT: lambda at: bool(at.returns) and not set(at.own_words) & set(at.returns),
    Trait.LEFTOVER: lambda at: bool((at.in_front - at.living) & at.run.watched.returned_to),
    Trait.COPIED: lambda at: bool(at.in_front & at.living),
    Trait.HAND_MADE: hand_made,
    Trait.TAIL_CALLED: tail_called,
    Trait.NAMELESS: lambda at: bool(at.returns) and not at.named(at.frames[1].lookup_pc),
    Trait.SIGNAL: lambda at: at.is_signal,
    Trait.HANDLER: lambda at: at.handles,
    Trait.INTERRUPTED: lambda at: False,
    Trait.LAST_CALL: lambda at: False,
}


MARKED = sorted((Path(__file__).parent / "words").glob("*.S"))
SPARSE = 7  # every so many programs
SOUGHT = ["behind_call", "made_caller", "moved_return", "signal", "signal_alternate", "stale_addresses", "tail_call"]
LABEL = re.compile(r"^(?:fn (?P<function>\w+)|(?P<label>\w+):)\s+// (?P<words>.*)$", re.MULTILINE)


def test_there_are_at_most_forty_words_and_a_rule_for_each_that_is_observed() -> None:
    assert len(Trait) <= 40
    assert {word for word in Trait if not word.declared} == set(RULES)


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.name.removesuffix(".S"))
def test_each_label_has_exactly_its_words(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    body = re.sub(r"\s*//.*", "", text)
    truth = watch(path.suffixes[0][1:], body.lstrip(), *re.findall(r"^// frames: (.*)$", text, re.MULTILINE))
    marks = list(LABEL.finditer(text))
    assert marks
    for mark in marks:
        steps, wanted = steps_at(truth, mark["function"] or mark["label"]), mark["words"].split(" | ")
        found = [{word.name for word in truth.traits(step)} for step in steps]
        assert found == [set(each.split()) for each in (wanted * len(steps) if len(wanted) == 1 else wanted)], mark[0]


# A word, a program, and the functions at whose frames it holds, by depth, at any step. Where no file is, `?`.
IN_PROGRAMS: tuple[tuple[Trait, str, str, str, Mapping[int, str]], ...] = (
    (Trait.SIGNAL, "signal", "arm64", "keystone", {0: "give_back", 1: "give_back"}),
    (Trait.UNKEPT, "signal_alternate", "x86_64", "keystone", dict.fromkeys(range(5), "give_back")),
    (Trait.INTERRUPTED, "signal", "x86_64", "keystone", {1: "leaf", 2: "leaf"}),
    (Trait.HANDLER, "signal", "arm32", "keystone", {0: "on_signal"}),
    (Trait.NO_CODE, "null_call", "x86_64", "keystone", {0: "? give_back", 1: "? give_back", 2: "?"}),
    (Trait.IN_NO_FILE, "trampoline", "x86_64", "gcc-O2", {0: "?"}),
    (Trait.HAND_MADE, "made_caller", "arm64", "keystone", {0: "main", 1: "main", 2: "main"}),
    (Trait.HAND_MADE, "two_step_call", "x86_64", "keystone", {0: "helper"}),
    (Trait.HAND_MADE, "two_step_call", "arm64", "keystone", {}),
    (Trait.MOVED_UP, "moved_return", "arm32", "keystone", {0: "moves", 1: "moves"}),
    (Trait.NAMELESS, "nameless_caller", "arm64", "keystone", {0: "helper"}),
    (Trait.NAMELESS, "leaf_call", "arm64", "keystone", {}),
    (Trait.LAST_CALL, "noreturn_last_call", "x86_64", "clang-O2", {1: "main work", 2: "main"}),
    (Trait.LAST_CALL, "signal", "x86_64", "keystone", {}),  # what a signal interrupted made no call, nor did its frame
    (Trait.COPIED, "drap", "x86_64", "keystone", {1: "main", 2: "main"}),
    (Trait.SIGNED, "pac_ret", "arm64", "keystone", {0: "choose leaf main work", 1: "choose main work", 2: "main"}),
    (Trait.FP_REUSED, "pointer_reused", "arm64", "keystone", {0: "over_data over_frames", 1: "over_data"}),
    (
        Trait.TRANSITION,
        "longjmp",
        "x86_64",
        "keystone",
        {0: "long_jump", 1: "inner", 2: "middle", 3: "main", 4: "_start"},
    ),
    # A trampoline that has not run yet has the instruction set that its handler returns to.
    (
        Trait.MIXED_ISA,
        "signal_interworking",
        "arm32",
        "keystone",
        {
            0: "count give_back on_signal",
            1: "give_back leaf on_signal",
            2: "give_back main",
            3: "_start leaf",
            4: "main",
            5: "_start",
        },
    ),
)


@pytest.mark.parametrize(("word", "program", "arch", "recipe", "wanted"), IN_PROGRAMS)
def test_a_word_holds_in_these_functions(
    word: Trait, program: str, arch: str, recipe: str, wanted: Mapping[int, str]
) -> None:
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    found: dict[int, set[str]] = {}
    for step in range(len(run)):
        for depth, frame in enumerate(run.truth(step).frames):
            if word in run.watched.frame_traits(step, depth):
                name = run.function(frame.lookup_pc)
                found.setdefault(depth, set()).add("?" if name.startswith("0x") else name)
    assert found == {depth: set(names.split()) for depth, names in wanted.items()}


@pytest.mark.parametrize("arch", ARCHES)
def test_each_word_is_found_again_at_sites_of_the_corpus(arch: str) -> None:
    """Some programs, and some sites of each; words about the shape of a frame have two readings elsewhere."""
    held: set[Trait] = set()
    for program in sorted(PROGRAMS)[::SPARSE] + SOUGHT:
        recipes = recipes_for(PROGRAMS[program], ARCHES[arch])
        if not recipes:
            continue
        run = run_program(PROGRAMS[program], ARCHES[arch], recipes[0].name)
        opened: dict[int, int] = {}
        for step, node in enumerate(run.watched.node.tolist()):
            opened.setdefault(node, step)
        for step in range(0, len(run), 1 + len(run) // 150):
            words, site = run.watched.frame_traits(step, 0), Site(run, step, opened)
            plain = {word for word, holds in PLAIN.items() if holds(site)}
            assert words & PLAIN.keys() == plain, (program, run.where(run[step].pc), step)
            held |= plain
    assert {Trait.LINKED, Trait.FP_REUSED, Trait.MOVED_UP, Trait.RETURN_CHANGED, Trait.LEFTOVER, Trait.HANDLER} <= held


# Declared frames: each way in which a declaration can be wrong is told, none passes silently.


def check(*lines: str) -> tuple[str, ...]:
    truth = observe(record(image_of("arm64", TAIL["arm64"])))
    declared = "\n".join(["// summary: s", "// exit: 0", *(f"// frames: {line}" for line in lines)])
    return tuple(map(str, disagreements(truth, parse_header("p", declared).frames)))


def test_frames_that_agree_say_nothing() -> None:
    assert check("second = second, main, _start", "main = main, _start", "main+0x4 = main, _start") == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("second = second, first, main, _start", "declared second, first, main, _start; watched second, main, _start"),
        ("second = second, main", "declared second, main; watched second, main, _start"),
        ("nowhere = main, _start", "nowhere: no symbol of that name"),
        ("main+0x2 = main, _start", "main+0x2 is never executed"),
        ("main#2 = main, _start", "main#2 is never executed"),
        ("main#1 = second, _start", "main#1 (step 3): declared second, _start; watched main, _start"),
    ],
)
def test_frames_that_do_not_agree_are_told_with_their_line(line: str, told: str) -> None:
    (said,) = check("main = main, _start", line)
    assert said.startswith("line 4: ")
    assert said.endswith(told)


IN_DOUBT = "second (first) (zeroth) main"  # a frame in parentheses may be there or not
# functions as they are watched and as they are declared, innermost first, and whether they agree
DECLARED = [
    # a clone is declared by its function's name, and a piece by its own
    ("volume.isra.0 main", "volume main", True),
    ("work.cold main", "work.cold main", True),
    ("volume main", "volume.isra.0 main", False),
    ("work.cold main", "work main", False),
    ("volume.isra.0 main", "main volume", False),
    ("volume main", "volume", False),
    *((there, IN_DOUBT, True) for there in ("second main", "second first main", "second zeroth main")),
    ("second first.isra.0 zeroth main", IN_DOUBT, True),
    *((there, IN_DOUBT, False) for there in ("second zeroth first main", "second", "first main")),
]


@pytest.mark.parametrize(("watched", "declared", "expected"), DECLARED)
def test_names_agree(watched: str, declared: str, expected: bool) -> None:
    assert _agree(tuple(watched.split()), tuple(declared.split())) is expected
