"""elfutils' libdw: it unwinds a snapshot through callbacks, with no process and no core file.

What is needed of ``elfutils/libdwfl.h``: one module per image, one thread, memory and registers from a Snapshot.
libdw reads `.eh_frame` and `.debug_frame`, and where no FDE covers a pc of x86_64 or arm64 it follows the frame
pointer; it is told to look for debugging information nowhere else. It says of each caller the return address and, from
0.188 on, the registers that it recovered.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache, partial
from pathlib import Path

from testbed.arch import Arch, PerArch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.image import LoadedImage
from testbed.referee.model import Find, Found, OtherVersions, Referee, called, read_findings
from testbed.referee.process.forked_library import ReadsSnapshot, Signatures, forked, typed
from testbed.referee.process.limits import own_packages, with_every_register
from testbed.referee.process.without_tables import file_of
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnreadableMemory

# What of elfutils' libdw is called: its functions, callbacks and structures (``elfutils/libdwfl.h``).

pointer, address = ctypes.c_void_p, ctypes.c_uint64
NextThread = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, ctypes.POINTER(pointer))
GetThread = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, ctypes.c_int, pointer, ctypes.POINTER(pointer))
ReadWord = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, address, ctypes.POINTER(address), pointer)
SetRegisters = ctypes.CFUNCTYPE(ctypes.c_bool, pointer, pointer)
Detach = ctypes.CFUNCTYPE(None, pointer, pointer)
OnFrame = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)


class ProcessCallbacks(ctypes.Structure):
    """Dwfl_Callbacks."""

    _fields_ = (
        ("find_elf", pointer),
        ("find_debuginfo", pointer),
        ("section_address", pointer),
        ("debuginfo_path", pointer),
    )


class ThreadCallbacks(ctypes.Structure):
    """Dwfl_Thread_Callbacks."""

    _fields_ = (
        ("next_thread", NextThread),
        ("get_thread", GetThread),
        ("memory_read", ReadWord),
        ("set_initial_registers", SetRegisters),
        ("detach", Detach),
        ("thread_detach", Detach),
    )


_SIGNATURES: Signatures = {
    "dwfl_begin": (pointer, (pointer,)),
    "dwfl_report_begin": (None, (pointer,)),
    "dwfl_report_elf": (
        pointer,
        (pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, address, ctypes.c_bool),
    ),
    "dwfl_report_end": (ctypes.c_int, (pointer, pointer, pointer)),
    "dwfl_module_getelf": (pointer, (pointer, ctypes.POINTER(address))),
    "dwfl_attach_state": (
        ctypes.c_bool,
        (pointer, pointer, ctypes.c_int, ctypes.POINTER(ThreadCallbacks), pointer),
    ),
    "dwfl_getthread_frames": (ctypes.c_int, (pointer, ctypes.c_int, OnFrame, pointer)),
    "dwfl_thread_state_registers": (ctypes.c_bool, (pointer, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(address))),
    "dwfl_thread_state_register_pc": (None, (pointer, address)),
    "dwfl_frame_pc": (ctypes.c_bool, (pointer, ctypes.POINTER(address), ctypes.POINTER(ctypes.c_bool))),
    "dwfl_errno": (ctypes.c_int, ()),
    "dwfl_version": (ctypes.c_char_p, (pointer,)),
    "dwfl_errmsg": (ctypes.c_char_p, (ctypes.c_int,)),
}


_SINCE_0_188: Signatures = {
    "dwfl_frame_reg": (ctypes.c_int, (pointer, ctypes.c_uint, ctypes.POINTER(address))),
}


WHEEL = "drgn"


def library_file() -> str | None:
    """The file: the one inside this environment's `drgn` wheel, or the system's."""
    own = own_packages(WHEEL)
    return (file_in(own) if own else None) or ctypes.util.find_library("dw")


def file_in(packages: str) -> str | None:
    """The file inside a `drgn` wheel, by the folder of packages that this is in."""
    return next(iter(sorted(map(str, Path(packages).glob("drgn.libs/libdw-*.so*")))), None)


def _loaded(path: str, tried: set[str]) -> ctypes.CDLL:
    """A library after those beside it that it needs: a wheel's are found by its Python module only. Raises OSError."""
    while True:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            needed = Path(path).with_name(str(error).partition(":")[0])
            if str(needed) in tried or not needed.is_file() or "/" not in path:
                raise
            tried.add(str(needed))
            with suppress(OSError):  # then loading what needs it says why
                _loaded(str(needed), tried)


@cache
def load(name: str | None) -> ctypes.CDLL | None:
    """The library with its functions' types, or None where it is not installed."""
    if name is None:
        return None
    try:
        library = typed(_loaded(name, set()), _SIGNATURES)
    except (OSError, AttributeError):  # it does not load here, or is too old to unwind
        return None
    with suppress(AttributeError):
        typed(library, _SINCE_0_188)
    return library


MAX_FRAMES = 256
_THREAD = 1
_REGISTERS = PerArch({"x86_64": 17, "arm64": 32, "arm32": 16})  # DWARF numbers 0 to n - 1 are what libdw can be given
_ABORT, _GO_ON = 1, 0  # DWARF_CB_ABORT, DWARF_CB_OK


@cache
def find() -> Found | None:
    """The libdw that is installed; None where there is none."""
    return _at(library_file(), "")


def in_packages(packages: str) -> Found | None:
    """The libdw in a folder of packages; None where there is none."""
    return _at(file_in(packages), packages)


def _at(name: str | None, packages: str) -> Found | None:
    library = load(name)
    return Found(library.dwfl_version(None).decode(), name, packages) if library and name else None


class LibDw(ReadsSnapshot):
    """The files of one run in libdw. Raises RuntimeError where it cannot read one."""

    def __init__(self, library: ctypes.CDLL, images: tuple[LoadedImage, ...]) -> None:
        self._library, self._arch = library, images[0].image.arch
        self._found: list[Frame] = []
        self._unreadable: UnreadableMemory | None = None
        # What C keeps pointers to must live as long as this object.
        self._process = ProcessCallbacks(
            find_elf=ctypes.cast(library.dwfl_build_id_find_elf, pointer),
            find_debuginfo=ctypes.cast(library.dwfl_standard_find_debuginfo, pointer),
        )
        self._callbacks = ThreadCallbacks(
            NextThread(self._guarded(self._next_thread, -1)),
            GetThread(lambda process, thread, argument, result: True),
            ReadWord(self._guarded(self._read_word, False)),
            SetRegisters(self._guarded(self._set_registers, False)),
            Detach(lambda process, argument: None),
            Detach(lambda thread, argument: None),
        )
        self._on_frame = OnFrame(self._guarded(self._frame, -1))
        self._session = library.dwfl_begin(ctypes.byref(self._process))
        library.dwfl_report_begin(self._session)
        modules = [self._report(loaded) for loaded in images]
        library.dwfl_report_end(self._session, None, None)
        elf = library.dwfl_module_getelf(modules[0], ctypes.byref(address()))
        if not library.dwfl_attach_state(self._session, elf, _THREAD, ctypes.byref(self._callbacks), None):
            raise RuntimeError(f"libdw cannot attach to {images[0]}: {self._error()}")

    def unwind(self, snapshot: Snapshot) -> Backtrace:
        """What libdw says: its callback ends without an error where a row says that there is no caller."""
        self._found, self._unreadable = [], None
        return self._asked(snapshot, self._callers())

    def _callers(self) -> Iterator[Frame]:
        ended = self._library.dwfl_getthread_frames(self._session, _THREAD, self._on_frame, None)
        yield from self._found[1:]
        if ended == _ABORT:
            raise NoProgress(f"more than {MAX_FRAMES} frames")
        if ended != 0:
            raise self._unreadable or NoUnwindInfo(f"libdw: {self._error()}")

    def _report(self, loaded: LoadedImage) -> int:
        """One file as a module. libdw adds the base to a position-independent file's addresses, and to no other's."""
        name = str(file_of(loaded.image)).encode()
        module: int | None = self._library.dwfl_report_elf(self._session, name, name, -1, loaded.bias, True)
        if not module:
            raise RuntimeError(f"libdw cannot read {loaded.image.path}: {self._error()}")
        return module

    def _error(self) -> str:
        return str((self._library.dwfl_errmsg(-1) or b"no message").decode())

    def _guarded(self, callback: Callable[..., int], failure: int) -> Callable[..., int]:
        """ctypes prints and swallows what a callback raises: keep it for `unwind` to raise again."""

        def call(*arguments: object) -> int:
            try:
                return callback(*arguments)
            except Exception as error:  # `unwind` raises it again
                self._raised = error
                return failure

        return call

    def _next_thread(self, process: int, argument: int, state: ctypes._Pointer[ctypes.c_void_p]) -> int:
        if state[0]:
            return 0
        state[0] = 1
        return _THREAD

    def _read_word(self, process: int, address: int, result: ctypes._Pointer[ctypes.c_uint64], argument: int) -> bool:
        assert self._now is not None
        try:
            result[0] = self._now.memory.unsigned(address, self._arch.word)
        except UnreadableMemory as unreadable:
            self._unreadable = unreadable
            return False
        return True

    def _set_registers(self, thread: int, argument: int) -> bool:
        assert self._now is not None
        count = _REGISTERS[self._arch.name]
        values = (ctypes.c_uint64 * count)(*(self._now.registers[self._arch.by_dwarf[i]] for i in range(count)))
        self._library.dwfl_thread_state_registers(thread, 0, count, values)
        self._library.dwfl_thread_state_register_pc(thread, self._now.pc)
        return True

    def _frame(self, state: int, argument: int) -> int:
        pc, interrupted = ctypes.c_uint64(), ctypes.c_bool()
        if not self._library.dwfl_frame_pc(state, ctypes.byref(pc), ctypes.byref(interrupted)):
            return -1
        address = self._arch.code_address(pc.value)
        kind = FrameKind.INTERRUPTED if interrupted.value else FrameKind.CALLER
        registers = self._recovered(state) if self._found else {}
        self._found.append(Frame(kind, address, {**registers, self._arch.pc: address}, found_by="libdw"))
        return _GO_ON if len(self._found) < MAX_FRAMES else _ABORT

    def _recovered(self, state: int) -> dict[str, int]:
        """The registers that libdw says it knows of a caller."""
        if not hasattr(self._library, "dwfl_frame_reg"):
            return {}
        value = ctypes.c_uint64()
        known = {}
        for number in range(_REGISTERS[self._arch.name]):
            if self._library.dwfl_frame_reg(state, number, ctypes.byref(value)) == 0:
                known[self._arch.by_dwarf[number]] = value.value
        return known


@lru_cache(maxsize=1)
def _session(file: str | None, images: tuple[LoadedImage, ...]) -> LibDw:
    library = load(file)
    assert library is not None, "libdw is not installed"
    return LibDw(library, images)


def unwind_here(find: Find, snapshot: Snapshot) -> Backtrace:
    """What libdw says, in this process."""
    found = find()
    return _session(found.path if found else None, snapshot.images).unwind(snapshot)


def _passed(arch: Arch) -> Iterable[str]:
    """What it is given. Of a register that is not set it makes the end of the stack, without an error."""
    return (arch.by_dwarf[number] for number in range(_REGISTERS[arch.name]))


def unwinders(find: Find) -> tuple[Unwinder, ...]:
    """The unwinder of the libdw that is found."""
    return (
        Unwinder(
            name="libdw",
            summary="elfutils' libdw: .eh_frame and .debug_frame, then the frame pointer",
            unwind=with_every_register(forked(partial(unwind_here, find)), _passed),
            needs=frozenset({".shstrtab"}),  # every ELF file has one: libdw reads no other format
            counted=True,
            tool=called("libdw", find),
        ),
    )


REFEREE = Referee(
    name="libdw",
    summary="elfutils' libdw, a library for debuggers and tracers, through its callbacks",
    package="apt-get install libdw1, or pip install drgn, whose wheel contains it",
    find=find,
    unwinders=unwinders(find),
    findings=read_findings(__file__),
    others=OtherVersions(in_packages=in_packages, unwinders=unwinders),
)
