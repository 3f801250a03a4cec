"""What execve leaves on the stack of a new process, lowest address first::

    argc, argv[0..], 0, envp[0..], 0, auxiliary vector (pairs of words), its end
    16 random bytes, the platform's name, the strings of argv and envp, the program's path, a zero word

Source: System V ABI, AMD64 supplement, section 3.4.1; Linux 6.1, fs/binfmt_elf.c, create_elf_tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from testbed.process.abi import KernelAbi
from testbed.process.address_space import PAGE
from testbed.process.loader import LoadedProgram

STACK_SIZE = 8 << 20  # RLIMIT_STACK, as usual; all of it is mapped
USER = GROUP = 1000
MOST_STRINGS = 128 << 10


def initial_stack(
    abi: KernelAbi, word: int, loaded: LoadedProgram, path: str, argv: Sequence[str], env: Mapping[str, str], seed: int
) -> tuple[int, bytes]:
    """SP at the process's start, and the bytes from there to the end of the stack. Strings are at most 128 KiB."""
    strings = bytearray()

    def placed(text: str) -> int:
        strings.extend(text.encode("utf-8", "surrogateescape") + b"\0")
        return len(strings) - len(text.encode("utf-8", "surrogateescape")) - 1

    platform = placed(abi.platform)
    at_argv = [placed(argument) for argument in argv]
    at_env = [placed(f"{name}={value}") for name, value in env.items()]
    at_path = placed(path)
    random = Random(f"AT_RANDOM {seed}").randbytes(16)
    top = abi.stack_top - 8
    base = (top - len(strings)) & -16
    vector = _auxiliary(abi, loaded) | {
        15: base + platform,  # AT_PLATFORM
        25: base - 16,  # AT_RANDOM
        31: base + at_path,  # AT_EXECFN
        0: 0,
    }
    words = [len(argv), *(base + at for at in at_argv), 0, *(base + at for at in at_env), 0]
    words += [part for pair in vector.items() for part in pair]
    sp = (base - 16 - word * len(words)) & -16
    block = b"".join(value.to_bytes(word, "little") for value in words)
    data = block.ljust(base - 16 - sp, b"\0") + random + bytes(strings)
    return sp, data.ljust(abi.stack_top - sp, b"\0")


def _auxiliary(abi: KernelAbi, loaded: LoadedProgram) -> dict[int, int]:
    """The auxiliary vector's numbers, but for those that name something on the stack. There is no vDSO."""
    address, count, each = loaded.headers
    return {
        16: abi.hwcap,
        6: PAGE,
        17: 100,  # AT_CLKTCK
        3: address,
        4: each,
        5: count,
        7: loaded.base,
        8: 0,  # AT_FLAGS
        9: loaded.entry,
        11: USER,
        12: USER,
        13: GROUP,
        14: GROUP,
        23: 0,  # AT_SECURE
        26: abi.hwcap2,
        51: abi.signal_stack,
    }
