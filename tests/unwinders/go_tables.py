"""Go's table of functions, made function by function. It shares nothing with what reads it."""

from collections.abc import Sequence
from typing import NamedTuple

from testbed.arch import Arch
from testbed.image import Image
from tests.unwinders.frames import START, X86_64, image, u, uleb

SIZE = 0x20  # of each function, one behind the other
AT = 0x4000
TOP, SP_WRITE, ASM = 1, 2, 4
MAGIC = {"1.16": 0xFFFFFFFA, "1.18": 0xFFFFFFF0, "1.20": 0xFFFFFFF1}


class Go(NamedTuple):
    """A function: how far SP is down, for so many instructions' smallest sizes each; none: it has no such table."""

    name: str
    depths: Sequence[tuple[int, int]] = ((4, 0), (20, 24), (8, 0))
    flags: int = 0


def by_pc(depths: Sequence[tuple[int, int]]) -> bytes:
    """The bytes of a table by pc."""
    found, before = b"", -1
    for count, depth in depths:
        difference, before = depth - before, depth
        found += uleb(2 * difference if difference >= 0 else -2 * difference - 1) + uleb(count)
    return found + b"\0"


def record(function: Go, version: str, entry: bytes, name: int, pcsp: int) -> bytes:
    """A function's record: its entry, name, pcsp; funcID and flags."""
    unit = u(4, 0) * (2 if version == "1.20" else 1)
    flags = 0 if version == "1.16" else function.flags
    return entry + u(4, name) + u(4, 0) * 2 + u(4, pcsp) + u(4, 0) * 3 + unit + bytes([0, flags, 0, 0])


def section(functions: Sequence[Go], version: str = "1.20", arch: Arch = X86_64, *, text: int = START) -> bytes:
    """The whole table; ``text`` is what its header says of where the code begins."""
    is_wide = version == "1.16"
    field, base, word = (arch.word, START, arch.word) if is_wide else (4, 0, arch.word)
    names, tables = b"\0", b"\0"
    pairs, records = b"", b""
    size = (2 * len(functions) + 1) * field
    for i, function in enumerate(functions):
        entry = u(field, base + SIZE * i)
        pairs += entry + u(field, size + len(records))
        records += record(function, version, entry, len(names), len(tables) if function.depths else 0)
        names += function.name.encode() + b"\0"
        tables += by_pc(function.depths)
    pairs += u(field, base + SIZE * len(functions))
    head = 8 + word * (7 if is_wide else 8)
    places = [head, head, head, head + len(names), head + len(names) + len(tables)]
    words = [len(functions), 0, *([] if is_wide else [text]), *places]
    start = u(4, MAGIC[version]) + bytes([0, 0, 1 if arch.link is None else 4, word])
    return start + b"".join(u(word, each) for each in words) + names + tables + pairs + records


def made(*functions: Go, version: str = "1.20", arch: Arch = X86_64, module: int | None = None) -> Image:
    """An image with these functions; ``module``: where the code begins, said there and not in the header."""
    content = section(functions, version, arch, text=START if module is None else 0)
    more = {} if module is None else {"_go.module": (0x5000, bytes(22 * arch.word) + u(arch.word, module))}
    return image(arch, symbols=(), _gopclntab=(AT, content), **more)


EVERY = (
    *(Go("main.main"), Go("main.leaf", ((32, 0),)), Go("main.wide", ((4, 0), (4, 8), (16, 0x1008), (8, 0)))),
    *(Go("runtime.goexit", ((32, 0),), TOP | ASM), Go("runtime.mstart", ((32, 0),), TOP | ASM)),
    *(Go("runtime.rt0_go", ((32, 0),), TOP | ASM), Go("_rt0_amd64", (), ASM), Go("_rt0_arm64", (), ASM)),
    *(Go("runtime.mcall", ((32, 0),), SP_WRITE | ASM), Go("runtime.sigpanic"), Go("outside", ())),
    *(Go("memmove", ((8, 0), (24, 16)), ASM), Go("runtime.asyncPreempt", ((4, 0), (28, 16)), ASM)),
)
"""Functions of every kind that there is a rule for."""
