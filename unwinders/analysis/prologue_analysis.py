"""Prologue analysis: no tables at all; what a function's instructions do to its frame, from its symbol to the pc.

The function is found by its symbol, decoded, and emulated abstractly along its control flow: at each instruction it is
known where the CFA lies and where the callee's prologue has put the caller's registers. This is what gdb's prologue
analysers and lldb's instruction emulation do where a file has no unwind tables. It rests on what compilers' code
keeps to: a call gives back SP and the callee-saved registers, and nothing but the function itself writes to the slots
that it saved registers in. What the instructions do not say is unknown, and where they do not lead to the return
address, it stops. The function at the image's entry has no caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from testbed.contract.assumption import CodeRow
from testbed.contract.rows import RowTable, Rule, Undefined, UnwindRow
from testbed.contract.unwinder import Frame
from testbed.image import Image, LoadedImage, once_per_image
from testbed.words.errors import NoUnwindInfo, UnwindError
from unwinders.analysis.abstract_state import AbstractState, join
from unwinders.analysis.control_flow import states_of
from unwinders.analysis.function_bounds import FunctionParts, functions_of
from unwinders.analysis.function_code import FunctionCode, spend
from unwinders.analysis.state_rules import frame_rules
from unwinders.rows.by_rows import by_rows

FOUND_BY = "prologue of "
MOST_OVERLAP = 8  # how often the code of an image is analysed, at most: symbols may lie inside one another


@dataclass(frozen=True, eq=False)
class FunctionRows:
    """The rows of one function, and where it has none, why.

    ``come_back`` are the places that calls made of two instructions come back to.
    """

    table: RowTable
    refused: dict[int, str]
    come_back: frozenset[int] = frozenset()


@dataclass(eq=False)
class _AnalysedImage:
    """What was analysed of an image, function by function, as it was asked for; ``bytes`` of code in all."""

    known: dict[FunctionParts, FunctionRows] = field(default_factory=dict)
    bytes: int = 0


@once_per_image
def _analysed(image: Image) -> _AnalysedImage:
    return _AnalysedImage()


def row_at(image: Image, pc: int) -> UnwindRow:
    """The row for a link-time pc. Raises NoUnwindInfo where no function covers it, or its frame cannot be known."""
    function = functions_of(image).at(pc)
    rows = rows_of(image, function)
    row = rows.table.at(pc)
    if row is None:
        raise NoUnwindInfo(f"{function.name}+{pc - function.entry:#x}: {_why(rows, pc)}")
    return row


def is_come_back(image: Image, pc: int) -> bool:
    """True where a call made of two instructions comes back to a link-time pc: no call stands in front of it."""
    try:
        function = functions_of(image).at(pc)
    except NoUnwindInfo:
        return False
    return pc in rows_of(image, function).come_back


def _why(rows: FunctionRows, pc: int) -> str:
    return rows.refused.get(pc) or rows.refused.get(-1) or "no way from the function's entry leads here"


def rows_of(image: Image, function: FunctionParts) -> FunctionRows:
    """The rows of a function, analysed once."""
    analysed = _analysed(image)
    if function not in analysed.known:
        analysed.bytes += function.size
        analysed.known[function] = (
            _analyse(image, function)
            if analysed.bytes <= MOST_OVERLAP * sum(len(s.data) for s in image.segments if s.executable)
            else FunctionRows(RowTable(function.name, ()), {-1: "its symbols cover the same code over and over"})
        )
    return analysed.known[function]


def table_of(image: Image) -> RowTable:
    """The rows of all functions of an image. Raises BudgetExceeded where that is more work than its size allows."""
    rows: list[UnwindRow] = []
    account = image.account.share("instructions")
    with account.working("analysis"):
        for function in functions_of(image).all:
            rows += rows_of(image, function).table
            if account.exceeded is not None:  # what comes behind would be missing
                raise account.exceeded
    return RowTable("instructions", tuple(sorted(rows, key=lambda row: row.start)))


def _analyse(image: Image, function: FunctionParts) -> FunctionRows:
    code = FunctionCode(image, function)
    found: list[UnwindRow] = []
    refused: dict[int, str] = {}
    try:
        states = states_of(code)
    except UnwindError as error:
        return FunctionRows(RowTable(function.name, ()), {-1: str(error)})
    outermost = function.covers(image.entry)
    for pc, ways in states.before.items():
        instruction = code.at(pc)
        if instruction is None:
            continue
        end = min(instruction.end, next((e for s, e in function.parts if s <= pc < e), pc))
        try:
            cfa, rules = _rules(image, ways, outermost=outermost)
        except UnwindError as error:
            refused |= dict.fromkeys(range(pc, end), str(error))
            continue
        spend(image, "entries", 1 + len(rules) // 8, pc)
        _add(found, UnwindRow(pc, end, cfa, rules, image.arch.return_address, found_by=FOUND_BY + function.name))
    return FunctionRows(RowTable(function.name, tuple(found)), refused, states.come_back)


def _rules(image: Image, ways: tuple[AbstractState, ...], *, outermost: bool) -> tuple[Rule | None, dict[str, Rule]]:
    arch = image.arch
    state = ways[0]
    for other in ways[1:]:
        state = join(state, other)
    if not outermost:
        return frame_rules(arch, state)
    # Whoever started the program did not call its entry: gdb ends the stack there too ("backtrace past-entry").
    try:
        cfa, rules = frame_rules(arch, state)
    except UnwindError:
        cfa, rules = None, {}
    return cfa, rules | {arch.return_address: Undefined()}


def _add(rows: list[UnwindRow], row: UnwindRow) -> None:
    """One more row; in an overlap of instructions the first one stays."""
    last = rows[-1] if rows else None
    if last is not None and row.start < last.end:
        if row.end <= last.end:
            return
        row = UnwindRow(last.end, row.end, row.cfa, row.registers, row.return_address, found_by=row.found_by)
    if last is not None and last.end == row.start and (last.cfa, last.registers) == (row.cfa, row.registers):
        rows[-1] = UnwindRow(last.start, row.end, row.cfa, row.registers, row.return_address, found_by=row.found_by)
    else:
        rows.append(row)


def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
    """The row at a frame. Raises NoUnwindInfo outside functions, and where the frame cannot be known."""
    if loaded is None:
        raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
    pc, lookup_pc = frame.pc - loaded.bias, frame.lookup_pc - loaded.bias
    return row_at(loaded.image, pc if pc != lookup_pc and is_come_back(loaded.image, pc) else lookup_pc)


PROLOGUE_ANALYSIS = by_rows(
    lambda arch: row_for,
    name="prologue_analysis",
    summary="no tables: each function's instructions, emulated abstractly from its symbol to the pc",
    assumption=CodeRow(),
    rows=table_of,
)
