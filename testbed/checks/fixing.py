"""The corrections of a source, tried together: what `testbed check --diff` prints and `--fix` writes.

The edits of a function's findings are applied to the source in memory, it is assembled again, and the function is
checked again. What is left then is corrected in turn; what has no correction stays, and is named. Where a correction
shows something that has none, the function stays as it was; and if a check of the whole file finds anything new,
nothing is written at all.
"""

from __future__ import annotations

import difflib
import glob
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from testbed.checks.model import FileCheck, FindingKind, Severity, SourceEdit, TableFinding
from testbed.checks.own_sources import from_here
from testbed.checks.source_edits import NoPatch, patched
from testbed.words.errors import BuildError, TestbedError

_ROUNDS = 12  # of one function: a correction shows what else is wrong
_OTHER_FILE = "the directive stands in another file, {}"
_NO_EDIT = "no correction was found that its source can be given"
_MACRO_ROUNDS = 3  # of one macro
_NOT_ALL_USES = "no line of the macro {} was found that is right at all its uses"
_NOT_ASSEMBLED = "the source does not assemble with it: {}"
_NOT_TRIED = "{:,} of its {:,} instructions cannot be tried"
Wanted = Callable[[FileCheck], Iterator[TableFinding]]
Checked = Callable[[str, Sequence[str]], FileCheck]  # of a text, some functions (none: all)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source with its corrections: ``corrected`` findings are gone from it, ``left`` ones have a reason why not.

    ``later`` ones are corrected as well: they showed only where others were. ``failures`` are the functions that could
    not be checked, and why.
    """

    path: Path
    old: str
    new: str
    corrected: tuple[TableFinding, ...]
    left: tuple[tuple[TableFinding, str], ...]
    later: tuple[TableFinding, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    def diff(self, name: str) -> str:
        """The corrections as a unified patch of the file with some name; "" where there are none."""
        old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (self.old, self.new))
        marked = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in marked)


def fixed(path: Path, text: str, check: FileCheck, checked: Checked) -> Fixed:
    """What the corrections of a check make of a source's text. ``checked`` checks another text of it."""
    return _tried(path, text, check, checked, failing, whole=False)


def annotated(path: Path, text: str, check: FileCheck, checked: Checked) -> Fixed:
    """A source's text with directives for all functions without rows, of which every instruction can be tried."""
    return _tried(path, text, check, checked, _without_rows, whole=True)


def _tried(path: Path, text: str, check: FileCheck, checked: Checked, wanted: Wanted, *, whole: bool) -> Fixed:
    """A text with the corrections of ``wanted`` findings; ``whole``: of functions that can be tried as such."""
    by_function: defaultdict[str, list[TableFinding]] = defaultdict(list)
    for finding in wanted(check):
        by_function[finding.function].append(finding)
    now, corrected, left = text, list[TableFinding](), list[tuple[TableFinding, str]]()
    later = list[TableFinding]()
    for function, findings in by_function.items():
        try:
            # Lines are others, once something else was corrected.
            again = wanted(checked(now, _named(function))) if now != text else findings
            here = [each for each in again if each.function == function]
            now, its, stuck = _corrected(path, now, function, here, checked, whole=whole)
            names = {each.fingerprint for each, _ in stuck}
            corrected += [each for each in findings if each.fingerprint not in names]
            left += stuck
            later += [each for each in its if each.where not in {old.where for old in findings}]
        except BuildError as why:
            left += [(finding, _NOT_ASSEMBLED.format(why.detail.rpartition("error: ")[2])) for finding in findings]
        except (NoPatch, TestbedError) as why:
            left += [(finding, str(why)) for finding in findings]
    if corrected:
        after = checked(now, ())
        known = {finding.fingerprint for finding in (*failing(check), *(each for each, _ in left))}
        new = [finding for finding in failing(after) if finding.fingerprint not in known]
        if new or after.total("instructions") != check.total("instructions"):
            said = f"together with the others it makes {new[0].where or 'the file'} wrong" if new else "it changes code"
            left = [(finding, said) for finding in corrected] + left
            now, corrected, later = text, [], []
        still = {finding.fingerprint for finding in wanted(after)} if corrected else known
        corrected += [finding for finding, _ in left if finding.fingerprint not in still]
        left = [(finding, why) for finding, why in left if finding.fingerprint in still]
    return Fixed(path, text, now, tuple(corrected), tuple(left), tuple(later), check.failures)


def told_of_macros(path: Path, text: str, check: FileCheck, checked: Checked) -> FileCheck:
    """A check of a source in which what one correction of a macro makes right, at all its uses, is one finding.

    Each correction is tried as a whole; of one that is not right at all uses, nothing is advised. What several uses
    lack is the macro's, if that is right.
    """
    pairs = {(edit.inside, edit) for each in _alone(check) if each.repair for edit in each.repair.edits if edit.inside}
    shared = {inside for inside, number in Counter(inside for inside, _ in pairs).items() if number > 1}
    groups: defaultdict[frozenset[SourceEdit], list[TableFinding]] = defaultdict(list)
    for each in _alone(check):
        groups[frozenset(edit for edit in _in_macros(each, shared) if edit.is_macros_own)].append(each)
    groups.pop(frozenset(), None)
    refused: defaultdict[str, list[TableFinding]] = defaultdict(list)
    for own, group in groups.items():
        joined = _as_one(path, text, check, group, checked, shared, own)  # what the macro says need not be said again
        joined = joined or _as_one(path, text, check, group, checked, shared)
        if joined is None:
            refused[next(edit.at.macro for edit in own if edit.at)] += group
        check = joined or check
    for macro, group in refused.items():
        forms = {edit.inside for each in group for edit in _in_macros(each, ()) if edit.is_macros_own and edit.inside}
        owned = [edit.file for each in group for edit in _in_macros(each, ()) if edit.is_macros_own]
        others = [file for file in owned if Path(file).resolve() != path.resolve()]
        why = _OTHER_FILE.format(from_here(others[0])) if others else _NOT_ALL_USES.format(macro)
        check = _as_one(path, text, check, group, checked, shared | forms) or _without_patch(check, group, why)
    return check


def _alone(check: FileCheck) -> list[TableFinding]:
    """The findings that are more than notes, and told of one function each."""
    return [told for told in check.findings if told.severity is not Severity.NOTE and not told.alike]


def _in_macros(finding: TableFinding, shared: Collection[SourceEdit]) -> list[SourceEdit]:
    """The edits of a finding, those that are ``shared`` in the macro itself."""
    edits = finding.repair.edits if finding.repair else ()
    return [edit.inside if edit.inside in shared and edit.inside else edit for edit in edits]


def _as_one(
    path: Path,
    text: str,
    check: FileCheck,
    group: Sequence[TableFinding],
    checked: Checked,
    shared: Collection[SourceEdit],
    only: Collection[SourceEdit] = (),
) -> FileCheck | None:
    """A check with the findings that go with those of a group as one; None where its corrections are not right.

    ``only`` these corrections, if any are given.
    """
    if not all(each in check.findings for each in group):  # gone with another one
        return check
    uses: defaultdict[SourceEdit, set[int]] = defaultdict(set)
    for edit in (edit for each in group for edit in _in_macros(each, shared) if not only or edit in only):
        uses[edit] |= {edit.at.line} if edit.is_macros_own and edit.at else set()
    edits = tuple(replace(edit, uses=tuple(sorted(lines))) for edit, lines in uses.items())
    now, more = text, edits
    try:
        for _ in range(_MACRO_ROUNDS):
            now = patched(now, _of_file(path, more))
            after = checked(now, ())
            left = Counter(each.fingerprint for each in failing(after))
            left.subtract(each.fingerprint for each in failing(check))
            new = [each for each in failing(after) if left[each.fingerprint] > 0]
            more = tuple(edit for each in new for edit in _in_macros(each, ()) if edit.is_macros_own)
            if not more:
                break
    except (NoPatch, TestbedError):
        return None
    gone = [each for each in _alone(check) if left[each.fingerprint] < 0]
    if new or not all(each in gone for each in group):
        return None
    if now != patched(text, edits):  # what was said of the macro shows what else is wrong in it
        edits = tuple(_changed_lines(text, now, next(edit for edit in edits if edit.uses)))
    repair = group[0].repair and replace(group[0].repair, edits=edits, no_patch="")
    alike = tuple(replace(each, repair=repair) for each in gone)
    most = {each.function: each.instructions for each in sorted(gone, key=lambda each: each.instructions)}
    first = min(alike, key=lambda each: list(Severity).index(each.severity))
    one = replace(first, instructions=sum(most.values()), alike=alike if len(alike) > 1 else ())
    return replace(check, findings=(*(each for each in check.findings if each not in gone), one))


def _changed_lines(old: str, new: str, like: SourceEdit) -> Iterator[SourceEdit]:
    """The edits, in lines, that make one text of another; they are of the macro, and have the uses, of another edit."""
    lines, others = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for tag, i, end, j, until in difflib.SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        if tag != "equal":
            said, at = "".join(lines[i:end]), like.at and replace(like.at, macro_line=i + 1)
            yield replace(like, line=i + 1, column=1, old=said, new="".join(others[j:until]), at=at, behind=False)


def _without_patch(check: FileCheck, group: Sequence[TableFinding], no_patch: str) -> FileCheck:
    """A check in which findings have no correction that changes a macro, and why."""
    of_macro = [each for each in group if each.repair and any(edit.is_macros_own for edit in each.repair.edits)]
    found = (
        replace(each, repair=replace(each.repair, edits=(), no_patch=no_patch))
        if each.repair and each in of_macro
        else each
        for each in check.findings
    )
    return replace(check, findings=tuple(found))


def failing(check: FileCheck) -> Iterator[TableFinding]:
    """The findings of single functions that are more than notes."""
    return (each for told in check.findings if told.severity is not Severity.NOTE for each in told.each)


def _without_rows(check: FileCheck) -> Iterator[TableFinding]:
    """Functions that are called and of which a table has no row at all, also where nobody sees it."""
    bare = (each for told in check.findings for each in told.each if each.bare and each.function)
    return (each for each in bare if each.kind is FindingKind.NO_ROW)


def _corrected(
    path: Path, text: str, function: str, findings: Sequence[TableFinding], checked: Checked, *, whole: bool
) -> tuple[str, Sequence[TableFinding], Sequence[tuple[TableFinding, str]]]:
    """A text in which a function's findings are corrected, those that showed by that, and those that have no
    correction, with why. Raises NoPatch where none has one, and where another one shows that has none."""
    shown: dict[str, TableFinding] = {}
    if not findings:  # gone by another's
        return text, (), ()
    stuck = [(each, _no_patch([each])) for each in findings if not _has_edits(each)]
    alone = {each.fingerprint for each, _ in stuck}
    findings = [each for each in findings if _has_edits(each)] or findings
    for _ in range(_ROUNDS):
        try:
            text = patched(text, _edits(path, findings))
        except NoPatch:  # two of one place: one after the other
            text = patched(text, _edits(path, [next(filter(_has_edits, findings), findings[0])]))
        found = checked(text, _named(function))
        findings = [each for each in failing(found) if each.function == function and each.fingerprint not in alone]
        if found.failures:
            raise NoPatch(next(iter(found.failures.values())))
        if not findings:
            if its := [each for each in found.functions if whole and each.name == function and each.never]:
                raise NoPatch(_NOT_TRIED.format(its[0].never, its[0].instructions))
            return text, tuple(shown.values()), stuck
        if not any(map(_has_edits, findings)):
            raise NoPatch(f"with it {findings[0].where} shows, and no correction of that was found")
        shown |= {each.where: each for each in findings}
    raise NoPatch(f"what was tried leaves {findings[0].where} wrong")


def _has_edits(finding: TableFinding) -> bool:
    return finding.repair is not None and bool(finding.repair.edits)


def _no_patch(findings: Sequence[TableFinding]) -> str:
    """Why findings have no edits."""
    return next((each.repair.no_patch for each in findings if each.repair), "") or _NO_EDIT


def _named(function: str) -> Sequence[str]:
    return [glob.escape(function)] if function else ()


def _edits(path: Path, findings: Sequence[TableFinding]) -> Sequence[SourceEdit]:
    """The edits of findings. Raises NoPatch where there are none, and where they are of another file."""
    edits = [edit for each in findings if each.repair for edit in each.repair.edits]
    if not edits:
        raise NoPatch(_no_patch(findings))
    return _of_file(path, edits)


def _of_file(path: Path, edits: Sequence[SourceEdit]) -> Sequence[SourceEdit]:
    """Edits that are all of one file. Raises NoPatch where they are not."""
    for edit in edits:
        if Path(edit.file).resolve() != path.resolve():
            raise NoPatch(_OTHER_FILE.format(from_here(edit.file)))
    return edits
