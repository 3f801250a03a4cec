"""A process before its first instruction: what it is given, and what it finds in memory, files and streams."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import MappingProxyType

from elftools.elf.elffile import ELFFile

from testbed.arch import PerArch
from testbed.image import Image, LoadedImage
from testbed.process.abi import ABIS, KernelAbi
from testbed.process.address_space import EXECUTE, PAGE, READ, WRITE, AddressSpace
from testbed.process.file_tree import FileNode, FileTree
from testbed.process.known_files import AS_IT_LIES, FileReading, image_of_file
from testbed.process.open_files import Descriptors, InputStream, OutputStream
from testbed.process.recorder import ProcessRecorder
from testbed.process.state import Kernel, Process
from testbed.process.threads import GuestThread, Refusal
from testbed.words.errors import ImageError, UsageError

# A program file, and the dynamic linker that it asks for, in memory: what execve does.
#
# Source: Linux 6.1, fs/binfmt_elf.c, load_elf_binary. Pages come from the file, also what lies beside a segment on its
# first and last page; behind the file's bytes there are zeros.


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


# What execve leaves on the stack of a new process, lowest address first::
#
#     argc, argv[0..], 0, envp[0..], 0, auxiliary vector (pairs of words), its end
#     16 random bytes, the platform's name, the strings of argv and envp, the program's path, a zero word
#
# Source: System V ABI, AMD64 supplement, section 3.4.1; Linux 6.1, fs/binfmt_elf.c, create_elf_tables.

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


# Where a program finds its libraries if nobody says: the host's own, or those of Debian's cross compilers.
#
# Only what is installed is shown, with what it reads, and nothing else of the host.

_NATIVE = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/alternatives")
_SYSROOTS = PerArch(
    {
        "x86_64": {path: path for path in _NATIVE},
        "arm64": {"/lib": "/usr/aarch64-linux-gnu/lib", "/usr/lib": "/usr/aarch64-linux-gnu/lib"},
        "arm32": {"/lib": "/usr/arm-linux-gnueabihf/lib", "/usr/lib": "/usr/arm-linux-gnueabihf/lib"},
    }
)


BUDGET = 4_000_000
MOST_MEMORY = 2 << 30  # bytes that are mapped at once, and that were ever mapped: 200 threads with 8 MB of stack
MOST_WRITTEN = 256 << 20  # bytes that a process writes to files
ENVIRONMENT = MappingProxyType({"PATH": "/usr/bin:/bin", "LANG": "C"})


@dataclass(frozen=True, slots=True)
class ProcessInputs:
    """All that a process can depend on, besides its file: the same inputs give the same run.

    ``shown`` are host files and folders by their path for the process; it starts in ``folder``. ``reading``
    is how its files become images: the process does not see it. The program was ``named`` so, as in a shell.
    """

    arguments: tuple[str, ...] = ()
    seed: int = 1
    budget: int = BUDGET
    stdin: bytes = field(default=b"", repr=False)
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    shown: Mapping[str, Path] = field(default_factory=dict)
    folder: str = "/"
    memory: int = MOST_MEMORY
    reading: FileReading = AS_IT_LIES
    named: str = ""


def shown_files(image: Image, sysroot: Path | str | None, folders: Mapping[str, Path | str]) -> Mapping[str, Path]:
    """What a process sees of the host. Raises UsageError for what is not there."""
    usual = {path: Path(host) for path, host in _SYSROOTS[image.arch.name].items() if Path(host).is_dir()}
    shown = {"/": Path(sysroot).absolute()} if sysroot is not None else usual
    shown |= {name: Path(host).absolute() for name, host in folders.items()}
    for name, host in shown.items():
        if not name.startswith("/"):
            raise UsageError(f"{name!r} is no path that a process could open: it begins with /")
        if not host.exists():
            raise UsageError(f"{host}: no such file or folder, to be shown to the process as {name}")
    return shown | {guest_path(image, shown): image.path}


def guest_path(image: Image, shown: Mapping[str, Path]) -> str:
    """What a program's own file is called for its process: as in what it is shown, if it lies there."""
    lies = (image.path.resolve(), Path(os.path.abspath(image.path)))
    return next(filter(None, (_seen_as(path, shown) for path in lies)), f"/program/{image.path.name}")


def _seen_as(path: Path, shown: Mapping[str, Path]) -> str:
    """What a file of the host is called for a process, or ""."""
    names = (Path(name, path.relative_to(host)) for name, host in shown.items() if path.is_relative_to(host))
    return str(next(names, ""))


def _called(image: Image, path: str, inputs: ProcessInputs) -> str:
    """A program's argv[0]: its file as it was named, as in a shell, or its path where that name means nothing to it."""
    named = inputs.named or str(image.path)
    named = named if "/" in named else f"./{named}"
    there = os.path.normpath(Path(inputs.folder, named))
    return named if there == _seen_as(Path(os.path.abspath(image.path)), inputs.shown) else path


@dataclass(frozen=True, slots=True)
class Execution:
    """What a program is executed with: its file and that file's path for the process, arguments, environment."""

    image: Image
    path: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


def started(
    image: Image, inputs: ProcessInputs, written: Path, piece: int | None = None, natively: bool = False
) -> tuple[Process, tuple[OutputStream, OutputStream]]:
    """A process before its first instruction, and its standard output and error; recorded in pieces of so many steps.

    ``natively``: its hooks are compiled from the first step on.

    Raises ImageError for a file that no kernel would run, UsageError for arguments that have no room.
    """
    arch, abi, path, seed = image.arch, ABIS[image.arch.name], guest_path(image, inputs.shown), inputs.seed
    number = Random(f"pid {seed}").randrange(1000, 30000)
    kernel = Kernel(seed, inputs.budget, piece, Random(f"switching {seed}"), number)
    kernel.is_native = natively
    recorder = ProcessRecorder(arch, inputs.budget, piece, natively=natively)
    streams = OutputStream(1), OutputStream(1)
    main = GuestThread(number)
    process = Process(
        arch,
        abi,
        recorder,
        AddressSpace(recorder.uc, abi.map_top, abi.end, recorder.journal_write, inputs.memory),
        FileTree(inputs.shown, written, _made_nodes(path, number), MOST_WRITTEN),
        Descriptors(InputStream(0, data=inputs.stdin), *streams),
        [main],
        main,
        Random(f"random {seed}"),
        kernel,
        number,
        path,
        (_called(image, path, inputs), *inputs.arguments),
        inputs.folder,
        files={path: image},
        reading=inputs.reading.of_libraries,
    )
    _load(process, Execution(image, path, process.arguments, inputs.environment))
    process.tree.clock = lambda: kernel.now
    kernel.add(process)
    kernel.turn = process
    return process, streams


def execute(before: Process, program: Execution, number: int) -> Process:
    """A process with this number that goes on as another program does: what stays over execve is the same.

    Raises ImageError for a file that no kernel would run.
    """
    kernel, abi = before.kernel, before.abi
    kernel.is_native |= before.recorder.is_native
    recorder = ProcessRecorder(before.arch, kernel.left, kernel.piece, natively=kernel.is_native)
    memory = AddressSpace(recorder.uc, abi.map_top, abi.end, recorder.journal_write, before.memory.most)
    thread = GuestThread(number)
    process = Process(
        before.arch,
        abi,
        recorder,
        memory,
        before.tree.with_made(_made_nodes(program.path, number)),
        before.descriptors.copy(),
        [thread],
        thread,
        before.random,
        kernel,
        number,
        program.path,
        program.argv,
        before.folder,
        files={program.path: program.image},
        reading=before.reading,
        parent=before.parent,
        begun_by=before.begun_by,
        umask=before.umask,
        nice=before.nice,
        timers={n: timer for n, timer in before.timers.items() if n < 0},
    )
    try:
        _load(process, program)
    except BaseException:
        process.descriptors.close_all()
        raise
    memory.joins(before.memory)
    return process


def _load(process: Process, program: Execution) -> None:
    """Map a program, its dynamic linker and its stack, and set the registers that it starts with."""
    image, memory, abi = program.image, process.memory, process.abi
    for address, code in abi.fixed:
        memory.map(address, PAGE, READ | EXECUTE, code, name="[vectors]")
    tree, files, reading = process.tree, process.files, process.reading
    loaded = load_program(image, memory, abi, lambda name: _interpreter(image, name, tree, files, reading))
    _set_registers(process.recorder, loaded, _map_stack(memory, program, loaded, process.kernel.seed))
    process.images = [each for each in (loaded.program, loaded.interpreter) if each is not None]
    process.heap = (loaded.end, loaded.end)


def _interpreter(image: Image, name: str, tree: FileTree, files: dict[str, Image], reading: FileReading) -> Image:
    try:
        node = tree.find(name)
    except Refusal as refusal:
        raise ImageError(
            image.path, 0, f"its dynamic linker {name} is not there ({refusal}): --sysroot DIRECTORY, one that has it"
        ) from refusal
    if node.host is None or not stat.S_ISREG(node.mode):
        raise ImageError(image.path, 0, f"its dynamic linker {name} is no file")
    files[node.path] = linker = image_of_file(node.host, reading)
    if linker.arch is not image.arch:
        raise ImageError(linker.path, 18, f"a dynamic linker for {linker.arch}; the program is for {image.arch}")
    return linker


def _map_stack(memory: AddressSpace, program: Execution, loaded: LoadedProgram, seed: int) -> int:
    """Map the stack; SP at the start."""
    image, argv, environment = program.image, program.argv, program.environment
    arch, abi = image.arch, ABIS[image.arch.name]
    if sum(len(text) + 1 + arch.word for text in (*argv, *environment, *environment.values())) > MOST_STRINGS:
        raise UsageError(f"arguments and environment have more than {MOST_STRINGS} bytes")
    sp, top = initial_stack(abi, arch.word, loaded, program.path, argv, environment, seed)
    protection = READ | WRITE | EXECUTE * image.executable_stack
    content = bytes(STACK_SIZE - len(top)) + top
    memory.map(abi.stack_top - STACK_SIZE, STACK_SIZE, protection, content, name="[stack]")
    return sp


def _set_registers(recorder: ProcessRecorder, loaded: LoadedProgram, sp: int) -> None:
    """All registers are zero, as Linux leaves them, but for pc, SP and flags."""
    arch = recorder.arch
    thumb = 0 if arch.isa_flag is None else (loaded.start & 1) << arch.isa_flag
    recorder[arch.flags] = ABIS[arch.name].flags | thumb
    recorder[arch.sp] = sp
    recorder[arch.pc] = arch.code_address(loaded.start)


def _made_nodes(path: str, pid: int) -> list[FileNode]:
    """What is there without any folder: devices, ``/proc/self``, ``/tmp``."""
    devices = [FileNode(f"/dev/{name}", stat.S_IFCHR | 0o666) for name in ("null", "zero", "random", "urandom")]
    links = [FileNode(f"/proc/{who}/exe", stat.S_IFLNK | 0o777, link=path) for who in ("self", pid)]
    fds = {"/dev/fd": "", "/dev/stdin": "/0", "/dev/stdout": "/1", "/dev/stderr": "/2"}
    links += [FileNode(name, stat.S_IFLNK | 0o777, link=f"/proc/self/fd{at}") for name, at in fds.items()]
    maps = [FileNode(f"/proc/{who}/maps", stat.S_IFREG | 0o444) for who in ("self", pid)]
    return [
        *devices,
        *links,
        *maps,
        *(FileNode(name, stat.S_IFDIR | 0o1777) for name in ("/tmp", "/dev/shm", "/proc/self/fd")),
    ]
