"""A call shape as assembly, as a person would write it: exact CFI at every instruction, EHABI directives on arm32.

The body keeps ``s`` in the result register, and in a slot of the frame across calls. It computes `evaluate`'s numbers,
step by step; only its frame is different on each instruction set (`Dialect.frame`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from testbed.arch import Isa, PerIsa
from testbed.generate.arm32 import A32, THUMB
from testbed.generate.arm64 import ARM64
from testbed.generate.dialect import Dialect, GeneratedFrame, up
from testbed.generate.evaluate import INPUT
from testbed.generate.shape import How, Shape, ShapeCall, ShapeFunction
from testbed.generate.x86_64 import X86_64
from testbed.program.start import START
from testbed.words.errors import UsageError

DIALECTS = PerIsa[Dialect | None]({"x86_64": X86_64, "arm64": ARM64, "a32": A32, "thumb": THUMB})


def dialect_of(isa: Isa) -> Dialect:
    """How a shape is written for an instruction set. Raises UsageError where nothing says how."""
    dialect = DIALECTS[isa.name]
    if dialect is None:
        raise UsageError(f"no assembly is generated for {isa.name}: {DIALECTS.because[isa.name]}; generate C")
    return dialect


def assembly_text(shape: Shape, isa: Isa) -> str:
    """The assembly program of a shape for an instruction set, without a header. Raises as `dialect_of`."""
    dialect = dialect_of(isa)
    lines = [START[isa.name].replace("\n    .size _start", "\n.size _start").strip("\n"), ""]
    lines += _bracketed(dialect, "main", _main(shape, dialect))
    for k in range(len(shape.functions)):
        lines += _bracketed(dialect, f"f{k}", _function(shape, k, dialect))
        lines += _literals(shape.functions[k], k, dialect)
    if any(function.stops for function in shape.functions):
        lines += _bracketed(dialect, "finish", dialect.finish.strip("\n").split("\n"))
    return "\n".join(lines)


def is_expressible(shape: Shape, isa: Isa) -> bool:
    """True where formats without expressions can say every frame of the assembly program. Raises as `dialect_of`."""
    dialect = dialect_of(isa)
    return not any(dialect.inexpressible(function) for function in shape.functions)


def _bracketed(dialect: Dialect, name: str, body: list[str]) -> list[str]:
    return [*dialect.begin.format(f=name).strip("\n").split("\n"), *body, *dialect.end.format(f=name).split("\n")]


def _words(dialect: Dialect, key: str, **values: object) -> Iterator[str]:
    registers = {"s": dialect.s, "x": dialect.x, "d": dialect.depth, "t": dialect.scratch}
    for line in dialect.words[key]:
        yield "    " + line.format(**registers, **values)


def _main(shape: Shape, dialect: Dialect) -> list[str]:
    frame = dialect.frame(ShapeFunction(pointer=True, calls=(ShapeCall(How.DIRECT, 0),)), 0)
    return [
        *frame.enter,
        *_words(dialect, "argument", n=hex(INPUT)),
        *_words(dialect, "depth", n=hex(shape.functions[0].recursion)),
        *_words(dialect, "call", to="f0"),
        *_words(dialect, "status"),
        *frame.give_back,
    ]


def _function(shape: Shape, k: int, dialect: Dialect) -> list[str]:
    function, constant = shape.functions[k], hex(3 * k + 7)
    stored = (["s"] if function.calls or function.recursion else []) + (["w", "t"] if function.frame else [])
    frame = dialect.frame(function, len(stored))
    slots = dict(zip(stored, frame.slots, strict=True))
    lines: list[str] = []
    if function.early:
        lines += _words(dialect, "if_odd", to=f".Lf{k}_early")
        lines.append("    .cfi_remember_state")
    lines += frame.enter
    lines += _words(dialect, "begin", n=constant)
    if function.frame:
        lines += _words(dialect, "store", r=dialect.s, at=slots["w"])
        lines += _words(dialect, "store", r=dialect.x, at=slots["t"])
        lines += _words(dialect, "load", r=dialect.scratch, at=slots["t"])
        lines += _words(dialect, "add", r=dialect.scratch)
    for i, register in enumerate(frame.saved, 1):
        lines += _words(dialect, "keep", r=register, n=hex(i))
    made, kept = _dynamic(function, dialect)
    lines += made
    lines += _calls(shape, k, dialect, slots)
    if function.frame:
        lines += _words(dialect, "load", r=dialect.scratch, at=slots["w"])
        lines += _words(dialect, "add", r=dialect.scratch)
    for register in frame.saved:
        lines += _words(dialect, "add_kept", r=register)
    lines += [*kept, *_last(shape, k, dialect, frame)]
    if function.early:
        lines += [f".Lf{k}_early:", "    .cfi_restore_state"]
        lines += [*_words(dialect, "early", n=constant), *_words(dialect, "return")]
    return lines


def _dynamic(function: ShapeFunction, dialect: Dialect) -> tuple[list[str], list[str]]:
    """What makes the locals below the frame, and what adds them to s at the end. SP stays where the last one begins."""
    made: list[str] = []
    kept: list[str] = []
    below = 0
    masks = {"m": hex(function.align - 1), "mask": hex((1 << 64) - function.align)}
    unit = max(16, function.align)
    sizes = (up(4 * function.alloca, unit), up(4 * function.vla, unit))
    if function.align:
        made += _words(dialect, "align", n=hex(function.align), **masks)
        made += _words(dialect, "store_sp", r=dialect.s, at=dialect.at_sp.format(n="0x0"))
        kept += _words(dialect, "load_sp", r=dialect.scratch, at=dialect.at_sp.format(n=hex(sum(sizes))))
        kept += _words(dialect, "add", r=dialect.scratch)
        kept += _words(dialect, "misaligned", **masks)
        kept += _words(dialect, "add", r=dialect.scratch)
    for size, extra in ((sizes[0], 2), (sizes[1], 3)):
        if size:
            below += size
            made += _words(dialect, "allocate", n=hex(size))
            made += _words(dialect, "plus", n=hex(extra))
            made += _words(dialect, "store_sp", r=dialect.scratch, at=dialect.at_sp.format(n="0x0"))
            kept += _words(dialect, "load_sp", r=dialect.scratch, at=dialect.at_sp.format(n=hex(sum(sizes) - below)))
            kept += _words(dialect, "add", r=dialect.scratch)
    return made, kept


def _calls(shape: Shape, k: int, dialect: Dialect, slots: Mapping[str, str]) -> Iterator[str]:
    def called(*jump: str) -> Iterator[str]:
        yield from _words(dialect, "store", r=dialect.s, at=slots["s"])
        yield from _words(dialect, "pass")
        yield from jump
        yield from _words(dialect, "load", r=dialect.scratch, at=slots["s"])
        yield from _words(dialect, "add", r=dialect.scratch)

    function = shape.functions[k]
    if function.recursion:
        yield from _words(dialect, "if_zero_depth", to=f".Lf{k}_deepest")
        yield from called(*_words(dialect, "less_depth"), *_words(dialect, "call", to=f"f{k}"))
        yield f".Lf{k}_deepest:"
    for call in function.calls:
        key = "call_pointer" if call.how is How.INDIRECT else "call"
        depth = _words(dialect, "depth", n=hex(shape.functions[call.callee].recursion))
        yield from called(*depth, *_words(dialect, key, to=f"f{call.callee}", literal=f".Lf{k}_to_f{call.callee}"))


def _last(shape: Shape, k: int, dialect: Dialect, frame: GeneratedFrame) -> Iterator[str]:
    function = shape.functions[k]
    if function.ends:
        yield from _words(dialect, "unless_2", to=f".Lf{k}_on")
        yield from _words(dialect, "increment")
        yield "    .cfi_remember_state"
        yield from frame.give_back
        yield f".Lf{k}_on:"
        yield "    .cfi_restore_state"
    if function.stops:
        yield from _words(dialect, "pass")
        yield from _words(dialect, "call", to="finish")
    elif function.tail is not None:
        yield from _words(dialect, "pass")
        yield from _words(dialect, "depth", n=hex(shape.functions[function.tail].recursion))
        yield from frame.leave
        yield from _words(dialect, "jump", to=f"f{function.tail}")
    else:
        yield from frame.give_back


def _literals(function: ShapeFunction, k: int, dialect: Dialect) -> list[str]:
    callees = sorted({call.callee for call in function.calls if call.how is How.INDIRECT})
    lines = [dialect.literal.format(label=f".Lf{k}_to_f{callee}", f=f"f{callee}").strip("\n") for callee in callees]
    return [*(line for line in lines if line), ""]
