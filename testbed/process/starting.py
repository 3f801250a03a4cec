"""A process before its first instruction: what it is given, and what it finds in memory, files and streams."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import MappingProxyType

from testbed.arch import Arch, PerArch
from testbed.image import Image
from testbed.process.abi import ABIS
from testbed.process.address_space import EXECUTE, PAGE, READ, WRITE, AddressSpace
from testbed.process.descriptors import Descriptors
from testbed.process.file_tree import FileNode, FileTree
from testbed.process.initial_stack import MOST_STRINGS, STACK_SIZE, initial_stack
from testbed.process.known_files import AS_IT_LIES, FileReading, image_of_file
from testbed.process.loader import LoadedProgram, load_program
from testbed.process.open_files import InputStream, OutputStream
from testbed.process.recorder import ProcessRecorder
from testbed.process.refusal import Refusal
from testbed.process.state import Kernel, Process
from testbed.process.threads import GuestThread
from testbed.words.errors import ImageError, UsageError

# Where a program finds its libraries if nobody says: the host's own, or those of Debian's cross compilers.
#
# Only folders of libraries and programs are shown, nothing else of the host.

_NATIVE = (
    *("/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"),
    *("/bin", "/usr/bin", "/etc/alternatives"),
)
_SYSROOTS = PerArch(
    {
        "x86_64": {path: path for path in _NATIVE},
        "arm64": {"/lib": "/usr/aarch64-linux-gnu/lib", "/usr/lib": "/usr/aarch64-linux-gnu/lib"},
        "arm32": {"/lib": "/usr/arm-linux-gnueabihf/lib", "/usr/lib": "/usr/arm-linux-gnueabihf/lib"},
    }
)


def usual_sysroot(arch: Arch) -> Mapping[str, Path]:
    """Host folders by their path for a process; those that this host does not have are left out."""
    return {path: Path(host) for path, host in _SYSROOTS[arch.name].items() if Path(host).is_dir()}


BUDGET = 4_000_000
MOST_MEMORY = 2 << 30  # bytes that are mapped at once, and that were ever mapped: 200 threads with 8 MB of stack
MOST_WRITTEN = 256 << 20  # bytes that a process writes to files
ENVIRONMENT = MappingProxyType({"PATH": "/usr/bin:/bin", "LANG": "C"})


@dataclass(frozen=True, slots=True)
class ProcessInputs:
    """All that a process can depend on, besides its file: the same inputs give the same run.

    ``shown`` are host files and folders by their path for the process; it starts in ``folder``. ``reading``
    is how its files become images: the process does not see it.
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


def shown_files(image: Image, sysroot: Path | str | None, folders: Mapping[str, Path | str]) -> Mapping[str, Path]:
    """What a process sees of the host. Raises UsageError for what is not there."""
    shown = {"/": Path(sysroot)} if sysroot is not None else dict(usual_sysroot(image.arch))
    shown |= {name: Path(host) for name, host in folders.items()}
    for name, host in shown.items():
        if not name.startswith("/"):
            raise UsageError(f"{name!r} is no path that a process could open: it begins with /")
        if not host.exists():
            raise UsageError(f"{host}: no such file or folder, to be shown to the process as {name}")
    return shown | {guest_path(image): image.path}


def guest_path(image: Image) -> str:
    """What a program's own file is called for its process, wherever it lies."""
    return f"/program/{image.path.name}"


@dataclass(frozen=True, slots=True)
class Execution:
    """What a program is executed with: its file and that file's path for the process, arguments, environment."""

    image: Image
    path: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


def started(
    image: Image, inputs: ProcessInputs, written: Path, piece: int | None = None
) -> tuple[Process, tuple[OutputStream, OutputStream]]:
    """A process before its first instruction, and its standard output and error; recorded in pieces of so many steps.

    Raises ImageError for a file that no kernel would run, UsageError for arguments that have no room.
    """
    arch, abi, path, seed = image.arch, ABIS[image.arch.name], guest_path(image), inputs.seed
    number = Random(f"pid {seed}").randrange(1000, 30000)
    kernel = Kernel(seed, inputs.budget, piece, Random(f"switching {seed}"), number)
    recorder = ProcessRecorder(arch, inputs.budget, piece)
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
        (path, *inputs.arguments),
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
            image.path, 0, f"its dynamic linker {name} is not there ({refusal}); name a sysroot that has it"
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
