"""Limits that several techniques have for the same reason: one sentence per mechanism and kind of technique.

A mechanism stands before another one where it says more: the first that holds is the reason. As which outcomes each
shows, and on which architectures, every strategy says in a table of its own (`testbed.contract.limits`).
"""

from __future__ import annotations

from types import MappingProxyType

from testbed.contract.limits import Reasons

_SIGNATURE = "https://docs.kernel.org/arch/arm64/pointer-authentication.html"
_SIGNAL = "https://github.com/libunwind/libunwind/issues/1061"
_END = "https://github.com/kstenerud/KSCrash/issues/764"
_JUMP = "https://www.gnu.org/software/libc/manual/html_node/Non_002dLocal-Exits.html"
_NULL = "https://github.com/libunwind/libunwind/issues/106"
_STACKS = "https://github.com/golang/go/issues/63630"
_NO_TABLE = "https://github.com/openssl/openssl/issues/8853"
_HOLES = "https://github.com/llvm/llvm-project/issues/161927"
_UNLINKED = "https://github.com/mstange/framehop/issues/4"
_GCC_ARM = "https://gcc.gnu.org/bugzilla/show_bug.cgi?id=92172"
_HEURISTIC = "https://chromium.googlesource.com/breakpad/breakpad/+/refs/heads/main/docs/stack_walking.md"

# Techniques that follow frame records.
RECORDS: Reasons = MappingProxyType(
    {
        "SIGNAL+MIXED_ISA": (
            "a signal's trampoline runs another instruction set than its handler: other registers chain there, and the "
            "handler's record has not kept them",
            "https://github.com/ARM-software/abi-aa/issues/24",
        ),
        "SIGNAL": (
            "a signal's handler links its record to what the interrupted code had for a frame pointer: the interrupted "
            "function is skipped, or its link register is taken for its pc; data that a frame pointer leads to is "
            "taken for a record, and a zero in it for the end",
            _SIGNAL,
        ),
        "NO_CODE": ("a pc of zero has no function, and says nothing about how to go on", _NULL),
        "SIGNED+LINKED": (
            "the record's return address is signed, and listed as it lies there: its upper bits are no part of it",
            _SIGNATURE,
        ),
        "LEAF_RECORD+UNLINKED": (
            "the return address is in the link register alone, as all along in a leaf, where GCC's A32 code saves the "
            "frame pointer without it, or before it is saved, or after it is taken back: no record is linked",
            _GCC_ARM,
        ),
        "NO_RECORD+UNLINKED": (
            "GCC's Thumb frame pointer is there for the locals: it points below them, at no record",
            _GCC_ARM,
        ),
        "LOST_REGISTER+FP_REUSED": (
            "the frame pointer is already that of the frame that a jump will go to, and the chain starts there",
            _JUMP,
        ),
        "MIXED_ISA+UNLINKED": (
            "A32 code chains through r11 and Thumb code through r7: a record of one does not lead to the other's",
            "https://github.com/ARM-software/abi-aa/issues/24",
        ),
        "MIXED_ISA": (
            "A32 code chains through r11 and Thumb code through r7: a record of one does not lead to the other's",
            "https://github.com/ARM-software/abi-aa/issues/24",
        ),
        "FP_REUSED": (
            "a function uses the frame-pointer register for something else, as the ABIs allow it to",
            "AAPCS64 section 6.4.6; System V AMD64 ABI section 3.2.2, note on %rbp",
        ),
        "RECORD_REPLACED": (
            "an unwinder has put into the function's own record the frame that it goes to, some callers further out: "
            "the chain goes on from there, and skips those between",
            "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/unwind-dw2.c",
        ),
        "FP_FOR_LOCALS": (
            "a function points the frame-pointer register at a local of its own: what lies there is taken for a record",
            "System V AMD64 ABI section 3.2.2, note on %rbp; AAPCS64 section 6.4.6",
        ),
        "FP_BELOW": (
            "a caller makes a record for a leaf below SP, and the call writes the return address into it: before the "
            "call there is none in it, in the leaf it leads on rightly, but the caller has another FP than it says",
            "https://github.com/golang/go/blob/release-branch.go1.19/src/cmd/internal/obj/x86/asm6.go",
        ),
        "FP_REUSED+MOVED_UP": (
            "the record has moved up into the caller's frame with the return address: the CFA is not right above it",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c",
        ),
        "FP_BACK+UNLINKED": (
            "a function that uses the frame-pointer register for something else has its caller's value in it again for "
            "a while: the chain starts at the caller's record, if that is one, and skips the caller",
            "System V AMD64 ABI section 3.2.2, note on %rbp",
        ),
        "PROLOGUE+UNLINKED": (
            "the function's frame is not set up yet: no record of it is linked, so the chain starts at the caller's "
            "record and skips the caller",
            _UNLINKED,
        ),
        "EPILOGUE+UNLINKED": (
            "the function has taken its frame down: no record of it is linked, so the chain starts at the caller's "
            "record and skips the caller",
            _UNLINKED,
        ),
        "FRAMELESS+UNLINKED": (
            "the function never links a frame record, so the chain starts at the caller's record and skips the caller",
            "https://github.com/mstange/samply/issues/2",
        ),
        "FRAMELESS_CALLER+UNLINKED": (
            "a function further out called without a frame record of its own, so the chain skips that function's "
            "caller",
            "https://github.com/tikv/pprof-rs/issues/75",
        ),
        "UNLINKED": (
            "the frame pointer was changed, and leads to no record of this function: what lies there is taken for one",
            _UNLINKED,
        ),
        "FP_FOR_LOCALS<1": (
            "the link register names the caller rightly, and the frame pointer is taken for the caller's: it is there "
            "for the callee's locals, and what lies there is taken for a record",
            _UNLINKED,
        ),
        "SAME_RETURN+UNLINKED": (
            "the function has no record linked, so the chain skips its caller; that one was called from the same "
            "place, so that the pcs are right all the same, and the registers are those of the frame further out",
            _UNLINKED,
        ),
        "SIGNED": (
            "a return address is signed, and listed as it lies there: its upper bits are no part of the address",
            _SIGNATURE,
        ),
        "REALIGNED+LINKED": (
            "a realigned frame copies its record to a place away from the CFA, which the convention says is fixed",
            "https://github.com/mstange/framehop/issues/48",
        ),
        "OPEN_END": (
            "the chain ends at a zero pointer; start code left another one, or a record of something that was no call",
            _END,
        ),
        "LAST_RECORD": (
            "the record says where the caller goes on, but the frame pointer that it has kept for the caller leads to "
            "no record: the chain cannot go on",
            _UNLINKED,
        ),
        "LOST_REGISTER": (
            "the frame pointer is already that of the frame that a jump will go to, and the chain starts there",
            _JUMP,
        ),
        "OTHER_STACK": ("the chain goes on on another stack, which is taken for its end or for damage", _STACKS),
        "SPLIT_FUNCTION": (
            "a helper saves registers for its caller, or a symbol stands where a jump enters: what is assumed of a "
            "function's first instructions does not hold",
            "https://github.com/llvm/llvm-project/issues/96950",
        ),
    }
)

# The same with what lies must have besides: a chain that leads to no memory ends honestly. And a realigned frame whose
# record was made before it was realigned, as LLVM's are, has it right below the CFA: only where FP is set later, not.
LEADING: Reasons = MappingProxyType(
    {
        "FP_REUSED+FP_LEADS": RECORDS["FP_REUSED"],
        "REALIGNED+FP_SET_LATE+LINKED": RECORDS["REALIGNED+LINKED"],
        **{
            f"{where}+FP_LEADS+UNLINKED": RECORDS[f"{where}+UNLINKED"]
            for where in ("FP_BACK", "PROLOGUE", "EPILOGUE", "FRAMELESS", "FRAMELESS_CALLER")
        },
    }
)

# The same where a live link register would have named the caller: there it holds what an earlier call left behind.
STALE: Reasons = MappingProxyType(
    {
        **{
            f"{phase}+LINK_STALE+UNLINKED": RECORDS[f"{phase}+UNLINKED"]
            for phase in ("PROLOGUE", "EPILOGUE", "FRAMELESS")
        },
        "UNLINKED+LINK_STALE": RECORDS["UNLINKED"],
        "SIGNED+UNLINKED": (
            "the return address in the link register is signed: it names no code, and no record is linked",
            _SIGNATURE,
        ),
        "HANDLER": (
            "the link register holds a signal's trampoline, which is not listed, and the interrupted frame is skipped",
            _SIGNAL,
        ),
        "NAMELESS+UNLINKED": (
            "the link register holds the caller's address, and no symbol names the function: it is not believed",
            _NO_TABLE,
        ),
        "SAME_RETURN+LINK_LIVE+UNLINKED": (
            "no record is linked, and the chain begins with the caller's; the caller was called from the same place, "
            "so that record is taken for the one of the link register",
            _UNLINKED,
        ),
    }
)

# Techniques that look through the stack for what may be a return address.
SCANS: Reasons = MappingProxyType(
    {
        "RETURN_CHANGED": (
            "the callee has made another address of its return address: that is behind data, and not behind a call",
            "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=libgcc/config/arm/lib1funcs.S",
        ),
        "MOVED_UP": (
            "the caller's SP is taken to be right above the return address, and a function has moved that further up",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/frame.c",
        ),
        "HAND_MADE": (
            "the call was made by hand, of an address and a jump, or by who made the stack (`makecontext`): no call "
            "stands in front of the return address",
            "https://github.com/mgba-emu/mgba/pull/1832",
        ),
        "SIGNAL": (
            "a signal's frame holds registers that only look like return addresses, the interrupted pc does not look "
            "like one, and the frame is larger than a scan looks through",
            _SIGNAL,
        ),
        "HANDLER": (
            "a handler returns to a trampoline, and there is no call in front of that: it does not look like a return "
            "address",
            _SIGNAL,
        ),
        "NO_CODE": ("a pc of zero has no function, and says nothing about how to go on", _NULL),
        "SIGNED+UNKEPT": (
            "a signed return address does not look like an address in code: it is passed over",
            _SIGNATURE,
        ),
        "NOT_KEPT+UNKEPT": (
            "a function that never returns need not keep its return address: it is nowhere on the stack",
            "https://github.com/rust-lang/rust/issues/69231",
        ),
        "LINK_LIVE+UNKEPT": (
            "the return address is in a register and nowhere on the stack, so this caller cannot be found there",
            _HEURISTIC,
        ),
        "WRONG_TABLE+UNKEPT": (
            "a return trampoline has written over its return address: no word on the stack is it any more",
            "https://github.com/intel/confidential-computing.sgx/issues/1023",
        ),
        "UNKEPT": (
            "the function does not keep its return address where a caller would look for it: a scan does not find it",
            _HEURISTIC,
        ),
        "COPIED": (
            "a copy of a living function's return address lies in front of this one's: it is found first",
            "https://github.com/mstange/framehop/issues/48",
        ),
        "LEFTOVER": (
            "a slot that no one has written since still holds an earlier call's return address: it looks like any "
            "other",
            _HEURISTIC,
        ),
        "CODE_POINTER": (
            "a code address on the stack passes for a return address: no one asks who put it there",
            _HEURISTIC,
        ),
        "OTHER_STACK": ("a scan ends at the end of the stack that it is on", _STACKS),
        "NO_TABLE": ("code without a symbol is not believed to be code", _NO_TABLE),
        "WRONG_TABLE": (
            "a trampoline replaces its return address by what it was called for: the word that the call stored is gone",
            "https://github.com/intel/confidential-computing.sgx/issues/1023",
        ),
        "ROOT": (
            "the scan gives up after a fixed number of words: the stack goes on, without a mark of its end",
            _HEURISTIC,
        ),
        "FAR": (
            "the scan gives up after a fixed number of words: the frame is larger",
            _HEURISTIC,
        ),
    }
)

# Compact tables: what they cannot express they leave out, and they have no frames of signals.
TABLES: Reasons = MappingProxyType(
    {
        "WRONG_TABLE": (
            "the table is made of the same directives: where those are wrong, so is it",
            "https://github.com/llvm/llvm-project/issues/63598",
        ),
        "NO_TABLE": ("code that nobody wrote a table for: there is nothing to apply", _NO_TABLE),
        "SIGNAL": ("the format cannot describe a signal's frame: the trampoline has no row", _SIGNAL),
        "NO_CODE": ("where a null pointer leads there is no table", _NULL),
        "INEXPRESSIBLE": ("a rule that the format cannot express leaves a hole in the table", _HOLES),
        "REALIGNED": ("a CFA that is read from memory cannot be expressed", _HOLES),
        "LOST_REGISTER": ("that a register is lost cannot be expressed", _HOLES),
        "SPLIT_FUNCTION": ("a CFA that depends on pc cannot be expressed", _HOLES),
        "UNSAID_END": (
            "binutils 2.40 drops the directive that says that the return address is undefined: the start code gets a "
            "row like any other function's, and the walk goes on to whatever its link register holds",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gas/gen-sframe.c;hb=refs/tags/binutils-2_40",
        ),
        "OPEN_END": ("no row says that start code has no caller: what lies there is believed", _END),
    }
)
