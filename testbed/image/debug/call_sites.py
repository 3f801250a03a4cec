"""Call sites: where a function calls, what, and whether it comes back.

``return_pc`` is the address after an ordinary call; ``pc`` that of the call instruction itself, as tail calls have it.
The older GNU form has one address, the one after the call, for both.

A call through a pointer may say in DW_AT_call_target how its callee is computed. That is evaluated where it needs no
register and no memory that changes: an address, or a word of a segment that nobody writes. Any other such call has no
known target, as in gdb, which searches chains without a frame's registers; nor has one that says its target is
clobbered.

Source: DWARF 5, section 3.4.1; the GNU extension of DWARF 4 (https://www.dwarfstd.org/issues/100909.2.html).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.image.debug.cursor import Cursor, account_of
from testbed.image.debug.dwarf_numbers import Attribute, Form, Tag
from testbed.image.debug.entries import DebugEntry
from testbed.image.debug.forms import AttributeValue
from testbed.image.model import Image


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The callee that a call site names: by its code's address where the entry has one, else by name.

    ``origins`` are the offsets of the entry and of what it is an instance of. ``declared``: the entry is a declaration
    only, and the function itself is in another unit, found by name.
    """

    name: str
    address: int | None
    origins: tuple[int, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call. ``target`` None: through a pointer whose value is not known. ``tail``: it jumps, and the callee returns
    for the caller.

    ``return_pc`` is the address after the instruction, of a tail call too where the producer says it.
    """

    return_pc: int | None
    pc: int | None
    target: CallTarget | None
    tail: bool


def call_site(entry: DebugEntry, target: Callable[[int], CallTarget | None]) -> CallSite:
    """A call site's entry as a value; ``target`` finds the callee from the offset of its entry."""
    code = entry.unit.image.arch.code_address
    gnu = entry.tag == Tag.GNU_CALL_SITE
    origin = entry.reference(Attribute.ABSTRACT_ORIGIN if gnu else Attribute.CALL_ORIGIN)
    tail = entry.flag(Attribute.CALL_TAIL_CALL, Attribute.GNU_TAIL_CALL)
    after = entry.address(Attribute.LOW_PC if gnu else Attribute.CALL_RETURN_PC)
    at = None if gnu else entry.address(Attribute.CALL_PC)
    return CallSite(
        return_pc=None if after is None else code(after),
        pc=None if at is None else code(at),
        target=_constant(entry) if origin is None else target(origin),
        tail=tail,
    )


def _constant(entry: DebugEntry) -> CallTarget | None:
    """The callee of a call through a pointer, where its expression is the same at every execution."""
    if entry.values.keys() & {Attribute.CALL_TARGET_CLOBBERED, Attribute.GNU_CALL_SITE_TARGET_CLOBBERED}:
        return None
    said = entry.values.get(Attribute.CALL_TARGET) or entry.values.get(Attribute.GNU_CALL_SITE_TARGET)
    if said is None or not isinstance(said.raw, bytes):
        return None
    image, size = entry.unit.image, entry.unit.address_size
    at = Cursor(image.path.name, ".debug_info", said.raw, 0, len(said.raw), account_of(image))
    address: int | None = None
    while at.left > 0:  # each operation is a byte at least
        operation = at.unsigned(1)
        if operation == _ADDR and address is None:
            address = at.unsigned(size)
        elif operation in (_ADDRX, _GNU_ADDR_INDEX) and address is None:
            address = entry.unit.address(AttributeValue(Form.ADDRX, at.uleb()))
        elif operation == _DEREF and address is not None:
            address = _constant_word(image, address, size)
        elif operation == _PLUS_UCONST and address is not None:
            address += at.uleb()
        else:
            return None
        if address is None:
            return None
    return None if address is None else CallTarget(f"{address:#x}", image.arch.code_address(address))


_ADDR, _DEREF, _PLUS_UCONST, _ADDRX, _GNU_ADDR_INDEX = 0x03, 0x06, 0x23, 0xA1, 0xFB  # DWARF 5, section 7.7.1


def _constant_word(image: Image, address: int, size: int) -> int | None:
    """A word that is in the file as it is in memory at every time: no store and no loader changes it."""
    kept = any(not s.writable and s.address <= address and address + size <= s.address + s.size for s in image.segments)
    data = image.bytes_at(address, size)
    return int.from_bytes(data, "little") if kept and len(data) == size and address not in image.rebases else None


def completeness(function: DebugEntry) -> bool:
    """Whether the function's entry promises that all its tail calls are listed."""
    return function.flag(
        *(Attribute.CALL_ALL_CALLS, Attribute.CALL_ALL_SOURCE_CALLS, Attribute.CALL_ALL_TAIL_CALLS),
        *(Attribute.GNU_ALL_CALL_SITES, Attribute.GNU_ALL_TAIL_CALL_SITES),
    )
