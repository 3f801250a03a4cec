"""The traps: mistakes that real unwinders and real tables made, numbered. A program's header says which it shows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TRAPS: Mapping[int, str] = MappingProxyType(
    {
        1: "the frame-pointer chain skips the caller of a function that has linked no record (yet, or any more)",
        2: "the link register is believed after the function's own call has overwritten it",
        3: "the call is a function's last instruction: its return address belongs to the next function",
        4: "an interrupted pc looked up one byte too low: the first instruction is taken for the previous function",
        5: "rows that hold at call sites only, used in prologues and epilogues",
        6: "the row does not follow the pops of an epilogue",
        7: "a row left where an optimiser has moved the instruction away, or one instruction late",
        8: "rows after an epilogue in mid-function, without remember and restore of the state",
        9: "hand-written code without a table, or with a wrong one",
        10: "stubs of the procedure linkage table: the CFA depends on the low bits of pc",
        11: "a signed return address, not stripped, or a sign state that changes one instruction too early",
        12: "a realigned stack: the CFA is in memory, or its distance from SP is known at run time only",
        13: "no uniform frame chain on 32-bit Arm: r11 here, r7 there, two layouts of a record",
        14: "one row per function: the exception-handling tables of 32-bit Arm, and functions that cannot be unwound",
        15: "signal frames: nested, on an alternate stack, recognised by the bytes of their trampoline",
        16: "a call through a null pointer: pc lies in no code at all",
        17: "the link register is lost when one frame is stepped by frame pointer and the next by its entry row",
        18: "a return address invented for a function without a table: SP has moved, there is no frame record",
        19: "the distance from the frame pointer to the CFA is not fixed",
        20: "scanning the stack: stale return addresses and code pointers among the locals",
        21: "tail calls, and jumps that look like returns: the caller vanishes",
        22: "hot and cold parts: a function's second part begins with a row that is not an entry's",
        23: "stack probes: SP moves in a loop of the prologue",
        24: "a run-time system's own exceptions: the stack is cut by the last instruction",
        25: "a run-time system's own stacks: the frame pointer is cleared on the way",
        26: "a coroutine's first frame has no caller: without a mark the walk runs into garbage",
        27: "DWARF expressions: the CFA is on the stack before a register's begins",
        28: "arguments pushed around a call, and callees that pop them",
        29: "a search table that is wrong, entries that overlap",
        30: "prologues made by a helper: it saves registers in its caller's frame",
        31: "functions that a compact format cannot express: a hole, silently",
        32: "code of the kernel's without a table and without a frame pointer",
        33: "the end of the stack: no mark, a false one, frames behind it",
        34: "the red zone: rules that point below SP are legal while the bytes are there",
        35: "branch-target marks and return trampolines: prologues look different, calls do not return",
        36: "split stacks and landing pads: SP is not what the row of the code before says",
        37: "a callee that takes data from behind the call: control does not go on at the return address",
        38: "a call made of two instructions: no call stands in front of the return address",
        39: "a return address moved up the stack, and SP with it: the caller's SP is below its callee's, and no loop",
    }
)
