"""What the assembly writer must know of an instruction set: its words for what a body does, and its frames.

One value per instruction set, in the modules beside this one; `assembly` holds what is common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from testbed.generate.shape import ShapeFunction


@dataclass(frozen=True, slots=True)
class GeneratedFrame:
    """A function's frame as lines of assembly with their CFI (and EHABI) directives.

    ``leave`` undoes ``enter`` and ends right before the jump; ``give_back`` does so and returns. ``slots`` are the
    operands of words for the body's own use; ``saved`` are the callee-saved registers that are free for it.
    """

    enter: tuple[str, ...]
    leave: tuple[str, ...]
    give_back: tuple[str, ...]
    slots: tuple[str, ...]
    saved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """An instruction set's assembly.

    ``s``, ``x``, ``depth`` and ``scratch`` are registers: of the values s, x and d in `evaluate`, and one more.
    ``words`` says in lines what a body does; placeholders: ``{n}``, ``{m}`` and ``{mask}`` numbers, ``{r}`` a register,
    ``{at}`` an operand in memory, ``{to}`` and ``{literal}`` labels; ``{s}``, ``{x}``, ``{d}``, ``{t}`` the registers
    above. ``begin`` and ``end`` stand around a function ``{f}``; ``finish`` exits with s. A ``literal`` follows a
    function with calls through pointers for each callee ``{f}``.
    """

    s: str
    x: str
    depth: str
    scratch: str
    words: Mapping[str, tuple[str, ...]]
    begin: str
    end: str
    finish: str
    literal: str
    frame: Callable[[ShapeFunction, int], GeneratedFrame]
    at_sp: str  # an operand: ``{n}`` bytes from SP
    # True for a frame that formats without expressions have no row for.
    inexpressible: Callable[[ShapeFunction], bool] = lambda function: False


def cfa_directives(pointer: bool, offset: int) -> list[str]:
    """What is said of a CFA that SP has moved away from; nothing, where it counts from the frame pointer."""
    return [] if pointer else [f"    .cfi_def_cfa_offset {offset:#x}"]


def saved_at(names: list[str], first: int, word: int) -> list[str]:
    """What is said of registers that lie one after the other, the first one at a distance from the CFA."""
    return [f"    .cfi_offset {name}, {first + word * i:#x}" for i, name in enumerate(names)]


def up(value: int, multiple: int) -> int:
    """The next multiple."""
    return -(-value // multiple) * multiple


def chunks(size: int) -> tuple[int, ...]:
    """A size as a sum of numbers that every instruction set can subtract from SP at once: 8 bits, moved by an even
    number of places."""
    found = []
    while size:
        shift = max(size.bit_length() - 8, 0)
        shift += shift % 2
        found.append(size >> shift << shift)
        size -= found[-1]
    return tuple(found)
