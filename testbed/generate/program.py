"""Generated programs as values: what a user types (``gen:12``, ``genc:f64c1+f``), or a shape, as a `Program`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from testbed.arch import ARCHES, Isa
from testbed.generate.assembly import DIALECTS, assembly_text, is_expressible
from testbed.generate.c_runtime import VECTORS, has_convention, runtime_text
from testbed.generate.evaluate import INPUT, evaluate
from testbed.generate.seeds import PREFIXES, called, named, parts_of, shape_of_seed
from testbed.generate.shape import FLAGS, NUMBERED, ORDER, How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.program.header import parse_header
from testbed.program.model import Language, Program, Source
from testbed.words.errors import DirectorError
from testbed.words.traits import Trait

# A call shape as C. Every local is volatile or lives across a call, and no function is inlined: compilers keep it.
#
# Three things are said in GNU C: ``noinline``, clang's ``musttail`` (a tail call at -O0 too; GCC 12 does not know it
# and makes a jump of the call where it can, from -O2 on), and ``finish``, which exits and is assembly because C cannot
# say a system call.

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
    text += "\n" + "\n".join(_c_function(shape, k, flags) for k in range(len(functions)))
    return text + (
        f"\nint main(void) {{\n    return (int)((f0(input, number[{functions[0].recursion}]) & 255) | 1);\n}}\n"
    )


def _c_function(shape: Shape, k: int, flags: Sequence[str]) -> str:
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


# Director strings: a call shape in a few printable characters::
#
#     shape     = function {"+" function}
#     function  = "f" [frame] {option} {call} [end]
#     option    = "r" N   callee-saved registers used      | "p"   a frame pointer (assembly)
#               | "a" N   words of alloca                  | "d"   SP is moved first, then registers stored (assembly)
#               | "v" N   words of a variable-length array | "e"   a way out before the frame is set up
#               | "o" N   alignment of a local             | "m"   a second epilogue
#               | "s" N   calls itself, so deep
#     call      = "c" N   a call of function N             | "i" N a call through a pointer
#     end       = "t" N   a tail call of function N        | "n"   a call that does not return
#
# ``f64r2c1t2+f0e+f`` has three functions; ``str`` of a shape gives each option once, in the order above.

_CALLS = {how.value: how for how in How}
_PART = re.compile(r"(?P<letter>[a-z])(?P<number>0|[1-9]\d{0,5})?")
_NEEDS_NUMBER = (*NUMBERED, *_CALLS, "t")


def parse_director(text: str) -> Shape:
    """The shape that a director string spells. Raises DirectorError with the position of what is wrong."""
    starts, functions, position = [], [], 0
    for word in text.split("+"):
        starts.append(position)
        functions.append(_function(text, position, position + len(word)))
        position += len(word) + 1
    shape = Shape(tuple(functions))
    if wrong := why_not(shape):
        raise DirectorError(text, starts[wrong[0]], wrong[1])
    return shape


def _function(text: str, start: int, end: int) -> ShapeFunction:
    fields: dict[str, int | bool] = {}
    calls: list[ShapeCall] = []
    last = ""
    position = start
    while position < end:
        match = _PART.match(text, position, end)
        if match is None:
            raise DirectorError(text, position, f"{text[position]!r} is no letter of the grammar")
        letter, digits = match["letter"], match["number"]
        number = int(digits or 0)
        known = letter == "f" or letter in (*_NEEDS_NUMBER, *FLAGS, "n")
        if not known:
            raise DirectorError(text, position, f"no option {letter!r}; there are f {' '.join(ORDER)} c i t n")
        if (letter == "f") != (position == start):
            raise DirectorError(text, position, "a function begins with one 'f'")
        if letter in _NEEDS_NUMBER and digits is None:
            raise DirectorError(text, position, f"{letter!r} needs a number")
        if letter in (*FLAGS, "n") and digits is not None:
            raise DirectorError(text, position, f"{letter!r} takes no number")
        if last:
            raise DirectorError(text, position, f"nothing can follow {last!r}: it is the end of its function")
        if letter in _CALLS:
            calls.append(ShapeCall(_CALLS[letter], number))
        elif calls and letter not in "tn":
            raise DirectorError(text, position, f"the option {letter!r} belongs before the calls")
        else:
            name = {"f": "frame", "t": "tail", "n": "stops", **NUMBERED, **FLAGS}[letter]
            if name in fields or (letter in NUMBERED and number == 0):
                raise DirectorError(text, position, f"{letter!r} is given twice, or with 0")
            fields[name] = True if letter in (*FLAGS, "n") else number
            last = letter if letter in "tn" else ""
        position = match.end()
    if start == end:
        raise DirectorError(text, start, "a function is missing: it begins with 'f'")
    return ShapeFunction(calls=tuple(calls), **fields)  # type: ignore[arg-type]


_RECORDS = {"-mapcs-frame": "r11-apcs"}  # what a flag makes of frame records
_REALIGNING = frozenset({"-mforce-drap", "-mstackrealign"})
_MOST_DECLARED = 16  # visits whose frames the header declares


def shape_named(text: str) -> Shape:
    """The shape of a seed (digits) or a director string. Raises DirectorError."""
    if text.isdecimal() and text.isascii():
        if len(text) > 18:
            raise DirectorError(text, 18, "a seed has at most 18 digits")
        return shape_of_seed(int(text))
    return parse_director(text)


def generated_program(name: str, *, recipes: tuple[str, ...] = ()) -> Program:
    """The program that ``gen:SEED``, ``gen:DIRECTOR`` (assembly) or ``genc:...`` (C) names; it is called ``gen_SEED``.

    ``recipes`` are the only ones that build it (patterns). Raises DirectorError, and ProgramError for a flag that no
    header may name.
    """
    prefix, text, flags = parts_of(name)
    return program_of(shape_named(text), PREFIXES[prefix], name=called(name), recipes=recipes, flags=flags)


def program_of(
    shape: Shape,
    language: Language,
    *,
    name: str | None = None,
    recipes: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
) -> Program:
    """The program of a shape in C, or in assembly for every instruction set that it is generated for."""
    if flags and language is not Language.C:
        raise DirectorError(",".join(flags), 0, "flags are for a compiler: genc:... is a program in C")
    prefix = next(prefix for prefix, of in PREFIXES.items() if of is language)
    chosen = name or called(named(prefix, shape, flags))
    assembled = [isa for arch in ARCHES.values() for isa in arch.isas if DIALECTS[isa.name]]
    isas = [None] if language is Language.C else assembled
    sources = [source_of(shape, isa, name=chosen, recipes=recipes, flags=flags) for isa in isas]
    return Program(chosen, MappingProxyType({source.isa or "c": source for source in sources}))


def source_of(
    shape: Shape,
    isa: Isa | None,
    *,
    name: str = "gen",
    recipes: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
) -> Source:
    """One source of a shape, with its header: C (``isa`` None), or assembly for an instruction set."""
    evaluation = evaluate(shape)
    if isa:
        traits = [] if is_expressible(shape, isa) else [Trait.INEXPRESSIBLE]
    else:  # GCC copies the return address below a frame that it realigns
        realigned = any(function.align for function in shape.functions) or not _REALIGNING.isdisjoint(flags)
        traits = [Trait.REALIGNED] if realigned else []
    lines = [f"// recipes: {', '.join(recipes)}"] if recipes else []
    lines += [f"// traits: {', '.join(trait.name for trait in traits)}"] if traits else []
    lines += [f"// flags: {' '.join(flags)}"] if flags else []
    lines += [f"// frame-record: {record}" for flag, record in _RECORDS.items() if flag in flags]
    # Only clang is told which calls are tail calls; GCC decides by its flags, and the run shows which it made.
    stacks = evaluation.stacks if isa else evaluation.possible
    header = _header(shape, evaluation.status, lines, stacks)
    text = header + "\n" + (assembly_text(shape, isa) if isa else c_text(shape, flags))
    path = Path(f"{name}.{isa.name}.S" if isa else f"{name}.c")
    language = Language.ASSEMBLY if isa else Language.C
    return Source(path, language, isa.name if isa else None, text, parse_header(path, text))


def _header(shape: Shape, status: int, more: list[str], stacks: tuple[tuple[str, ...], ...]) -> str:
    """The header: the oracle's status, and its stack at the beginning of each function."""
    lines = [f"// summary: generated call shape {shape}", f"// exit: {status}", *more]
    visits: dict[str, int] = {}
    for stack in stacks[:_MOST_DECLARED]:
        visits[stack[0]] = visits.get(stack[0], 0) + 1
        lines.append(f"// frames: {stack[0]}#{visits[stack[0]]} = {', '.join(stack)}")
    return "\n".join(lines) + "\n"
