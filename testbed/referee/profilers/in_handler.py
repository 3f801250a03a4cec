"""Unwinders executed in the emulator, as a sampling profiler executes them: in a signal handler.

The machine is put together as it was at a snapshot, with an agent (`testbed.referee.profilers.agent`) beside the
program. A signal arrives: the kernel's frame is written to an alternate stack and the agent's handler entered, which
calls its unwinder. What that found lies in the agent's memory when it is done. The handler's own frames, and the
signal's, are left out; from there on the frames are the answer about the interrupted program.

The unwinder finds the tables through what a dynamic loader would tell it: the run-time addresses of each file's
``.eh_frame_hdr`` or ``.ARM.exidx``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unicorn import Uc, UcError
from unicorn import unicorn_const as uc
from unicorn import x86_const as x86

from testbed.arch import Arch, PerArch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.image import Image, LoadedImage
from testbed.image.demangling import demangled
from testbed.machine.signals import ALTERNATE_SIZE, Delivery, enter_handler
from testbed.machine.start import map_image, new_engine
from testbed.machine.unicorn_arches import UNICORN
from testbed.referee.profilers.agent import AgentLibrary, agent_for
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, ToolCrashed, ToolHung, UnwindError

TIME = 2_000_000  # microseconds for one backtrace; one takes 100
END_OF_STACK = 5  # _URC_END_OF_STACK, in both ABIs
_NO_MEMORY = (uc.UC_ERR_READ_UNMAPPED, uc.UC_ERR_WRITE_UNMAPPED, uc.UC_ERR_FETCH_UNMAPPED)
_A_VARIABLE = "there the stack guard, which is all that is read of the block, is a variable"
# The register in which glibc's code finds the thread's control block.
_CONTROL_BLOCK = PerArch[int | None](
    {"x86_64": x86.UC_X86_REG_FS_BASE, "arm64": None, "arm32": None},
    because={"arm64": _A_VARIABLE, "arm32": _A_VARIABLE},
)


@dataclass(eq=False)
class Bench:
    """An emulator with an agent in it, used for one snapshot after the other. ``mapped`` are the program's pages."""

    agent: LoadedImage
    machine: Uc = field(repr=False)
    mapped: dict[int, bytes] = field(default_factory=dict, repr=False)

    @property
    def arch(self) -> Arch:
        return self.agent.image.arch

    def address(self, name: str) -> int:
        """Where a symbol of the agent lies, as a plain address."""
        symbol = self.agent.image.symbol_named(name)
        assert symbol is not None, f"the agent has no {name}"
        return symbol.address

    def pointer(self, name: str) -> int:
        """The same as a code pointer, with the Thumb bit where it applies."""
        at = self.address(name)
        return at | self.agent.image.isa_at(at).address_bit


def executed(source: AgentLibrary, snapshot: Snapshot) -> Backtrace:
    """What an unwinder says when it is executed at a snapshot. Never raises for what the unwinder does."""
    bench = _bench(source, snapshot.arch)
    _lay_out(bench, snapshot)
    _describe_modules(bench, snapshot.images)
    if source.from_context:
        _describe_regions(bench)
    code = _enter(bench, snapshot)
    first = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, None, "registers")
    failure = _run(bench, code)
    frames, ended = _answer(bench, source)
    if not frames:
        return Backtrace((first,), failure or NoUnwindInfo("it says nothing about the interrupted instruction"))
    interrupted, *callers = frames
    if interrupted.pc == snapshot.pc:
        interrupted = first
    stopped = failure if failure or ended else NoUnwindInfo("it stopped with an error")
    return Backtrace((interrupted, *callers), stopped)


_BENCHES: dict[
    tuple[str, str], Bench
] = {}  # one per agent and process: mapping 0.3 MB anew costs more than a backtrace


def _bench(source: AgentLibrary, arch: Arch) -> Bench:
    key = source.name, arch.name
    if key not in _BENCHES:
        image: Image = agent_for(source, arch)
        # A core that signs, where there is one: libgcc and LLVM authenticate what a table calls signed.
        machine = new_engine(arch, UNICORN[arch.name].cpus.get("signing"))
        _BENCHES[key] = Bench(LoadedImage(image, 0), machine)
    return _BENCHES[key]


def _lay_out(bench: Bench, snapshot: Snapshot) -> None:
    """The program's memory as it is at the snapshot, and the agent's as it is in its file."""
    wanted = {mapping.address: mapping.data for mapping in map_image(bench.agent)}
    wanted |= {address: snapshot.memory.read(address, size) for address, size in snapshot.memory.regions}
    for address in [at for at, data in bench.mapped.items() if len(wanted.get(at, b"")) != len(data)]:
        bench.machine.mem_unmap(*_pages(address, bench.mapped.pop(address)))
    for address, data in wanted.items():
        if address not in bench.mapped:
            bench.machine.mem_map(*_pages(address, data), uc.UC_PROT_ALL)
        elif bench.machine.mem_read(address, len(data)) == data:
            continue  # code that is written again is translated again, and that is what takes time
        bench.machine.mem_write(address, data)
        bench.mapped[address] = data


def _pages(address: int, data: bytes) -> tuple[int, int]:
    start, end = address & -0x1000, (address + len(data) + 0xFFF) & -0x1000
    return start, end - start


def _describe_modules(bench: Bench, images: tuple[LoadedImage, ...]) -> None:
    words = [1 + len(images)]
    for loaded in (bench.agent, *images):
        segments = loaded.image.segments
        low = min(segment.address for segment in segments) + loaded.bias
        high = max(segment.address + segment.size for segment in segments) + loaded.bias
        words += [low, high]
        for name in (".eh_frame_hdr", ".ARM.exidx"):
            section = loaded.image.sections.get(name)
            words += [section.address + loaded.bias, len(section.data)] if section and section.address else [0, 0]
    _tell(bench, "testbed_modules", words)


def _describe_regions(bench: Bench) -> None:
    """What is mapped: the kernel would tell the agent that."""
    ranges = [_pages(address, data) for address, data in bench.mapped.items()]
    edges = (edge for start, size in ranges for edge in (start, start + size))
    _tell(bench, "testbed_regions", [len(ranges), *edges])


def _tell(bench: Bench, name: str, words: Sequence[int]) -> None:
    packed = struct.pack(f"<{len(words)}{'Q' if bench.arch.word == 8 else 'I'}", *words)
    bench.machine.mem_write(bench.address(name), packed)


def _enter(bench: Bench, snapshot: Snapshot) -> int:
    """Deliver the signal; the code pointer at which the handler begins."""
    arch, machine = bench.arch, bench.machine
    restorer = "__default_rt_sa_restorer" if arch.isa_flag is not None else "testbed_restorer"
    stack = bench.address("testbed_stack") + ALTERNATE_SIZE
    signal = Delivery(snapshot.pc, 1, bench.pointer("testbed_handler"), bench.pointer(restorer), stack)
    writes, changed = enter_handler(arch, signal, snapshot.registers)
    for name, value in {**snapshot.registers, **changed}.items():
        machine.reg_write(UNICORN[arch.name].registers[name], value)
    if (register := _CONTROL_BLOCK[arch.name]) is not None:
        machine.reg_write(register, bench.address("testbed_thread"))
    for address, size, value in writes:
        machine.mem_write(address, value.to_bytes(size, "little"))
    return signal.handler


def _run(bench: Bench, code: int) -> UnwindError | None:
    """Run the handler to its end; why it did not get there, if so."""
    machine, done = bench.machine, bench.address("testbed_done")
    try:
        machine.emu_start(code, done, timeout=TIME)
    except UcError as error:
        at = machine.reg_read(UNICORN[bench.arch.name].registers[bench.arch.pc])
        return ToolCrashed(f"{_what(error)} in {_function(bench, at)}")
    if machine.reg_read(UNICORN[bench.arch.name].registers[bench.arch.pc]) != done:
        return ToolHung(f"no answer after {TIME / 1e6:.0f} s of emulation")
    if _words(bench, "testbed_answer", 3)[2]:
        return ToolCrashed("it called abort()")
    return None


def _answer(bench: Bench, source: AgentLibrary) -> tuple[list[Frame], bool]:
    """The frames of the interrupted program, innermost first; none if it never got there. And: is that the end?"""
    arch = bench.arch
    count, code, _ = _words(bench, "testbed_answer", 3)
    words = _words(bench, "testbed_answer", 3 + 3 * count)[3:]
    given = [(arch.code_address(words[i]), words[i + 1], words[i + 2]) for i in range(0, len(words), 3)]
    restorer = bench.address("__default_rt_sa_restorer" if arch.isa_flag is not None else "testbed_restorer")
    after = -1 if source.from_context else next((i for i, (ip, _, _) in enumerate(given) if ip == restorer), None)
    if after is None or after + 1 >= len(given):
        return [], False
    frames = _frames(arch, given[after + 1 :], claims_sp=source.claims_sp)
    return list(frames), source.always_ends or code == END_OF_STACK


def _frames(arch: Arch, given: list[tuple[int, int, int]], *, claims_sp: bool) -> Iterator[Frame]:
    if given[-1][0] == 0:  # libgcc calls its visitor once more, for the nothing outside the outermost frame
        given = given[:-1]
    for i, (ip, sp, before) in enumerate(given):
        registers = {arch.pc: ip, arch.sp: sp} if claims_sp else {arch.pc: ip}
        # The first is the interrupted one; of the others _Unwind_GetIPInfo tells whether ip is before its instruction.
        kind = FrameKind.CALLER if i and not before else FrameKind.INTERRUPTED
        yield Frame(kind, ip, registers, None, "_Unwind_Backtrace")


def _function(bench: Bench, pc: int) -> str:
    symbol = bench.agent.image.function_at(pc)
    return demangled(symbol.name).partition("(")[0] if symbol else f"{pc:#x}"


def _what(error: UcError) -> str:
    return f"SIGSEGV, {error}" if error.errno in _NO_MEMORY else str(error)


def _words(bench: Bench, name: str, count: int) -> tuple[int, ...]:
    word = bench.arch.word
    data = bench.machine.mem_read(bench.address(name), count * word)
    return struct.unpack(f"<{count}{'Q' if word == 8 else 'I'}", data)
