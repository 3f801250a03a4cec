"""Any file as a program file whose functions can be called: sources compiled, objects and archives joined.

Sources go through clang, or through the compiler that stands first behind ``--``; everything else there is for it, as
on its own command line. Objects are joined by lld into a shared object in which symbols may be missing: that is what a
loader would fill in, and so does `testbed.micro.layout`.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from testbed.arch import ARCHES, Arch, PerArch, arch_named
from testbed.build.compile import NOT_FOUND, find_zig
from testbed.build.confined import limit_met, run_confined
from testbed.build.targets import GNU, LLD
from testbed.image import Image, Symbol, read_image
from testbed.image.elf_companions import CORRUPT
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.micro.code_scan import scan
from testbed.micro.functions import table_ranges
from testbed.words.errors import BuildError, UsageError
from testbed.words.files import WorkFolder
from testbed.words.printable import printable
from testbed.words.table_formats import TABLE_FORMATS

# Functions of assembly that never says ``.type``: labels that the linker knows, where a function can only begin.
#
# A label is a function where a call of the file leads to it, or a table's entry begins there, or where nothing goes on
# to it: no instruction above, and no jump. Others are places inside of one. A file that says of one function that it
# is one is taken at its word.


def with_labels_as_functions(image: Image) -> Image:
    """An image whose labels in code are functions, if it has no function; each reaches to the next one."""
    if any(symbol.is_function for symbol in image.symbols):
        return image
    found = [symbol for start, end in _code(image) for symbol in _functions(image, start, end)]
    others = [symbol for symbol in image.symbols if symbol.address not in {each.address for each in found}]
    return replace(image, symbols=tuple(sorted((*others, *found), key=lambda symbol: symbol.address)))


def _code(image: Image) -> Iterator[tuple[int, int]]:
    """The sections that may be executed, but the linker's own."""
    spans = [(each.address, each.address + each.size) for each in image.segments if each.executable]
    for section in image.sections.values():
        is_code = any(low <= section.address < high for low, high in spans)
        if is_code and section.data and not section.name.startswith((".plt", ".iplt")):
            yield section.address, section.address + len(section.data)


def _functions(image: Image, start: int, end: int) -> Iterator[Symbol]:
    """The functions of one section."""
    labels = [symbol for symbol in image.symbols if start <= symbol.address < end and not symbol.is_data]
    if not labels:
        return
    code = scan(image, start, end, is_behind=True)
    begins, behind = {*code.calls.values(), *(first for first, _ in table_ranges(image))}, code.behind - code.jumps
    chosen = [
        symbol
        for symbol in labels
        if symbol.address in begins
        or (symbol.address in behind and not (symbol.local and symbol.address in code.filling))
    ]
    places = sorted({symbol.address for symbol in chosen})
    after = dict(pairwise((*places, end)))
    for symbol in chosen:
        yield replace(symbol, is_function=True, size=after[symbol.address] - symbol.address)


ASSEMBLY = (".S", ".s")
SOURCES = (*ASSEMBLY, ".c", ".cc", ".cpp", ".cxx", ".C", ".m", ".i", ".ii")
_TARGETS = PerArch({"x86_64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "arm32": "armv7-linux-gnueabihf"})
_LIBC = PerArch(
    {
        "x86_64": ("x86-linux-gnu", "x86-linux-any"),
        "arm64": ("aarch64-linux-gnu", "aarch64-linux-any"),
        "arm32": ("arm-linux-gnu", "arm-linux-any"),
    }
)
_TABLES = ("-g", "-fasynchronous-unwind-tables")
_COMPILE, _PREPROCESS = ("-c",), ("-E", "-dD")
_CPU_SECONDS = 120
_FIRST = "x86_64"  # what a source is built for unless something else is said
_MACHINES = PerArch({"x86_64": 62, "arm64": 183, "arm32": 40})  # e_machine (System V ABI, chapter 4)
_RELOCATABLE, _EXECUTED = 1, 4  # ET_REL, SHF_EXECINSTR
_ARCHIVE, _THIN = b"!<arch>\n", b"!<thin>\n"  # a thin archive names its members' files
_OF_CODE = tuple(its.section.encode() for its in TABLE_FORMATS.values() if its.in_objects)
# What a linker asks for besides what it is given: GCC's split stacks (gcc/libgcc: morestack.S).
_WANTED = ("__morestack_non_split",)
# lld leaves 0 there, for a shared object may lie anywhere. Nobody asks here for a personality.
_ABSOLUTE = re.compile(
    r"cannot be used against (.*); recompile.*(?:\n>>> defined in .*)?\n>>> referenced by .*\(\.eh_frame\+"
)
_NOT_RELATIVE = (
    "its .eh_frame says by absolute addresses where code lies, and no shared object can be made of that: write them as"
    " distances, as the assembler's own directives do"
)


@contextmanager
def program_file(path: Path, arch: str | None, flags: Sequence[str], text: str | None = None) -> Iterator[Path]:
    """The path of a file that can be loaded, made of ``path`` where that is none; it is gone afterwards.

    ``text`` is compiled instead of what stands in a source, under the source's name.

    Raises BuildError with the compiler's or linker's words, ToolchainMissing, UsageError for a file that is none.
    """
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    if not path.is_file():
        raise UsageError(f"{path}: not a regular file")
    source = path.suffix in SOURCES
    if flags and not source:
        raise UsageError(f"{path} is no source: what stands behind -- is for a compiler ({' '.join(SOURCES)})")
    with path.open("rb") as opened:
        head = opened.read(64)
    if not source and head[:8] not in (_ARCHIVE, _THIN) and not _is_object(head):
        if why := _no_program(head):
            raise UsageError(f"{path}: {why}")
        yield path
        return
    with WorkFolder("check") as place:
        objects = _compiled(path, arch, flags, place, text) if source else path
        yield _joined(path, objects, place)


def _no_program(head: bytes) -> str:
    """What a file is that begins so, if it is no program file for sure."""
    if not head:
        return "it is empty"
    if all(byte >= 32 or byte in b"\t\n\r\f" for byte in head):
        return f"it is text, and its name ends as no source's does ({' '.join(SOURCES)}); a list of files is @LIST"
    return ""


def _is_object(head: bytes) -> bool:
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little") == _RELOCATABLE


def preprocessed_text(path: Path, arch: str, flags: Sequence[str], text: str | None = None) -> str:
    """What the preprocessor leaves of a source, with all that it defines, and where each line comes from.

    Raises what `program_file` does.
    """
    with WorkFolder("check") as place:
        return _compiled(path, arch, flags, place, text, _PREPROCESS).read_text("utf-8", "replace")


def is_preprocessed(path: Path, flags: Sequence[str]) -> bool:
    """Is a source assembly that goes through the preprocessor, by its suffix, or since the compiler is told so?"""
    return path.suffix in (".S", ".sx") or any("assembler-with-cpp" in flag for flag in flags)


def _compiled(
    path: Path,
    arch: str | None,
    flags: Sequence[str],
    folder: Path,
    text: str | None = None,
    what: Sequence[str] = _COMPILE,
) -> Path:
    """What a compiler makes of a source: the object file."""
    out = folder / "checked.o"
    if text is not None:
        # Under its own name in debug information; what it includes from beside it is found there.
        mark = "# 1" if path.suffix == ".s" and not is_preprocessed(path, flags) else "#line 1"
        plain = text.removeprefix("\ufeff")  # compilers pass over the mark where a file begins, and only there
        (folder / f"written{path.suffix}").write_bytes(os.fsencode(f'{mark} "{path}"\n{plain}'))
    flags = list(flags)
    if flags and not flags[0].startswith("-"):
        compiler = shutil.which(flags[0])
        if compiler is None:
            raise UsageError(f"{flags[0]}: no such compiler; what stands first behind -- is one, or begins with '-'")
        command = [compiler, *_TABLES, *flags[1:]]
    else:
        has_target = any(flag.startswith(("-target", "--target")) for flag in flags)
        if not has_target and what == _COMPILE and not (arch and text):
            return _guessed(path, arch, flags, out)
        command = _clang(arch_named(arch or _FIRST).name, flags, () if has_target else ("-target",))
    return _made(path, command, out, what)


def _clang(arch: str, flags: Sequence[str], target: Sequence[str] = ("-target",)) -> list[str]:
    named = [*target, *[_TARGETS[arch]] * len(target)]
    return [str(find_zig()), "clang", "-Qunused-arguments", *named, *_TABLES, *_headers(arch), *flags]


def _guessed(path: Path, arch: str | None, flags: Sequence[str], out: Path) -> Path:
    """The object file of a source for an architecture; of one that nobody said, for the usual one, or the only other
    for which it builds to code.

    Raises BuildError: what it is not for, in the words of the compiler; or which others it is for.
    """
    first, failed = arch_named(arch or _FIRST).name, None
    try:
        if _has_code(_made(path, _clang(first, flags), out)):
            return out
    except BuildError as error:
        failed = error
    fits = [name for name in ARCHES if name != first and _is_for(path, name, flags, out)]
    if failed and not fits:
        raise failed
    if len(fits) > 1 or (fits and arch):
        named, why = " or ".join(f"--arch {name}" for name in fits), "does not build" if failed else "has no code"
        raise BuildError(f"{path}: it {why} for {first}, but for {' and '.join(fits)}: say {named}") from None
    return _made(path, _clang(fits[0] if fits else first, flags), out)


def _is_for(path: Path, arch: str, flags: Sequence[str], out: Path) -> bool:
    """Whether a source builds for an architecture, and has code there."""
    try:
        return _has_code(_made(path, _clang(arch, flags), out))
    except BuildError:
        return False


def _has_code(path: Path) -> bool:
    """Has an object file a section of code that is not empty?"""
    with path.open("rb") as opened:
        sections = ELFFile(opened).iter_sections()
        return any(each["sh_flags"] & _EXECUTED and each["sh_size"] for each in sections)


def _made(path: Path, command: Sequence[str], out: Path, what: Sequence[str] = _COMPILE) -> Path:
    named = f"./{path}" if str(path).startswith(("-", "@")) else str(path)  # no option, and no file of options
    if (text := out.parent / f"written{path.suffix}").exists():
        command, named = [*command, "-iquote", str(path.parent)], str(text)
    _run([*command, *what, named, "-o", str(out)], path, out.parent, _readable(path, command))
    if not out.exists() or (what == _COMPILE and not _is_object(out.read_bytes()[:64])):
        raise BuildError(
            f"{path}: the compiler made no object file: leave out what asks it for another", command=command
        )
    return out


def _headers(arch: str) -> list[str]:
    """Where clang finds its own headers and glibc's, behind all other folders: `zig clang` knows of none."""
    own = find_zig().parent / "lib"
    libc = [own / "libc" / "include" / name for name in (*_LIBC[arch], "generic-glibc", "any-linux-any")]
    folders = [word for folder in (own / "include", *libc) for word in ("-idirafter", str(folder))]
    return [*folders, "-D__GLIBC_MINOR__=31"]  # which version of glibc those headers are to be


def _joined(path: Path, objects: Path, folder: Path) -> Path:
    """A shared object of one object file, or of all members of an archive."""
    out = folder / (path.name + ".so")
    content = objects.read_bytes()
    if _is_object(content[:64]):
        objects = folder / "asks.o"
        objects.write_bytes(_asking_openly(content))
    if b".gnu.lto_" in content and not any(name in content for name in _OF_CODE):
        raise UsageError(f"{path}: GCC left no machine code in it: compile with -ffat-lto-objects, or without -flto")
    machine = _machine_of(objects, path)
    # -Bsymbolic: a call within the file is that call, and none through a linkage table, whose answer would be made up
    command = [str(find_zig()), "ld.lld", "-m", LLD[machine.name], "-shared", "-Bsymbolic", "--eh-frame-hdr"]
    options = ["--unresolved-symbols=ignore-all", "--allow-multiple-definition", "--noinhibit-exec"]
    options += ["-z", "notext", "-z", "nognustack"]
    options += [f"--defsym={name}=0" for name in _WANTED]
    said = _run([*command, *options, "--whole-archive", str(objects), "-o", str(out)], path, folder, None)
    if left_out := re.findall(r"^ld\.lld: \w+: (.* is incompatible with .*)$", said, re.MULTILINE):
        raise BuildError(f"{path}: {left_out[0]}: check them apart, each of one architecture", command=command)
    if any("personality" not in named for named in _ABSOLUTE.findall(said)):
        raise UsageError(f"{path}: {_NOT_RELATIVE}")
    return out


_VISIBILITY = 3  # of st_other
_OTHER = {32: 13, 64: 5}  # where an entry has its st_other (System V ABI, chapter 4)


def _asking_openly(content: bytes) -> bytes:
    """An object that asks for no symbol as a hidden one: such a call, if another file has what is called, lld links to
    nobody, and on Arm to the instruction behind it.
    """
    new = bytearray(content)
    with suppress(*CORRUPT):  # the linker says what is wrong
        elf = ELFFile(io.BytesIO(content))
        for table in (section for section in elf.iter_sections() if isinstance(section, SymbolTableSection)):
            first = table["sh_offset"] + _OTHER[elf.elfclass]
            for k, symbol in enumerate(table.iter_symbols()):
                if symbol["st_shndx"] == "SHN_UNDEF":
                    new[first + k * table["sh_entsize"]] &= ~_VISIBILITY & 0xFF
    return bytes(new)


def _machine_of(objects: Path, path: Path) -> Arch:
    """The architecture of an object, or of an archive's first member that is one."""
    found = [head for head in _heads(objects, path) if head[:4] == b"\x7fELF"]
    if not found:
        raise UsageError(f"{path}: no member of this archive is an ELF object")
    number = int.from_bytes(found[0][18:20], "little")
    known = next((arch for name, arch in ARCHES.items() if _MACHINES[name] == number), None)
    if known is None:
        raise UsageError(f"{path}: its code is for machine {number}, none of {', '.join(ARCHES)}")
    return known


def _heads(objects: Path, path: Path) -> Iterator[bytes]:
    """How an object begins, or each member of an archive (System V ABI, chapter 7: 60 bytes of text, then a member)."""
    content = objects.read_bytes()
    is_thin = content[:8] == _THIN
    if not is_thin and content[:8] != _ARCHIVE:
        yield content[:64]
        return
    names, at = b"", 8
    while at + 60 <= len(content):
        name, size = content[at : at + 16].rstrip(), content[at + 48 : at + 58].strip()
        if not size.isdigit():
            raise UsageError(f"{path}: at offset {at:#x}: {size!r} is no size of an archive's member")
        body, length = at + 60, int(size)
        if name == b"//":
            names = content[body : body + length]
        is_index = name in (b"/", b"//", b"/SYM64/")
        if is_thin and not is_index and name[1:].isdigit():
            member = objects.parent / os.fsdecode(names[int(name[1:]) :].split(b"/\n")[0])
            if not member.is_file():  # nor is a device or a pipe read
                raise UsageError(f"{path}: its member {printable(str(member))} cannot be read: it is no file")
            try:
                yield member.open("rb").read(64)
            except OSError as error:
                raise UsageError(
                    f"{path}: its member {printable(str(member))} cannot be read: {error.strerror}"
                ) from error
        elif not is_index:
            yield content[body : body + 64]
        at = body + (length + (length & 1) if is_index or not is_thin else 0)


def _run(command: Sequence[str], path: Path, folder: Path, readable: Sequence[Path] | None) -> str:
    """What a command said, which wrote into ``folder``. Raises BuildError where it failed."""
    try:
        done = run_confined(
            command, folder, {"CCACHE_DISABLE": "1"}, readable=readable, cpu_seconds=_CPU_SECONDS, at=Path.cwd()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{path}: {command[0]} did not end: {error}", command=command) from error
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        lines = [line for line in (said or done.stdout.decode("utf-8", "replace")).splitlines() if line.strip()]
        first = next((line for line in lines if re.search(r"\b[Ee]rror\b", line)), lines[0] if lines else "no message")
        rest = "\n".join(line for line in lines if line != first)
        if limit := limit_met(done.returncode, "\n".join(lines)):
            first = f"the compiler was stopped: it wanted more than {limit}"
        elif readable is not None and NOT_FOUND.search(first):
            first += _told_to_name_its_folder(path, first)
        elif readable is not None and path.suffix in ASSEMBLY and command[1] == "clang":
            gnu = next((f"{GNU[name].triple}-gcc" for name, target in _TARGETS.items() if target in command), "gcc")
            first += f" (so says clang's assembler; GNU's is asked by `testbed check {path} -- {gnu}`)"
        raise BuildError(f"{path}: {first}", command=command, output=rest)
    return said


def _told_to_name_its_folder(path: Path, said: str) -> str:
    """What to type where a compiler found no file, or was not let read what a link leads to."""
    above = re.search(r"['\"](\.\./[^'\"]*)", said)
    include, link = os.path.normpath(path.parent / above[1] / "..") if above else "include", ""
    named = re.search(r"['\"]([^'\"]+)['\"]: Permission denied", said)
    if named and Path(named[1]).is_symlink():
        include = os.path.relpath(Path(named[1]).resolve().parent)
        link = f"{printable(named[1])} is a link out of its folder; "
    told = f"`testbed check {path} -- -I{include}`"
    return f" ({link}a source reads its own folder and those that are named behind --: {told})"


def folders_named(words: Sequence[str]) -> Iterator[Path]:
    """The folders that a compiler's arguments name, and those of files that they do."""
    for word in words:
        for name in (word, word.partition("=")[2], word.removeprefix("@"), word[2:] if word[:1] == "-" else ""):
            if name and (there := Path(name)).exists():
                yield there if there.is_dir() else there.absolute().parent


def _readable(path: Path, command: Sequence[str]) -> list[Path]:
    """What the compiler of a source may read: the source's folder, what the command names, the compiler's own."""
    found = [path.absolute().parent, path.resolve().parent, *folders_named(command[1:])]
    if compiler := shutil.which(command[0]):
        found += [place.parent.parent for place in (Path(compiler), Path(compiler).resolve())]
    return [place.resolve() for place in found if place.resolve() != Path("/")]


def read_program(path: Path, original: Path, arch: str | None = None, debug: DebugDirs = NOWHERE) -> Image:
    """A program file as an image under its user's name; labels of assembly that names no function are such.

    ``arch`` chooses in a file that holds several; ``debug`` is where its separate debug file is looked for. Raises
    ImageError, and UsageError where the file is for another one.
    """
    wanted = arch_named(arch) if arch else None
    image = read_image(path, arch=wanted, debug=debug)
    if wanted is not None and image.arch is not wanted:
        more = f", or name what compiles for {wanted}" if original.suffix in SOURCES else ""
        raise UsageError(f"{original} is for {image.arch}, not for {wanted}: leave --arch out{more}")
    return image if path == original else with_labels_as_functions(replace(image, path=original))
