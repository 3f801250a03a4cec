"""What a check found, in words that every format shares: where, what is wrong, how that is known, what is to be done.

Names come from files that anybody made, so whatever is shown of them is *plain*: one line, and nothing in it that a
terminal obeys.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from testbed.checks.model import (
    AT_CALLS_ONLY,
    BEFORE_IT,
    FileCheck,
    FindingKind,
    FunctionCheck,
    HowKnown,
    Severity,
    SourceEdit,
    SourcePlace,
    TableFinding,
)
from testbed.checks.own_sources import Sources
from testbed.report.phrases import count, share
from testbed.words.printable import printable

if TYPE_CHECKING:  # a kept check is told in a moment: nothing is loaded that runs programs
    from testbed.checks.watched_run import TableLint

EVIDENCE = {
    HowKnown.EXECUTED: "seen when it was executed",
    HowKnown.FORCED: "seen on a forced path: a branch was turned, or a call answered by us",
    HowKnown.STATIC: "only read: it follows from the instructions before it",
}
_READ = "seen when the table was read"
# What is said of code without a row, and of a finding without details of its own.
_KINDS = {
    FindingKind.WRONG_ROW: "the row is wrong here",
    FindingKind.NO_ROW: "no row covers this instruction, and its function is called",
    FindingKind.START_WITHOUT_ROW: "no row covers this instruction, and nobody calls this code",
    FindingKind.OTHER_ENTRY: "the rows suppose that this function is not entered by a call",
    FindingKind.CANNOT_UNWIND: "the table says that this function cannot be unwound, and it is called",
    FindingKind.FORMATS_DIFFER: "two tables contradict each other here",
    FindingKind.NO_EPILOGUE_ROWS: "this compiler writes no rows for epilogues on this architecture",
    FindingKind.UNREADABLE: "the table cannot be read here",
    FindingKind.HALF_CFA: "the table says something here that means nothing",
}
_SEVERAL = {
    FindingKind.WRONG_ROW: "it is so in {}",
    FindingKind.NO_ROW: "no row covers {} that are called",
    FindingKind.CANNOT_UNWIND: "the table says of {} that are called that they cannot be unwound",
}
NAMES = 6  # of functions that are told as one
_NAMED = 3  # of those of which the most is undecided
_NOTHING_HELPS = "no directive was found that makes its rows right"
_NO_REPAIR = {
    FindingKind.NO_ROW: "no directives were found that describe it",
    FindingKind.CANNOT_UNWIND: "the mark is its author's word",
    FindingKind.FORMATS_DIFFER: "nothing says which of the two is right",
    FindingKind.UNREADABLE: "what cannot be read does not say what was meant",
}
_WITHOUT_ROW = (FindingKind.NO_ROW, FindingKind.START_WITHOUT_ROW, FindingKind.CANNOT_UNWIND)


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def spot(finding: TableFinding) -> tuple[str, int, int]:
    """File, line and column of what is to change: in a macro's own line, if that is what is corrected; 0: not known."""
    at, main = finding.place, _main_edit(finding)
    if at is None:
        return finding.source, finding.line, 0
    if main is not None and main.is_macros_own:
        return main.file, main.line - main.behind, main.column
    return at.file, at.line, at.column


def region(finding: TableFinding, sources: Sources) -> tuple[str, int, int, int, str]:
    """File, line, and columns from and behind what is to change, and that as it is written; columns 0: the whole line.

    Nothing is said of how it is written where the source is not there, or is another one by now.
    """
    at, (file, line, column) = finding.place, spot(finding)
    lines = sources.lines(file)
    whole = lines[line - 1] if 0 < line <= len(lines) else ""
    if at is None or not column:
        return file, line, 0, 0, whole
    is_own = (file, line) == (at.file, at.line)
    words, rest = (at.text if is_own else at.macro_text).split(), whole[column - 1 :]
    if not is_own:
        rest = rest.lstrip()
        column += len(whole[column - 1 :]) - len(rest)
    said = re.match(r"\s+".join(map(re.escape, words)), rest)
    return (file, line, column, column + said.end(), said[0]) if said else (file, line, column, 0, "")


def _main_edit(finding: TableFinding) -> SourceEdit | None:
    return finding.repair.edits[0] if finding.repair and finding.repair.edits else None


def place(finding: TableFinding, base: Path | None = None) -> str:
    """``file:line:column`` of what is to change where that is known, else the line of the instruction, the place in the
    function or the address; of a whole table, its name. Files are told as they are seen from ``base`` (None: here)."""
    file, line, column = spot(finding)
    if not file:
        return _where(finding)
    return printable(":".join((near(file, base), *(str(number) for number in (line, column) if number))))


def near(file: str, base: Path | None = None) -> str:
    """A file's path as it is seen from a folder (None: the current one): relative, if it lies below that."""
    here = Path.cwd()
    path = Path(os.path.normpath(here / file))
    if base is None and not Path(file).is_absolute():
        return file
    return str(path.relative_to(base or here)) if path.is_relative_to(base or here) else file


def beside(finding: TableFinding, base: Path | None = None) -> str:
    """What else is known of the place: the line of the instruction if it is another one, and a macro's own line, or of
    that where it is used; "" nothing.
    """
    at, main, (file, line, _) = finding.place, _main_edit(finding), spot(finding)
    if at is None:
        return ""
    elsewhere = finding.source not in ("", at.file)
    own = [f"line {finding.line}"] if finding.line not in (at.line, line) and not elsewhere else []
    own += [f"{near(finding.source, base)}:{finding.line}"] if elsewhere else []
    if at.macro and (file, line) == (at.file, at.line):
        own.append(f"in {at.macro}, {near(at.macro_file, base)}:{at.macro_line}: `{at.macro_text}`")
    elif at.macro:
        own.append(f"in {at.macro}, used at {near(at.file, base)}:{_uses(main, at)}")
    return printable(", ".join(own))


def _uses(edit: SourceEdit | None, at: SourcePlace) -> str:
    """The lines where a macro is used that an edit changes: ``9, 49 and 51 to 60``."""
    runs: list[list[int]] = []
    for line in (edit.uses if edit else ()) or (at.line,):
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    many = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(line) for line in run] for run in runs]
    return listed([each for some in many for each in some])


def instruction(finding: TableFinding) -> str:
    """``crc32_z+0x4 (push rbx)``."""
    where, said = _where(finding), finding.written or finding.instruction
    return f"{where} ({printable(said)})" if said else where


def of_a_whole_table(finding: TableFinding) -> bool:
    """True for a finding that is about a table as such, and about no place in the code."""
    return not finding.where and not finding.pc


def _where(finding: TableFinding) -> str:
    return printable(finding.where or (finding.table if of_a_whole_table(finding) else hex(finding.pc)))


def wrong_things(finding: TableFinding, most: int = NAMES) -> tuple[str, ...]:
    """A clause per wrong thing: ``the row says CFA = rsp+0x8, the true CFA is rsp+0x10 here``.

    Of functions that are told as one, ``most`` are named (0: all).
    """
    said = tuple(printable(f"the row says {thing.says}, {thing.true}") for thing in finding.things)
    if finding.is_of_functions:
        several = _of_several(finding, most or finding.functions)
        return (*said, several) if finding.kind is FindingKind.WRONG_ROW else (several,)
    if finding.kind in _WITHOUT_ROW or not finding.things:
        return (_KINDS[finding.kind],)
    return (*said, _KINDS[finding.kind]) if finding.kind is FindingKind.NO_EPILOGUE_ROWS else said


def _of_several(finding: TableFinding, most: int) -> str:
    """``no row covers 1,500 functions that are called: f, g, h and 1,497 more``."""
    names = list(dict.fromkeys(printable(each.function) or _where(each) for each in finding.each))
    rest = [f"{len(names) - most:,} more"] if len(names) > most else []
    return f"{_SEVERAL[finding.kind].format(count(len(names), 'function'))}: {listed([*names[:most], *rest])}"


def repair_words(finding: TableFinding, base: Path | None = None) -> str:
    """What is to be done: the changes of its source, or else directives that the table lacks; "" if nothing helps."""
    repair = finding.repair
    if repair is None:
        return ""
    if repair.edits and not finding.is_of_functions:
        *most, last = _edit_words(repair.edits, spot(finding)[0], base)
        text = f"{', '.join(most)}, and {last}" if most else last
        return f"{text}: {repair.why}" if repair.why else text
    new, old = _quoted(repair.directives), _quoted(repair.replaced)
    if repair.replaced:
        text = f"write {new} for {old}"
    else:
        own = printable(finding.written or finding.instruction)  # the place beside it may be that of the one above
        at = f"before `{own}`" if own and repair.place == BEFORE_IT else printable(repair.place)
        text = f"add {new} {at}"
    if repair.remembered:
        text += f", with `.cfi_remember_state` before {printable(repair.remembered)}"
    for later in repair.later:
        text += f", and {_quoted(later.directives)} before {printable(later.where)}"
    return text


def _edit_words(edits: Sequence[SourceEdit], own: str, base: Path | None) -> Iterator[str]:
    """``add `X` and `Y` behind line 10``, ``write `X` for `Y` in line 12``: of one place one clause, in their order."""
    added, taken = [each for each in edits if not each.old], [each for each in edits if not each.new]
    if len(added) == 1 and added[0].new == "".join(each.old for each in taken):
        numbers, moved = listed([str(each.line) for each in taken]), [each.old.strip() for each in taken]
        yield f"move {_quoted(moved)} from line{'s' * (len(taken) > 1)} {numbers} {_edit_place(added[0], own, base)}"
        return
    ordered = sorted(edits, key=lambda each: (each.file != own, each.file, each.line, each.column))
    before = ""
    for (at, verb), its in groupby(ordered, key=lambda each: (_edit_place(each, own, base), _verb(each))):
        changes = list(its)
        new, old = (
            [line.strip() for text in texts for line in re.split(r"[\n;]", text) if line.strip()]
            for texts in ([each.new for each in changes], [each.old for each in changes])
        )
        said = f"{_quoted(new)} for {_quoted(old)}" if new and old else _quoted(new or old)
        yield f"{verb} {said} {at}" if verb != before else f"{said} {at}"
        before = verb


def _verb(edit: SourceEdit) -> str:
    return "add" if not edit.old else "write" if edit.new else "take out"


def _edit_place(edit: SourceEdit, own: str, base: Path | None) -> str:
    """``behind line 10``; of a macro, ``in line 5 (in SAVE, used in line 17)``. Other files are named."""

    def line(word: str, file: str, number: int) -> str:
        return f"{word} line {number}" if file == own else f"{word} {near(file, base)}:{number}"

    # A `;` leads what stands behind a statement in its line.
    at, word = edit.at, "in" if edit.old else "behind" if edit.behind or edit.new.startswith(";") else "before"
    said = line(word, edit.file, edit.line - edit.behind)
    if at is not None and not at.macro and word == "before" and edit.column > 1:
        said = f"before `{at.text}` {line('in', edit.file, edit.line)}"
    if at is not None and edit.is_macros_own:
        lines = _uses(edit, at)
        where = f"line{'s' * (not lines.isdigit())} " if at.file == own else f"{near(at.file, base)}:"
        said += f" (in {at.macro}, used in {where}{lines})"
    return printable(said)


def no_patch_words(finding: TableFinding) -> str:
    """That no correction is given, and why; "" where one is, and of what is only noted."""
    repair = finding.repair
    if finding.severity is Severity.NOTE or (repair is not None and repair.edits):
        return ""
    if repair is not None:
        return f"no patch is given: {printable(repair.no_patch)}"
    return f"no correction is given: {finding.no_repair or _NO_REPAIR.get(finding.kind, _NOTHING_HELPS)}"


def _quoted(directives: Sequence[str]) -> str:
    return listed([f"`{printable(' '.join(each.split()))}`" for each in directives])


def tried_words(finding: TableFinding) -> str:
    """What the second check said of a repair; "" without one."""
    repair = finding.repair
    if repair is None:
        return ""
    if uses := max((len(edit.uses) for edit in repair.edits), default=0):
        its = "its use is right" if uses == 1 else f"its {uses:,} uses are right"
        return f"tried: assembled with it and run again, {its}, and nothing else is wrong by it"
    of = f" of {finding.instructions:,}" if repair.repaired < finding.instructions else ""
    number = f"{repair.repaired:,}{of} instructions" if of else count(repair.repaired, "instruction")
    if finding.needs_annotating:
        return f"tried: it makes {number} right; what the others need as well, testbed annotate writes"
    return f"tried: it makes {number} right and none wrong"


def evidence_words(finding: TableFinding) -> str:
    """How it is known, and of how many instructions more."""
    how = _READ if finding.kind in (FindingKind.UNREADABLE, FindingKind.HALF_CFA) else EVIDENCE[finding.evidence]
    return "; ".join(filter(None, (how, more_words(finding))))


def more_words(finding: TableFinding) -> str:
    """How many instructions more are wrong by the same cause; "" where it is one."""
    others = f" in {count(finding.functions - 1, 'more function')}" if finding.functions > 1 else ""
    more = count(finding.instructions - 1, "more instruction")
    return f"{more}{others} by the same cause" if finding.instructions > 1 else ""


def consequence_words(finding: TableFinding) -> str:
    """What comes of it for who reads the stack; "" where no stack is unwound by it."""
    return printable(finding.consequence.what) if finding.consequence else ""


def stacks(finding: TableFinding) -> tuple[tuple[str, str], ...]:
    """The stack that a reader shows because of it, and the true one, each with what it is called."""
    seen = finding.consequence
    if seen is None or finding.is_of_functions:
        return ()
    at = f" at {printable(seen.where)}" if seen.where and seen.where != finding.where else ""
    return ((f"the table alone shows{at}", printable(seen.shown)), ("true is", printable(seen.true)))


def sentence(finding: TableFinding, base: Path | None = None) -> str:
    """All of a finding but its file and line, in one sentence."""
    fix = f": {repair}" if (repair := repair_words(finding, base)) else ""
    fix += f" ({tried_words(finding)})" * finding.needs_annotating
    none = f"; {why}" if (why := no_patch_words(finding)) else ""
    seen = f"{what}: " if (what := consequence_words(finding)) else ""
    said = f"{seen}{'; '.join(wrong_things(finding))}{fix}{none}"
    return f"{instruction(finding)}: {said} ({printable(finding.table)}; {evidence_words(finding)})"


def file_name(check: FileCheck) -> str:
    """The name of a checked file without its folder, safe to print."""
    return printable(PurePath(check.path).name)


def functions_by_address(check: FileCheck) -> Callable[[int], FunctionCheck | None]:
    """A look-up of the function that covers an address; of several, the one that begins last."""
    listed = sorted(check.pieces, key=lambda function: function.start)

    def covering(pc: int) -> FunctionCheck | None:
        for i in reversed(range(bisect_right(listed, pc, key=lambda function: function.start))):
            if pc < listed[i].end:
                return listed[i]
        return None

    return covering


def answer(name: str, checks: Sequence[FileCheck]) -> str:
    """One sentence: are the rows right, and of how much is that said. Notes make nothing wrong."""
    instructions = sum(check.total("instructions") for check in checks)
    executed = sum(check.total("ran") for check in checks)
    without = sum(check.total("without_row") for check in checks)
    extent = _extent(checks, executed, instructions)
    unknown = sum(check.unknown for check in checks)
    rowless = any(each.kind in _WITHOUT_ROW for check in checks for each in check.findings)
    if wrong := _wrong(checks):
        said = f"{wrong}; {extent}"
    elif not any(check.tables for check in checks):
        said = f"there is no unwind table, so no row is right or wrong; {extent}"
    elif not executed:
        said = f"nothing was compared, so no row is known to be right; {extent}"
    elif without >= executed or (rowless and not any(check.compared for check in checks)):
        said = f"what was executed has no row, so none is known to be right; {extent}"
    elif not any(check.compared for check in checks):
        said = f"no row was compared with what happens{_at_calls(checks)}, so nothing is known of them; {extent}"
    else:
        which = "" if executed == instructions and not unknown else "that was executed "
        which = "that could be checked " if any(check.failures for check in checks) else which
        untried = sum(check.untried for check in checks)
        ways = f", but on {count(untried, 'way')} that no run took" if untried else ""
        said = f"every row {which}is right{_but(checks)}{ways}; {extent}"
    rest = f"; {without:,} {'has' if without == 1 else 'have'} no row" if without else ""
    left = f"; nothing is said of {unknown:,} bytes of code" if unknown else ""
    return f"{name}: {said}{rest}{left}."


def _extent(checks: Sequence[FileCheck], executed: int, instructions: int) -> str:
    """How much was executed, how much only read, and where the rest is."""
    lacked = sum(check.total("lacked") for check in checks)
    over = f", {lacked:,} of them passed over" if lacked else ""
    if executed == instructions:
        every = f"all {count(instructions, 'instruction')} were" if instructions != 1 else "its instruction was"
        return f"{every} executed{over}"
    parts = [
        f"{executed:,} of {count(instructions, 'instruction')} were executed ({share(executed, instructions)}){over}"
    ]
    if read := sum(check.total("static") for check in checks):
        parts.append(f"{read:,} only read")
    left = sorted((each for check in checks for each in check.pieces if each.never), key=lambda each: -each.never)
    if left:
        names = [printable(each.name) for each in left[:_NAMED]]
        more = [f"{len(left) - _NAMED:,} more"] if len(left) > _NAMED else []
        parts.append(f"{sum(each.never for each in left):,} undecided, in {listed([*names, *more])}")
    return ", ".join(parts)


def _at_calls(checks: Sequence[FileCheck]) -> str:
    """Why there was nothing to compare, of tables that promise nothing elsewhere."""
    tables = {table for check in checks for table in check.tables}
    if not tables or not all(table.endswith(AT_CALLS_ONLY) for table in tables):
        return ""
    named = listed([printable(table.removesuffix(AT_CALLS_ONLY)) for table in sorted(tables)])
    return f" ({named} promises rows at calls only, and none was made)"


def _but(checks: Sequence[FileCheck]) -> str:
    """What is wrong and only noted."""
    told = [finding for check in checks for finding in check.findings]
    epilogues = sum(finding.instructions for finding in told if finding.kind is FindingKind.NO_EPILOGUE_ROWS)
    private = sum(finding.kind is FindingKind.WRONG_ROW and finding.severity is Severity.NOTE for finding in told)
    parts = [f"{count(epilogues, 'instruction')} of epilogues, which the compiler left out"] * bool(epilogues)
    whose = "a contract of its own" if private == 1 else "contracts of their own"
    parts += [f"those of {count(private, 'function')} with {whose}"] * bool(private)
    entered = len({finding.function for finding in told if finding.kind is FindingKind.OTHER_ENTRY})
    parts += [f"those of {count(entered, 'function')} for another entry than a call"] * bool(entered)
    return f" but {listed(parts)}" if parts else ""


_ANSWERS = {
    FindingKind.WRONG_ROW: "a wrong row",
    FindingKind.NO_ROW: "code without a row",
    FindingKind.CANNOT_UNWIND: "code that is marked as one that cannot be unwound",
    FindingKind.FORMATS_DIFFER: "rows of two tables that contradict each other",
    FindingKind.UNREADABLE: "an entry that cannot be read",
}


def _wrong(checks: Sequence[FileCheck]) -> str:
    """``2 of 123 functions have a wrong row and 1 has code without a row``; "" where nothing is wrong."""
    number_of = sum(len(check.functions) for check in checks)
    functions = count(number_of, "function")
    if any(_in_parts(check) for check in checks):
        functions = f"{number_of + sum(len(check.parts) for check in checks):,} functions and parts"
    parts: list[str] = []
    for kind, what in _ANSWERS.items():
        if number := _functions_with(checks, kind):
            of = f" of {functions}" if not parts else ""
            parts.append(f"{number:,}{of} {'has' if number == 1 else 'have'} {what}")
    whole = {finding.table for check in checks for finding in check.findings if of_a_whole_table(finding)}
    return listed([*parts, *(f"{printable(table)} cannot be read" for table in sorted(whole))])


def _in_parts(check: FileCheck) -> bool:
    """Is something wrong in code that is not called?"""
    starts, covering = {part.start for part in check.parts}, functions_by_address(check)
    heavy = (told for told in check.findings if told.severity is not Severity.NOTE)
    pcs = (each.pc for told in heavy if told.kind in _ANSWERS for each in told.each)
    return any((function := covering(pc)) is not None and function.start in starts for pc in pcs)


def _functions_with(checks: Sequence[FileCheck], kind: FindingKind) -> int:
    """How many functions have a finding; code outside every function counts as one by its name."""
    found = set()
    for number, check in enumerate(checks):
        covering = functions_by_address(check)
        for finding in (each for told in check.findings for each in told.each):
            if finding.kind is kind and finding.severity is not Severity.NOTE and not of_a_whole_table(finding):
                function = covering(finding.pc)
                found.add((number, function.start if function else finding.function or finding.pc))
    return len(found)


def summary_line(said: TableLint) -> str:
    """How many instructions were compared, and of how many of them what is said."""
    executed = "calls that were executed" if said.at_calls else "instructions that were executed"
    if said.table == said.unwinder and not said.compared:
        return "the table cannot be read, so nothing was compared"
    if not said.compared:
        return f"none of the {executed} was compared"
    untried = f"{said.untried:,} of them {'has' if said.untried == 1 else 'have'} a rule that could not be tried"
    if not said.wrong and not said.without_row:
        return f"every row is right at the {said.compared:,} {executed}" + (f"; {untried}" if said.untried else "")
    right = said.compared - said.wrong - said.without_row
    parts = [f"of the {said.compared:,} {executed}, {right:,} {'has' if right == 1 else 'have'} a right row"]
    parts += [f"{said.wrong:,} a wrong one"] if said.wrong else []
    parts += [f"{said.without_row:,} none"] if said.without_row else []
    return ", ".join(parts) + (f"; {untried}" if said.untried else "")
