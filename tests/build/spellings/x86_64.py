"""Ways to spell instructions of x86_64."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.build.spellings.words import lines

_CODES = "o no b c nae ae nb nc e z ne nz be na a nbe s ns p pe np po l nge ge nl le ng g nle"
_ONE_BY_ONE = """
    ret; ret 8; ret 0; push rax; pop r12; push 1; push -1; push 0x1234; push qword ptr [rax]; pop qword ptr [rax + 8]
    push [rax]; call rax; call [rax]; call qword ptr [rax + 8]; jmp rax; jmp [rax]; jmp qword ptr [rax*8 + 16]
    imul rax, rcx; imul rax, rcx, 3; imul rax, rax, 3; imul rax, 3; imul rcx; mul rcx; div ecx; idiv rcx; neg rax
    not eax
    leave; cdq; cdqe; cqo; cwde; nop; hlt; ud2; int3; int 3; int 0x80; syscall; cld; std; pushfq; popfq; endbr64
    nop dword ptr [rax]; nop word ptr [rax + rax]; xchg rax, rcx; xchg rcx, rax; xchg ax, ax; xchg [rax], rcx
    movzx eax, byte ptr [rax]; movzx eax, cl; movsx rax, word ptr [rax]; movsxd rax, ecx; movsx rax, ecx; bswap rax
    movabs rax, 0x1122334455667788; mov rax, 0x1122334455667788; mov eax, 0xffffffff; mov rax, 0xffffffff; mov rax, -1
    mov al, 0xff; mov ax, 0xffff; enter 16, 0; rep movsb; rep stosq; repe cmpsb; repz cmpsb; repne scasb
    repnz scasb; movsq
    lock xadd qword ptr [rdi], rax; lock cmpxchg [rdi], rcx; lock inc dword ptr [rax]; xadd [rdi], eax; bt rax, 5
    bts ecx, 3
    bsf rax, rcx; bsr eax, ecx; test al, 1; test byte ptr [rax], 4; cpuid; rdtsc; pause; mfence; cmpxchg16b [rdi]
    movd xmm0, eax; movq xmm1, rax; movq rax, xmm1; movaps xmm0, xmm1; movups xmm0, [rsp + 16]; movaps [rsp], xmm8
    movaps xmmword ptr [rbp - 32], xmm6; movsd xmm0, qword ptr [rax]; movss xmm0, [rax]; addsd xmm0, xmm1
    pxor xmm0, xmm0
    cvtsi2sd xmm0, rax; cvttsd2si rax, xmm0; ucomisd xmm0, xmm1; movdqa xmm0, [rax]; movdqu xmm0, [rax]
    shufps xmm0, xmm1, 3
    fld qword ptr [rax]; fstp dword ptr [rax]; fnstcw [rsp]; ldmxcsr [rsp]; shld rax, rcx, 4; shrd eax, ecx, cl
    sub rsp, 128
    mov rcx, fs:[0x28]; mov rcx, qword ptr fs:[0x28]; RET; Push RBP; MOV RBP, RSP; retq; callq rax
    mov rax, qword ptr [rax + 2*4]
"""


def x86_64() -> Iterator[str]:
    """Each spelling, some of them twice."""
    binary = ["add", "or", "adc", "sbb", "and", "sub", "xor", "cmp", "mov", "test"]
    registers = ("rax", "eax", "ax", "al", "r12", "r12d", "r12w", "r12b", "rbp", "rsp")
    for name, (a, b) in product(binary, (("rax", "rcx"), ("r9d", "ebx"), ("si", "r10w"), ("dl", "bh"), ("rsp", "rbp"))):
        yield f"{name} {a}, {b}"
    for name, register, value in product(("add", "sub", "and", "cmp", "mov", "test"), registers, ("1", "-1", "0x7f")):
        yield f"{name} {register}, {value}"
    for name, value in product(("add", "mov", "cmp"), ("128", "-128", "0x12345", "-0x12345", "0x7fffffff")):
        yield f"{name} rax, {value}"
        yield f"{name} r9d, {value}"
    places = """
    [rax]; [rsp]; [rbp]; [rbp - 8]; [rbp-8]; [rsp + 8]; [rsp+0x80]; [rax + rcx]; [rcx + rax]; [rax + rcx*1]
    [rax + rcx*4]
    [rcx*4 + rax]; [rax + 4*rcx]; [rax + rcx*4 + 8]; [rax + rcx*8 + 4]; [8 + rcx*4 + rax]; [rcx*4]; [rcx*4 + 8]; [r13]
    [r12]; [r13 + r12*2 - 1]; [rax + 0]; [rip + 8]; [rax - 0x1234]; [0x1234]; [rax + 16 - 4]; [rax][8]; [rax*2]
    [rbp + rax]
    [rax + rbp]; [eax]; [rax + rax]
    """
    for place, size in product(lines(places), ("", "qword ptr ", "QWORD PTR ")):
        yield f"mov rdx, {size}{place}"
        yield f"mov {size}{place}, rdx"
    for place in lines(places):
        yield f"lea rdx, {place}"
        yield f"mov dword ptr {place}, -1"
        yield f"cmp byte ptr {place}, 0x80"
    for size in ("byte", "word", "dword", "qword"):
        yield f"inc {size} ptr [rax]"
        yield f"add {size} ptr [rsp + 8], 1"
        yield f"shl {size} ptr [rax], 3"
    for name in _CODES.split():
        yield f"set{name} al"
        yield f"cmov{name} rax, rcx"
    for name in ("shl", "sal", "shr", "sar", "rol", "ror"):
        yield from (f"{name} rax, 3", f"{name} eax, 1", f"{name} eax", f"{name} eax, cl")
    yield from lines(_ONE_BY_ONE)
