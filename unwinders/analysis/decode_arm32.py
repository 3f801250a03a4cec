"""A32 and T32 instructions as operations of the frame. Source: Arm Architecture Reference Manual, ARMv7-A; decoded by
capstone.

Whatever has no line of its own forgets the registers that it writes and the memory operands that it writes to. The
code in a link register is a way back: ``bx lr`` and ``pop {pc}`` return, other writes to pc jump.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from capstone import arm

from testbed.arch import Isa
from unwinders.analysis.abstract_machine import ReadCode
from unwinders.analysis.arm32_accesses import (
    FULL,
    LINK,
    PC,
    SP,
    WORD,
    Moved,
    base_and_distance,
    full_register,
    memory_operand,
    register_names,
    stored_size,
    written_back,
)
from unwinders.analysis.operations import (
    Call,
    Combine,
    Condition,
    Control,
    Effect,
    Forget,
    Instruction,
    Jump,
    Load,
    MemoryOperand,
    Return,
    Set,
    SetBits,
    SetNumber,
    Store,
    SystemCall,
    Trap,
)

# Data between A32 and T32 instructions: constants that are loaded relative to pc, and tables of a table branch.

MOST_CASES = 4096  # of a jump table inside the code


def literal_of(insn: Any, isa: Isa) -> tuple[int, int] | None:
    """What is loaded relative to pc: compilers keep constants between functions, and in the middle of large ones."""
    memory = next((o for o in insn.operands if o.type == arm.ARM_OP_MEM), None)
    at = memory_operand(insn, memory) if memory is not None else None
    if at is None or at.register != PC or insn.writeback:
        return None
    start = (insn.address & ~3) + (isa.pc_reads_ahead or 0) + at.offset
    loaded = register_names(insn, insn.operands[: insn.operands.index(memory)])
    return start, start + sum(8 if name[0] == "d" else WORD for name in loaded)


def table_of_branch(insn: Any, width: int, read_code: ReadCode) -> Jump:
    """The cases of a table branch, in order: halved distances from behind it, up to where the first case begins."""
    base = insn.address + insn.size
    targets: list[int] = []
    end = None
    for i in range(MOST_CASES):
        here = base + i * width
        distance = read_code(here, width) if end is None or here < end else None
        if distance is None or base + 2 * distance < here + width:
            break
        targets.append(base + 2 * distance)
        end = min(targets)
    index = FULL.get(insn.reg_name(insn.operands[0].mem.index) or "", (None,))[0]
    return Jump(tuple(targets), table=(base, base + len(targets) * width) if targets else None, index=index)


_CONDITION_NAMES = "eq ne hs lo mi pl vs vc hi ls ge lt gt le"
_CONDITIONS = dict(enumerate(_CONDITION_NAMES.split(), start=1))  # capstone's numbers
_IF_EQUAL = {1: True, 2: False}
_IF_ABOVE = {9: True, 10: False}
_COMPARE = frozenset({"cmp", "cmn", "tst", "teq", "vmrs", "msr"})
_READS_FIRST = re.compile(
    r"v?st|push|vpush|v?cmp|cmn|t[se][tq]|b|cbn?z|tb[bh]|mcr|pl[di]|vmsr|msr|fmxr|setend|cps|svc|rfe|srs|it"
)
_WRITES_ALL = re.compile(r"ldrexd|mrrc|ldrd|[us](?:mull|mlal|maal)|vld|swp")


def decode(insn: Any, isa: Isa, read_code: ReadCode) -> Instruction:
    """One instruction that capstone has decoded."""
    root, code = _root(insn)
    special = _SPECIAL.get(root)
    operations = special(insn, isa, root) if special else None
    if operations is None:
        operations = tuple(_generic(insn, isa))
    operations = tuple(o for o in operations if isinstance(o, Store) or o.to != PC)
    control = _control(insn, root, read_code)
    condition = None
    if code is not None and not root.startswith("it"):
        under = Condition(code, ((code - 1) ^ 1) + 1)
        if root == "b":
            if isinstance(control, Jump):
                equal, above = _IF_EQUAL.get(code), _IF_ABOVE.get(code)
                control = replace(control, conditional=True, if_equal=equal, if_above=above, when=under)
        else:
            condition = under
    flags = bool(insn.update_flags) or root in _COMPARE
    compares = _compares(insn) if root == "cmp" and condition is None else None
    literal = literal_of(insn, isa)
    return Instruction(insn.address, insn.size, operations, control, condition, flags, root == "nop", compares, literal)


def _compares(insn: Any) -> tuple[str, str | int] | None:
    left, right = (full_register(insn, operand) for operand in insn.operands[:2])
    if left and insn.operands[1].type == arm.ARM_OP_IMM:
        return left, insn.operands[1].imm
    return (left, right) if left and right else None


def _root(insn: Any) -> tuple[str, int | None]:
    """The mnemonic without width, type and condition; and the condition."""
    root = insn.mnemonic.partition(".")[0]
    name = _CONDITIONS.get(insn.cc)
    if name is None:
        return root, None
    return root.removesuffix(name), insn.cc


def _control(insn: Any, root: str, read_code: ReadCode) -> Control | None:
    operands = insn.operands
    target = operands[-1].imm if operands and operands[-1].type == arm.ARM_OP_IMM else None
    match root:
        case "b":
            return Jump((target,)) if target is not None else Jump()
        case "bl" | "blx":
            return Call(target)
        case "svc":
            return SystemCall()
        case "cbz" | "cbnz":
            return Jump((operands[-1].imm,), conditional=True)
        case "bx" | "bxj":
            return _to_register(insn, operands[0])
        case "tbb" | "tbh":
            return table_of_branch(insn, 1 if root == "tbb" else 2, read_code)
        case "udf" | "bkpt" | "hlt" | "trap":
            return Trap()
        case "pop" | "ldm" | "ldmia" | "ldmdb" | "ldmib" | "ldmda" | "ldr" | "mov" | "movs":
            return _into_pc(insn, root)
    if operands and operands[0].type == arm.ARM_OP_REG and insn.reg_name(operands[0].reg) == PC:
        return Jump() if root not in _COMPARE else None
    return None


def _into_pc(insn: Any, root: str) -> Control | None:
    operands = insn.operands
    if PC not in register_names(insn, operands if root in ("pop",) or root.startswith("ldm") else operands[:1]):
        return None
    if root.startswith("mov"):
        return _to_register(insn, operands[1])
    if root == "ldr":
        at = memory_operand(insn, operands[1])
        return Return() if at is not None and at.register == SP and insn.writeback else Jump(pointer=at is not None)
    return Return()


def _to_register(insn: Any, operand: Any) -> Control:
    name = full_register(insn, operand)
    return Return() if name == LINK else Jump(via=name)


def _generic(insn: Any, isa: Isa) -> Iterator[Effect]:
    memory = next((o for o in insn.operands if o.type == arm.ARM_OP_MEM), None)
    root = _root(insn)[0]
    size = stored_size(insn, isa, root) if memory is not None else 0
    if size and (at := base_and_distance(insn, isa, memory)):
        yield Store(None, at, size)
    moved: tuple[Moved, ...] = written_back(insn, isa, memory) if memory is not None else ()
    names = {insn.reg_name(number) for number in insn.regs_access()[1]}
    names |= {insn.reg_name(o.reg) for o in insn.operands if o.type == arm.ARM_OP_REG and o.access & 2}
    if not _READS_FIRST.match(root):  # of many an instruction capstone 5 does not say that it writes to its first one
        names |= {*register_names(insn, insn.operands)[:1]}
    if _WRITES_ALL.match(root):
        names |= {*register_names(insn, insn.operands)}
    written = {full for name in names for full in FULL.get(name or "", ())}
    if memory is not None and not size:  # loaded and written back: what comes last is not defined
        names = {*register_names(insn, insn.operands[: insn.operands.index(memory)])}
        moved = tuple(Forget(o.to) if any(o.to in FULL.get(name, ()) for name in names) else o for o in moved)
    yield from (Forget(name) for name in sorted(written - {o.to for o in moved}))
    yield from moved


SpecialArm32 = Callable[[Any, Isa, str], "tuple[Effect, ...] | None"]  # None: as any other instruction


def _many(insn: Any, isa: Isa, root: str) -> tuple[Effect, ...] | None:
    """push, pop, ldm, stm, and their floating-point forms: registers to or from consecutive words."""
    operands = insn.operands
    implied = root in ("push", "pop", "vpush", "vpop")
    base, listed = (SP, operands) if implied else (full_register(insn, operands[0]), operands[1:])
    if base is None:
        return None
    names = register_names(insn, listed)
    sizes = [8 if name[0] == "d" else WORD for name in names]
    total = sum(sizes) + (WORD if root.endswith("x") else 0)  # fstmx and fldmx pass over a word behind the registers
    down = root in ("push", "vpush") or root.endswith(("db", "da", "dbx"))
    start = -total if down else 0
    start += WORD if root.endswith(("ib", "da")) else 0
    load = root in ("pop", "vpop") or root.startswith(("ldm", "vldm", "fldm"))
    out: list[Effect] = []
    last: list[Effect] = []  # a load over the base register
    for name, size in zip(names, sizes, strict=True):
        full, at = FULL.get(name, ()), MemoryOperand(base, start)
        start += size
        whole = len(full) == 1 and (name[0] != "s" or name in (SP, "sb", "sl"))
        if not load:
            out.append(Store(full[0] if whole else None, at, size))
        elif whole:
            (last if full[0] == base else out).append(Load(full[0], at, size))
        else:
            out.extend(Forget(one) for one in full)
    if last:
        return (*out, *last) if not insn.writeback else (*out, Forget(base))
    if implied or insn.writeback:
        out.append(Set(base, base, -total if down else total))
    return tuple(out)


def _access(insn: Any, isa: Isa, root: str) -> tuple[Effect, ...] | None:
    """ldr, ldrd, str, strd, vldr, vstr."""
    memory = next((o for o in insn.operands if o.type == arm.ARM_OP_MEM), None)
    if memory is None:
        return None
    at = memory_operand(insn, memory)
    if at is not None and at.register == PC:
        at = MemoryOperand(PC, (insn.address & ~3) + (isa.pc_reads_ahead or 0) + at.offset)
    first, store = insn.operands.index(memory), root.startswith(("str", "vstr"))
    out: list[Effect] = []
    last: list[Effect] = []
    offset = 0
    for name in register_names(insn, insn.operands[:first]):
        full = FULL.get(name, ())
        size = 8 if name[0] == "d" else WORD
        whole = len(full) == 1 and (name[0] != "s" or name in (SP, "sb", "sl"))
        here = MemoryOperand(at.register, at.offset + offset) if at else None
        offset += size
        if store:
            out.extend([Store(full[0] if whole else None, here, size)] if here else [])
        elif whole and here:
            (last if full[0] == here.register else out).append(Load(full[0], here, size))
        else:
            out.extend(Forget(one) for one in full)
    moved = written_back(insn, isa, memory)
    if last and moved:  # not defined
        return (*out, Forget(moved[0].to))
    return (*out, *last, *moved)


def _mov(insn: Any, isa: Isa, root: str) -> tuple[Effect, ...] | None:
    to, source = full_register(insn, insn.operands[0]), insn.operands[1]
    if to is None or len(insn.operands) != 2:
        return None
    if source.type == arm.ARM_OP_IMM:
        return (SetNumber(to, ~source.imm if root.startswith("mvn") else source.imm),)
    other = full_register(insn, source)
    if other is None or root.startswith("mvn"):
        return None
    return (SetNumber(to, insn.address + (isa.pc_reads_ahead or 0)),) if other == PC else (Set(to, other),)


def _movt(insn: Any, isa: Isa, root: str) -> tuple[Effect, ...] | None:
    to = full_register(insn, insn.operands[0])
    return (SetBits(to, insn.operands[1].imm, 16, 16),) if to else None


def _add(insn: Any, isa: Isa, root: str) -> tuple[Effect, ...] | None:
    operands = list(insn.operands)
    if len(operands) == 2:
        operands.insert(1, operands[0])
    if len(operands) != 3:
        return None
    to, left, right = full_register(insn, operands[0]), full_register(insn, operands[1]), operands[2]
    sign = 1 if root.startswith("add") else -1
    if to is None or left is None or left == PC:
        return None
    if right.type == arm.ARM_OP_IMM:
        return (Set(to, left, sign * right.imm),)
    other = full_register(insn, right)
    return (Combine(to, left, other, sign),) if other and other != PC else None


def _nothing(insn: Any, isa: Isa, root: str) -> tuple[Effect, ...] | None:
    return ()


_SPECIAL: Mapping[str, SpecialArm32] = MappingProxyType(
    dict.fromkeys(
        [f"{v}{o}m{how}" for v in ("", "v") for o in ("ld", "st") for how in ("", "ia", "db", "ib", "da")], _many
    )
    | dict.fromkeys(("push", "pop", "vpush", "vpop", "fstmiax", "fstmdbx", "fldmiax", "fldmdbx"), _many)
    | dict.fromkeys(("ldr", "str", "ldrd", "strd", "vldr", "vstr"), _access)
    | dict.fromkeys(("mov", "movs", "movw", "mvn", "mvns"), _mov)
    | dict.fromkeys(("add", "adds", "addw", "sub", "subs", "subw"), _add)
    | dict.fromkeys(("nop", "svc", "b", "bl", "blx", "bx", "it", "cbz", "cbnz", "tbb", "tbh"), _nothing)
    | {"movt": _movt}
)
