"""arm64 in the assembly writer: a pre-indexed ``stp`` first, or one subtraction and stores."""

from __future__ import annotations

from testbed.generate.dialect import Dialect, GeneratedFrame, cfa_directives, saved_at, up
from testbed.generate.shape import MOST_SAVED, ShapeFunction

_SAVED = ("x19", "x20", "x21", "x22", "x23", "x29")
_REACH = 504  # of stp and ldp


def frame(function: ShapeFunction, slots: int) -> GeneratedFrame:
    """``[locals][x29, x30][saved registers]``, from low to high addresses; CFA = x29 + the size of the last two."""
    pointer = function.pointer or function.dynamic
    saved = _SAVED[: function.saved]
    record = ["x29", "x30"] if pointer else ["x30"] if function.has_calls else []
    registers = [*record, *saved]
    area = up(8 * len(registers), 16)
    size = up(max(function.frame, 8 * slots), 16)
    pairs = [registers[i : i + 2] for i in range(0, len(registers), 2)]
    if function.sub_first and registers and area + size <= _REACH:
        enter, leave = _by_stores(function, pointer, pairs, area, size)
    else:
        enter, leave = _by_index(function, pointer, pairs, area, size)
    operands = tuple(f"[x29, #-{8 * i:#x}]" if pointer else f"[sp, #{8 * (i - 1):#x}]" for i in range(1, slots + 1))
    narrow = tuple("w" + name[1:] for name in saved)
    return GeneratedFrame(tuple(enter), tuple(leave), (*leave, "    ret"), operands, narrow)


def _by_index(
    function: ShapeFunction, pointer: bool, pairs: list[list[str]], area: int, size: int
) -> tuple[list[str], list[str]]:
    enter: list[str] = []
    leave: list[str] = []
    for number, pair in enumerate(pairs):
        index = f"[sp, #-{area:#x}]!" if number == 0 else f"[sp, #{16 * number:#x}]"
        enter += [f"    {_verb('st', pair)} {', '.join(pair)}, {index}"]
        enter += [f"    .cfi_def_cfa_offset {area:#x}"] if number == 0 else []
        enter += saved_at(pair, 16 * number - area, 8)
        if pointer and number == 0:
            enter += ["    mov x29, sp", "    .cfi_def_cfa_register x29"]
    below = area
    for part in _parts(size):
        below += part
        enter += [f"    sub sp, sp, {_immediate(part)}", *cfa_directives(pointer, below)]
    if function.dynamic:
        leave += ["    mov sp, x29"]
    else:
        for part in reversed(_parts(size)):
            below -= part
            leave += [f"    add sp, sp, {_immediate(part)}", *cfa_directives(pointer, below)]
    for number, pair in reversed(list(enumerate(pairs))):
        index = f"[sp], #{area:#x}" if number == 0 else f"[sp, #{16 * number:#x}]"
        leave += [f"    {_verb('ld', pair)} {', '.join(pair)}, {index}"]
        if number == 0:
            leave += ["    .cfi_def_cfa sp, 0"]
        leave += [f"    .cfi_restore {name}" for name in pair]
    return enter, leave


def _by_stores(
    function: ShapeFunction, pointer: bool, pairs: list[list[str]], area: int, size: int
) -> tuple[list[str], list[str]]:
    whole = area + size
    enter = [f"    sub sp, sp, #{whole:#x}", f"    .cfi_def_cfa_offset {whole:#x}"]
    leave: list[str] = []
    for number, pair in enumerate(pairs):
        enter += [f"    {_verb('st', pair)} {', '.join(pair)}, [sp, #{size + 16 * number:#x}]"]
        enter += saved_at(pair, 16 * number - area, 8)
    if pointer:
        enter += [f"    add x29, sp, #{size:#x}", f"    .cfi_def_cfa x29, {area:#x}"]
        leave += [f"    sub sp, x29, #{size:#x}"] if function.dynamic else []
        leave += [f"    .cfi_def_cfa sp, {whole:#x}"]
    for number, pair in reversed(list(enumerate(pairs))):
        leave += [f"    {_verb('ld', pair)} {', '.join(pair)}, [sp, #{size + 16 * number:#x}]"]
        leave += [f"    .cfi_restore {name}" for name in pair]
    leave += [f"    add sp, sp, #{whole:#x}", "    .cfi_def_cfa_offset 0"]
    return enter, leave


def _parts(size: int) -> tuple[int, ...]:
    """A size as the numbers that ``sub`` takes: 12 bits, or 12 bits moved by 12 places."""
    return tuple(part for part in (size & ~0xFFF, size & 0xFFF) if part)


def _immediate(part: int) -> str:
    return f"#{part:#x}" if part <= 0xFFF else f"#{part >> 12:#x}, lsl #12"


def _verb(kind: str, pair: list[str]) -> str:
    return kind + ("p" if len(pair) == 2 else "r")


_WORDS = {
    "argument": ("mov w0, #{n}",),
    "pass": (),
    "depth": ("mov {d}, #{n}",),
    "status": ("and {s}, {s}, #0xff", "orr {s}, {s}, #1"),
    "call": ("bl {to}",),
    "call_pointer": ("adr x9, {to}", "blr x9"),
    "jump": ("b {to}",),
    "return": ("ret",),
    "begin": ("mov {x}, w0", "add {s}, w0, #{n}"),
    "early": ("add {s}, {s}, {s}", "add {s}, {s}, #{n}"),
    "store": ("stur {r}, {at}",),
    "store_sp": ("str {r}, {at}",),
    "load": ("ldur {r}, {at}",),
    "load_sp": ("ldr {r}, {at}",),
    "add": ("add {s}, {s}, {r}",),
    "add_kept": ("add {s}, {s}, {r}",),
    "keep": ("add {r}, {s}, #{n}",),
    "plus": ("add {t}, {s}, #{n}",),
    "increment": ("add {s}, {s}, #1",),
    "if_odd": ("tbnz w0, #0, {to}",),
    "unless_2": ("tbz {s}, #1, {to}",),
    "if_zero_depth": ("cbz {d}, {to}",),
    "less_depth": ("sub {d}, {d}, #1",),
    "align": ("sub x9, sp, #{n}", "and sp, x9, #{mask}"),
    "misaligned": ("mov x3, sp", "and {t}, {t}, #{m}"),
    "allocate": ("mov x3, #{n}", "sub sp, sp, x3"),
}

ARM64 = Dialect(
    s="w0",
    x="w2",
    depth="w1",
    scratch="w3",
    words=_WORDS,
    begin=".type {f}, %function\n{f}:\n    .cfi_startproc",
    end="    .cfi_endproc\n.size {f}, . - {f}\n",
    finish="    and w0, w0, #0xff\n    orr w0, w0, #1\n    mov x8, #0x5d\n    svc #0",
    literal="",
    frame=frame,
    at_sp="[sp, #{n}]",
    # SFrame keeps x29 behind x30: it cannot say that only x29 is stored.
    inexpressible=lambda function: function.saved == MOST_SAVED and not function.has_calls,
)
assert len(_SAVED) == MOST_SAVED
