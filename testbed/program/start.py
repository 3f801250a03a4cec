"""The assembly source of ``_start``, where a C program begins: by instruction set, and for Mach-O files.

It zeroes what the ABI says marks the outermost frame, calls ``main``, and gives main's result to the exit system call.
Its tables say that its return address is undefined. Generated assembly programs begin with it, too.
"""

from testbed.arch import PerArch, PerIsa

_X86_64 = """
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call main
    mov edi, eax
    mov eax, 60
    syscall
    .cfi_endproc
    .size _start, . - _start
"""

_ARM64 = """
    .globl _start
    .type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #93
    svc #0
    .cfi_endproc
    .size _start, . - _start
"""

_ARM32 = """
    .syntax unified
    {mode}
    .cfi_sections .debug_frame
    .globl _start
    .type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
    .size _start, . - _start
"""

START = PerIsa(
    {
        "x86_64": ".intel_syntax noprefix\n" + _X86_64,
        "arm64": _ARM64,
        "a32": _ARM32.format(mode=".arm"),
        "thumb": _ARM32.format(mode=".thumb\n    .thumb_func"),
    }
)

# Clang's -fsanitize=shadow-call-stack: every function that stores its return address pushes it here first. The
# section's name tells that x18 is that pointer; the word below the first entry is zero.
_SHADOW = """
    .section .shadow_call_stack, "aw", %progbits
    .p2align 4
shadow_call_stack:
    .zero 0x800
    .text
"""

_POINT_TO_SHADOW = """\
    adrp x18, shadow_call_stack
    add x18, x18, :lo12:shadow_call_stack
    add x18, x18, #8
"""

# The same, and it makes the shadow call stack that `Arch.shadow_pointer` points to.
_NO_SHADOW = "no compiler keeps a shadow call stack there"
SHADOW_START = PerIsa[str | None](
    {
        "x86_64": None,
        "arm64": _SHADOW + _ARM64.replace("    bl main\n", _POINT_TO_SHADOW + "    bl main\n"),
        "a32": None,
        "thumb": None,
    },
    because=dict.fromkeys(("x86_64", "a32", "thumb"), _NO_SHADOW),
)

# In the assembly dialect of Mach-O files, where every C name has one underscore more. The exit call is the same as
# everywhere: the machine is Linux's, only the file is Apple's.
_MACH_O_X86_64 = """
    .intel_syntax noprefix
    .globl __start
    .p2align 4
__start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call _main
    mov edi, eax
    mov eax, 60
    syscall
    .cfi_endproc
    .subsections_via_symbols
"""

_MACH_O_ARM64 = """
    .globl __start
    .p2align 2
__start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl _main
    mov x8, #93
    svc #0
    .cfi_endproc
    .subsections_via_symbols
"""

MACH_O_START = PerArch[str | None](
    {"x86_64": _MACH_O_X86_64, "arm64": _MACH_O_ARM64, "arm32": None},
    because={"arm32": "there are no 64-bit Mach-O files of it"},
)
