"""Breakpad's STACK CFI records: their text read, and their rules evaluated. This part is ours, not a referee's.

Records, addresses relative to where the image begins::

    STACK CFI INIT <address> <size> <rules>     the rules at the first instruction of a range
    STACK CFI <address> <rules>                 from that address on these replace rules of the same registers

    rules = {<register>: <expression>}          .cfa, .ra and the architecture's registers

An expression is in postfix notation: registers, ``.cfa``, numbers, ``+ - * / % @`` (align) and ``^`` (read a word). The
caller's SP is the CFA; a general register that the ABI preserves keeps its value where it has no rule. A range's rules
without ``.ra`` are those of DWARF's undefined return address: nobody called.

Source: Breakpad, docs/symbol_files.md, "STACK CFI records".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from testbed.arch import Arch
from testbed.conventions import platform
from testbed.export.register_layouts import LAYOUTS
from testbed.trace import Memory
from testbed.words.errors import MalformedTable, UnknownRegister

_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "@": lambda a, b: a // b * b if b else 0,
}
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


def read_records(text: str, where: str = "STACK CFI") -> Records:
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
            raise MalformedTable(where, number, f"no STACK CFI record: {line[:80]!r}") from error
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
