"""A machine that stands before the program's first instruction, with every register planted.

A register that happens to hold zero, or the same value as another, lets a wrong rule be right by luck. So each
one starts with a value of its own that is no address of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from unicorn import Uc, UcError
from unicorn import unicorn_const as uc
from unicorn.unicorn_const import UC_TLB_VIRTUAL

from testbed.arch import Arch
from testbed.image import Image, LoadedImage
from testbed.machine.signals import ALTERNATE_SIZE, Delivery, alternate_top, deliveries
from testbed.machine.unicorn_arches import UNICORN, Cpu
from testbed.program.header import Signal
from testbed.trace import Region
from testbed.words.errors import ImageError


@dataclass(frozen=True, eq=False)
class Machine:
    """A set-up emulator: ``start`` is where it begins (with the Thumb bit where that applies)."""

    arch: Arch
    uc: Uc = field(repr=False)
    mappings: tuple[MappedPages, ...] = field(repr=False)
    start: int
    planted: Mapping[str, int]
    signals: tuple[Delivery, ...] = ()


def start_machine(loaded: LoadedImage, *, seed: int, signals: Iterable[Signal] = (), cpu: str | None = None) -> Machine:
    """Map a loaded image and a stack, plant the registers from ``seed``, and point pc at the entry.

    ``cpu`` names one of the architecture's CPU models; where it has none of that name, it is the usual one.
    """
    arriving = deliveries(loaded, signals)
    image, arch = loaded.image, loaded.image.arch
    stack, sp = map_stack(arch, executable=image.executable_stack)
    alternate = (map_alternate_stack(arch),) if any(signal.stack for signal in arriving) else ()
    mappings = (*map_image(loaded), stack, *alternate)
    settings = UNICORN[arch.name]
    uc, ids = new_engine(arch, settings.cpus.get(cpu or "")), settings.registers
    map_all(uc, mappings, image)
    planted = initial_registers(arch, seed, mappings)
    for name, value in planted.items():
        uc.reg_write(ids[name], value)
    uc.reg_write(ids[arch.sp], sp)
    return Machine(arch, uc, mappings, loaded.entry | image.isa_at(image.entry).address_bit, planted, arriving)


def map_all(uc: Uc, mappings: Iterable[MappedPages], image: Image) -> None:
    """Map a file's memory and the stack. Raises ImageError where they lie over each other, or at no address."""
    for mapping in mappings:
        try:
            uc.mem_map(mapping.address, len(mapping.data), mapping.permissions)
            uc.mem_write(mapping.address, mapping.data)
        except UcError as error:
            at = f"{mapping.address:#x} to {mapping.address + len(mapping.data):#x}"
            why = f"memory from {at} cannot be had: a segment lies over the stack, or over another ({error})"
            raise ImageError(image.path, 0, why) from error


def new_engine(arch: Arch, cpu: Cpu | None) -> Uc:
    """An emulator of a CPU model (None: the usual one), set up as Linux leaves a processor to its programs.

    Addresses are virtual ones to a model that is not the usual one: physically it may not reach as far up as the
    stack lies.
    """
    settings = UNICORN[arch.name]
    if cpu is None:
        uc = Uc(*settings.opened)
    else:
        uc = Uc(*settings.opened, cpu.model)
        uc.ctl_set_tlb_mode(UC_TLB_VIRTUAL)
        for address, keep, bits in cpu.system:
            value = uc.reg_read(cpu.port, address)
            uc.reg_write(cpu.port, (*address, value & keep | bits))
    for register, keep, bits in settings.setup:
        uc.reg_write(register, (uc.reg_read(register) & keep) | bits)
    return uc


def initial_registers(
    arch: Arch, seed: int, mappings: Iterable[MappedPages], *, outermost: bool = True
) -> Mapping[str, int]:
    """The entry value of every register but pc, SP and the flags.

    The frame pointers and the link register are zero: that is what the ABIs say marks the outermost frame. All
    others are distinct, non-zero, as wide as the register, and no mapped address; the same seed gives the same. Not
    ``outermost``: they have such values too, as before a call.
    """
    random = Random(seed)
    taken = [(mapping.address, mapping.address + len(mapping.data)) for mapping in mappings]
    zero = {*arch.frame_pointers, *((arch.link,) if arch.link else ())} if outermost else set()
    values: dict[str, int] = {}
    for register in arch.registers:
        if register.name in (arch.pc, arch.sp, arch.flags):
            continue
        value = 0
        while register.name not in zero and (
            value in (0, *values.values()) or any(low <= value < high for low, high in taken)
        ):
            value = random.getrandbits(register.bits)
        values[register.name] = value
    return MappingProxyType(values)


# Where a program lies in memory before its first instruction: its segments, and a Linux stack.
#
# Everything is page-rounded and zero-filled the way a kernel maps it, so the bytes listed here are the whole
# initial memory: what is not in a mapping is not mapped.

PAGE = 0x1000
STACK_SIZE = 256 * 1024
MAX_MAPPED = 256 * 1024 * 1024
SLIDE = 0x0A5C_4000  # the load bias of an image that may lie anywhere: nothing may confuse the two kinds of address


@dataclass(frozen=True, slots=True)
class MappedPages:
    """Pages with the same permissions (Unicorn's ``UC_PROT_*`` bits) and their initial content."""

    address: int
    data: bytes = field(repr=False)
    permissions: int

    @property
    def region(self) -> Region:
        return Region(self.address, self.data)


def map_image(loaded: LoadedImage) -> tuple[MappedPages, ...]:
    """The pages of a loaded image's segments; two segments on one page share it with both permissions.

    With a load bias, the words that hold addresses of the image are moved with it, as its loader would.

    Raises ImageError for an image that claims more memory than a test program can sensibly want.
    """
    image = loaded.image
    total = sum(segment.size for segment in image.segments)
    if total > MAX_MAPPED:
        raise ImageError(image.path, 0, f"its segments claim {total:#x} bytes; at most {MAX_MAPPED:#x} are mapped")
    pages: dict[int, bytearray] = {}
    permissions: dict[int, int] = {}
    for segment in image.segments:
        start = segment.address + loaded.bias
        allowed = (
            (uc.UC_PROT_READ if segment.readable else 0)
            | (uc.UC_PROT_WRITE if segment.writable else 0)
            | (uc.UC_PROT_EXEC if segment.executable else 0)
        )
        for page in range(start & -PAGE, start + segment.size, PAGE):
            content = pages.setdefault(page, bytearray(PAGE))
            permissions[page] = permissions.get(page, 0) | allowed
            low, high = max(page, start), min(page + PAGE, start + len(segment.data))
            if low < high:
                content[low - page : high - page] = segment.data[low - start : high - start]
    if loaded.bias:
        for address in image.rebases:
            _add_bias(pages, address + loaded.bias, loaded)
    return _joined(pages, permissions)


def _add_bias(pages: dict[int, bytearray], at: int, loaded: LoadedImage) -> None:
    """Move one word, which may lie across two pages."""
    word = loaded.image.arch.word
    places = [(address & -PAGE, address % PAGE) for address in range(at, at + word)]
    if any(page not in pages for page, _ in places):
        raise ImageError(loaded.image.path, 0, f"a word to rebase at {at - loaded.bias:#x} is not in a segment")
    old = int.from_bytes(bytes(pages[page][offset] for page, offset in places), "little")
    new = (old + loaded.bias & loaded.image.arch.word_mask).to_bytes(word, "little")
    for (page, offset), byte in zip(places, new, strict=True):
        pages[page][offset] = byte


def load(image: Image) -> LoadedImage:
    """Where an image is loaded: at its own addresses, or slid by `SLIDE` where it may lie anywhere."""
    return LoadedImage(image, SLIDE if image.position_independent else 0)


def _joined(pages: dict[int, bytearray], permissions: dict[int, int]) -> tuple[MappedPages, ...]:
    """Neighbouring pages with equal permissions as one mapping."""
    runs: list[tuple[int, list[bytearray]]] = []
    for page in sorted(pages):
        if runs:
            start, contents = runs[-1]
            if page == start + len(contents) * PAGE and permissions[page] == permissions[start]:
                contents.append(pages[page])
                continue
        runs.append((page, [pages[page]]))
    return tuple(MappedPages(start, b"".join(contents), permissions[start]) for start, contents in runs)


def map_stack(arch: Arch, *, executable: bool = False) -> tuple[MappedPages, int]:
    """The stack and the SP at entry, as Linux hands them over to ``_start``::

        SP + 0 words: argc = 0
        SP + 1 word:  argv[0] = NULL
        SP + 2 words: envp[0] = NULL
        SP + 3 words: auxv[0] = {AT_NULL, 0}

    SP is `UnicornArch.stack_top`, with ``STACK_SIZE`` bytes below it and one page from it upwards. All of these words
    are zero, and so is every other byte. ``executable`` is what the program's PT_GNU_STACK asks for: code that it
    writes there may run. Source: System V ABI, AMD64 supplement, section 3.4.1; the other
    architectures' Linux entry has the same block.
    """
    sp = UNICORN[arch.name].stack_top
    data = bytes(STACK_SIZE + PAGE)
    code = uc.UC_PROT_EXEC if executable else uc.UC_PROT_NONE
    return MappedPages(sp - STACK_SIZE, data, uc.UC_PROT_READ | uc.UC_PROT_WRITE | code), sp


def map_alternate_stack(arch: Arch) -> MappedPages:
    """The stack of ``sigaltstack``: memory away from everything else."""
    return MappedPages(alternate_top(arch) - ALTERNATE_SIZE, bytes(ALTERNATE_SIZE), uc.UC_PROT_READ | uc.UC_PROT_WRITE)
