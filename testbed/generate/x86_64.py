"""x86_64 in the assembly writer: pushes, or one subtraction and stores; leaves in the red zone."""

from __future__ import annotations

from testbed.generate.dialect import Dialect, GeneratedFrame, cfa_directives, up
from testbed.generate.shape import MOST_SAVED, ShapeFunction

_SAVED = ("rbx", "r12", "r13", "r14", "r15", "rbp")
_NARROW = {"rbx": "ebx", "rbp": "ebp"}
_RED_ZONE = 128


def frame(function: ShapeFunction, slots: int) -> GeneratedFrame:
    """``[locals][saved registers][rbp][return address]``, from low to high addresses; CFA = rbp + 16."""
    pointer = function.pointer or function.dynamic
    saved = _SAVED[: function.saved]
    pushed = (["rbp"] if pointer else []) + list(saved)
    need = max(function.frame, 8 * slots)
    leaf = not function.has_calls
    in_red_zone = leaf and function.sub_first and need <= _RED_ZONE and not function.dynamic and not saved
    size = 0 if in_red_zone else up(8 + 8 * len(pushed) + need, 16) - 8 - 8 * len(pushed)
    if leaf and not need and not function.dynamic:
        size = 0
    depth = 8 * len(saved)
    enter, leave = _by_stores(function, pointer, saved, size) if function.sub_first else ([], [])
    if not function.sub_first:
        enter, leave = _by_pushes(function, pointer, saved, size)
    if pointer:
        operands = tuple(f"[rbp - {depth + 8 * i:#x}]" for i in range(1, slots + 1))
    elif in_red_zone:
        operands = tuple(f"[rsp - {8 * i:#x}]" for i in range(1, slots + 1))
    else:
        operands = tuple(f"[rsp + {8 * i:#x}]" for i in range(slots))
    narrow = tuple(_NARROW.get(name, f"{name}d") for name in saved)
    return GeneratedFrame(tuple(enter), tuple(leave), (*leave, "    ret"), operands, narrow)


def _by_pushes(
    function: ShapeFunction, pointer: bool, saved: tuple[str, ...], size: int
) -> tuple[list[str], list[str]]:
    enter, leave, cfa = _record(pointer)
    for name in saved:
        cfa += 8
        enter += [f"    push {name}", *cfa_directives(pointer, cfa), f"    .cfi_offset {name}, -{cfa:#x}"]
    if size:
        enter += [f"    sub rsp, {size:#x}", *cfa_directives(pointer, cfa + size)]
    if function.dynamic:
        leave += [f"    lea rsp, [rbp - {8 * len(saved):#x}]"]
    elif size:
        leave += [f"    add rsp, {size:#x}", *cfa_directives(pointer, cfa)]
    for name in reversed(saved):
        cfa -= 8
        leave += [f"    pop {name}", *cfa_directives(pointer, cfa), f"    .cfi_restore {name}"]
    if pointer:
        leave += ["    pop rbp", "    .cfi_def_cfa rsp, 8", "    .cfi_restore rbp"]
    return enter, leave


def _by_stores(
    function: ShapeFunction, pointer: bool, saved: tuple[str, ...], size: int
) -> tuple[list[str], list[str]]:
    enter, leave, cfa = _record(pointer)
    whole = size + 8 * len(saved)
    places = [(name, size + 8 * i, cfa + whole - size - 8 * i) for i, name in enumerate(saved)]
    if whole:
        enter += [f"    sub rsp, {whole:#x}", *cfa_directives(pointer, cfa + whole)]
    for name, at, offset in places:
        enter += [f"    mov [rsp + {at:#x}], {name}", f"    .cfi_offset {name}, -{offset:#x}"]
    if function.dynamic:
        leave += [f"    lea rsp, [rbp - {whole:#x}]"]
    for name, at, _ in places:
        leave += [f"    mov {name}, [rsp + {at:#x}]", f"    .cfi_restore {name}"]
    if pointer:
        leave += ["    leave", "    .cfi_def_cfa rsp, 8", "    .cfi_restore rbp"]
    elif whole:
        leave += [f"    add rsp, {whole:#x}", "    .cfi_def_cfa_offset 8"]
    return enter, leave


def _record(pointer: bool) -> tuple[list[str], list[str], int]:
    if not pointer:
        return [], [], 8
    pushed = ["    push rbp", "    .cfi_def_cfa_offset 0x10", "    .cfi_offset rbp, -0x10"]
    return [*pushed, "    mov rbp, rsp", "    .cfi_def_cfa_register rbp"], [], 0x10


_WORDS = {
    "argument": ("mov edi, {n}",),
    "pass": ("mov edi, {s}",),
    "depth": ("mov {d}, {n}",),
    "status": ("and {s}, 0xff", "or {s}, 1"),
    "call": ("call {to}",),
    "call_pointer": ("lea rcx, [rip + {to}]", "call rcx"),
    "jump": ("jmp {to}",),
    "return": ("ret",),
    "begin": ("lea {s}, [rdi + {n}]",),
    "early": ("lea {s}, [rdi + rdi + {n}]",),
    "store": ("mov {at}, {r}",),
    "store_sp": ("mov {at}, {r}",),
    "load": ("mov {r}, {at}",),
    "load_sp": ("mov {r}, {at}",),
    "add": ("add {s}, {r}",),
    "add_kept": ("add {s}, {r}",),
    "keep": ("mov {r}, {s}", "add {r}, {n}"),
    "plus": ("mov {t}, {s}", "add {t}, {n}"),
    "increment": ("add {s}, 1",),
    "if_odd": ("test {x}, 1", "jne {to}"),
    "unless_2": ("test {s}, 2", "je {to}"),
    "if_zero_depth": ("test {d}, {d}", "je {to}"),
    "less_depth": ("sub {d}, 1",),
    "align": ("sub rsp, {n}", "and rsp, -{n}"),
    "misaligned": ("mov {t}, esp", "and {t}, {m}"),
    "allocate": ("mov {t}, {n}", "sub rsp, rcx"),
}

X86_64 = Dialect(
    s="eax",
    x="edi",
    depth="esi",
    scratch="ecx",
    words=_WORDS,
    begin=".type {f}, @function\n{f}:\n    .cfi_startproc",
    end="    .cfi_endproc\n.size {f}, . - {f}\n",
    finish="    and edi, 0xff\n    or edi, 1\n    mov eax, 0x3c\n    syscall",
    literal="",
    frame=frame,
    at_sp="[rsp + {n}]",
)
assert len(_SAVED) == MOST_SAVED
