"""The decoders of the static pass beside capstone, on the code of real libraries.

Where capstone is known to be wrong of what an instruction writes, the instruction is left out, by name.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import capstone
import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import recipes_for
from testbed.image import read_image
from testbed.native.compiled import native
from testbed.sweep.native import a32, arm64, codes, thumb, x86_64, x86_fields

X86_64 = (
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libm.so.6",
    "/usr/lib/x86_64-linux-gnu/libmvec.so.1",
)
ARM64 = ("/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libm.so.6")
THUMB = "/usr/arm-linux-gnueabihf/lib/libc.so.6"
NAMES = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
# Registers that capstone says are written and are not, or the other way round (of `test`, `cmpxchg`, `cdq`, system
# instructions; of arm64 comparisons, additions that set flags, tagged stores and atomic operations).
WRONG_IN_CAPSTONE = {
    "test",
    "cmpxchg",
    "lock cmpxchg",
    "cdq",
    "cqo",
    "cwd",
    "syscall",
    "xend",
    "rdpkru",
    "wrpkru",
    "xabort",
}
OF_ARM64 = {"cmp", "cmn", "tst", "adds", "subs", "svc", "irg", "gmi", "ldg", "cntb"}
TAGGED_OR_ATOMIC = ("st2g", "stz", "stg", "cas", "swp", "ldadd", "ldclr", "ldset", "ldeor", "ldsmax", "ldumax")
MOST = 3000  # instructions of each file, from places all over its code


def parts(path: str, step: int) -> Iterator[tuple[bytes, int]]:
    """Some pieces of a file's code, with their addresses."""
    text = read_image(path).sections[".text"]
    each = 2048
    for at in range(0, len(text.data) - each, max(len(text.data) // 60 // step * step, step)):
        yield text.data[at : at + each], text.address + at


def x86_numbers() -> dict[str, int]:
    found = {}
    for number, name in enumerate(NAMES):
        found[name] = number
        if name[1:].isdigit():
            found |= {f"{name}{part}": number for part in "dwb"}
        else:
            low = name[1] + "l" if name.endswith("x") else name[1:] + "l"
            found |= {f"e{name[1:]}": number, name[1:]: number, low: number}
            found |= {f"{name[1]}h": number} if name.endswith("x") else {}
    return found


def arm64_numbers() -> dict[str, int]:
    found = {"sp": 31, "wsp": 31, "fp": 29, "lr": 30}
    found |= {f"{part}{k}": k for k in range(31) for part in "xw"}
    return found | {f"{part}{k}": 24 + k for k in range(8, 16) for part in "bhsdqv"}


def arm32_numbers() -> dict[str, int]:
    found = {"sp": 13, "lr": 14, "sb": 9, "sl": 10, "fp": 11, "ip": 12} | {f"r{k}": k for k in range(13)}
    return found | {f"s{k}": k for k in range(16, 32, 2)} | {f"d{k}": 2 * k for k in range(8, 16)}


def unsure_of_arm32(mnemonic: str) -> bool:
    return mnemonic.startswith(WRONG_OF_ARM32)


def compare_with_capstone(
    disassembler: capstone.Cs,
    decode: Callable[..., Any],
    code_of: Iterator[tuple[bytes, int]],
    numbers: dict[str, int],
    unsure: Callable[[str], bool],
    left_out: tuple[str, ...] = (),
) -> None:
    """Lengths, and which registers are written, but of instructions whose registers capstone is ``unsure`` of.

    What begins with one of those that are ``left_out`` is another instruction to capstone.
    """
    operations = np.zeros((codes.MOST_OPERATIONS, 5), np.int64)
    disassembler.detail = True
    seen, wrong = 0, []
    for code, address in code_of:
        octets = np.frombuffer(code, np.uint8)
        for each in disassembler.disasm(code, address):
            if seen > MOST:
                break
            seen += 1
            length, flow, _, count = decode(octets, each.address - address, len(octets), each.address, operations)
            said = {numbers[name] for name in map(each.reg_name, each.regs_access()[1]) if name in numbers}
            if each.mnemonic.startswith(left_out):
                continue
            if length != each.size:
                wrong.append(f"{each.mnemonic} {each.op_str}: {length} bytes, not {each.size}")
            elif flow not in (codes.CALL, codes.CALL_AWAY, codes.RETURN) and not unsure(each.mnemonic):
                mine = written(operations, count) & {*numbers.values()}
                if mine != said:
                    wrong.append(f"{each.mnemonic} {each.op_str} ({each.bytes.hex()}): writes {mine}, not {said}")
    assert seen > 500
    assert wrong == []


def written(operations: Any, count: int) -> set[int]:
    still = (codes.STORE, codes.COMPARE, codes.EQUAL, codes.SPILL)
    return {int(register) for kind, register, *_ in operations[:count] if kind not in still and register != 17}


@pytest.mark.parametrize("path", X86_64)
def test_x86_64(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"no {path}")
    fields = np.zeros(x86_fields.FIELDS, np.int64)

    def decode(*given: Any) -> Any:
        return native(x86_64.decode_x86_64, when=False)(*given[:-1], fields, given[-1])

    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    other = ("ud", "ins", "outs", "xlat", "enter", "rep ins")
    compare_with_capstone(disassembler, decode, parts(path, 1), x86_numbers(), WRONG_IN_CAPSTONE.__contains__, other)


@pytest.mark.parametrize("path", ARM64)
def test_arm64(path: str) -> None:
    if not Path(path).exists():
        pytest.skip("needs apt install libc6-arm64-cross")
    disassembler = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    decode = native(arm64.decode_arm64, when=False)
    compare_with_capstone(
        disassembler,
        decode,
        parts(path, 4),
        arm64_numbers(),
        lambda mnemonic: mnemonic in OF_ARM64 or mnemonic.startswith(TAGGED_OR_ATOMIC),
    )


# What capstone says is written by calls that may not happen, by the kernel, and of vector lists and coprocessors.
WRONG_OF_ARM32 = ("bl", "svc", "mrc", "mcr", "vpush", "vpop", "vldm", "vstm", "vld", "vst")
BLOCK = ("it",)  # which is one instruction to the decoder


def test_thumb() -> None:
    if not Path(THUMB).exists():
        pytest.skip("needs apt install libc6-armhf-cross")
    disassembler = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8)
    decode = native(thumb.decode_thumb, when=False)
    compare_with_capstone(disassembler, decode, parts(THUMB, 2), arm32_numbers(), unsure_of_arm32, BLOCK)


def test_a32() -> None:
    """The code of compiled programs of the corpus, without the numbers that lie in it."""

    def pieces() -> Iterator[tuple[bytes, int]]:
        arch = ARCHES["arm32"]
        for name in ("busy_leaf", "inline_chain", "two_files", "vector_calls", "switch_table", "big_frame"):
            recipe = next(each for each in recipes_for(PROGRAMS[name], arch) if each.name.startswith("clang-O"))
            image = build(PROGRAMS[name], arch, recipe).image
            text = image.sections[".text"]
            ends = sorted({*image.data_marks, *(address for address, _ in image.isa_marks), text.address})
            for start, end in itertools.pairwise([*ends, text.address + len(text.data)]):
                if start >= text.address and start not in image.data_marks:
                    yield text.data[start - text.address : end - text.address], start

    disassembler = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8)
    decode = native(a32.decode_a32, when=False)
    compare_with_capstone(disassembler, decode, pieces(), arm32_numbers(), unsure_of_arm32, BLOCK)


# Instructions whose memory operand matters, as they are seldom in libraries: code, and all operations.
PLACES = (
    ("62 f1 7c 48 29 44 24 01", [(codes.STORE, -1, 7, 64, 64)]),  # vmovaps %zmm0, 64(%rsp)
    ("f0 48 83 0c 24 00", []),  # lock orq $0, (%rsp)
    ("48 89 5c 24 f8", [(codes.STORE, 3, 7, -8, 8)]),  # movq %rbx, -8(%rsp)
    ("89 5c 24 f8", [(codes.STORE, -1, 7, -8, 4)]),  # movl %ebx, -8(%rsp)
    ("d9 7c 24 0e", [(codes.STORE, -1, 7, 14, 2)]),  # fnstcw 14(%rsp)
    ("c9", [(codes.ADD, 7, 6, 8, 0), (codes.LOAD, 6, 7, -8, 8)]),  # leave
    ("54", [(codes.STORE, 7, 7, -8, 8), (codes.ADD, 7, 7, -8, 0)]),  # pushq %rsp
    ("48 83 e4 e0", [(codes.ALIGN, 7, 7, -32, 0)]),  # andq $-32, %rsp
    ("48 39 dc", [(codes.COMPARE, 7, 3, 0, 0)]),  # cmpq %rbx, %rsp
    ("64 48 89 1c 24", []),  # movq %rbx, %fs:(%rsp)
    ("88 e3", [(codes.CLOBBER, 3, 0, 0, 0)]),  # movb %ah, %bl
    ("40 88 e3", [(codes.CLOBBER, 3, 0, 0, 0)]),  # movb %spl, %bl
    ("b7 01", [(codes.CLOBBER, 3, 0, 0, 0)]),  # movb $1, %bh
    ("49 c7 c4 ff ff ff ff", [(codes.CONSTANT, 12, -1, 0, 0)]),  # movq $-1, %r12
)


@pytest.mark.parametrize(("code", "expected"), PLACES, ids=[code for code, _ in PLACES])
def test_operations(code: str, expected: list[tuple[int, ...]]) -> None:
    fields, operations = np.zeros(x86_fields.FIELDS, np.int64), np.zeros((codes.MOST_OPERATIONS, 5), np.int64)
    octets = np.frombuffer(bytes.fromhex(code), np.uint8)
    length, _, _, count = native(x86_64.decode_x86_64, when=False)(octets, 0, len(octets), 0x1000, fields, operations)
    assert length == len(octets)
    assert [tuple(map(int, each)) for each in operations[:count]] == expected


@pytest.mark.parametrize("size", range(1, 6))
def test_what_is_cut_off_is_no_instruction(size: int) -> None:
    octets = np.frombuffer(bytes.fromhex("62f17c48294424 01")[:size], np.uint8)
    fields, operations = np.zeros(x86_fields.FIELDS, np.int64), np.zeros((codes.MOST_OPERATIONS, 5), np.int64)
    assert native(x86_64.decode_x86_64, when=False)(octets, 0, size, 0, fields, operations)[0] == 0
