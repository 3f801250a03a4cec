"""LLVM libunwind over the memory of a snapshot: the library's own headers, compiled with an address space of ours.

The headers are those of the `ziglang` wheel; `llvm_libunwind.cpp` beside this file gives them the snapshot's memory,
and everything else (which table, which row, what it means, where the stack ends) is theirs. Two ways of asking:

* ``llvm_libunwind``: as ``unw_init_local`` and ``unw_step`` do, which take the first pc for a return address when they
  choose rows, and for itself when they look up the function. This is how the library is used.
* ``llvm_libunwind_exact``: the interrupted pc is handed over so that a row that begins there counts.

On Mach-O files there is only the first: ``llvm_libunwind_compact``. ``unw_step`` returns the same 0 at the end of the
stack and where no table covers the caller.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from testbed.arch import ARCHES
from testbed.build import cache
from testbed.errors import BuildError, NoProgress, NoUnwindInfo, UnreadableMemory, UnsupportedRule, UnwindError
from testbed.image import LoadedImage
from testbed.outcome import Outcome
from testbed.referee.forked import forked
from testbed.referee.limits import limit_on, table_limits
from testbed.referee.model import Finding, Found, Referee
from testbed.trace import Snapshot
from testbed.traits import Trait
from testbed.unwinder import Backtrace, Frame, FrameKind, Limit, Unwinder

MAX_FRAMES = 256
SOURCE = Path(__file__).with_suffix(".cpp")
_FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-w"]
_REGISTERS = {"x86_64": 16, "arm64": 32}  # DWARF numbers 0 to n - 1 are what the cursor is given
_ARM64 = frozenset({"arm64"})
_UNREADABLE = -1000
_ERRORS = {
    -6540: "unspecified error",
    -6541: "out of memory",
    -6542: "bad register",
    -6543: "register cannot be written",
    -6544: "stopped",
    -6545: "invalid pc",
    -6546: "bad frame",
    -6547: "unsupported operation or bad value",
    -6548: "bad version of the unwind information",
    -6549: "no unwind information",
    -6550: "a signed return address, and this build cannot authenticate it",
}

_word = ctypes.c_uint64
_ReadMemory = ctypes.CFUNCTYPE(ctypes.c_bool, _word, ctypes.c_void_p, _word)


class _Image(ctypes.Structure):
    """Where the tables of an image lie at run time."""

    _fields_ = tuple(
        (name, _word)
        for name in (
            ["start", "end", "header", "eh_frame", "eh_frame_size", "index", "index_size", "compact", "compact_size"]
        )
    )


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "referee_open": (ctypes.c_void_p, (ctypes.c_int, _ReadMemory, ctypes.POINTER(_Image), ctypes.c_size_t)),
    "referee_close": (None, (ctypes.c_void_p,)),
    "referee_start": (None, (ctypes.c_void_p, ctypes.POINTER(_word), ctypes.c_int, _word, ctypes.c_int)),
    "referee_step": (ctypes.c_int, (ctypes.c_void_p,)),
    "referee_register": (_word, (ctypes.c_void_p, ctypes.c_int)),
    "referee_is_signal_frame": (ctypes.c_int, (ctypes.c_void_p,)),
    "referee_unreadable": (_word, (ctypes.c_void_p,)),
}


def headers() -> Path | None:
    """The folder of the library's sources inside the `ziglang` wheel."""
    spec = find_spec("ziglang")
    folder = Path(spec.origin).parent / "lib" / "libunwind" if spec and spec.origin else None
    return folder if folder and (folder / "src" / "UnwindCursor.hpp").is_file() else None


@lru_cache(maxsize=1)
def find() -> Found | None:
    """It is there where its sources are: a compiler comes in the same wheel."""
    folder = headers()
    try:
        return Found(f"of ziglang {version('ziglang')}", str(folder)) if folder else None
    except PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def built() -> Path:
    """The compiled library, from the cache of built files. Raises BuildError where it does not compile."""
    folder = headers()
    assert folder is not None, "ziglang is not installed"
    command = _command(folder)
    parts = (SOURCE.read_text(encoding="utf-8"), *command, version("ziglang"))
    key = hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:24]
    return cache.kept(cache.folder() / f"llvm_libunwind.{key}.so", partial(_compiled, command))


def _command(folder: Path) -> list[str]:
    """The host's compiler, which takes a second; the wheel's own takes one minute, for the first program only."""
    host = next((path for name in ("g++", "clang++") if (path := shutil.which(name))), None)
    compiler = [host] if host else [sys.executable, "-m", "ziglang", "c++"]
    return [*compiler, *_FLAGS, f"-I{folder / 'src'}", f"-I{folder / 'include'}", str(SOURCE)]


def _compiled(command: list[str]) -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        result = Path(folder, "library.so")
        done = subprocess.run([*command, "-o", str(result)], capture_output=True, text=True, check=False)
        if done.returncode or not result.is_file():
            raise BuildError("LLVM libunwind does not compile", command=command, output=done.stderr[-2000:])
        return result.read_bytes()


def load() -> ctypes.CDLL:
    """The compiled library with its functions' types. Raises BuildError."""
    library = ctypes.CDLL(str(built()))
    for function, (result, arguments) in _SIGNATURES.items():
        found = getattr(library, function)
        found.restype, found.argtypes = result, list(arguments)
    return library


class LlvmLibunwind:
    """The files of one run in LLVM libunwind."""

    def __init__(self, library: ctypes.CDLL, images: tuple[LoadedImage, ...]) -> None:
        self._library = library
        self._arch = images[0].image.arch
        self._now: Snapshot | None = None
        self._raised: BaseException | None = None
        self._reader = _ReadMemory(self._read)  # C keeps a pointer to it
        described = (_Image * len(images))(*map(_described, images))
        second = int(self._arch.name in _ARM64)
        self._session = library.referee_open(second, self._reader, described, len(images))

    def close(self) -> None:
        self._library.referee_close(self._session)

    def unwind(self, snapshot: Snapshot, *, exact: bool) -> Backtrace:
        """What the library says: ``unw_step`` until it returns 0 or an error."""
        self._now, self._raised = snapshot, None
        library, session = self._library, self._session
        count = _REGISTERS[self._arch.name]
        values = (_word * count)(*(snapshot.registers[self._arch.by_dwarf[i]] for i in range(count)))
        library.referee_start(session, values, count, snapshot.pc, exact)
        frames = [Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")]
        stopped: UnwindError | None = None
        while stopped is None:
            status = library.referee_step(session)
            if status <= 0:
                stopped = self._error(status) if status else None
                break
            frames.append(self._frame())
            if len(frames) > MAX_FRAMES:
                stopped = NoProgress(f"more than {MAX_FRAMES} frames")
        if self._raised is not None:
            raise self._raised
        return Backtrace(tuple(frames), stopped)

    def frames(self, snapshot: Snapshot) -> tuple[int, ...]:
        """The pcs alone, asked for in the way that is right for an interrupted instruction."""
        return tuple(frame.pc for frame in self.unwind(snapshot, exact=True).frames)

    def _frame(self) -> Frame:
        """The cursor's registers. It says "signal frame" of the frame that a signal interrupted."""
        read, session, arch = self._library.referee_register, self._session, self._arch
        signalled = self._library.referee_is_signal_frame(session)
        pc = read(session, -1)  # UNW_REG_IP
        registers = {arch.by_dwarf[i]: read(session, i) for i in range(_REGISTERS[arch.name])}
        kind = FrameKind.INTERRUPTED if signalled else FrameKind.CALLER
        return Frame(kind, pc, {**registers, arch.pc: pc}, found_by="llvm libunwind")

    def _error(self, status: int) -> UnwindError:
        if status == _UNREADABLE:
            return UnreadableMemory(self._library.referee_unreadable(self._session), self._arch.word)
        kind = NoUnwindInfo if status == -6549 else UnsupportedRule
        return kind(f"libunwind: unw_step: {_ERRORS.get(status, status)}")

    def _read(self, address: int, into: int, size: int) -> bool:
        assert self._now is not None
        try:
            ctypes.memmove(into, self._now.memory.read(address, size), size)
        except UnreadableMemory:
            return False
        except Exception as error:  # ctypes prints and swallows it: `unwind` raises it again
            self._raised = error
            return False
        return True


def _described(loaded: LoadedImage) -> _Image:
    """What ``dl_iterate_phdr`` or dyld would tell the library of a loaded file."""
    image = loaded.image
    code = [segment for segment in image.segments if segment.executable]
    start = min((segment.address for segment in code), default=0)
    end = max((segment.address + segment.size for segment in code), default=0)
    found = _Image(start=start + loaded.bias, end=end + loaded.bias, header=(image.base or start) + loaded.bias)
    places = {
        "compact": ("__TEXT,__unwind_info",),
        "index": (".eh_frame_hdr",),
        # On ELF it is the search table that leads to the entries.
        "eh_frame": ("__TEXT,__eh_frame", *([".eh_frame"] if ".eh_frame_hdr" in image.sections else [])),
    }
    for name, sections in places.items():
        section = next((image.sections[each] for each in sections if each in image.sections), None)
        if section is not None:
            setattr(found, name, section.address + loaded.bias)
            setattr(found, f"{name}_size", len(section.data))
    return found


@lru_cache(maxsize=1)
def _session(images: tuple[LoadedImage, ...]) -> LlvmLibunwind:
    return LlvmLibunwind(load(), images)


def unwind_here(snapshot: Snapshot, *, exact: bool) -> Backtrace:
    """What LLVM libunwind says, in this process."""
    return _session(snapshot.images).unwind(snapshot, exact=exact)


def tool() -> str:
    found = find()
    return f"LLVM libunwind {found.version}" if found else "ziglang is not installed"


def _asked(*, exact: bool) -> Callable[[Snapshot], Backtrace]:
    return forked(partial(unwind_here, exact=exact), prepare=built)


_ARCHES = frozenset(_REGISTERS) & ARCHES.keys()
_LIMITS = table_limits(
    {
        Trait.WRONG_TABLE: frozenset(
            {Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.WRONG_REGISTER, Outcome.PHANTOM, Outcome.SKIPPED}
        ),
        Trait.NO_TABLE: frozenset({Outcome.ENDED_EARLY, Outcome.WRONG}),
        Trait.NO_CODE: frozenset({Outcome.ENDED_EARLY, Outcome.SKIPPED}),
        Trait.OPEN_END: frozenset({Outcome.PHANTOM}),
        Trait.LOST_REGISTER: frozenset({Outcome.WRONG_REGISTER}),
    },
    {
        Trait.LOST_REGISTER: "a register whose rule is DW_CFA_undefined is set to zero, and given out as if it were known",
        Trait.NO_TABLE: "unw_step returns 0, as at the end of the stack, where no table covers the function",
        Trait.NO_CODE: "unw_step returns 0, as at the end of the stack, where no table covers the pc, and at a pc of zero",
    },
)
_LIES = frozenset(
    {Outcome.ENDED_EARLY, Outcome.SKIPPED, Outcome.PHANTOM, Outcome.WRONG_REGISTER, Outcome.WRONG, Outcome.REFUSED}
)
_EXACT_PC = "https://github.com/llvm/llvm-project/pull/92291"
_COMPACT = "https://github.com/llvm/llvm-project/blob/main/libunwind/src/CompactUnwinder.hpp"
_ROW_BEFORE = (
    "parseFDEInstructions applies the rows that begin before the pc (codeOffset < pcoffset), as is right behind a "
    "call: where a row begins at the interrupted instruction, the one before it is used"
)
_ROW_BEFORE_TOP = Limit(Trait.CALLED, _LIES, _ROW_BEFORE, _EXACT_PC)
_ROW_BEFORE_ROOT = Limit(Trait.ROOT, frozenset({Outcome.PHANTOM}), _ROW_BEFORE, _EXACT_PC)
_ROW_BEFORE_COMPACT = Limit(
    Trait.CALLED,
    frozenset({Outcome.PHANTOM, Outcome.WRONG_REGISTER}),
    f"an encoding that defers to DWARF: {_ROW_BEFORE}",
    _EXACT_PC,
)
_ROW_BEFORE_SIGNAL = Limit(
    Trait.SIGNAL,
    frozenset({Outcome.SKIPPED, Outcome.WRONG_REGISTER, Outcome.ENDED_EARLY}),
    "behind a signal frame the interrupted function is looked up by its pc, but its row still as behind a call: the "
    "row that begins at the pc is not applied",
    _EXACT_PC,
)
_ONE_WORD_HIGH = Limit(
    Trait.FRAMELESS,
    frozenset({Outcome.WRONG_REGISTER}),
    "stepWithCompactEncodingFrameless looks for the first saved register at SP + stack size, which is the CFA: it lies "
    "one word below, as in frames with a frame pointer, and all others are one word off with it",
    _COMPACT,
    _ARM64,
)
_ONE_ROW = (
    Limit(
        Trait.PROLOGUE,
        _LIES - {Outcome.WRONG},
        "the one encoding of a function describes its finished frame, which is not there yet",
        "https://faultlore.com/blah/compact-unwinding/",
    ),
    Limit(
        Trait.EPILOGUE,
        _LIES - {Outcome.WRONG, Outcome.PHANTOM},
        "the one encoding of a function describes its finished frame, which is partly gone",
        "https://faultlore.com/blah/compact-unwinding/",
    ),
)


def _finding(title: str, unwinder: str, program: str, arch: str, recipe: str, at: str, limit: Limit) -> Finding:
    return Finding(
        title=title,
        unwinder=unwinder,
        tool="LLVM libunwind of ziglang 0.17.0",
        since="2026-11-21",
        program=program,
        arch=arch,
        recipe=recipe,
        at=at,
        limit=limit,
        upstream=limit.reference if limit.reference == _EXACT_PC else "",
    )


FINDINGS = (
    _finding(
        "LLVM libunwind takes an interrupted pc for a return address when it chooses the row",
        "llvm_libunwind",
        "leaf_call",
        "arm64",
        "keystone",
        "leaf+0x14",
        _ROW_BEFORE_TOP,
    ),
    _finding(
        "LLVM libunwind does the same to an interrupted frame behind a signal frame",
        "llvm_libunwind_exact",
        "signal",
        "arm64",
        "keystone",
        "@46",
        _ROW_BEFORE_SIGNAL,
    ),
    _finding(
        "LLVM libunwind gives a register that the table calls undefined a value: zero",
        "llvm_libunwind_exact",
        "longjmp",
        "x86_64",
        "keystone",
        "long_jump+0x5",
        limit_on(_LIMITS, Trait.LOST_REGISTER),
    ),
    _finding(
        "LLVM libunwind ends the stack without an error where no table covers a function",
        "llvm_libunwind_exact",
        "no_table",
        "arm64",
        "keystone",
        "framed",
        limit_on(_LIMITS, Trait.NO_TABLE),
    ),
    _finding(
        "LLVM libunwind reads the saved registers of a frameless arm64 function one word too high",
        "llvm_libunwind_compact",
        "busy_leaf",
        "arm64",
        "macho-O2",
        "busy+0x8",
        _ONE_WORD_HIGH,
    ),
)

NATURAL = Unwinder(
    name="llvm_libunwind",
    summary="LLVM libunwind as unw_step uses it on ELF files: .eh_frame_hdr's table, then .eh_frame",
    unwind=_asked(exact=False),
    arches=_ARCHES,
    needs=frozenset({".eh_frame_hdr"}),
    limits=(*_LIMITS, _ROW_BEFORE_SIGNAL, _ROW_BEFORE_TOP, _ROW_BEFORE_ROOT),
    tool=tool,
)
EXACT = Unwinder(
    name="llvm_libunwind_exact",
    summary="LLVM libunwind, with the row that begins at the interrupted pc",
    unwind=_asked(exact=True),
    arches=_ARCHES,
    needs=frozenset({".eh_frame_hdr"}),
    limits=(*_LIMITS, _ROW_BEFORE_SIGNAL),
    tool=tool,
)
COMPACT = Unwinder(
    name="llvm_libunwind_compact",
    summary="LLVM libunwind as unw_step uses it on Mach-O files: compact unwind, or the FDE that it defers to",
    unwind=_asked(exact=False),
    arches=_ARCHES,
    needs=frozenset({"__TEXT,__unwind_info"}),
    limits=(*_ONE_ROW, _ONE_WORD_HIGH, _ROW_BEFORE_COMPACT),
    tool=tool,
)

REFEREE = Referee(
    name="llvm_libunwind",
    summary="LLVM libunwind: what C++, Rust and Swift programs unwind with; its headers, with a remote address space",
    package="pip install ziglang, whose wheel contains its sources",
    find=find,
    unwinders=(NATURAL, EXACT, COMPACT),
    findings=FINDINGS,
)
