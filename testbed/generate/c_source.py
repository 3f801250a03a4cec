"""A call shape as C. Every local is volatile or lives across a call, and no function is inlined: compilers keep it.

Three things are said in GNU C: ``noinline``, clang's ``musttail`` (a tail call at -O0 too; GCC 12 does not know it and
makes a jump of the call where it can, from -O2 on), and ``finish``, which exits and is assembly because C cannot say a
system call.
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.generate.c_runtime import VECTORS, has_convention, runtime_text
from testbed.generate.evaluate import INPUT
from testbed.generate.shape import How, Shape, ShapeFunction

_FINISH = """\
// finish(x) exits with the status of x and does not return. GCC leaves the section open that the line before ends in.
__attribute__((noreturn)) void finish(unsigned x);
__asm__(".pushsection .text\\n");
#if defined(__x86_64__)
__asm__(".intel_syntax noprefix\\n.type finish, @function\\nfinish:\\n.cfi_startproc\\n"
        "and edi, 0xff\\nor edi, 1\\nmov eax, 0x3c\\nsyscall\\n.cfi_endproc\\n.size finish, . - finish\\n"
#ifndef __clang__ // which goes on in the Intel dialect that it was told to use
        ".att_syntax prefix\\n"
#endif
        );
#elif defined(__aarch64__)
__asm__(".type finish, %function\\nfinish:\\n.cfi_startproc\\n"
        "and w0, w0, #0xff\\norr w0, w0, #1\\nmov x8, #0x5d\\nsvc #0\\n.cfi_endproc\\n.size finish, . - finish\\n");
#elif defined(__arm__)
__asm__(".syntax unified\\n.cfi_sections .debug_frame\\n.type finish, %function\\nfinish:\\n"
        ".fnstart\\n.cfi_startproc\\n"
        "push {r7, lr}\\n.save {r7, lr}\\n.cfi_def_cfa_offset 8\\n.cfi_offset lr, -4\\n.cfi_offset r7, -8\\n"
        "and r0, r0, #0xff\\norr r0, r0, #1\\nmov r7, #1\\nsvc #0\\n"
        ".cfi_endproc\\n.fnend\\n.size finish, . - finish\\n");
#else
#error "finish() has no exit system call for this architecture"
#endif
__asm__(".popsection\\n");

"""


_TAIL = """\
#if defined(__clang__) && !defined(CONVENTION)
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return
#endif

"""


def c_text(shape: Shape, flags: Sequence[str] = ()) -> str:
    """The C program of a shape, without a header, with what its compiler's flags need."""
    functions = shape.functions
    numbers = ", ".join(map(str, range(8)))
    text = f"volatile unsigned number[] = {{{numbers}}}, input = {INPUT};\n\n"
    if any(function.stops for function in functions):
        text += _FINISH
    if any(function.tail is not None for function in functions):
        text += _TAIL
    text += runtime_text(flags)
    attribute = "__attribute__((CONVENTION)) " if has_convention(flags) else ""
    text += f"typedef {attribute}unsigned function(unsigned x, unsigned depth);\n"
    text += f"function {', '.join(f'f{k}' for k in range(len(functions)))};\n"
    if any(call.how is How.INDIRECT for function in functions for call in function.calls):
        text += f"function *volatile pointer[] = {{{', '.join(f'f{k}' for k in range(len(functions)))}}};\n"
    text += "\n" + "\n".join(_function(shape, k, flags) for k in range(len(functions)))
    return text + (
        f"\nint main(void) {{\n    return (int)((f0(input, number[{functions[0].recursion}]) & 255) | 1);\n}}\n"
    )


def _function(shape: Shape, k: int, flags: Sequence[str]) -> str:
    function, constant = shape.functions[k], 3 * k + 7
    convention = ", CONVENTION" if has_convention(flags) else ""
    # noclone, which only GCC knows: a copy for one caller would be a function of another name.
    lines = [f"__attribute__((noinline, noclone{convention})) unsigned f{k}(unsigned x, unsigned depth) {{"]
    lines += ["    OVERWRITE;"] if VECTORS in flags else []
    lines += [f"    if (x & 1) return 2 * x + {constant};"] if function.early else []
    lines += [f"    unsigned s = x + {constant};"]
    kept = []
    if function.frame:
        words = function.frame // 4
        lines += [f"    volatile unsigned w[{words}];", f"    w[0] = s, w[{words - 1}] = x, s += w[{words - 1}];"]
        kept.append("w[0]")
    lines += [f"    unsigned y{i} = s + number[{i}];" for i in range(1, function.saved + 1)]
    kept += [f"y{i}" for i in range(1, function.saved + 1)]
    made, named = _locals(function)
    lines += [f"    {line}" for line in made]
    kept += named
    # The reads of number[0] = 0 keep compilers from making loops of recursion and jumps of calls.
    if function.recursion:
        lines.append(f"    if (depth) s += f{k}(s, depth - 1), s += number[0];")
    for call in function.calls:
        name = f"pointer[{call.callee}]" if call.how is How.INDIRECT else f"f{call.callee}"
        lines.append(f"    s += {name}(s, number[{shape.functions[call.callee].recursion}]), s += number[0];")
    lines += [f"    s += {' + '.join(kept)};"] if kept else []
    lines += ["    if (s & 2) return s + 1;"] if function.ends else []
    lines.append(f"    {_last(shape, function)}")
    return "\n".join((*lines, "}", ""))


def _locals(function: ShapeFunction) -> tuple[list[str], list[str]]:
    """The declarations of the locals that are not in a plain frame, and what is read from them at the end."""
    made, kept = [], []
    if function.align:
        made += [f"volatile _Alignas({function.align}) unsigned o[1];", "o[0] = s;"]
        kept += ["o[0]", f"((unsigned)(__UINTPTR_TYPE__)o & {function.align - 1})"]
    for name, words, extra in (("a", function.alloca, 2), ("v", function.vla, 3)):
        if words:
            made.append(f"volatile unsigned words_{name} = {words};")
            made.append(
                f"volatile unsigned *a = __builtin_alloca(4 * words_{name});"
                if name == "a"
                else f"volatile unsigned v[words_{name}];"
            )
            made.append(f"{name}[words_{name} - 1] = x, {name}[0] = s + {extra};")
            kept.append(f"{name}[0]")
    return made, kept


def _last(shape: Shape, function: ShapeFunction) -> str:
    if function.stops:
        return "finish(s);"
    if function.tail is None:
        return "return s;"
    depth = shape.functions[function.tail].recursion
    return f"TAIL f{function.tail}(s, number[{depth}]);"
