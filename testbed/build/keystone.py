"""Code bytes from keystone, with every known defect of keystone 0.9.2 fenced in.

* It reads decimal numbers as hexadecimal or not, depending on uninitialised memory: it gets hexadecimal ones only.
* It crashes on sections: it gets labels, instructions, ``.space`` and ``.p2align`` only. Data is written by us.
* It crashes on some wrong operands: it runs in a process of its own (`call_keystone`).
* It is too old for some instructions: `KEYSTONE` has their bytes.
* It takes a branch to a literal address for a wrong one behind data: targets are labels, always.
* It assembles some operands to wrong code, silently: a program's bytes are compared with those that clang's assembler
  makes of the same source (`compare_with_clang`).

Where everything lies is read back from keystone itself: each statement gets a label, and a list of all labels'
values follows the code. A source with two instruction sets is assembled once for each, with room left for the other
one's statements, until no size changes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from capstone import Cs

from testbed.arch import Arch, Isa, PerIsa
from testbed.build.compile import assembled_text
from testbed.build.confined import SYSTEM, Confinement, start_confined
from testbed.build.directives import SPELLINGS
from testbed.build.expressions import Place
from testbed.build.statements import Align, Assembly, Data, Fill, Label, SourceInstruction, Statement
from testbed.image.disassembly import CAPSTONE
from testbed.words.errors import BuildError, ToolchainMissing

# Each instruction set in keystone 0.9.2: how it is asked for, and what keystone has not.


@dataclass(frozen=True, slots=True)
class KeystoneIsa:
    """``arch`` and ``mode`` are names of keystone's constants: the library is loaded in a process of its own.

    ``encodings`` are the bytes of instructions for which keystone is too old. ``padding`` is what clang fills alignment
    with, longest first; (): what keystone fills it with.
    """

    arch: str
    mode: str
    encodings: Mapping[str, bytes] = field(default_factory=dict)
    padding: tuple[bytes, ...] = ()


# Pointer authentication and branch targets, as hints that older cores pass over; then the returns that no hint is.
_HINTS = """
xpaclri 7, paciaz 24, paciasp 25, pacibz 26, pacibsp 27, autiaz 28, autiasp 29, autibz 30, autibsp 31,
bti 32, bti c 34, bti j 36, bti jc 38
"""
_ARM64_ENCODINGS = {
    name: (0xD503_201F | int(number) << 5).to_bytes(4, "little")
    for name, number in (hint.strip().rsplit(" ", 1) for hint in _HINTS.split(","))
} | {
    "retaa": bytes.fromhex("ff0b5fd6"),
    "retab": bytes.fromhex("ff0f5fd6"),
}

# The multi-byte no-operations that x86 processor manuals recommend, longest first.
_NOPS = """
662e0f1f840000000000 660f1f840000000000 0f1f840000000000 0f1f8000000000 660f1f440000 0f1f440000 0f1f4000 0f1f00 6690 90
"""

KEYSTONE = PerIsa[KeystoneIsa | None](
    {
        "x86_64": KeystoneIsa(
            "KS_ARCH_X86",
            "KS_MODE_64",
            encodings={"endbr64": bytes.fromhex("f30f1efa")},
            padding=tuple(map(bytes.fromhex, _NOPS.split())),
        ),
        "arm64": KeystoneIsa("KS_ARCH_ARM64", "KS_MODE_LITTLE_ENDIAN", encodings=_ARM64_ENCODINGS),
        "a32": KeystoneIsa("KS_ARCH_ARM", "KS_MODE_ARM"),
        "thumb": KeystoneIsa("KS_ARCH_ARM", "KS_MODE_THUMB"),
    }
)


def keystone_isa(isa: Isa) -> KeystoneIsa:
    """How keystone is asked for an instruction set. Raises BuildError where it has not that one."""
    known = KEYSTONE[isa.name]
    if known is None:
        raise BuildError(f"keystone does not assemble {isa.name}: {KEYSTONE.because[isa.name]}; take clang-asm")
    return known


# One call of keystone 0.9.2, in a process of its own.
#
# keystone does not only refuse what it cannot assemble: a misaligned branch target ends the whole process ("LLVM
# ERROR"), ``strd #8, [d0]`` is a segmentation fault, ``rep`` before a register never returns. A typing error in a
# source must not do that to a test run or a notebook. A child process costs 60 ms, once per build.

_CPU_SECONDS = 3  # an ordinary source takes 0.002
_MEMORY = 2 << 30  # bytes
_REFUSED = 3  # the child's exit status where keystone gave an error code

# Arguments: the folder with the keystone package, the names of keystone's architecture and mode, the address.
_CHILD = f"""
import sys
sys.path.insert(0, sys.argv[1])
import keystone
try:
    opened = keystone.Ks(*(getattr(keystone, name) for name in sys.argv[2:4]))
    code, _ = opened.asm(sys.stdin.read(), int(sys.argv[4]), as_bytes=True)
except keystone.KsError as error:
    print(error, end="", file=sys.stderr)
    sys.exit({_REFUSED})
sys.stdout.buffer.write(code or b"")
"""


def call_keystone(isa: KeystoneIsa, text: str, address: int) -> tuple[bytes, str]:
    """The bytes of ``text`` at ``address``, and "" or the reason for which there are none.

    Raises ToolchainMissing where the package is not installed.
    """
    spec = find_spec("keystone")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainMissing("keystone", "pip install keystone-engine==0.9.2")
    folder = Path(next(iter(spec.submodule_search_locations))).parent
    command = [sys.executable, "-I", "-S", "-c", _CHILD, str(folder), isa.arch, isa.mode, str(address)]
    python = (Path(sys.executable).resolve().parent, Path(sys.prefix), Path(sys.base_prefix))
    what = Confinement(_CPU_SECONDS, _MEMORY, 0, (*SYSTEM, *python, folder))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with start_confined(command, what, environment=os.environ, **pipes) as child:
        code, said = child.communicate(text.encode())
    printed = said.decode("utf-8", "replace").strip().splitlines()
    if child.returncode == _REFUSED:
        return b"", printed[-1] if printed else "refused"
    if child.returncode < 0:
        return b"", f"it died of {signal.Signals(-child.returncode).name}"
    if child.returncode:
        return b"", printed[-1] if printed else f"it ended with status {child.returncode}"
    return (code, "") if code else (b"", "nothing was assembled")


_MOST_ROUNDS = 10
_ALIGNED = 4096  # .p2align counts from where the code starts
_NUMBER = re.compile(r"(?<![\w.$])\d\w*")
_TOKEN = re.compile(r"[A-Za-z_.$][\w.$]*|(?<![\w.$])\d\w*")
_REFUSAL = re.compile(r".+?:\d+:\d+: error: (?P<why>.+)")
_WIDTH = re.compile(r"^(\S+)\.[wn]\b")  # of an encoding: it says nothing of what the instruction does
_RELATIVE = re.compile(r"\[(?:rip|pc)(?:, #| (?=[+-]))(?P<distance>-?|[+-] )(?P<number>0x[0-9a-f]+|\d+)\]")
_ADDRESS = re.compile(r"0x[0-9a-f]{3,}")


@dataclass(frozen=True, slots=True)
class AssembledCode:
    """What was assembled: the bytes from ``base`` on, and the address of each statement, in source order.

    Data is zero in ``content``: only the caller knows the values of its labels. ``labels`` are plain addresses.
    """

    base: int
    content: bytes
    addresses: tuple[int, ...]
    labels: Mapping[str, int]

    @property
    def end(self) -> int:
        return self.base + len(self.content)

    def resolver(self, at: int) -> Callable[[str], int | None]:
        """Values of names in the expressions of a statement at an address: ``.`` is that address."""
        return lambda name: at if name == "." else self.labels.get(name)


def assemble_code(statements: Sequence[Statement], arch: Arch, base: int) -> AssembledCode:
    """Assemble the statements of a source one after another from ``base`` on.

    Raises BuildError with file, line, column and keystone's reason.
    """
    if base % _ALIGNED:
        raise ValueError(f"{base:#x} is no multiple of {_ALIGNED}: .p2align would count from it")
    isas = _labels(statements)
    names = {s.name: f"zz_{i}" for i, s in enumerate(statements) if isinstance(s, Label)}
    texts = [_rewritten(s, arch, names, isas) if isinstance(s, SourceInstruction) else "" for s in statements]
    used = list(dict.fromkeys(s.isa for s in statements if isinstance(s, SourceInstruction | Align)))
    sizes = [_first_guess(statement) for statement in statements]
    for _ in range(_MOST_ROUNDS):
        found, pieces = list(sizes), [b""] * len(statements)
        for isa in used:
            code, positions = _assemble_one_isa(statements, texts, sizes, isa, arch, base)
            for i, statement in enumerate(statements):
                if isinstance(statement, SourceInstruction | Align) and statement.isa is isa:
                    found[i] = positions[i + 1] - positions[i]
                    pieces[i] = code[positions[i] - base :][: found[i]]
                    if isinstance(statement, Align) and keystone_isa(isa).padding:
                        pieces[i] = _padding(isa, found[i])
                elif isinstance(statement, Data | Fill):
                    pieces[i] = bytes(sizes[i])
        if found == sizes or len(used) == 1:
            labels = {s.name: positions[i] for i, s in enumerate(statements) if isinstance(s, Label)}
            return AssembledCode(base, b"".join(pieces), tuple(positions[:-1]), labels)
        sizes = found
    raise BuildError(f"{statements[0].place.path}: the addresses do not settle in {_MOST_ROUNDS} rounds")


def _padding(isa: Isa, size: int) -> bytes:
    """Alignment as clang fills it: keystone's older LLVM takes other no-operations of the same length."""
    content = b""
    while len(content) < size:
        content += next(nop for nop in keystone_isa(isa).padding if len(nop) <= size - len(content))
    return content


def _labels(statements: Sequence[Statement]) -> dict[str, Isa]:
    """The instruction set at each label."""
    labels: dict[str, Label] = {}
    for statement in statements:
        if isinstance(statement, Label):
            if statement.name in labels:
                first = labels[statement.name].place.line
                raise statement.place.error(f"{statement.name!r} is already defined in line {first}")
            labels[statement.name] = statement
    return {name: label.isa for name, label in labels.items()}


def _first_guess(statement: Statement) -> int:
    match statement:
        case SourceInstruction():
            return 4
        case Data(size=size, values=values):
            return size * len(values)
        case Fill(content=content):
            return len(content)
        case Align(boundary=boundary):
            return boundary - 1
        case _:
            return 0


def _assemble_one_isa(
    statements: Sequence[Statement], texts: Sequence[str], sizes: Sequence[int], isa: Isa, arch: Arch, base: int
) -> tuple[bytes, list[int]]:
    """The bytes with the statements of one instruction set assembled and room left for all others; the address of
    each statement, and of the end."""
    lines: list[str] = []
    owners: list[Statement] = []  # which statement each line is for
    for number, statement in enumerate(statements):
        lines.append(f"zz_{number}:")
        owners.append(statement)
        match statement:
            case SourceInstruction() if statement.isa is isa:
                lines.append(texts[number])
            case Align(boundary=boundary) if statement.isa is isa:
                lines.append(f".p2align {boundary.bit_length() - 1:#x}")
            case _ if sizes[number]:
                lines.append(f".space {sizes[number]:#x}")
            case _:
                continue
        owners.append(statement)
    directive = {4: ".long", 8: ".quad"}[arch.word]
    listed = [f"{directive} zz_{number}" for number in range(len(statements))]
    code = _keystone(isa, lines, listed, base, owners)
    size = len(code) - len(statements) * arch.word
    table = code[max(size, 0) :]
    addresses = [int.from_bytes(table[i : i + arch.word], "little") for i in range(0, len(table), arch.word)]
    # Plain addresses: keystone sets no Thumb bit, and data may lie at an odd address.
    positions = [*addresses, base + size]
    if size < 0 or positions[0] != base or positions != sorted(positions):
        raise statements[0].place.error("keystone did not say where its labels are")
    return code[:size], positions


def _keystone(isa: Isa, lines: Sequence[str], listed: Sequence[str], at: int, owners: Sequence[Statement]) -> bytes:
    code, reason = call_keystone(keystone_isa(isa), "\n".join((*lines, *listed)), at)
    if not reason:
        return code
    # keystone names no line: look for the shortest beginning that fails.
    works, fails = 0, len(lines)
    while fails - works > 1:
        middle = (works + fails) // 2
        if failed := _why_not(isa, lines, middle, at):
            fails, reason = middle, failed
        else:
            works = middle
    wrong = _culprit(isa, lines, fails, at)
    owner = owners[wrong]
    shown = f"{owner.mnemonic} {owner.operands}" if isinstance(owner, SourceInstruction) else lines[wrong]
    raise owner.place.error(f"keystone: {reason}: {shown.rstrip()}")


def _why_not(isa: Isa, lines: Sequence[str], count: int, at: int) -> str:
    """Why the first lines do not assemble, or "". They get the labels that they lack, and a byte (none is an error)."""
    missing = (line for line in lines[count:] if line.endswith(":"))
    return call_keystone(keystone_isa(isa), "\n".join((*lines[:count], *missing, ".space 0x1")), at)[1]


def _culprit(isa: Isa, lines: Sequence[str], count: int, at: int) -> int:
    """The line to blame where the first ``count`` do not assemble: the last one, unless that is only what moved a
    label out of the reach of a branch before it."""
    if not lines[count - 1].startswith("."):
        return count - 1
    for number in range(count - 1):
        without = [".space 0x4" if i == number else line for i, line in enumerate(lines)]
        if " " in lines[number] and "zz_" in lines[number] and not _why_not(isa, without, count, at):
            return number
    return count - 1


def _rewritten(instruction: SourceInstruction, arch: Arch, names: Mapping[str, str], isas: Mapping[str, Isa]) -> str:
    """The instruction as keystone gets it: numbers in hexadecimal, labels under names that it cannot mistake."""
    place, mnemonic = instruction.place, instruction.mnemonic
    given = keystone_isa(instruction.isa).encodings.get(f"{mnemonic} {instruction.operands}".strip().lower())
    if given is not None:
        return ".byte " + ", ".join(f"{byte:#x}" for byte in given)
    target = instruction.operands.strip()
    if target in isas:
        mnemonic = interworking(instruction, isas[target])

    def replaced(match: re.Match[str]) -> str:
        token = match[0]
        if _NUMBER.fullmatch(token):
            return f"{number(place, token):#x}"
        if token.lower() in arch.by_name or token.lower() in SPELLINGS[arch.name]:
            return token
        return names.get(token, token)

    return f"{mnemonic} {_TOKEN.sub(replaced, instruction.operands)}".rstrip()


def interworking(instruction: SourceInstruction, target: Isa) -> str:
    """The mnemonic of a jump to a label of instruction set ``target``: what a linker makes of it.

    ``bl`` to the other instruction set becomes ``blx`` and the other way round (ELF for the Arm Architecture,
    section 5.6.1.3); no other jump can change the instruction set.
    """
    mnemonic = instruction.mnemonic.lower()
    if mnemonic in ("bl", "blx"):
        return "bl" if target is instruction.isa else "blx"
    if target is not instruction.isa:
        raise instruction.place.error(f"{mnemonic} cannot jump to {target.name} code: only bl and blx can")
    return instruction.mnemonic


def number(place: Place, text: str) -> int:
    """An integer literal: decimal, 0x or 0b."""
    try:
        return int(text, 0)
    except ValueError:
        raise place.error(f"{text!r} is no number") from None


@dataclass(frozen=True, slots=True)
class _Layout:
    """A program's bytes as one assembler makes them; ``starts`` are the addresses of each statement and of the end."""

    content: bytes
    starts: tuple[int, ...]

    def bytes_of(self, number: int) -> bytes:
        base = self.starts[0]
        return self.content[self.starts[number] - base : self.starts[number + 1] - base]

    def place(self, address: int) -> str:
        """An address as a place in the source, which is the same in both layouts."""
        if not self.starts[0] <= address <= self.starts[-1]:
            return hex(address)
        number = bisect_right(self.starts, address) - 1
        return f"<{number}+{address - self.starts[number]}>"


def compare_with_clang(assembly: Assembly, code: AssembledCode, content: bytes, arch: Arch, isa: Isa) -> None:
    """Compare a program's bytes with those that clang's assembler makes of the same source.

    Where they are not equal, both are disassembled: some instructions have several encodings. Raises BuildError with
    the first line of which the two make something else, and both readings.
    """
    ours = _Layout(content, (*code.addresses, code.end))
    try:
        clangs = assembled_text(assembly.source, arch, isa)
    except ToolchainMissing:
        raise
    except BuildError as error:
        raise _refused(error, assembly, ours) from error
    if clangs == content:
        return
    theirs = _Layout(clangs, _clangs_starts(assembly.statements, ours, clangs))
    for number, statement in enumerate(assembly.statements):
        if isinstance(statement, SourceInstruction):
            if _meaning(statement.isa, ours, number) != _meaning(statement.isa, theirs, number):
                reading = _reading(statement.isa, theirs, number)
                raise _wrong(
                    statement, ours, number, f"clang as {reading!r}; take the recipe clang-asm, or spell it so"
                )
        elif ours.starts == theirs.starts and ours.bytes_of(number) != theirs.bytes_of(number):
            shown = f"{ours.bytes_of(number).hex()} here, and {theirs.bytes_of(number).hex()} to clang"
            raise statement.place.error(f"this line is {shown}; take the recipe clang-asm")


def _clangs_starts(statements: Sequence[Statement], ours: _Layout, clangs: bytes) -> tuple[int, ...]:
    """Where each statement lies in clang's bytes: an instruction may have another size there."""
    starts = [ours.starts[0]]
    for number, statement in enumerate(statements):
        at, size = starts[-1], len(ours.bytes_of(number))
        if isinstance(statement, Align):
            size = -at % statement.boundary
        elif isinstance(statement, SourceInstruction):
            rest = clangs[at - starts[0] :]
            size = next((read[1] for read in Cs(*CAPSTONE[statement.isa.name]).disasm_lite(rest, at, 1)), size)
        starts.append(at + size)
    return tuple(starts)


def _refused(error: BuildError, assembly: Assembly, ours: _Layout) -> BuildError:
    """The error for a source that clang's assembler does not take, with what keystone made of that line."""
    match = _REFUSAL.match(error.detail)
    for number, statement in enumerate(assembly.statements if match else ()):
        place = statement.place
        if match and isinstance(statement, SourceInstruction) and match[0].startswith(f"{place.path}:{place.line}:"):
            return _wrong(statement, ours, number, f"clang refuses it: {match['why']}; both have to take it")
    return error


def _wrong(statement: SourceInstruction, ours: _Layout, number: int, rest: str) -> BuildError:
    written = f"{statement.mnemonic} {statement.operands}".rstrip()
    return statement.place.error(f"keystone assembled {written!r} as {_reading(statement.isa, ours, number)!r}, {rest}")


def _reading(isa: Isa, layout: _Layout, number: int) -> str:
    read = Cs(*CAPSTONE[isa.name]).disasm_lite(layout.bytes_of(number), layout.starts[number])
    return "; ".join(f"{name} {operands}".rstrip() for _, _, name, operands in read) or "no instruction"


def _meaning(isa: Isa, layout: _Layout, number: int) -> str:
    """A reading without what depends on the layout: addresses are places in the source, distances from pc too."""
    end = layout.starts[number + 1]
    pc = end if isa.pc_reads_ahead is None else (layout.starts[number] + isa.pc_reads_ahead) & ~3
    text = _WIDTH.sub(r"\1", _reading(isa, layout, number))
    text = _RELATIVE.sub(lambda m: f"[{pc + int((m['distance'] + m['number']).replace(' ', ''), 0):#x}]", text)
    return _ADDRESS.sub(lambda m: layout.place(int(m[0], 16)), text)
