"""The rows that call frame programs tell (DWARF 5, section 6.4.2), as columns of numbers.

A row is for the code from its place on. Its rules are numbers: 0 is "same value", else a kind and a distance from the
CFA, a register, or where an expression stands in the file.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import ARM32, ARM64, signed_number
from testbed.sweep.native.entries import (
    BAD_ROWS,
    BEGIN,
    CIE,
    CODE_FACTOR,
    DATA_FACTOR,
    END,
    FINISH,
    FIRST_ROW,
    LAST_ROW,
    POINTERS,
    PROGRAM,
    PROGRAM_END,
    READ,
    RETURN_COLUMN,
    START,
    STATE,
    leb,
    pointer,
)

# Kinds of rules, in the lowest bits of a number.
SAME, AT_CFA, IS_CFA, IN_REGISTER, AT_EXPRESSION, IS_EXPRESSION, UNSAID = range(7)
BITS = 3
MOST_RULE, MOST_OFFSET = 1 << 60, 1 << 46

# The columns of a row: where it begins, the register that the CFA counts from (-1: an expression) and how far (or where
# the expression stands), the last such distance, what was pushed as arguments, whether the return address is signed,
# the rules.
PC, CFA_REGISTER, CFA_OFFSET, LAST_OFFSET, ARGUMENTS, IS_SIGNED, RULES = range(7)
MOST_REMEMBERED = 16
REGISTERS = (17, 40, 32)  # those that rules are kept of, by architecture; 16 is x86_64's return address
RETURN_COLUMNS = (16, 30, 14)  # by architecture

DONE, NO_ROOM, WRONG = range(3)


@compiled(inline=True)
def kept_register(dwarf: Any, machine: Any) -> Any:
    """Where the rule of a register is kept, by its DWARF number; -1: nowhere."""
    if machine == ARM64:
        if 72 <= dwarf < 80:
            return dwarf - 40
        return dwarf if 0 <= dwarf < 32 else -1
    if machine == ARM32:
        if 264 <= dwarf < 272:
            return 16 + 2 * (dwarf - 264)
        return dwarf if 0 <= dwarf < 16 else dwarf - 64 if 80 <= dwarf < 96 else -1
    return dwarf if 0 <= dwarf <= 16 else -1


@compiled(inline=True)
def words_of(dwarf: Any, machine: Any) -> Any:
    """How many rules a register has from there on: two where a number stands for arm32's d8 to d15."""
    return 2 if machine == ARM32 and 264 <= dwarf < 272 else 1


@compiled(inline=True)
def copy_row(to: Any, source: Any) -> None:
    """Overwrite a row with another one."""
    for k in range(len(to)):
        to[k] = source[k]


@compiled(inline=True)
def set_rule(row: Any, dwarf: Any, kind: Any, value: Any, machine: Any) -> Any:
    """Give a register of DWARF's its rule in a row, if the sweep compares that register."""
    register = kept_register(dwarf, machine)
    if register >= 0 and -MOST_OFFSET < value < MOST_OFFSET:
        for k in range(words_of(dwarf, machine)):
            row[RULES + register + k] = (value + 4 * k if kind == AT_CFA else value) << BITS | kind


@compiled(inline=True)
def set_offset(row: Any, value: Any) -> Any:
    """The CFA is so far from its register; False where there is none, or the distance is no sensible one.

    Behind a CFA by an expression it waits for a register, as libgcc and gdb have it.
    """
    if row[CFA_REGISTER] < -1 or not -MOST_OFFSET < value < MOST_OFFSET:
        return False
    row[LAST_OFFSET] = value
    if row[CFA_REGISTER] >= 0:
        row[CFA_OFFSET] = value
    return True


@compiled(inline=True)
def block(octets: Any, cursor: Any, end: Any) -> Any:
    """Pass over an expression; where its length stands. Beyond the end the cursor becomes -1."""
    at = cursor[0]
    length = leb(octets, cursor, end, False)
    if cursor[0] >= 0:
        cursor[0] = cursor[0] + length if 0 <= length <= end - cursor[0] else -1
    return at


@compiled()
def interpret(table: Any, entry: Any, cies: Any, rows: Any, scratch: Any, machine: Any) -> Any:
    """Fill in the rows of an entry; DONE, NO_ROOM or WRONG, and how many there are.

    ``scratch`` holds the row, the CIE's, those that are remembered; the last one's first number is the cursor.
    """
    row, initial, cursor = scratch[0], scratch[1], scratch[-1]
    cie = cies[entry[CIE]]
    for k in range(len(row)):
        row[k] = 0
    row[PC] = entry[START]
    row[CFA_REGISTER] = -2
    outcome, count = run_program((table, (cie[BEGIN], cie[FINISH])), entry, cie, rows[:0], scratch, machine)
    if outcome != DONE:
        return WRONG, 0
    row[PC] = entry[START]
    copy_row(initial, row)
    if cursor[0] < 0:
        return WRONG, 0
    outcome, count = run_program((table, (entry[PROGRAM], entry[PROGRAM_END])), entry, cie, rows, scratch, machine)
    if outcome != DONE:
        return outcome, 0
    return add_row(row, rows, count)


@compiled(inline=True)
def add_row(row: Any, rows: Any, count: Any) -> Any:
    """The row as it is now; one that was for no code is written over."""
    if count > 0 and rows[count - 1, PC] == row[PC]:
        count -= 1
    if count >= len(rows):
        return NO_ROOM, count
    copy_row(rows[count], row)
    return DONE, count + 1


@compiled()
def run_program(program: Any, entry: Any, cie: Any, rows: Any, scratch: Any, machine: Any) -> Any:
    """Run a call frame program; its outcome and how many rows it ended."""
    table, (begin, end) = program
    octets = table.octets
    row, initial, cursor = scratch[0], scratch[1], scratch[-1]
    cursor[0] = begin
    depth, count, is_cie = 0, 0, len(rows) == 0
    while cursor[0] < end:
        code = int(octets[cursor[0]])
        cursor[0] += 1
        high, low = code >> 6, code & 0x3F
        if high == 1 or code == 0x01 or 0x02 <= code <= 0x04:
            if is_cie:
                return WRONG, 0
            to = row[PC]
            if high == 1:
                to += low * cie[CODE_FACTOR]
            elif code == 0x01:
                address = table.address + cursor[0] - table.begin
                to = pointer(octets, cursor, end, cie[POINTERS], address, table.word)
            else:
                size = 1 << (code - 2)
                if cursor[0] + size > end:
                    return WRONG, 0
                to += (signed_number(octets, cursor[0], size) & ((1 << (8 * size)) - 1)) * cie[CODE_FACTOR]
                cursor[0] += size
            if to < row[PC] or to > MOST_RULE or cursor[0] < 0:
                return WRONG, 0
            if to > row[PC]:
                outcome, count = add_row(row, rows, count)
                if outcome != DONE:
                    return outcome, count
            row[PC] = to
            if to >= entry[END]:
                return DONE, count - 1 if count > 0 and to > entry[END] and rows[count - 1, PC] >= entry[END] else count
        elif code == 0x0A:
            if depth >= MOST_REMEMBERED:
                return WRONG, 0
            copy_row(scratch[2 + depth], row)
            depth += 1
        elif code == 0x0B:
            if depth == 0:
                return WRONG, 0
            depth -= 1
            pc = row[PC]
            copy_row(row, scratch[2 + depth])
            row[PC] = pc
        elif not instruction(octets, code, end, row, initial, cie, cursor, machine):
            return WRONG, 0
        if cursor[0] < 0:
            return WRONG, 0
    return DONE, count


@compiled()
def instruction(octets: Any, code: Any, end: Any, row: Any, initial: Any, cie: Any, cursor: Any, machine: Any) -> Any:
    """One that changes rules; False for one that is not known."""
    high, low, factor = code >> 6, code & 0x3F, cie[DATA_FACTOR]
    if high == 2:
        set_rule(row, low, AT_CFA, leb(octets, cursor, end, False) * factor, machine)
        return True
    if high == 3 or code == 0x06:
        dwarf = low if high == 3 else leb(octets, cursor, end, False)
        register = kept_register(dwarf, machine)
        if register >= 0:
            for k in range(register, register + words_of(dwarf, machine)):
                row[RULES + k] = initial[RULES + k]
        return True
    if code == 0x00:
        return True
    if code == 0x2D or code == 0x2C:
        row[IS_SIGNED] ^= 1
        return machine == ARM64
    if code == 0x2E:
        row[ARGUMENTS] = leb(octets, cursor, end, False)
        return True
    if code == 0x0E or code == 0x13:
        return set_offset(row, leb(octets, cursor, end, code == 0x13) * (factor if code == 0x13 else 1))
    if code == 0x0F:
        row[CFA_OFFSET] = block(octets, cursor, end)
        row[CFA_REGISTER] = -1
        return True
    if code == 0x0C or code == 0x12:
        row[CFA_REGISTER] = leb(octets, cursor, end, False)
        return set_offset(row, leb(octets, cursor, end, code == 0x12) * (factor if code == 0x12 else 1))
    if code == 0x0D:
        is_given = row[CFA_REGISTER] >= -1
        row[CFA_REGISTER] = leb(octets, cursor, end, False)
        row[CFA_OFFSET] = row[LAST_OFFSET]
        return is_given
    return rule_instruction(octets, code, end, row, factor, cursor, machine)


@compiled()
def rule_instruction(octets: Any, code: Any, end: Any, row: Any, factor: Any, cursor: Any, machine: Any) -> Any:
    """One that says the rule of a register in the long form."""
    register = leb(octets, cursor, end, False)
    if code == 0x05 or code == 0x11 or code == 0x14 or code == 0x15:
        is_signed = code == 0x11 or code == 0x15
        kind = AT_CFA if code < 0x14 else IS_CFA
        set_rule(row, register, kind, leb(octets, cursor, end, is_signed) * factor, machine)
    elif code == 0x2F:
        set_rule(row, register, AT_CFA, -leb(octets, cursor, end, False) * factor, machine)
    elif code == 0x07:
        set_rule(row, register, UNSAID, 0, machine)
    elif code == 0x08:
        set_rule(row, register, SAME, 0, machine)
    elif code == 0x09:
        set_rule(row, register, IN_REGISTER, kept_register(leb(octets, cursor, end, False), machine), machine)
    elif code == 0x10:
        set_rule(row, register, AT_EXPRESSION, block(octets, cursor, end), machine)
    elif code == 0x16:
        set_rule(row, register, IS_EXPRESSION, block(octets, cursor, end), machine)
    else:
        return False
    return True


@compiled(pays_from=400000)
def fill_rows(table: Any, cies: Any, entries: Any, rows: Any, scratch: Any, machine: Any, progress: Any) -> Any:
    """The rows of all entries that were read, from ``progress`` (entries done, rows filled) on; DONE or NO_ROOM."""
    for i in range(progress[0], len(entries)):
        entry = entries[i]
        if entry[STATE] == READ:
            begin = progress[1]
            if begin >= len(rows):
                return NO_ROOM
            outcome, count = interpret(table, entry, cies, rows[begin:], scratch, machine)
            if outcome == NO_ROOM:
                return NO_ROOM
            entry[FIRST_ROW], entry[LAST_ROW] = begin, begin + count
            progress[1] = begin + count
            if outcome == WRONG or cies[entry[CIE], RETURN_COLUMN] != RETURN_COLUMNS[machine]:
                entry[STATE] = BAD_ROWS
        progress[0] = i + 1
    return DONE
