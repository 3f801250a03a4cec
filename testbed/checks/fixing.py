"""The corrections of a source, tried together: what `testbed check --diff` prints and `--fix` writes.

The edits of a function's findings are applied to the source in memory, it is assembled again, and the function is
checked again. What is left then is corrected in turn. A function of which something is still wrong stays as it was, and
is named; and if a check of the whole file finds anything new, nothing is written at all.
"""

from __future__ import annotations

import difflib
import glob
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.checks.model import FileCheck, FindingKind, Severity, SourceEdit, TableFinding
from testbed.checks.source_edits import NoPatch, patched
from testbed.words.errors import TestbedError

_ROUNDS = 12  # of one function: a correction shows what else is wrong
_OTHER_FILE = "the directive stands in another file, {}"
_NO_EDIT = "no correction was found that its source can be given"
_NOT_TRIED = "{:,} of its {:,} instructions cannot be tried"
Wanted = Callable[[FileCheck], Iterator[TableFinding]]
Checked = Callable[[str, Sequence[str]], FileCheck]  # of a text, some functions (none: all)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source with its corrections: ``corrected`` findings are gone from it, ``left`` ones have a reason why not."""

    path: Path
    old: str
    new: str
    corrected: tuple[TableFinding, ...]
    left: tuple[tuple[TableFinding, str], ...]

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
    for function, findings in by_function.items():
        try:
            # Lines are others, once something else was corrected.
            again = wanted(checked(now, _named(function))) if now != text else findings
            here = [each for each in again if each.function == function]
            now = _corrected(path, now, function, here, checked, whole=whole)
            corrected += findings
        except (NoPatch, TestbedError) as why:
            left += [(finding, str(why)) for finding in findings]
    if corrected:
        after = checked(now, ())
        known = {finding.fingerprint for finding in (*failing(check), *(each for each, _ in left))}
        new = [finding for finding in failing(after) if finding.fingerprint not in known]
        if new or after.total("instructions") != check.total("instructions"):
            said = f"together with the others it makes {new[0].where or 'the file'} wrong" if new else "it changes code"
            left = [(finding, said) for finding in corrected] + left
            now, corrected = text, []
    return Fixed(path, text, now, tuple(corrected), tuple(left))


def failing(check: FileCheck) -> Iterator[TableFinding]:
    """The findings of single functions that are more than notes."""
    return (each for told in check.findings if told.severity is not Severity.NOTE for each in told.each)


def _without_rows(check: FileCheck) -> Iterator[TableFinding]:
    """Functions that are called and of which a table has no row at all, also where nobody sees it."""
    bare = (each for told in check.findings for each in told.each if each.bare and each.function)
    return (each for each in bare if each.kind is FindingKind.NO_ROW)


def _corrected(
    path: Path, text: str, function: str, findings: Sequence[TableFinding], checked: Checked, *, whole: bool
) -> str:
    """A text in which a function's findings are corrected. Raises NoPatch where some are not."""
    if not findings:  # gone by another's
        return text
    for _ in range(_ROUNDS):
        try:
            text = patched(text, _edits(path, findings))
        except NoPatch:  # two of one place: one after the other
            first = next((each for each in findings if each.repair and each.repair.edits), findings[0])
            text = patched(text, _edits(path, [first]))
        found = checked(text, _named(function))
        findings = [each for each in failing(found) if each.function == function]
        if found.failures:
            raise NoPatch(next(iter(found.failures.values())))
        its = [each for each in found.functions if whole and each.name == function and each.never]
        if its:
            raise NoPatch(_NOT_TRIED.format(its[0].never, its[0].instructions))
        if not findings:
            return text
    raise NoPatch(f"what was tried leaves {findings[0].where} wrong")


def _named(function: str) -> Sequence[str]:
    return [glob.escape(function)] if function else ()


def _edits(path: Path, findings: Sequence[TableFinding]) -> list[SourceEdit]:
    """The edits of findings. Raises NoPatch where there are none, and where they are of another file."""
    edits = [edit for each in findings if each.repair for edit in each.repair.edits]
    if not edits:
        raise NoPatch(_NO_EDIT)
    for edit in edits:
        if Path(edit.file).resolve() != path.resolve():
            raise NoPatch(_OTHER_FILE.format(edit.file))
    return edits
