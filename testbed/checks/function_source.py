"""The source of one function: what stands before each of its instructions, and the edits that change it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import starmap
from pathlib import Path

from testbed.arch import Arch
from testbed.checks.code_words import CodeWords
from testbed.checks.model import Repair, SourceEdit
from testbed.checks.save_directives import is_pointer, pointed, same_frame, spelt_as
from testbed.checks.source_directives import (
    OF_THE_CFA,
    REMEMBER_STATE,
    RESTORE,
    is_instead,
    is_unsaid,
    register_of,
    said_before,
    standing_before,
)
from testbed.checks.source_edits import NO_LINE, Idiom, NoPatch, SourceChange, frame_edits, idiom, moved, source_edits
from testbed.checks.source_statements import (
    Around,
    SourceStatement,
    around,
    assembly_lines,
    from_another_file,
    label_of,
    said_above,
    statements_at,
)

_NOT_WRITTEN = "its place is in what the assembler repeats, chooses or includes (`.rept`, `.if`, `.include`)"
_OF_ANOTHER = "its lines are said to be of {}, and no assembly can be read there"
_NOTHING_NEW = "the source says that already"
_NOT_ABOVE = "the directives of its frame do not stand above it as such"
_RESTORES = f"{RESTORE} "
_NEAR = 16  # instructions further up that show how an author tells of what is given back
_LONGEST = 15  # bytes of an instruction
_MOST_OF_A_LINE = 1000  # instructions


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """The source of a function's instructions, ``pcs`` up to ``end``: what stands before each, and where that is."""

    words: CodeWords
    arch: Arch
    name: str
    pcs: Sequence[int]
    end: int
    sizes: Mapping[int, int]
    known: dict[int, Around] = field(default_factory=dict, repr=False)  # by pc, what was asked for

    @cached_property
    def instructions(self) -> Sequence[int]:
        """All of the function, also those that nothing executed."""
        return [pc for pc in range(self.pcs[0], self.end) if pc in self.sizes]

    def around(self, pc: int) -> Around:
        """What stands around an instruction; of the function's end, the last instruction is before it."""
        if pc not in self.known:
            self.known[pc] = self._around(pc)
        return self.known[pc]

    def _around(self, pc: int) -> Around:
        if pc >= self.end:
            last = next(at for at in range(self.end - 1, self.pcs[-1] - 1, -1) if at in self.sizes)
            return Around(None, (), self.around(last).own)
        file, line, number = self._line(pc)
        found = around(file, line, number, self.words.sources, self.sizes.get(pc, 0))
        before = self._before(pc)
        if found.own is not None and found.before is None and before is not None and before >= self.pcs[0]:
            return from_another_file(found, self.around(before).own, self.words.sources)
        return replace(found, before=self._label) if found.own is None and pc == self.pcs[0] else found

    @cached_property
    def _label(self) -> SourceStatement | None:
        """The label of the function."""
        file = next(filter(None, (self.words.source(each)[0] for each in self.pcs)), "")
        return label_of(self.name, file, self.words.sources) if self.name else None

    def standing_at(self, pc: int) -> dict[str, str]:
        """The directives that stand before an instruction in the source, with registers' names: as they are written."""
        return standing_before(self.around(pc), self.arch.by_dwarf) if pc < self.end else {}

    def said_at(self, pc: int) -> list[str]:
        """The same in order, also what stands there twice."""
        return said_before(self.around(pc), self.arch.by_dwarf) if pc < self.end else []

    def loaded_before(self, pc: int, registers: Iterable[str]) -> list[str]:
        """Those of some registers that the instruction before one writes, by its text.

        In AT&T's syntax it is the last operand, in others what stands before the address.
        """
        before = self.around(pc).before
        text = before.text.partition(" ")[2] if before is not None else ""
        written = text.rpartition(",")[2] if "%" in text else text.partition("[")[0]
        words = set() if ")" in written else set(re.findall(r"\w+", written))
        return [each for each in registers if each in words]

    def given_back_above(self, pc: int, name: str) -> int:
        """Where it is to be said, as far as the source tells, that a register is given back before an instruction.

        It is behind the last one that writes it, if its author says it there of others; else the instruction itself.
        """
        before = [each for each in self.instructions if each < pc]
        last = next((k for k in range(len(before) - 1, 0, -1) if self.loaded_before(before[k], [name])), None)
        if last is None:
            return pc
        near = before[max(1, last - _NEAR) :]
        others = [(at, register_of(each)) for at in near for each in self.standing_at(at) if each.startswith(_RESTORES)]
        if others and all(self.loaded_before(at, [each]) for at, each in others):
            return before[last]
        places = {at for at, _ in others if at >= before[last]}
        return places.pop() if len(places) == 1 else pc

    def place(self, pc: int) -> str:
        """A place in the function, or its end: what stands there is another's, or nothing."""
        return f"the end of {self.name}" if pc >= self.end and self.name else self.words.where(pc)

    def next(self, pc: int) -> int:
        """The next instruction from a pc on, behind what only fills up; the function's end where there is none."""
        while pc < self.end and pc not in self.sizes:
            pc += 1
        return pc

    def patch(self, changes: Iterable[SourceChange]) -> tuple[tuple[SourceEdit, ...], str]:
        """The edits of the source; where one of the changes cannot be written there, none, and why."""
        found: list[SourceEdit] = []
        try:
            for change in changes:
                found += (each for each in self._edits(change) if each.new != each.old or each.inside)
        except NoPatch as why:
            files = dict.fromkeys(file for pc in self.pcs if (file := self.words.source(pc)[0]))
            if str(why) != NO_LINE or not files:
                return (), str(why)
            others = [file for file in files if not assembly_lines(file, self.words.sources)]
            return (), _OF_ANOTHER.format(Path(others[0]).name) if others else _NOT_WRITTEN
        return tuple(found), "" if found else _NOTHING_NEW

    def moves(self, pcs: Sequence[int], *, returns: bool) -> Iterator[tuple[SourceEdit, ...]]:
        """The edits that move what stands before some instructions in a row behind these, or its last lines, and what
        stands behind before them, or its first lines; not if the last one ``returns``: that is of other code."""
        last = max(pcs)
        early, late = self.around(min(pcs)), self.around(self.next(last + self.sizes.get(last, 1)))
        behind = self.around(last).own
        if behind is not None and early.own is not None:
            line, of_cfa = behind.place.line, [each for each in late.directives if each.text.startswith(OF_THE_CFA)]
            if not any(each.text.startswith(OF_THE_CFA) for each in early.directives):
                line = max(line, *(each.place.line for each in of_cfa), 0)
            for first in sorted({each.place.line for each in early.directives}, reverse=True):
                its = [each for each in early.directives if each.place.line >= first]
                if any(is_unsaid(each.text, [one.text for one in of_cfa]) for each in its):
                    continue
                yield moved(its, line + 1, behind.place, self.words.sources)
            told = [(one.text, other.text) for one in late.directives for other in early.directives]
            if not returns and not any(starmap(is_instead, told)):  # else that one is wrong
                for last in sorted({each.place.line for each in late.directives}, reverse=True):
                    its = [each for each in late.directives if each.place.line <= last]
                    yield moved(its, early.own.place.line, early.own.place, self.words.sources)

    def _edits(self, change: SourceChange) -> Sequence[SourceEdit]:
        """The edits of one change. A state may be remembered before the use of a macro as well."""
        own = self._idiom(self.words.source(min(change.pc, self.pcs[-1]))[0])
        try:
            return tuple(source_edits(change, self.around(change.pc), own, self.words.sources))
        except NoPatch:
            outside = self._before_use(change.pc)
            if change.directives != (REMEMBER_STATE,) or outside == change.pc:
                raise
            return tuple(source_edits(replace(change, pc=outside), self.around(outside), own, self.words.sources))

    def _before_use(self, pc: int) -> int:
        """The first instruction of the use of a macro that one is of, if no directive stands between."""
        use = self.around(pc).own
        while use and (before := self._before(pc)) is not None and (own := self.around(before).own):
            if (own.place.line, own.place.column) != (use.place.line, use.place.column):
                break
            pc = before
            if self.around(pc).directives:
                break
        return pc

    def frame_patch(self, pc: int, repair: Repair) -> tuple[tuple[SourceEdit, ...], str]:
        """The edits of `.save` and its like above an instruction; where they do not stand there as is told, none, and
        why.
        """
        file, line = self.words.source(pc)
        named = repair.replaced or (repair.place.partition(" ")[2].strip("`"),)
        found = [said_above(file, line, partial(same_frame, each), self.words.sources) for each in named]
        said = repair.directives
        for each in (one for one, its in zip(named, found, strict=True) if its is None and one.startswith(".setfp ")):
            if stands := said_above(file, line, partial(is_pointer, each), self.words.sources):
                found.remove(None)
                if found:  # it stands before what is to change, and so is as it was
                    said = tuple(new for new in said if not is_pointer(new, each))
                else:
                    found, said = [stands], tuple(pointed(new, stands.text, each) for new in said)
        standing = [each for each in found if each is not None]
        if len(standing) < len(found):
            return (), _NOT_ABOVE if file else NO_LINE
        own, old = self._idiom(file), standing if repair.replaced else []
        try:
            said = spelt_as([each.text for each in standing], self.words.sources.lines(file), said)
            return tuple(frame_edits(said, old, standing[0], own, self.words.sources)), ""
        except NoPatch as why:
            return (), str(why)

    def _idiom(self, file: str) -> Idiom:
        return idiom(file, self.words.sources, tuple((name, each.dwarf) for name, each in self.arch.by_name.items()))

    def _line(self, pc: int) -> tuple[str, int, int]:
        """The line of an instruction, and how many of the same line stand right before it: a macro makes several.

        A line from before the function's label is another function's: up to the first that has one, they are counted
        from there. Of a source that cannot be read none is counted.
        """
        (file, line), number, at = self.words.source(pc), 0, pc
        is_read = self._label is not None or self.words.sources.lines(file)
        while (
            is_read
            and number < _MOST_OF_A_LINE
            and at != self.pcs[0]
            and (before := self._before(at)) is not None
            and self.words.source(before) == (file, line)
        ):
            number, at = number + 1, before
        label = self._label
        if at == self.pcs[0] and label is not None and file in ("", label.place.file) and line <= label.place.line:
            ahead = re.split(rf"(?:^|(?<=[(;\s])){re.escape(self.name)}\)?\s*:", label.place.text)[0]
            its = statements_at(label.place.file, label.place.line, self.words.sources)
            behind = label.place.column + len(ahead)
            return label.place.file, label.place.line, number + sum(x.is_code and x.place.column < behind for x in its)
        return file, line, number

    def _before(self, pc: int) -> int | None:
        return next((at for at in range(pc - 1, pc - _LONGEST - 1, -1) if self.sizes.get(at) == pc - at), None)
