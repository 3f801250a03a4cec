"""What flags make compilers call, for generated C programs, which have no library: profilers, probes, thunks, guards.

Each is told of by a row at every instruction. Compilers are given none of their flags for it: it is assembly, or has an
attribute that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_PROFILER = """\
// What -pg makes every function call first: it returns with all registers as they were.
__asm__(".pushsection .text\\n");
#if defined(__x86_64__)
__asm__(".globl mcount, __fentry__\\n.type mcount, @function\\n.type __fentry__, @function\\n"
        "mcount:\\n.cfi_startproc\\nret\\n.cfi_endproc\\n.size mcount, . - mcount\\n"
        "__fentry__:\\n.cfi_startproc\\nret\\n.cfi_endproc\\n.size __fentry__, . - __fentry__\\n");
#elif defined(__aarch64__)
__asm__(".globl _mcount\\n.type _mcount, %function\\n"
        "_mcount:\\n.cfi_startproc\\nret\\n.cfi_endproc\\n.size _mcount, . - _mcount\\n");
#elif defined(__arm__)
// Its return address is in lr, and that of its caller is on the stack: it takes that off, and back into lr.
__asm__(".syntax unified\\n.cfi_sections .debug_frame\\n.globl __gnu_mcount_nc\\n.type __gnu_mcount_nc, %function\\n"
        "__gnu_mcount_nc:\\n.fnstart\\n.cfi_startproc\\n"
        "push {lr}\\n.save {lr}\\n.cfi_def_cfa_offset 4\\n.cfi_offset lr, -4\\n"
        "ldr lr, [sp, #4]\\nldr pc, [sp], #8\\n"
        ".cfi_endproc\\n.fnend\\n.size __gnu_mcount_nc, . - __gnu_mcount_nc\\n"
        ".globl mcount\\n.type mcount, %function\\n" // clang's is called like any function
        "mcount:\\n.fnstart\\n.cfi_startproc\\nbx lr\\n.cfi_endproc\\n.fnend\\n.size mcount, . - mcount\\n");
#endif
__asm__(".popsection\\n");

"""

_PROBES = """\
// What -finstrument-functions makes every function call at its beginning and its end.
#define QUIET __attribute__((no_instrument_function, noinline))
volatile unsigned long entered;
QUIET void __cyg_profile_func_enter(void *function, void *site) { entered = (unsigned long)function + (site != 0); }
QUIET void __cyg_profile_func_exit(void *function, void *site) { entered = (unsigned long)function + (site == 0); }

"""

_CLEANUPS = """\
// What tables of handlers name, and what a cleanup ends with: nothing throws.
QUIET int __gcc_personality_v0(void) { return 8; }
QUIET __attribute__((noreturn)) void _Unwind_Resume(void *exception) {
    for (;;)
        __builtin_trap();
}

"""

_GUARD = """\
// The word between locals and return address, and what happens when it has changed.
unsigned long __stack_chk_guard = 0x5a00a5ff;
__attribute__((noreturn)) void __stack_chk_fail(void) {
    for (;;)
        __builtin_trap();
}

"""

_RETURN = """\
// Where every function jumps to return.
__asm__(".pushsection .text\\n.globl __x86_return_thunk\\n.type __x86_return_thunk, @function\\n"
        "__x86_return_thunk:\\n.cfi_startproc\\nret\\n.cfi_endproc\\n"
        ".size __x86_return_thunk, . - __x86_return_thunk\\n.popsection\\n");

"""

# Behind a function's first line: registers that a convention may ask it to keep.
_OVERWRITE = """\
// Vector registers that a function says it changes: some conventions have it keep them.
#if defined(__x86_64__)
#define OVERWRITE __asm__ volatile("" ::: "xmm6", "xmm7", "xmm15")
#elif defined(__aarch64__)
#define OVERWRITE __asm__ volatile("" ::: "v8", "v9", "v14")
#else
#define OVERWRITE __asm__ volatile("" ::: "d8", "d9", "d15")
#endif

"""

CONVENTION = "-DCONVENTION"  # =ms_abi: an attribute that every function and every pointer to one has
VECTORS = "-DVECTORS"

_NEEDED: Mapping[str, str] = MappingProxyType(
    {
        "-pg": _PROFILER,
        "-finstrument-functions": _PROBES,
        "-fstack-protector-all": _GUARD,
        "-mfunction-return=thunk-extern": _RETURN,
        VECTORS: _OVERWRITE,
    }
)


def runtime_text(flags: Sequence[str]) -> str:
    """The C text of what these flags need, or ""."""
    needed = [text for flag, text in _NEEDED.items() if flag in flags]
    if "-fexceptions" in flags and "-finstrument-functions" in flags:  # the probe at the end is in a cleanup, too
        needed.append(_CLEANUPS)
    return "".join(needed)


def has_convention(flags: Sequence[str]) -> bool:
    """Do functions have the attribute ``CONVENTION``?"""
    return any(flag.startswith(f"{CONVENTION}=") for flag in flags)
