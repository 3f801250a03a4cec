"""An assembly source to an ELF file, without any toolchain: code by keystone, tables and file by our own writers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from testbed.arch import Arch, Isa
from testbed.build import directives as d
from testbed.build.assembly import read_assembly
from testbed.build.directives import INSTRUCTION_BOUNDARY
from testbed.build.expressions import Expression, Place
from testbed.build.keystone import AssembledCode, assemble_code, compare_with_clang
from testbed.build.statements import (
    Assembly,
    Cfi,
    Data,
    Ehabi,
    Fill,
    Label,
    MarkGlobal,
    MarkSize,
    MarkType,
    SourceInstruction,
)
from testbed.build.tables import orc
from testbed.build.tables.cfi_program import Procedure
from testbed.build.tables.eh_frame import (
    EhFrame,
    write_debug_frame,
    write_eh_frame,
    write_eh_frame_hdr,
)
from testbed.build.tables.ehabi import HandledFunction, write_exception_tables
from testbed.build.tables.elf import ElfSymbol, table_addresses, write_elf
from testbed.build.tables.sframe import ABIS, write_sframe
from testbed.build.targets import TEXT_BASE, ZEROED_BASE
from testbed.image import Image
from testbed.program.model import Source
from testbed.words.errors import BuildError

# The functions that an assembly source describes to unwinders: what stands between a directive and its end.


def procedures_of(assembly: Assembly, code: AssembledCode) -> Iterator[Procedure]:
    """What stands between each ``.cfi_startproc`` and its ``.cfi_endproc``."""
    now: Procedure | None = None
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if not isinstance(statement, Cfi):
            continue
        place, directive = statement.place, statement.directive
        if directive.name == "startproc":
            if now is not None:
                raise place.error(f".cfi_startproc inside the one of line {now.place.line}")
            now = Procedure(place, at, at, (), simple=bool(directive.operands))
            continue
        if now is None:
            raise place.error("a .cfi directive outside .cfi_startproc and .cfi_endproc")
        match directive:
            case d.CfiDirective("endproc"):
                yield replace(now, end=at)
                now = None
            case d.CfiDirective("signal_frame"):
                now = replace(now, signal_frame=True)
            case d.CfiDirective("b_key_frame"):
                now = replace(now, b_key=True)
            case d.CfiDirective("return_column", (register,)):
                now = replace(now, return_column=register)
            case _:
                now = replace(now, rules=(*now.rules, (at, place, directive)))
    if now is not None:
        raise now.place.error(".cfi_startproc without .cfi_endproc")


def handled_of(assembly: Assembly, code: AssembledCode) -> Iterator[HandledFunction]:
    """What stands between each ``.fnstart`` and its ``.fnend``."""
    now: HandledFunction | None = None
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if not isinstance(statement, Ehabi):
            continue
        place, directive = statement.place, statement.directive
        if isinstance(directive, d.FnStart):
            if now is not None:
                raise place.error(f".fnstart inside the one of line {now.place.line}")
            now = HandledFunction(place, at)
            continue
        if now is None:
            raise place.error("an unwinding directive outside .fnstart and .fnend")
        if isinstance(directive, d.FnEnd):
            _check_handled(now)
            yield now
            now = None
        else:
            now = _extended(now, place, directive, code.resolver(at))
    if now is not None:
        raise now.place.error(".fnstart without .fnend")


def _extended(
    function: HandledFunction, place: Place, directive: d.EhabiDirective, resolve: Callable[[str], int | None]
) -> HandledFunction:
    match directive:
        case d.CantUnwind():
            return replace(function, cant_unwind=True)
        case d.Personality(symbol):
            return replace(function, personality=_word(symbol, resolve))
        case d.PersonalityIndex(index):
            return replace(function, model=index)
        case d.HandlerData(words):
            return replace(function, handler_data=tuple(_word(word, resolve) for word in words))
        case d.Save() | d.VSave() | d.SetFp() | d.Pad() | d.MovSp() | d.UnwindRaw():
            return replace(function, rules=(*function.rules, (place, directive)))
        case _:
            raise place.error("this directive cannot stand here")


def _word(expression: Expression, resolve: Callable[[str], int | None]) -> int:
    value = expression.value(resolve)
    if not -(1 << 31) <= value < 1 << 32:
        raise expression.place.error(f"{expression.text!r} is {value:#x}: that does not fit a word of 4 bytes")
    return value & 0xFFFF_FFFF


def _check_handled(function: HandledFunction) -> None:
    if function.personality is not None and function.model is not None:
        raise function.place.error("both .personality and .personalityindex")
    if function.cant_unwind and (function.personality is not None or function.handler_data is not None):
        raise function.place.error(".cantunwind with a personality or handler data")


_MOVED = 1 << 48  # added to every label, beyond all of them: a sum in which one address counts moves by as much


def assemble_program(source: Source, arch: Arch, isa: Isa) -> bytes:
    """The bytes of a static ELF executable. Raises BuildError with file, line and column."""
    assembly = read_assembly(source, arch, isa)
    if not any(isinstance(statement, SourceInstruction) for statement in assembly.statements):
        raise BuildError(f"{source.path}: there is no instruction in it")
    code = assemble_code(assembly.statements, arch, TEXT_BASE)
    _check_boundaries(assembly, code)
    # Only words name what is in .bss, so keystone need not know it.
    zeroed = {name: ZEROED_BASE + offset for name, offset in assembly.zeroed.items()}
    code = replace(code, labels={**code.labels, **zeroed})
    symbols = _symbols(assembly, code)
    content = _with_data(assembly, code, symbols)
    procedures = tuple(procedures_of(assembly, code))
    handled = tuple(handled_of(assembly, code))
    tables = _tables(assembly, code, arch, procedures, handled)
    debug_frame = write_debug_frame(procedures, arch) if ".debug_frame" in assembly.cfi_sections else b""
    entry = symbols.get(source.header.entry)
    if entry is None:
        raise BuildError(f"{source.path}: there is no label {source.header.entry!r}, where the program starts")
    compare_with_clang(assembly, code, content, arch, isa)
    named = [symbol for symbol in symbols.values() if not symbol.name.startswith(".L")]
    return write_elf(
        arch, content, tables, debug_frame, [*_mapping(assembly, code), *named], entry.value, assembly.zeroed_size
    )


def _check_boundaries(assembly: Assembly, code: AssembledCode) -> None:
    """Raises BuildError for an instruction where none can be executed."""
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if isinstance(statement, SourceInstruction) and at % INSTRUCTION_BOUNDARY[statement.isa.name]:
            boundary = INSTRUCTION_BOUNDARY[statement.isa.name]
            raise statement.place.error(
                f"an instruction at {at:#x}, no multiple of {boundary}: .balign {boundary} is needed behind the data"
            )


def _symbols(assembly: Assembly, code: AssembledCode) -> dict[str, ElfSymbol]:
    """Every label as a symbol, with what the directives say of it."""
    symbols: dict[str, ElfSymbol] = {}
    isas: dict[str, Isa] = {}
    for statement in assembly.statements:
        if isinstance(statement, Label):
            symbols[statement.name] = ElfSymbol(
                statement.name, code.labels[statement.name], is_function=statement.thumb_function
            )
            isas[statement.name] = statement.isa
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if not isinstance(statement, MarkGlobal | MarkType | MarkSize):
            continue
        symbol = symbols.get(statement.name)
        if symbol is None:
            raise statement.place.error(f"{statement.name!r} is not defined in this file")
        match statement:
            case MarkGlobal():
                symbol = replace(symbol, is_global=True)
            case MarkType(is_function=is_function):
                symbol = replace(symbol, is_function=symbol.is_function or is_function, is_object=not is_function)
            case MarkSize(size=size):
                symbol = replace(symbol, size=size.value(code.resolver(at)))
        symbols[statement.name] = symbol
    return {
        name: replace(symbol, value=symbol.value | isas[name].address_bit) if symbol.is_function else symbol
        for name, symbol in symbols.items()
    }


def _with_data(assembly: Assembly, code: AssembledCode, symbols: Mapping[str, ElfSymbol]) -> bytes:
    """The code with its data filled in. A lone function name is a code pointer: it has the Thumb bit."""
    content = bytearray(code.content)
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if isinstance(statement, Data):
            places = range(at, at + statement.size * len(statement.values), statement.size)  # "." is each value's own
            encoded = b"".join(
                _encoded(value, statement.size, code, place, symbols)
                for value, place in zip(statement.values, places, strict=True)
            )
        elif isinstance(statement, Fill):
            encoded = statement.content
        else:
            continue
        content[at - code.base : at - code.base + len(encoded)] = encoded
    return bytes(content)


def _encoded(
    expression: Expression, size: int, code: AssembledCode, at: int, symbols: Mapping[str, ElfSymbol]
) -> bytes:
    value = _pointer(expression, code, at, symbols)
    if not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
        raise expression.place.error(f"{expression.text!r} is {value:#x}: that does not fit {size} bytes")
    return (value % (1 << (8 * size))).to_bytes(size, "little")


def _pointer(expression: Expression, code: AssembledCode, at: int, symbols: Mapping[str, ElfSymbol]) -> int:
    """The value, with the Thumb bit where it is the address of a Thumb function: ``f``, ``f + 2``.

    ``(S + A) | T``, R_ARM_ABS32 of ELF for the Arm Architecture, section 5.6.1. A distance has none.
    """
    resolve, names = code.resolver(at), set[str]()

    def moved(name: str) -> int | None:
        names.add(name)
        address = resolve(name)
        return None if address is None else address + _MOVED

    is_address = expression.value(moved) - expression.value(resolve) == _MOVED
    bits = [symbols[name].value & ~code.labels[name] for name in names if name in symbols and is_address]
    if any(bits) and len(names) > 1:
        raise expression.place.error(f"{expression.text!r}: an address and a distance: a label for each is needed")
    return expression.value(resolve) | sum(bits)


def _mapping(assembly: Assembly, code: AssembledCode) -> Iterator[ElfSymbol]:
    """Mapping symbols ($a, $t, $x for code, $d for data) wherever the kind of content changes."""
    if not any(s.isa.mapping_symbol for s in assembly.statements if isinstance(s, SourceInstruction)):
        return
    now = ""
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        match statement:
            case SourceInstruction(isa=isa):
                kind = isa.mapping_symbol
            case Data():
                kind = "$d"
            case Fill(content=content) if content:
                kind = "$d"
            case _:
                continue
        if kind != now:
            yield ElfSymbol(kind, at)
        now = kind


def _exchange(frame: EhFrame, assembly: Assembly, code: AssembledCode) -> EhFrame:
    """The entries as the search table is to name them: two of them the wrong way round, if the header says so."""
    names = assembly.source.header.exchanged
    if not names:
        return frame
    if missing := [name for name in names if name not in code.labels]:
        raise BuildError(f"{assembly.source.path}: exchanged: there is no label {missing[0]!r}")
    first, second = (code.labels[name] for name in names)
    at = dict(frame.entries)
    if not {first, second} <= at.keys():
        raise BuildError(f"{assembly.source.path}: exchanged: no table entry begins at {' or '.join(names)}")
    at[first], at[second] = at[second], at[first]
    return replace(frame, entries=tuple(at.items()))


def _tables(
    assembly: Assembly,
    code: AssembledCode,
    arch: Arch,
    procedures: tuple[Procedure, ...],
    handled: tuple[HandledFunction, ...],
) -> dict[str, bytes]:
    """The tables by section. What a table says depends on where it lies, how long it is does not."""

    def placed(at: Mapping[str, int]) -> dict[str, bytes]:
        tables: dict[str, bytes] = {}
        if procedures and ".eh_frame" in assembly.cfi_sections:
            frame = _exchange(write_eh_frame(procedures, arch, at[".eh_frame"]), assembly, code)
            tables[".eh_frame_hdr"] = write_eh_frame_hdr(frame, at[".eh_frame"], at[".eh_frame_hdr"])
            tables[".eh_frame"] = frame.content
            if ABIS[arch.name] is not None:
                tables[".sframe"] = write_sframe(procedures, arch, at[".sframe"])
            if orc.REGISTERS[arch.name] is not None:
                tables |= zip(orc.SECTIONS, orc.write_orc(procedures, arch, at[orc.SECTIONS[0]]), strict=True)
        if handled:
            written = write_exception_tables(handled, code.end, at[".ARM.exidx"], at.get(".ARM.extab", code.end))
            tables[".ARM.exidx"] = written.index
            if written.table:
                tables[".ARM.extab"] = written.table
        return tables

    drafts = placed(defaultdict(lambda: code.end))
    return placed(table_addresses(len(code.content), [(name, len(content)) for name, content in drafts.items()]))


# Which line of an assembly source each instruction was made from, where the file itself does not say it.


def source_lines(source: Source, arch: Arch, isa: Isa, image: Image) -> Mapping[int, Place]:
    """The place of each instruction of a hand-written source, by its link-time address in the image built from it.

    It is assembled once more, by our own reader; every assembler puts the same bytes into `.text`. Empty where that is
    not so. Raises BuildError where our reader does not understand the source.
    """
    text = image.sections.get(".text")
    if text is None:
        return {}
    assembly = read_assembly(source, arch, isa)
    code = assemble_code(assembly.statements, arch, 0)
    if len(code.content) != len(text.data):
        return {}
    return {
        text.address + at: statement.place
        for statement, at in zip(assembly.statements, code.addresses, strict=True)
        if isinstance(statement, SourceInstruction)
    }
