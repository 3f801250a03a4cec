"""Sources of random data between instructions, as both assemblers read them."""

from dataclasses import dataclass

from hypothesis import strategies as st

# One instruction that any address may hold, the boundary that code needs, names of data of 1, 2, 4, 8 bytes.
_WIDTHS = {".byte": 1, ".2byte": 2, ".short": 2, ".4byte": 4, ".long": 4, ".8byte": 8, ".quad": 8}


@dataclass(frozen=True)
class DataDialect:
    """What differs between the instruction sets: code, and the directives that not all know."""

    before: str  # lines ahead of the source
    instructions: tuple[str, ...]
    boundary: int
    widths: dict[str, int]
    aligns: tuple[str, ...] = (".align {power}", ".p2align {power}", ".balign {bytes}")


DIALECTS = {
    "x86_64": DataDialect(
        ".intel_syntax noprefix\n", ("nop", "ret", "mov eax, 1", "jmp {label}"), 1, {**_WIDTHS, ".word": 2, ".value": 2}
    ),
    "arm64": DataDialect(
        "", ("nop", "ret", "mov x0, #1", "b {label}"), 4, {**_WIDTHS, ".word": 4, ".hword": 2, ".xword": 8}
    ),
    "a32": DataDialect(
        ".syntax unified\n.arm\n", ("nop", "bx lr", "mov r0, #1", "b {label}"), 4, {**_WIDTHS, ".word": 4, ".hword": 2}
    ),
    "thumb": DataDialect(
        ".syntax unified\n.thumb\n",
        ("nop", "bx lr", "movs r0, #1", "b.w {label}"),
        2,
        {**_WIDTHS, ".word": 4, ".hword": 2},
    ),
}


@st.composite
def data_sources(draw: st.DrawFn, isa: str) -> str:
    """A source with runs of data, of every size and at every place, between runs of code that is where code may be."""
    dialect = DIALECTS[isa]
    lines = [f".type _start, %function\n_start:\n.Lcode0: {dialect.instructions[0]}\n"]
    runs = draw(st.integers(1, 6))
    for run in range(1, runs + 1):
        lines.append(f".Ldata{run}:")
        for number in range(draw(st.integers(1, 8))):
            lines.append(draw(_datum(dialect, f".Lcode{run - 1}", f".Ldata{run}")))
            if draw(st.booleans()):
                lines.append(f".Lin{run}_{number}:")
        boundary = max(dialect.boundary, draw(st.sampled_from((1, 2, 4, 16))))
        lines.append(f".p2align {boundary.bit_length() - 1}\n.Lcode{run}:")
        for _ in range(draw(st.integers(1, 3))):
            lines.append(draw(st.sampled_from(dialect.instructions)).format(label=f".Lcode{run - 1}"))
    return dialect.before + ".globl _start\n" + "\n".join(lines) + "\n"


@st.composite
def _datum(draw: st.DrawFn, dialect: DataDialect, code: str, data: str) -> str:
    kind = draw(st.sampled_from(("numbers", "expressions", "distance", "pointer", "ascii", "space", "align")))
    match kind:
        case "numbers":
            name = draw(st.sampled_from(sorted(dialect.widths)))
            bits = 8 * dialect.widths[name]
            values = draw(st.lists(st.integers(-(1 << (bits - 1)), (1 << bits) - 1), min_size=1, max_size=3))
            return f"{name} {', '.join(draw(st.sampled_from((str, hex)))(value) for value in values)}"
        case "expressions":
            return f".8byte {', '.join(draw(st.lists(_expressions(), min_size=1, max_size=3)))}"
        case "distance":
            # clang 22 writes zero for a difference of 8 bytes on 32-bit Arm, without a word.
            most = 4 if ".arm" in dialect.before or ".thumb" in dialect.before else 8
            name = draw(st.sampled_from(sorted(name for name, width in dialect.widths.items() if width <= most)))
            return (
                f"{name} ({data} - {code}) / 2"
                if dialect.widths[name] == 1
                else f"{name} . - {code}, {code} - ., . - _start"
            )
        case "pointer":
            name = draw(
                st.sampled_from(
                    (".8byte",) if dialect.widths.get(".xword") or "intel" in dialect.before else (".4byte",)
                )
            )
            return f"{name} {draw(st.sampled_from((code, data, '_start', '_start + 2')))}"
        case "ascii":
            name = draw(st.sampled_from((".ascii", ".asciz", ".string")))
            text = draw(
                st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=7)
            )
            return f'{name} "{text}"'
        case "space":
            name = draw(st.sampled_from((".space", ".zero", ".skip")))
            fill = draw(st.sampled_from(("", ", 0", ", 0xff")))
            return f"{name} {draw(st.integers(0, 9))}{fill}"
    power = draw(st.integers(0, 4))
    template = draw(st.sampled_from(dialect.aligns))
    in_bytes = template.startswith(".align") and "intel" in dialect.before
    return template.format(power=1 << power if in_bytes else power, bytes=1 << power)


_ANY_SIZE = st.one_of(st.integers(0, (1 << 64) - 1), st.integers(-9, 9).map(lambda away: (1 << 63) + away))


@st.composite
def large_expressions(draw: st.DrawFn) -> str:
    """Numbers of up to 64 bits, in which operators leave no room."""
    text = str(draw(_ANY_SIZE))
    for _ in range(draw(st.integers(1, 4))):
        operator = draw(st.sampled_from(("+", "-", "*", "|", "^", "&", "/", "%", "<<", ">>")))
        right = draw(st.integers(0, 63) if operator in ("<<", ">>") else _ANY_SIZE)
        # Division by -1 of what is smallest is a trap in clang.
        right = 3 if operator in "/%" and right in (0, (1 << 64) - 1) else right
        sign = draw(st.sampled_from(("", "-", "~"))) if operator in "+-*|^&" else ""
        text = f"{draw(st.sampled_from(('', '-', '~')))}({text} {operator} {sign}{right})"
    return text


@st.composite
def _expressions(draw: st.DrawFn) -> str:
    """Operators without brackets, or with some: which one binds tighter is the assembler's affair."""
    text = str(draw(st.integers(-9, 9)))
    for _ in range(draw(st.integers(1, 4))):
        operator = draw(st.sampled_from(("+", "-", "*", "|", "^", "&", "/", "%", "<<", ">>")))
        value = draw(st.integers(1, 9))
        text += f" {operator} {draw(st.sampled_from(('', '-', '~'))) if operator in '+-*|^&' else ''}{value}"
        text = f"({text})" if draw(st.integers(0, 3)) == 0 else text
    return text
