"""arm32 in the assembly writer, A32 and Thumb: a ``push`` of everything, or one subtraction and stores; the last word
popped is pc, or lr where the function goes on elsewhere. EHABI directives say the finished frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from testbed.generate.dialect import Dialect, GeneratedFrame, cfa_directives, chunks, saved_at, up
from testbed.generate.shape import MOST_SAVED, ShapeFunction

_SAVED = ("r4", "r5", "r6", "r8", "r9")
_REACH = 1000  # of a 16-bit store relative to SP
_NUMBERS = {**{f"r{i}": i for i in range(13)}, "lr": 14}


def frame(fp: str, split: bool, function: ShapeFunction, slots: int) -> GeneratedFrame:
    """``[locals][saved registers][fp, lr]``, from low to high addresses; CFA = fp + 8.

    ``split``: registers above ``fp`` in number would come between it and lr, so they are pushed after it (Thumb).
    """
    pointer = function.pointer or function.dynamic
    saved = (*_SAVED, fp)[: function.saved]
    link = ["lr"] if function.has_calls or pointer else []
    first = [name for name in saved if not (split and pointer and _NUMBERS[name] > _NUMBERS[fp])]
    second = [name for name in saved if name not in first]
    first = sorted([*first, *([fp] if pointer else []), *link], key=lambda name: _NUMBERS[name])
    area = 4 * (len(first) + len(second))
    size = up(area + max(function.frame, 4 * slots), 8) - area
    if function.sub_first and first and not second and area + size <= _REACH:
        enter, leave, give_back = _by_stores(fp, function, pointer, first, size)
    else:
        enter, leave, give_back = _by_pushes(fp, function, pointer, (first, second), size)
    below = area - 8
    if pointer:
        operands = tuple(f"[{fp}, #-{below + 4 * i:#x}]" for i in range(1, slots + 1))
    else:
        operands = tuple(f"[sp, #{4 * i:#x}]" for i in range(slots))
    return GeneratedFrame(tuple(enter), tuple(leave), tuple(give_back), operands, saved)


def _by_pushes(
    fp: str, function: ShapeFunction, pointer: bool, pushed: tuple[list[str], list[str]], size: int
) -> tuple[list[str], list[str], list[str]]:
    first, second = pushed
    top, below = 4 * len(first), 4 * (len(first) + len(second))
    enter = _push(first) if first else []
    enter += [f"    .cfi_def_cfa_offset {top:#x}", *saved_at(first, -top, 4)] if first else []
    if pointer:
        enter += _set_pointer(fp, top - 8)
    if second:
        enter += [*_push(second), *saved_at(second, -below, 4)]
    now = below
    for part in chunks(size):
        now += part
        enter += [f"    sub sp, sp, #{part:#x}", f"    .pad #{part:#x}", *cfa_directives(pointer, now)]
    leave: list[str] = []
    if function.dynamic:
        leave += _from_pointer(fp, below - 8)
    else:
        for part in reversed(chunks(size)):
            now -= part
            leave += [f"    add sp, sp, #{part:#x}", *cfa_directives(pointer, now)]
    if second:
        leave += [_pop(second), *(f"    .cfi_restore {name}" for name in second)]
    restored = [*(["    .cfi_def_cfa sp, 0"] if first else []), *(f"    .cfi_restore {name}" for name in first)]
    if "lr" in first:
        return enter, [*leave, _pop(first), *restored], [*leave, _pop([*first[:-1], "pc"])]
    leave += [_pop(first), *restored] if first else []
    return enter, leave, [*leave, "    bx lr"]


def _by_stores(
    fp: str, function: ShapeFunction, pointer: bool, names: list[str], size: int
) -> tuple[list[str], list[str], list[str]]:
    area = 4 * len(names)
    whole = area + size
    enter = [f"    sub sp, sp, #{whole:#x}", f"    .cfi_def_cfa_offset {whole:#x}"]
    for i, name in enumerate(names):
        enter += [f"    str {name}, [sp, #{size + 4 * i:#x}]", f"    .cfi_offset {name}, {4 * i - area:#x}"]
    enter += [f"    .save {{{', '.join(names)}}}", *([f"    .pad #{size:#x}"] if size else [])]
    leave: list[str] = []
    if pointer:
        enter += _set_pointer(fp, whole - 8)
        leave += _from_pointer(fp, whole - 8) if function.dynamic else []
        leave += [f"    .cfi_def_cfa sp, {whole:#x}"]
    for i, name in enumerate(names):
        leave += [f"    ldr {name}, [sp, #{size + 4 * i:#x}]", f"    .cfi_restore {name}"]
    leave += [f"    add sp, sp, #{whole:#x}", "    .cfi_def_cfa_offset 0"]
    return enter, leave, [*leave, "    bx lr"]


def _push(names: list[str]) -> list[str]:
    listed = f"{{{', '.join(names)}}}"
    return [f"    push {listed}", f"    .save {listed}"]


def _pop(names: list[str]) -> str:
    return f"    pop {{{', '.join(names)}}}"


def _set_pointer(fp: str, offset: int) -> list[str]:
    if offset:
        return [
            f"    add {fp}, sp, #{offset:#x}",
            f"    .setfp {fp}, sp, #{offset:#x}",
            f"    .cfi_def_cfa {fp}, 8",
        ]
    return [f"    mov {fp}, sp", f"    .setfp {fp}, sp", f"    .cfi_def_cfa {fp}, 8"]


def _from_pointer(fp: str, below: int) -> list[str]:
    """SP back to ``fp - below``; only A32 can do that in one instruction, and this order is right on both."""
    if below:
        return [f"    sub r3, {fp}, #{below:#x}", "    mov sp, r3"]
    return [f"    mov sp, {fp}"]


_WORDS: Mapping[str, tuple[str, ...]] = {
    "argument": ("mov r0, #{n}",),
    "pass": (),
    "depth": ("mov {d}, #{n}",),
    "status": ("and {s}, {s}, #0xff", "orr {s}, {s}, #1"),
    "call": ("bl {to}",),
    "call_pointer": ("ldr r3, {literal}", "blx r3"),
    "jump": ("b {to}",),
    "return": ("bx lr",),
    "begin": ("mov {x}, r0", "add {s}, r0, #{n}"),
    "early": ("add {s}, {s}, {s}", "add {s}, {s}, #{n}"),
    "store": ("str {r}, {at}",),
    "store_sp": ("str {r}, {at}",),
    "load": ("ldr {r}, {at}",),
    "load_sp": ("ldr {r}, {at}",),
    "add": ("add {s}, {s}, {r}",),
    "add_kept": ("add {s}, {s}, {r}",),
    "keep": ("add {r}, {s}, #{n}",),
    "plus": ("add {t}, {s}, #{n}",),
    "increment": ("add {s}, {s}, #1",),
    "if_odd": ("tst r0, #1", "bne {to}"),
    "unless_2": ("tst {s}, #2", "beq {to}"),
    "if_zero_depth": ("cmp {d}, #0", "beq {to}"),
    "less_depth": ("sub {d}, {d}, #1",),
    "align": ("sub r3, sp, #{n}", "bic r3, r3, #{m}", "mov sp, r3"),
    "misaligned": ("mov {t}, sp", "and {t}, {t}, #{m}"),
    "allocate": ("mov {t}, #{n}", "sub sp, sp, {t}"),
}

A32 = Dialect(
    s="r0",
    x="r2",
    depth="r1",
    scratch="r3",
    words=_WORDS,
    begin=".type {f}, %function\n{f}:\n    .fnstart\n    .cfi_startproc",
    end="    .cfi_endproc\n    .fnend\n.size {f}, . - {f}\n",
    finish="""
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset r7, -8
    .cfi_offset lr, -4
    and r0, r0, #0xff
    orr r0, r0, #1
    mov r7, #1
    svc #0
""",
    literal=".p2align 2\n{label}:\n    .word {f}",
    frame=partial(frame, "r11", False),
    at_sp="[sp, #{n}]",
)
# The 16-bit forms, where there are some; they set the flags, which nothing here needs across them.
_NARROW = {
    "argument": ("movs r0, #{n}",),
    "depth": ("movs {d}, #{n}",),
    "begin": ("mov {x}, r0", "adds {s}, r0, #{n}"),
    "early": ("adds {s}, {s}, {s}", "adds {s}, {s}, #{n}"),
    "add": ("adds {s}, {s}, {r}",),
    "add_kept": ("add {s}, {r}",),
    "keep": ("add.w {r}, {s}, #{n}",),
    "plus": ("adds {t}, {s}, #{n}",),
    "increment": ("adds {s}, {s}, #1",),
    "less_depth": ("subs {d}, {d}, #1",),
    "jump": ("b.w {to}",),
    "allocate": ("mov.w {t}, #{n}", "sub.w sp, sp, {t}"),
    "call_pointer": ("ldr.w r3, {literal}", "blx r3"),
}
THUMB = replace(
    A32,
    words={**_WORDS, **_NARROW},
    begin=".type {f}, %function\n.thumb_func\n{f}:\n.L{f}:\n    .fnstart\n    .cfi_startproc",
    literal=".p2align 2\n{label}:\n    .word .L{f} + 1",
    frame=partial(frame, "r7", True),
)
assert len(_SAVED) + 1 == MOST_SAVED
