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
from unicorn.unicorn_const import UC_TLB_VIRTUAL

from testbed.arch import Arch
from testbed.image import Image, LoadedImage
from testbed.machine import load
from testbed.machine.signals import Delivery, deliveries
from testbed.machine.unicorn_arches import UNICORN, Cpu
from testbed.program.header import Signal
from testbed.words.errors import ImageError


@dataclass(frozen=True, eq=False)
class Machine:
    """A set-up emulator: ``start`` is where it begins (with the Thumb bit where that applies)."""

    arch: Arch
    uc: Uc = field(repr=False)
    mappings: tuple[load.MappedPages, ...] = field(repr=False)
    start: int
    planted: Mapping[str, int]
    signals: tuple[Delivery, ...] = ()


def start_machine(loaded: LoadedImage, *, seed: int, signals: Iterable[Signal] = (), cpu: str | None = None) -> Machine:
    """Map a loaded image and a stack, plant the registers from ``seed``, and point pc at the entry.

    ``cpu`` names one of the architecture's CPU models; where it has none of that name, it is the usual one.
    """
    arriving = deliveries(loaded, signals)
    image, arch = loaded.image, loaded.image.arch
    stack, sp = load.map_stack(arch, executable=image.executable_stack)
    alternate = (load.map_alternate_stack(arch),) if any(signal.stack for signal in arriving) else ()
    mappings = (*load.map_image(loaded), stack, *alternate)
    settings = UNICORN[arch.name]
    uc, ids = new_engine(arch, settings.cpus.get(cpu or "")), settings.registers
    map_all(uc, mappings, image)
    planted = initial_registers(arch, seed, mappings)
    for name, value in planted.items():
        uc.reg_write(ids[name], value)
    uc.reg_write(ids[arch.sp], sp)
    return Machine(arch, uc, mappings, loaded.entry | image.isa_at(image.entry).address_bit, planted, arriving)


def map_all(uc: Uc, mappings: Iterable[load.MappedPages], image: Image) -> None:
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
    arch: Arch, seed: int, mappings: Iterable[load.MappedPages], *, outermost: bool = True
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
