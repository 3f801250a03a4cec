"""What some producers of tables are known to leave out: told once a file, not once a function.

LLVM's ARM back end writes `.cfi_*` directives in emitPrologue only (llvm/lib/Target/ARM/ARMFrameLowering.cpp): from the
first instruction of an epilogue on, and in code behind one, the row still describes the whole frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.arch import Arch
from testbed.checks.alike import told_as_one
from testbed.checks.model import FindingKind, TableFinding
from testbed.checks.readers import AT_CALLS
from testbed.checks.true_rows import TrueRow
from testbed.contract.rows import RegisterPlus, RowTable
from testbed.image import Image

# Tables without rows for epilogues, by architecture and strategy: what the producer says of itself in `.comment`.
_NO_EPILOGUES = {("arm32", "debug_frame"): b"clang", ("arm32", "eh_frame"): b"clang"}


def told_once(
    findings: Sequence[TableFinding], image: Image, name: str, table: RowTable, true: Mapping[int, TrueRow]
) -> list[TableFinding]:
    """The findings, with those of epilogues as one note where the producer is known to write no rows for them."""
    findings = told_as_one(findings, parts=name in AT_CALLS or not len(table))
    comment = image.sections.get(".comment")
    producer = _NO_EPILOGUES.get((image.arch.name, name))
    if producer is None or comment is None or producer not in comment.data:
        return list(findings)
    found = [each for each in findings if _in_an_epilogue(each, table, true, image.arch)]
    if not found:
        return list(findings)
    instructions = sum(each.instructions for each in found)
    note = replace(found[0], kind=FindingKind.NO_EPILOGUE_ROWS, instructions=instructions, repair=None)
    return [*(each for each in findings if each not in found), note]


def _in_an_epilogue(finding: TableFinding, table: RowTable, true: Mapping[int, TrueRow], arch: Arch) -> bool:
    """Does the row describe a frame of which a part is gone: SP is above that, or the frame pointer the caller's?"""
    row, here = table.at(finding.pc), true.get(finding.pc)
    if finding.kind is not FindingKind.WRONG_ROW or row is None or here is None:
        return False
    if not isinstance(row.cfa, RegisterPlus):
        return False
    if row.cfa.register == arch.sp:
        return here.cfa.get(arch.sp, row.cfa.offset) < row.cfa.offset
    place = here.places.get(row.cfa.register)
    return row.cfa.register in arch.frame_pointers and place is not None and place.in_place
