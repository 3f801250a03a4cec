"""Why the analysis and a library's own table differ, and whose fault it is: by mechanism, never by address."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.unwinders.analysis.compared_functions import BEHIND, FALSE_FRAME, LANDING, NO_ROW_BEGINS


@dataclass(frozen=True, slots=True)
class Cause:
    """A mechanism, the functions in which it acts (of which library's architecture is all one), and the judgement.

    ``how``: what differs where it acts, as a regular expression. ``lands``: it acts where exceptions land, and behind
    that, in whatever function.
    """

    name: str
    functions: str
    judgement: str
    lands: bool = False
    how: str = ".*"


CAUSES = (
    Cause(
        "switch of contexts",
        r"(set|swap|get|make)context|__start_context|_?_?(sig)?(long|set)jmp",
        "hand-written: registers and SP are loaded from another context one by one, and no row is right between; "
        "the table goes on with the old frame, or finds the registers in the context. Nobody's fault.",
    ),
    Cause(
        "a new thread",
        r"_?_?clone3?(_internal)?|__clone_internal.*",
        "hand-written: behind the system call the child has another stack and no caller; the table marks its end, "
        "the analysis takes parent and child for one. Fault of the analysis, which does not know the system call.",
    ),
    Cause(
        "a function that never returns",
        r"start_thread|__run_exit_handlers|__assert\w*|__libc_fatal|__libc_alloc_buffer_create_failure",
        "GCC saves no callee-saved register in a function that does not return, and the table says nothing of those "
        "that it overwrites, so they count as unchanged. Fault of the table; the analysis says that they are lost.",
    ),
    Cause(
        "a frame given back in steps",
        ".*",
        "GCC's Thumb code gives a large frame back by two additions to SP, and GCC writes a row behind the second one: "
        "between them the table still counts the whole frame. Fault of the table: FINDINGS.md has a program.",
        how=re.escape(NO_ROW_BEGINS),
    ),
    Cause(
        "a row that is not taken back",
        "strcmp",
        "hand-written: behind an early return the code goes on with a word pushed, and the row of the return, with "
        "none, stays. Fault of the table.",
        how=FALSE_FRAME,
    ),
    Cause(
        "a return address in a register that calls may overwrite",
        "rawmemchr",
        "hand-written: the return address is in x15 while strlen is called, which leaves x15 alone, as whoever wrote "
        "both knows, and the table says. Fault of the analysis, which does not look into the callee.",
        how="refused: the CFA or the return address is lost",
    ),
    Cause(
        "a signal's trampoline",
        r"__default_(sa|rt_sa)_restorer.*",
        "the kernel jumps to it with a signal's frame on the stack. No instruction says where that has the interrupted "
        "registers: the analysis refuses, and the table is right.",
    ),
    Cause(
        "code that nothing leads to",
        "syscall",
        "a second jump behind an unconditional one. No frame is there, for it is never executed. Nobody's fault.",
        how="refused: no way leads here",
    ),
    Cause(
        "constants that look like a call",
        "glob|getaddrinfo",
        "offsets between the code, which a stripped library does not tell from instructions: the comparison takes them "
        "for a call, the analysis for data. Fault of the comparison.",
        how="refused: no way leads here",
    ),
    Cause(
        "where exceptions land",
        r".*",
        "instructions to which only exceptions lead, by the library's own table of handlers. Which call an exception "
        "comes from is said there and nowhere else, and that table is found through .eh_frame alone: a technique that "
        "reads it reads the rows beside it. Taken is, of the frames behind the function's calls, the one with most "
        "saved from which the code there loses nothing of the caller: what is saved there was not saved before, and "
        "what is not given back never was. Where the code does not tell, it may be too much. Fault of the technique; "
        "the table is right.",
        lands=True,
    ),
)
OTHERS = Cause("not judged", ".*", "listed below")


def cause_of(function: str, how: str) -> Cause:
    """The mechanism by which a function's rows differ in this way."""
    name, lands = function.split("@")[0], how.endswith((LANDING, BEHIND))
    fits = (
        cause
        for cause in CAUSES
        if cause.lands == lands and re.fullmatch(cause.functions, name) and (lands or re.fullmatch(cause.how, how))
    )
    return next(fits, OTHERS)
