"""A program file, and the dynamic linker that it asks for, in memory: what execve does.

Source: Linux 6.1, fs/binfmt_elf.c, load_elf_binary. Pages come from the file, also what lies beside a segment on its
first and last page; behind the file's bytes there are zeros.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile

from testbed.image import Image, LoadedImage
from testbed.process.abi import KernelAbi
from testbed.process.address_space import EXECUTE, PAGE, READ, WRITE, AddressSpace
from testbed.process.refusal import Refusal
from testbed.words.errors import ImageError


@dataclass(frozen=True, slots=True)
class ElfPlan:
    """What execve reads of a file besides its segments: ``headers`` are (address, count, bytes each).

    ``entry`` has the bit of its instruction set, as the file says it.
    """

    entry: int
    position_independent: bool
    interpreter: str | None
    headers: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """``start`` is where the process begins, in the linker if there is one, ``entry`` the program's own start.

    ``end`` is the first page behind the program, ``base`` the linker's bias.
    """

    program: LoadedImage
    interpreter: LoadedImage | None
    headers: tuple[int, int, int]
    start: int
    entry: int
    end: int

    @property
    def base(self) -> int:
        return self.interpreter.bias if self.interpreter else 0


def plan_of(image: Image) -> ElfPlan:
    """Raises ImageError for a file that no kernel would run."""
    elf = ELFFile(io.BytesIO(image.content))
    kind = elf["e_type"]
    if kind not in ("ET_EXEC", "ET_DYN") or not image.segments:
        raise ImageError(image.path, 16, f"{kind} is no program: link it first")
    if elf["e_phnum"] * elf["e_phentsize"] > PAGE:
        raise ImageError(image.path, 0x38, f"{elf['e_phnum']} program headers do not fit into a page")
    interpreter = next((s.get_interp_name() for s in elf.iter_segments("PT_INTERP")), None)
    if interpreter is not None and not 1 < len(interpreter) < PAGE:
        raise ImageError(image.path, 0, "the name of its dynamic linker is not one")
    at = next((s.header.p_vaddr for s in elf.iter_segments("PT_PHDR")), None)
    if at is None:
        at = image.segments[0].address - image.segments[0].offset + elf["e_phoff"]
    return ElfPlan(elf["e_entry"], kind == "ET_DYN", interpreter, (at, elf["e_phnum"], elf["e_phentsize"]))


def load_program(
    image: Image, memory: AddressSpace, abi: KernelAbi, interpreter: Callable[[str], Image]
) -> LoadedProgram:
    """Map a program and its dynamic linker, which ``interpreter`` finds by its name. Raises ImageError."""
    plan = plan_of(image)
    program = LoadedImage(image, abi.load_bias - _span(image)[0] if plan.position_independent else 0)
    _map_image(program, memory)
    linker, start = None, plan.entry + program.bias
    if plan.interpreter is not None:
        linked = interpreter(plan.interpreter)
        plan_of_linker = plan_of(linked)
        if not plan_of_linker.position_independent:
            raise ImageError(linked.path, 16, "a dynamic linker that cannot lie anywhere")
        low, high = _span(linked)
        linker = LoadedImage(linked, memory.free_place(high - low) - low)
        _map_image(linker, memory)
        start = plan_of_linker.entry + linker.bias
    address, count, each = plan.headers
    headers = (address + program.bias, count, each)
    return LoadedProgram(program, linker, headers, start, plan.entry + program.bias, _span(image)[1] + program.bias)


def _span(image: Image) -> tuple[int, int]:
    """The pages from the first segment to the last."""
    low = min(segment.address for segment in image.segments) & -PAGE
    high = max(segment.address + segment.size for segment in image.segments)
    return low, -(-high // PAGE) * PAGE


def _map_image(loaded: LoadedImage, memory: AddressSpace) -> None:
    content, path = loaded.image.content, loaded.image.path
    for segment in loaded.image.segments:
        if not segment.size:
            continue
        skew = segment.address % PAGE
        if segment.offset % PAGE != skew:
            raise ImageError(path, segment.offset, "a segment's place in its page differs between file and memory")
        start, filled = segment.address + loaded.bias - skew, len(segment.data)
        protection = READ * segment.readable | WRITE * segment.writable | EXECUTE * segment.executable
        last = -(-(segment.offset + filled) // PAGE) * PAGE
        pages = bytearray(content[segment.offset - skew : last]) if filled else bytearray()
        if pages and segment.size > filled:
            pages[skew + filled :] = bytes(len(pages) - skew - filled)
        try:
            memory.map(start, skew + segment.size, protection, bytes(pages), name=path.name, offset=segment.offset)
        except Refusal as refusal:
            raise ImageError(
                path, segment.offset, f"a segment at {segment.address:#x} cannot be mapped: {refusal}"
            ) from refusal
