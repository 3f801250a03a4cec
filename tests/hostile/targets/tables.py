"""Unwind tables, code and debug information: the sections of a real file, damaged, in that file."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import click

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.assembly import read_assembly
from testbed.campaign.score_card import FILE, known_scores
from testbed.cli import cli
from testbed.cli.check import files_named
from testbed.conventions.chosen import chosen
from testbed.generate.evaluate import evaluate
from testbed.generate.program import generated_program, shape_named
from testbed.generate.seeds import is_generated
from testbed.image import Image, LoadedImage, Section
from testbed.image.debug import debug_info
from testbed.image.go_functions import go_symbols
from testbed.micro.plans import users_plans
from testbed.naming.symbolize import Origin, symbolize
from testbed.native.compiled import VARIABLE
from testbed.program.header import parse_header
from testbed.program.model import program_from_text
from testbed.report.check_report import SCHEMA, read_baseline
from testbed.rereading import reread
from testbed.sweep.sweep_file import sweep_file
from testbed.trace import Snapshot
from testbed.words.errors import UnwindError
from tests.hostile import real
from tests.hostile.damage import among_parts, damaged_bytes, damaged_json, damaged_text, packed, parts_of
from tests.hostile.real import file_with
from tests.hostile.target import Target
from tests.unwinders.frames import START
from tests.unwinders.go_tables import AT, EVERY, MAGIC, made
from unwinders import UNWINDERS
from unwinders.formats.gopclntab import gopclntab_index

# The sections that an unwinder reads, in the order in which an input has them.
SECTIONS: Mapping[str, Sequence[str]] = {
    "eh_frame": (".eh_frame",),
    "eh_frame_hdr": (".eh_frame_hdr", ".eh_frame"),
    "debug_frame": (".debug_frame",),
    "ehabi": (".ARM.exidx", ".ARM.extab"),
    "sframe": (".sframe",),
    "orc": (".orc_unwind_ip", ".orc_unwind", ".orc_header"),
    "compact_unwind": ("__TEXT,__unwind_info", "__TEXT,__eh_frame"),
}
_DEBUG = (
    *(".debug_info", ".debug_abbrev", ".debug_line", ".debug_line_str", ".debug_str", ".debug_str_offsets"),
    *(".debug_addr", ".debug_rnglists", ".debug_ranges", ".debug_loclists"),
)


def _whole(content: bytes, dice: object, seeds: object) -> bytes:
    """The part that says which file it is: never damaged."""
    return content


def _seeds(names: Sequence[str]) -> Sequence[bytes]:
    """For each real file that has the first section: which file it is, then its sections."""
    found = []
    for index, each in enumerate(real.built()):
        sections = each.image.sections
        if names[0] in sections:
            found.append(packed([bytes([index]), *(_data(each.image, name) for name in names)]))
    return found


def _data(image: Image, name: str) -> bytes:
    return image.sections[name].data if name in image.sections else b""


def _of_file(content: bytes, count: int) -> tuple[int, list[bytes]]:
    """Which real file an input of `_seeds` is of, and its other parts."""
    which, *parts = parts_of(content, 1 + count)
    return int.from_bytes(which, "little") % len(real.built()), parts


def _with_sections(content: bytes, names: Sequence[str]) -> tuple[Image, Sequence[Snapshot]]:
    """The file with what an input says in its sections, and two snapshots of its run with that file."""
    index, parts = _of_file(content, len(names))
    old = real.built()[index].image
    sections = dict(old.sections)
    for name, data in zip(names, parts, strict=True):
        if name in sections:
            sections[name] = Section(name, sections[name].address, sections[name].offset, data)
    image = replace(old, sections=sections)
    return image, [_of(snapshot, image) for snapshot in real.snapshots()[2 * index : 2 * index + 2]]


def _of(snapshot: Snapshot, image: Image) -> Snapshot:
    return replace(snapshot, images=tuple(LoadedImage(image, loaded.bias) for loaded in snapshot.images))


def _read_table(content: bytes, name: str) -> None:
    """All rows, and two backtraces by them."""
    image, snapshots = _with_sections(content, SECTIONS[name])
    unwinder = UNWINDERS[name]
    for snapshot in snapshots:
        unwinder.unwind(snapshot)
    if unwinder.rows is not None:
        table = unwinder.rows(image)
        for broken in table.broken:
            str(broken.why)


def _read_debug(content: bytes) -> None:
    image, snapshots = _with_sections(content, _DEBUG)
    info = debug_info(image)
    for problem in info.problems:
        str(problem)
    for snapshot in snapshots:
        found = UNWINDERS["fp_chain"].unwind(snapshot)
        named = symbolize(snapshot.images, found).frames
        assert [each.pc for each in named if each.origin is Origin.PHYSICAL] == [frame.pc for frame in found.frames]
    for function in info.functions[:50]:
        for start, end in function.ranges[:4]:
            info.line_at(start)
            info.inlined_at(end - 1)


def _go_seeds() -> Sequence[bytes]:
    """Tables of each version, with what says where their code begins."""
    found = [made(*EVERY, version=version) for version in MAGIC]
    found.append(made(*EVERY, module=START))
    relocation = b"".join(n.to_bytes(8, "little") for n in (AT + 24, 8, START))
    return [packed([_data(each, ".gopclntab"), _data(each, ".go.module"), relocation]) for each in found]


def _read_go(content: bytes) -> None:
    """All rows, those of the second reader, the functions' names, whose convention they follow, and a backtrace."""
    parts = parts_of(content, 3)
    usual = made(*EVERY)
    names = (".gopclntab", ".go.module", ".rela.dyn")
    sections = {name: Section(name, AT if not i else 0x5000, 0, parts[i]) for i, name in enumerate(names)}
    image = replace(usual, sections=sections)
    symbols = go_symbols(sections, image.account)
    for pc in range(START, START + 200, 7):
        reread(image, ".gopclntab", pc)
        str(chosen(replace(image, symbols=symbols), pc).why)
    snapshot = _of(real.snapshots()[0], image)
    UNWINDERS["gopclntab"].unwind(snapshot)
    for broken in gopclntab_index(image).all_rows().broken:
        str(broken.why)


@cache
def _code_seeds() -> Sequence[bytes]:
    found = []
    for index, each in enumerate(real.built()):
        code = next(segment.data for segment in each.image.segments if segment.executable)
        found.append(packed([bytes([index]), code[:2048]]))
    return found


def _read_code(content: bytes) -> None:
    """The code of a program replaced by an input: what is derived from instructions."""
    index, (code,) = _of_file(content, 1)
    old = real.built()[index].image
    segments = list(old.segments)
    at = next(i for i, segment in enumerate(segments) if segment.executable)
    data = code[: segments[at].size]
    segments[at] = replace(segments[at], held=data + segments[at].data[len(data) :])
    image = replace(old, segments=tuple(segments))
    for snapshot in real.snapshots()[2 * index : 2 * index + 2]:
        for name in ("prologue_analysis", "fp_chain_entry", "stack_scan_strict"):
            with suppress(UnwindError):
                UNWINDERS[name].unwind(_of(snapshot, image))


_SWEPT = (".eh_frame", ".debug_frame", ".gcc_except_table", ".text")


def _sweep_seeds() -> Sequence[bytes]:
    """As `_seeds`; the pass is compiled here, for that takes longer than an input may."""
    seeds = _seeds(_SWEPT)
    with patch.dict(os.environ, {VARIABLE: "1"}):
        _sweep(seeds[0])
    return seeds


def _sweep(content: bytes) -> None:
    """Parts of a program file overwritten by an input, as far as it reaches: the static pass over the whole file."""
    index, parts = _of_file(content, len(_SWEPT))
    image = real.built()[index].image
    made = bytearray(image.content)
    for name, data in zip(_SWEPT, parts, strict=True):
        if name in image.sections:
            section = image.sections[name]
            made[section.offset : section.offset + len(section.data)] = (data + section.data[len(data) :])[
                : len(section.data)
            ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "damaged")
        path.write_bytes(made)
        swept = sweep_file(path, "0")
    assert swept.failure or swept.agreed + len(swept.doubts) == swept.entries


TABLES = (
    Target(
        "sweep",
        "tables, landing pads and code of a program file: the static pass over all of it",
        _sweep_seeds,
        _sweep,
        among_parts([_whole, damaged_bytes]),
        weight=0.25,
    ),
    *(
        Target(
            name,
            f"the sections of {name} in a program file: all rows, two backtraces",
            partial(_seeds, names),
            partial(_read_table, name=name),
            among_parts([_whole, damaged_bytes]),
            weight=0.5,
        )
        for name, names in SECTIONS.items()
    ),
    Target(
        "gopclntab",
        "Go's table of functions, and what says where its code begins: both readers, names, conventions",
        _go_seeds,
        _read_go,
        among_parts([damaged_bytes]),
        weight=0.5,
    ),
    Target(
        "debug_info",
        "DWARF sections of debug information: functions, lines, inlined calls, names of a backtrace",
        partial(_seeds, _DEBUG),
        _read_debug,
        among_parts([_whole, damaged_bytes]),
        weight=0.25,
    ),
    Target(
        "code",
        "instructions: prologue_analysis and what else looks at code",
        _code_seeds,
        _read_code,
        among_parts([_whole, damaged_bytes]),
        weight=0.05,
    ),
)


# Texts that people and programs write: headers, assembly, shapes, locations, arguments, lists of what is known.


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


@cache
def _headers() -> Sequence[bytes]:
    sources = [source for program in PROGRAMS.values() for source in program.sources.values() if source.text]
    heads = (
        "\n".join([*takewhile(lambda line: line.startswith("//"), each.text.splitlines()), ""]) for each in sources
    )
    return [each.encode() for each in dict.fromkeys(heads) if "// exit:" in each]


@cache
def _assembly() -> Sequence[bytes]:
    names = {"arm64": b"0", "x86_64": b"1", "arm32": b"2", "thumb": b"2"}
    sources = [source for program in PROGRAMS.values() for source in program.sources.values()]
    return [
        names[s.isa] + s.text.encode() for s in sources if s.isa in names and not s.fragments and len(s.text) < 4000
    ]


def _read_assembly(content: bytes) -> None:
    """A source for one of the architectures, which its first letter says, up to the assembler."""
    arch = ARCHES[("arm64", "x86_64", "arm32")[content[0] % 3 if content else 0]]
    source = next(iter(program_from_text("hostile", arch, _text(content[1:])).sources.values()))
    read_assembly(source, arch, arch.isas[0])


_DIRECTORS = (
    *(
        "f64c1+f",
        "12",
        "0",
        "f",
        "f8c1",
        "f24v+f16m+f",
        "f64c1c2+f8+f16a32",
        "f520s+f4104c1+f",
        "gen:12",
        "genc:f64c1+f",
    ),
    *("genc:12,-fno-plt,-mno-red-zone", "gen:f64c1+f", "r3c1+f", "f64t1+f8", "123456789012345678"),
)


def _read_director(content: bytes) -> None:
    text = _text(content)
    if is_generated(text):
        generated_program(text)
        return
    evaluate(shape_named(text))


def _read_location(content: bytes) -> None:
    for run in real.runs()[:3]:
        run.step_at(_text(content))


def _read_calls(content: bytes) -> None:
    for arch in ARCHES.values():
        users_plans(_text(content).split("\n"), arch)


@cache
def _baselines() -> Sequence[bytes]:
    entry = {
        "file": "a.so",
        "arch": "x86_64",
        "table": "eh_frame",
        "function": "f",
        "fingerprint": "ab12",
        "sentence": "wrong",
    }
    return [json.dumps({"schema": SCHEMA, "findings": [entry, {**entry, "function": "g"}]}).encode()]


def _read_baseline(content: bytes) -> None:
    for known in read_baseline(file_with(content, "baseline.json")):
        hash(known.key)
        sorted((known, known))


@cache
def _scores() -> Sequence[bytes]:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    names = list(data["units"])[:6]
    data["units"] = {name: data["units"][name] for name in names}
    data["sample"] = [name for name in data["sample"] if name in names]
    return [json.dumps(data).encode()]


# One line is one command. What they name need not be there: only reading the arguments is tried.
_COMMANDS = (
    "run leaf_call --arch arm64 --unwinder fp_* --seed 3 --budget 1000 --json",
    "run leaf_call -o a.html -o b.svg -o c.png --frame-record LEAF",
    "run leaf_call --at main+0x4#2 --machine -u eh_frame",
    "run leaf_call -o x.trace --arch arm32",
    "run leaf_call --cross-check",
    "matrix -p leaf_* -a arm64 -r keystone* -j 2 -o a.xml -o b.json",
    "matrix --known-bugs --all-versions",
    "score -u fp_chain -o card.html",
    "rows leaf_call -f eh_frame",
    "fuzz --seeds 20 --minutes 30 --first 7 --flags random --save f.txt",
    "fuzz --write f64c1+f -a arm64",
    "backtrace leaf_call --at leaf --style gdb",
    "backtrace core --sysroot / --file a@0x7f0000000000 --thread 1 --skip-missing --debug-dir /usr/lib/debug",
    "gdb leaf_call --at @0 --port 1234",
    "export leaf_call --at leaf -f minidump -o x --force",
    "export --vectors out -a arm64 -j 1",
    "edit leaf_call --port 1234",
    "annotate a.S -o b.S -- -Iinclude",
    "sweep a.so deb:zlib1g:arm64 --out s.db --execute --sample 0.5 --seed 3",
    "protocol --check ./mine",
    "list programs --traps --json",
    "check a.S b.o @files --call f(buf:64,3) -f inflate* --baseline k.json --coverage -- gcc -Iinclude -DPIC",
    "check leaf_call --executed --format json",
    "names leaf_call",
)


def _read_arguments(content: bytes) -> None:
    """The grammar of the command line: which command, and what its options are. Nothing is done."""
    words = _text(content).split(" ")
    name, rest = words[0], words[1:]
    with click.Context(cli, info_name="testbed") as context:
        command = cli.get_command(context, name)
        if command is None:
            cli.resolve_command(context, words)
            return
        command.make_context(name, rest, parent=context)


def _listed(texts: Sequence[str]) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


_LOCATIONS = ("main", "main+0x4", "main+4#2", "@17", "leaf#1", "_start+0x0#1")
_CALLS = ('f(buf:64, 3, "text")', "g()", "ns::h<int>(-1, 0x10)\nf*(1)", 'k("a\\x00b\\n", buf:0x10)')
_LISTS = ("a.o\n# comment\n\nb.so\n", "@list\n", "é\n")

TEXTS = (
    Target(
        "header",
        "headers of programs",
        _headers,
        lambda text: parse_header(Path("hostile.c"), _text(text)),
        damaged_text,
    ),
    Target("assembly", "assembly sources, up to the assembler", _assembly, _read_assembly, damaged_text, weight=0.5),
    Target(
        "director",
        "director strings, seeds, names of generated programs",
        _listed(_DIRECTORS),
        _read_director,
        damaged_text,
    ),
    Target("location", "symbol+0x4#2, @17", _listed(_LOCATIONS), _read_location, damaged_text),
    Target("calls", "--call 'f(buf:64, 3, \"text\")'", _listed(_CALLS), _read_calls, damaged_text),
    Target(
        "arguments",
        "the command line: commands, options, their values",
        _listed(_COMMANDS),
        _read_arguments,
        damaged_text,
        lambda words: words.replace(b"\0", b""),  # no argument of a process has one
        weight=0.1,
        allowed=(click.ClickException, click.exceptions.Exit, click.Abort),
    ),
    Target(
        "file_list",
        "lists of files: @LIST",
        _listed(_LISTS),
        lambda text: files_named([f"@{file_with(text, 'list')}", _text(text)[:200]]),
        damaged_text,
    ),
    Target("baseline", "baselines of testbed check", _baselines, _read_baseline, damaged_json),
    Target(
        "scores",
        "the scores of known unwinders",
        _scores,
        lambda text: known_scores.__wrapped__(file_with(text, "scores.json")),
        damaged_json,
    ),
)


TARGETS = (*TABLES, *TEXTS)
