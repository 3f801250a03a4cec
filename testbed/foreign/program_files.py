"""The program files that a dump names, found on this machine: the right ones, or an error that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from testbed.arch import Arch, FrameRecord
from testbed.export.build_id import build_id
from testbed.foreign.model import Dump, Module
from testbed.image import Image, LoadedImage, read_image
from testbed.image.separate_debug import NOWHERE, DebugDirs, gnu_build_id
from testbed.words.budget import Budget
from testbed.words.errors import BudgetExceeded, ImageError, SnapshotFileError, UsageError
from testbed.words.files import is_file
from testbed.words.printable import printable

_PAGE = 0x1000


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look, first to last: ``files``, then ``sysroot``, then beside the dump.

    ``files`` are (path, address): that file is mapped with its lowest segment at that address; without an address it
    stands for the module with the same file name. ``sysroot`` is a folder with the files of the machine that the dump
    is from; of this machine it is ``/``. A dump may name any file: only what lies below ``sysroot``, or in the dump's
    own folder, is opened. ``skip_missing``: a module that is not found is left out instead of an error.
    ``debug_dirs`` are folders with separate debug files; without any, none is looked for.
    """

    files: tuple[tuple[Path, int | None], ...] = ()
    sysroot: Path | None = None
    skip_missing: bool = False
    debug_dirs: tuple[Path, ...] = ()


def loaded_images(
    dump: Dump, places: Places, budget: Budget | None = None
) -> tuple[tuple[LoadedImage, ...], tuple[str, ...]]:
    """The images of a dump's modules, and the names of those left out.

    Raises SnapshotFileError for a missing file, or one that is not the one that was mapped; ImageError for one that
    cannot be read; UsageError for a file of ``places`` that belongs nowhere; BudgetExceeded for a dump that names too
    many, and for a file that costs more to read than ``budget``.
    """
    files = _ProgramFiles(dump, places, budget)
    images: list[LoadedImage] = []
    left_out: list[str] = []
    used: set[Path] = set()
    for module in dump.modules:
        dump.account.spend("parts", 1, module.said_at)
        given = next((path for path, address in places.files if _stands_for(path, address, module)), None)
        if given is not None:
            used.add(given)
        image = files.of(module, given)
        if image is None:
            left_out.append(module.name)
        else:
            images.append(LoadedImage(image, _bias(image, module)))
    for path, address in places.files:
        if path not in used:
            if address is None:
                raise UsageError(f"--file {path}: no module has that name; say where it is mapped: --file {path}@0x...")
            image = read_image(path, arch=dump.arch, debug=DebugDirs(places.debug_dirs), budget=budget)
            images.append(LoadedImage(image, address - _lowest_page(image)))
    for loaded in images:
        if loaded.image.arch is not dump.arch:
            raise UsageError(f"{loaded.image.path} is for {loaded.image.arch}, {dump.path} for {dump.arch}")
    return tuple(images), tuple(left_out)


def memory_of(images: tuple[LoadedImage, ...]) -> list[tuple[int, bytes]]:
    """What the images' segments that cannot be written have in memory: a dump may have left it out."""
    return [
        (segment.address + loaded.bias, segment.data)
        for loaded in images
        for segment in loaded.image.segments
        if not segment.writable
    ]


def _stands_for(path: Path, address: int | None, module: Module) -> bool:
    return address == module.start if address is not None else path.name == _base_name(module.name)


def _base_name(name: str) -> str:
    return (PureWindowsPath(name) if "\\" in name and "/" not in name else PurePosixPath(name)).name


class _ProgramFiles:
    """The program files of a dump's modules. One that several modules name is read once."""

    def __init__(self, dump: Dump, places: Places, budget: Budget | None) -> None:
        self.dump, self.places, self.budget = dump, places, budget
        self.known: dict[tuple[object, ...], Image] = {}

    def of(self, module: Module, given: Path | None) -> Image | None:
        """The image of a module; None where it is not found, and may be missing."""
        dump, places = self.dump, self.places
        if module.content and given is None:
            return self.read(Path(module.name), module, module.content)
        candidates = [given] if given is not None else _candidates(dump, module, places)
        path = next((path for path in candidates if is_file(path)), None)
        if path is None:
            if places.skip_missing:
                return None
            looked = ", ".join(printable(str(path)[:200]) for path in candidates) or "nowhere: that is no file's name"
            raise SnapshotFileError(
                dump.path,
                module.said_at,
                f"no file for the module {printable(module.name[:200])} (looked for {looked}); "
                f"give --sysroot FOLDER (of a dump of this machine: --sysroot /) or --file PATH@{_where(module)}, "
                "or --skip-missing to go without it",
            )
        try:
            image = self.read(path, module)
        except (ImageError, BudgetExceeded):
            if given is None and places.skip_missing:
                return None
            raise
        theirs = module.identifier or _identifier_in_memory(dump, module, image)
        if theirs and theirs != build_id(image):
            raise SnapshotFileError(
                dump.path,
                module.said_at,
                f"{path} is not the file that was mapped as {printable(module.name[:200])}: its build id is "
                f"{build_id(image).hex()}, not {theirs[:64].hex()}; give the right one with "
                f"--file PATH@{_where(module)}",
            )
        return image

    def read(self, path: Path, module: Module, content: bytes | None = None) -> Image:
        key = (path, module.name, tuple(sorted(module.frame_records.items())), content)
        if key not in self.known:
            debug = DebugDirs(self.places.debug_dirs, module.name) if content is None else NOWHERE
            records, arch = _records(self.dump.arch, module), self.dump.arch
            self.known[key] = read_image(path, records, arch=arch, content=content, debug=debug, budget=self.budget)
        return self.known[key]


def _where(module: Module) -> str:
    return hex(module.start) if module.start is not None else f"{module.bias or 0:#x}"


def _candidates(dump: Dump, module: Module, places: Places) -> list[Path]:
    name = module.name.removesuffix(" (deleted)")
    base = _base_name(name)
    found = [] if places.sysroot is None else [below(places.sysroot, name), below(places.sysroot, base)]
    beside = [below(dump.path.parent, base)] + ([] if name.startswith("/") else [below(dump.path.parent, name)])
    return [path for path in (*found, *beside) if path is not None]


def below(folder: Path, name: str) -> Path | None:
    """The place that a file names, below a folder; None where the name, or a link on the way, leads out of it."""
    if not name or ".." in PurePosixPath(name).parts:
        return None
    try:
        place = folder / name.lstrip("/")
        return place if place.resolve().is_relative_to(folder.resolve()) and place != folder else None
    except (OSError, ValueError, RuntimeError):  # no file can be called that; a circle of links
        return None


def _records(arch: Arch, module: Module) -> dict[str, FrameRecord]:
    by_name = {record.name: record for isa in arch.isas for record in isa.records}
    return {isa: by_name[name] for isa, name in module.frame_records.items()}


def _identifier_in_memory(dump: Dump, module: Module, image: Image) -> bytes:
    """The build id that the process had where this file's is, if the dump has that memory; else nothing."""
    note = image.sections.get(".note.gnu.build-id")
    if note is None or not note.address:
        return b""
    start = note.address + _bias(image, module)
    for address, data in dump.memory:
        if address <= start and start + len(note.data) <= address + len(data):
            there = data[start - address :][: len(note.data)]
            return gnu_build_id(there) or there  # no note there: another file altogether
    return b""


def _bias(image: Image, module: Module) -> int:
    """Run-time minus link-time address. Of a file that is mapped in part, the mapping's file offset says which part."""
    if module.start is None:
        return module.bias or 0
    if module.offset is not None:
        for segment in image.segments:
            if segment.offset & -_PAGE <= module.offset < segment.offset + max(len(segment.data), 1):
                return module.start - (segment.address - segment.offset + module.offset)
    return module.start - _lowest_page(image)


def _lowest_page(image: Image) -> int:
    return min((segment.address for segment in image.segments), default=0) & -_PAGE
