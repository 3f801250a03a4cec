"""The native recorder writes down what the light one does, to the last bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.campaign.units import units
from testbed.image import Image, LoadedImage
from testbed.machine import Machine, Tape, record, record_light, recording, start_machine
from testbed.machine.load import load
from testbed.machine.native import record as native
from testbed.machine.native.record import record_native
from testbed.machine.stops import Fault
from testbed.machine.write_sets import write_set
from testbed.trace import Exited
from tests.installed import installed
from tests.machine.snippets import arch_of, image_of
from tests.machine.test_record import CASES, IT_STORES, NOP, STORES

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


def both(image: Image, budget: int = 100_000, seed: int = 1, cpu: str | None = None) -> tuple[Tape, Tape]:
    """The tapes of both recorders, which must be the same."""
    light, here = (
        recorder(start_machine(load(image), seed=seed, cpu=cpu), budget) for recorder in (record_light, record_native)
    )
    assert here.ending == light.ending
    assert here.registers.shape == light.registers.shape
    different = np.argwhere(here.registers != light.registers)
    if len(different):
        step, column = (int(number) for number in different[0])
        pc = int(light.registers[step - 1, image.arch.index[image.arch.pc]])
        name, (said, wanted) = image.arch.registers[column].name, (t.registers[step, column] for t in (here, light))
        raise AssertionError(f"step {step}, after {pc:#x}: {name} is {int(said):#x}, not {int(wanted):#x}")
    assert here.registers.dtype == light.registers.dtype and here.sizes.dtype == light.sizes.dtype
    assert np.array_equal(here.sizes, light.sizes)
    for column_name in ("step", "address", "size", "value"):
        left, right = getattr(here.writes, column_name), getattr(light.writes, column_name)
        assert left.dtype == right.dtype and np.array_equal(left, right), column_name
    return light, here


@pytest.mark.parametrize("arch", ARCHES)
def test_on_every_program(arch: str) -> None:
    steps = Counter[str]()
    for unit in installed(UNITS):
        if unit.arch == arch:
            built = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
            steps[unit.recipe] += len(both(built.image, cpu=built.cpu)[0].sizes)
    assert len(steps) > 5 and min(steps.values()) > 50, steps


@pytest.mark.parametrize("isa", STORES)
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_where_the_columns_grow_changes_nothing(isa: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "CHUNK", chunk)
    light, _ = both(image_of(isa, STORES[isa]))
    assert light.ending == Exited(42) and len(light.sizes) > 2 * chunk and len(light.writes) > 2 * chunk


def test_stores_in_it_blocks_across_growing_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1, 2, 3, 1000):
        monkeypatch.setattr(native, "CHUNK", chunk)
        assert both(image_of("thumb", IT_STORES))[0].ending == Exited(15)


def test_an_exit_in_an_it_block_is_the_last_step_of_both() -> None:
    block = "itttt eq\n svceq #0\n moveq r1, #5\n streq r1, [sp]\n moveq r2, #6\n nop\n"
    light, _ = both(image_of("thumb", f"fn main\n movs r7, #1\n movs r0, #42\n cmp r7, #1\n {block}"))
    assert light.ending == Exited(42)


@pytest.mark.parametrize("isa", STORES)
def test_any_budget_ends_both_at_the_same_place(isa: str) -> None:
    image = image_of(isa, STORES[isa])
    whole = len(record(image))
    for budget in [0, 1, 2, 17, *range(20, 45), whole - 1, whole]:
        light, _ = both(image, budget)
        assert len(light.sizes) == min(budget, whole) and isinstance(light.ending, Fault) == (budget < whole)


@pytest.mark.parametrize(
    ("isa", "detail", "code"), CASES, ids=[f"{c[0]}-{c[2].split('last:')[1].strip()}" for c in CASES]
)
def test_faults_end_both_in_the_same_way(isa: str, detail: str, code: str) -> None:
    light, _ = both(image_of(isa, f"fn main\n {NOP[isa]}{code}\n nop\n"))
    assert isinstance(light.ending, Fault)


# Instructions whose registers a disassembler easily gets wrong, each executed often enough to be settled, with
# registers that change between the turns.

LOOPS = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 512
    and rsp, -64
    mov r15d, 9
turn:
    lea rbx, [r15 + 2*r15 + 7]
    mov eax, r15d
    cdqe
    cqo
    imul rcx, rax, 77
    mul rbx
    div rbx
    xadd rax, rbx
    xchg rcx, rdx
    xchg [rsp + 8], rcx
    lock xadd [rsp + 8], rdx
    mov rax, [rsp + 16]
    test r15d, 1
    jz 1f
    xor eax, 55
1:  cmpxchg [rsp + 16], rcx
    cmpxchg16b [rsp + 32]
    lahf
    ror ah, 1
    sahf
    pushfq
    xor dword ptr [rsp], 0x40
    popfq
    shl rcx, cl
    shld rcx, rbx, 3
    rcl rcx, 1
    bsf rdx, r15
    bt r15, 1
    setc dl
    cmovc esi, r15d
    popcnt r9d, r15d
    movq xmm0, r15
    pmovmskb r10d, xmm0
    movq r11, xmm0
    ucomisd xmm0, xmm1
    cvttsd2si r12d, xmm0
    lea rdi, [rsp + 64]
    lea rsi, [rsp + 128]
    mov ecx, r15d
    and ecx, 3
    cld
    rep movsb
    mov ecx, r15d
    repne scasb
    lodsd
    stosw
    mov rbx, rsp
    mov al, r15b
    xlatb
    mov ecx, 3
2:  inc r13
    loop 2b
    cpuid
    push r15
    enter 16, 0
    leave
    pop r14
    bswap r14
    mov ax, r15w
    mov bh, cl
    call 3f
3:  pop rdx
    dec r15d
    jnz turn
    mov eax, 42
    leave
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #512
    mov x19, #9
turn:
    mov x0, sp
    str x19, [x0], #8
    str x19, [x0, #8]!
    ldr x1, [x0], #-16
    ldp x2, x3, [x0], #16
    ldpsw x4, x5, [x0]
    stp d8, d9, [x0, #16]!
    fmov d8, x19
    fmov s9, w19
    ins v10.d[1], x19
    ins v10.d[0], x19
    ld1 {v11.4s, v12.4s}, [x0], #32
    ld1r {v13.2d}, [x0]
    mov v14.16b, v8.16b
    ldr q15, [sp]
    ldr b15, [sp]
    ldp q8, q9, [sp]
    cmp x19, #5
    csel x6, x1, x2, eq
    ccmp x19, #3, #4, ne
    adcs x7, x1, x2
    fcmp d8, d9
    mrs x8, nzcv
    eor x8, x8, #0x80000000
    msr nzcv, x8
    b.mi 1f
    add x9, x9, x19
1:  mov x0, sp
    ldxr x10, [x0]
    stxr w11, x19, [x0]
    ldxp x12, x13, [x0]
    stlxp w14, x12, x13, [x0]
    umulh x15, x1, x19
    extr x16, x1, x19, #3
    bfi x17, x19, #2, #7
    movk x18, #7, lsl #16
    umov w20, v8.s[1]
    fcvtzs x21, d8
    scvtf d9, x19
    tbl v10.16b, {v8.16b}, v9.16b
    sqadd d11, d8, d9
    ands xzr, x19, #1
    adr x22, 2f
    blr x22
2:  paciasp
    autiasp
    subs x19, x19, #1
    b.ne turn
    mov w0, #42
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret
""",
    "a32": """
fn main
    push {r4-r11, lr}
    sub sp, sp, #512
    mov r4, #9
turn:
    add r0, sp, #256
    stmdb r0!, {r4, r5}
    stmia r0!, {r4, r5}
    ldmdb r0!, {r1, r2}
    str r4, [r0], #4
    str r4, [r0, #4]!
    ldr r1, [r0], -r4, lsl #2
    bic r0, r0, #7
    strd r4, r5, [r0], #8
    ldrd r2, r3, [r0, #-8]!
    ldrht r1, [r0], #2
    strbt r1, [r0], #1
    bic r0, r0, #7
    ldrexd r2, r3, [r0]
    strexd r1, r2, r3, [r0]
    vmov d8, r4, r5
    vmov s19, r4
    vpush {d8-d11}
    vldmia sp!, {d12-d15}
    vpush {s16-s18}
    vpop {s20-s22}
    vstmdb r0!, {d8}
    vldmia r0!, {d9}
    vldr d10, [r0]
    vadd.f32 q6, q4, q5
    vld1.32 {d8, d9}, [r0]
    vst1.32 {d8}, [r0]!
    vswp d8, d11
    vtrn.32 d8, d14
    vmov r6, r7, d8
    vcmp.f64 d8, d9
    vmrs apsr_nzcv, fpscr
    addvs r8, r8, #1
    subs r9, r4, #5
    addmi r9, r9, #3
    movs r10, r4, lsr #1
    rscs r10, r4, #1
    umulls r2, r3, r4, r9
    smlal r2, r3, r4, r9
    mrs r1, cpsr
    eor r1, r1, #0x80000000
    msr cpsr_f, r1
    addmi r5, r5, r4
    teq r4, #3
    ldreq r11, [r0]
    mov lr, pc
    add pc, pc, #0
    nop
    usat r1, #3, r4
    qadd r1, r4, r5
    subs r4, r4, #1
    bne turn
    mov r0, #42
    add sp, sp, #512
    pop {r4-r11, pc}
""",
    "thumb": """
fn main
    push {r4-r11, lr}
    sub sp, sp, #512
    movs r4, #9
turn:
    add r0, sp, #256
    stmdb r0!, {r4, r5}
    stmia r0!, {r4, r5}
    ldmdb r0!, {r1, r2}
    ldmia r0!, {r1, r2}
    str r4, [r0], #4
    ldr r1, [r0, #-4]!
    strd r4, r5, [r0], #8
    ldrd r2, r3, [r0, #-8]!
    vmov d8, r4, r5
    vpush {d8-d11}
    vpop {d12-d15}
    vstmdb r0!, {d8}
    vldmia r0!, {d9}
    vmov r6, r7, d8
    vcmp.f64 d8, d9
    vmrs apsr_nzcv, fpscr
    subs r1, r4, #5
    adds r1, r4
    lsls r1, r4, #3
    lsrs r1, r4
    muls r1, r4, r1
    rsbs r1, r1, #0
    mvns r2, r4
    adcs r2, r4
    tst r4, #1
    itete ne
    addne r5, r5, r4
    streq r5, [sp]
    ldrne r6, [sp]
    moveq r7, r4
    cmp r4, #4
    it lt
    strlt r4, [sp, #4]
    subs r3, r4, r5
    movw r8, #77
    movt r8, #3
    bfi r8, r4, #3, #5
    umull r9, r10, r4, r8
    and r11, r4, #1
    tbb [pc, r11]
    .byte 1, 2
    nop
    cbz r5, 1f
    add r5, r5, #1
1:  adr r1, 2f
    blx r1
    .align 2
    .arm
2:  add r2, r2, r4
    adr lr, 3f + 1
    bx lr
    .thumb
3:  subs r4, #1
    bne.w turn
    movs r0, #42
    add sp, sp, #512
    pop {r4-r11, pc}
""",
}


@pytest.mark.parametrize("isa", LOOPS)
def test_instructions_that_write_more_than_their_operands_say(isa: str) -> None:
    light, _ = both(image_of(isa, LOOPS[isa]))
    assert light.ending == Exited(42), light.ending
    assert len(light.sizes) > 9 * 30


# The function changes rbx ten times, then rcx: a set that was settled would be wrong from then on.
PATCHING = """
fn main
    mov r8d, 20
    lea rsi, [rip + spot]
again:
    call spot
    cmp r8d, 10
    jne 1f
    mov byte ptr [rsi + 2], 0xc1
1:  dec r8d
    jnz again
    mov eax, 42
    ret
fn spot
    inc rbx
    ret
"""


def test_code_that_is_written_over_is_learnt_anew() -> None:
    made = image_of("x86_64", PATCHING)
    image = replace(made, segments=tuple(replace(segment, writable=True) for segment in made.segments))
    light, _ = both(image)
    assert light.ending == Exited(42)
    for name in ("rbx", "rcx"):
        assert len(np.unique(light.registers[:, image.arch.index[name]])) >= 10, name


def test_an_interrupt_from_the_keyboard_is_noticed() -> None:
    image = image_of("x86_64", "fn main\nagain: jmp again\n")
    was = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    noticed = threading.Event()

    def press() -> None:  # again and again: Python drops an interrupt that comes in a finalizer
        while not noticed.wait(0.5):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            record_native(start_machine(LoadedImage(image), seed=1), 1 << 25)
    finally:
        noticed.set()
        thread.join()
        signal.signal(signal.SIGINT, was)


@pytest.mark.parametrize("isa", STORES)
def test_a_long_run_goes_over_to_the_native_recorder_and_is_the_same(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image, asked = image_of(isa, STORES[isa]), list[int]()

    def counted(machine: Machine, budget: int) -> Tape:
        asked.append(budget)
        return record_native(machine, budget)

    whole = record(image)
    monkeypatch.setattr(native, "record_native", counted)
    for start, budget, native_runs in ((100, 5000, 1), (len(whole), 5000, 0), (100, 100, 0), (100, 120, 1)):
        monkeypatch.setattr(recording, "NATIVE_FROM", start)
        asked.clear()
        trace, light = record(image, budget=budget), record(image, budget=budget, recorder=record_light)
        assert asked == [budget] * native_runs
        assert str(trace.end) == str(light.end)
        assert np.array_equal(trace.registers, light.registers) and np.array_equal(trace.sizes, light.sizes)
        assert np.array_equal(trace.writes.value, light.writes.value)


@pytest.mark.parametrize(
    ("isa", "code", "written"),
    [
        ("x86_64", "4801d8", {"rax", "rflags"}),
        ("x86_64", "50", {"rsp"}),
        ("x86_64", "0f28c1", set()),
        ("x86_64", "f3a4", None),
        ("x86_64", "06", None),
        ("arm64", "fd7bc1a8", {"x29", "x30", "sp"}),
        ("arm64", "0040a00c", None),
        ("a32", "0480bde8", {"r2", "sp", "cpsr"}),
        ("a32", "108b2ded", None),
        ("thumb", "0138", {"r0", "cpsr"}),
        ("thumb", "7047", {"cpsr"}),
    ],
)
def test_write_sets(isa: str, code: str, written: set[str] | None) -> None:
    arch, chosen = arch_of(isa)
    found = write_set(arch, chosen, bytes.fromhex(code), 0x1000)
    assert found == written


def test_nothing_is_compiled_before_it_is_needed() -> None:
    """Reading `testbed` loads no compiler: a short run would wait for it longer than it takes."""
    command = "import sys; import testbed; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0
