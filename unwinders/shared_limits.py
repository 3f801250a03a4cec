"""Limits that several techniques have for the same reason: one sentence per fact and kind of technique.

A strategy says as which outcomes a fact shows for it; only those are explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from testbed.contract.unwinder import Limit
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

Reasons = Mapping[Trait, tuple[str, str]]

_SIGNATURE = "https://docs.kernel.org/arch/arm64/pointer-authentication.html"
_SIGNAL = "https://github.com/libunwind/libunwind/issues/1061"
_END = "https://github.com/kstenerud/KSCrash/issues/764"
_JUMP = "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html"
_NULL = "https://github.com/libunwind/libunwind/issues/106"
_STACKS = "https://github.com/golang/go/issues/63630"
_NO_TABLE = "https://github.com/openssl/openssl/issues/8853"
_HOLES = "https://github.com/llvm/llvm-project/issues/161927"

# Techniques that follow frame records, whatever they do at a function's ends.
RECORDS: Reasons = MappingProxyType(
    {
        Trait.SIGNAL: (
            "a signal's handler links its record to what the interrupted code had for a frame pointer: the interrupted "
            "function is skipped, or its link register is taken for its pc",
            _SIGNAL,
        ),
        Trait.SIGNED: (
            "a return address is signed, and listed as it lies there: its upper bits are no part of the address",
            _SIGNATURE,
        ),
        Trait.NO_CODE: ("a pc of zero has no function, and says nothing about how to go on", _NULL),
        Trait.LOST_REGISTER: (
            "the frame pointer is already that of the frame that a jump will go to, and the chain starts there",
            _JUMP,
        ),
        Trait.OTHER_STACK: ("the chain goes on on another stack, which is taken for its end or for damage", _STACKS),
        Trait.SPLIT_FUNCTION: (
            "a helper saves registers for its caller, or a symbol stands where a jump enters: what is assumed of a "
            "function's first instructions does not hold",
            "https://github.com/llvm/llvm-project/issues/96950",
        ),
        Trait.OPEN_END: (
            "the chain ends at a zero pointer; start code left another one, or a record of something that was no call",
            _END,
        ),
    }
)

# Techniques that look through the stack for what may be a return address.
SCANS: Reasons = MappingProxyType(
    {
        Trait.SIGNAL: (
            "a signal's frame holds registers that only look like return addresses, the interrupted pc does not look "
            "like one, and the frame is larger than a scan looks through",
            _SIGNAL,
        ),
        Trait.SIGNED: ("a signed return address does not look like an address in code: it is passed over", _SIGNATURE),
        Trait.NO_CODE: ("a pc of zero has no function, and says nothing about how to go on", _NULL),
        Trait.OTHER_STACK: ("a scan ends at the end of the stack that it is on", _STACKS),
        Trait.LOST_REGISTER: (
            "a jump buffer or a handler's record on the stack holds an address that looks like a return address",
            _JUMP,
        ),
        Trait.REALIGNED: (
            "a realigned frame has a copy of its return address: it is found twice",
            "https://github.com/mstange/framehop/issues/48",
        ),
        Trait.WRONG_TABLE: (
            "a return trampoline has written over its return address: no word on the stack is it any more",
            "https://github.com/intel/confidential-computing.sgx/issues/1023",
        ),
        Trait.NO_TABLE: ("code without a symbol is not believed to be code", _NO_TABLE),
        Trait.NOT_KEPT: (
            "a function that never returns need not keep its return address: it is nowhere on the stack",
            "https://github.com/rust-lang/rust/issues/69231",
        ),
        Trait.OPEN_END: ("start code left a code pointer on the stack that looks like a return address", _END),
        Trait.SPLIT_FUNCTION: (
            "a stub of a linkage table leaves words on the stack, and its return address is not where it was",
            "https://github.com/parca-dev/parca-agent/issues/1058",
        ),
    }
)

# Compact tables: what they cannot express they leave out, and they have no frames of signals.
TABLES: Reasons = MappingProxyType(
    {
        Trait.WRONG_TABLE: (
            "the table is made of the same directives: where those are wrong, so is it",
            "https://github.com/llvm/llvm-project/issues/63598",
        ),
        Trait.NO_TABLE: ("code that nobody wrote a table for: there is nothing to apply", _NO_TABLE),
        Trait.SIGNAL: ("the format cannot describe a signal's frame: the trampoline has no row", _SIGNAL),
        Trait.NO_CODE: ("where a null pointer leads there is no table", _NULL),
        Trait.INEXPRESSIBLE: ("a rule that the format cannot express leaves a hole in the table", _HOLES),
        Trait.REALIGNED: ("a CFA that is read from memory cannot be expressed", _HOLES),
        Trait.LOST_REGISTER: ("that a register is lost cannot be expressed", _HOLES),
        Trait.SPLIT_FUNCTION: ("a CFA that depends on pc cannot be expressed", _HOLES),
        Trait.OPEN_END: ("no row says that start code has no caller: what lies there is believed", _END),
        Trait.UNSAID_END: (
            "binutils 2.40 drops the directive that says that the return address is undefined: the start code gets a "
            "row like any other function's, and the walk goes on to whatever its link register holds",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gas/gen-sframe.c;hb=refs/tags/binutils-2_40",
        ),
    }
)


def shared_limits(reasons: Reasons, shown: Mapping[Trait, Iterable[Outcome]]) -> tuple[Limit, ...]:
    """The limits of a strategy of one kind; ``shown`` says as which outcomes each fact shows."""
    return tuple(Limit(trait, frozenset(outcomes), *reasons[trait]) for trait, outcomes in shown.items())
