"""Texts that people and programs write: headers, assembly, shapes, locations, arguments, lists of what is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path

import click

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.assembly import read_assembly
from testbed.campaign.score_card import FILE, known_scores
from testbed.cli import cli
from testbed.cli.check import files_named
from testbed.generate.evaluate import evaluate
from testbed.generate.names import is_generated
from testbed.generate.program import generated_program, shape_named
from testbed.micro.plans import users_plans
from testbed.program.header import parse_header
from testbed.program.model import program_from_text
from testbed.report.check_baseline import SCHEMA, read_baseline
from tests.hostile import real
from tests.hostile.damage import damaged_json, damaged_text
from tests.hostile.folder import file_with
from tests.hostile.target import Target


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


@cache
def _headers() -> Sequence[bytes]:
    sources = [source for program in PROGRAMS.values() for source in program.sources.values() if source.text]
    heads = ("\n".join([*takewhile(_is_header, each.text.splitlines()), ""]) for each in sources)
    return [each.encode() for each in dict.fromkeys(heads) if "// exit:" in each]


def _is_header(line: str) -> bool:
    return line.startswith("//")


def _read_header(content: bytes) -> None:
    parse_header(Path("hostile.c"), _text(content))


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


def _read_scores(content: bytes) -> None:
    known_scores.__wrapped__(file_with(content, "scores.json"))


def _read_list(content: bytes) -> None:
    files_named([f"@{file_with(content, 'list')}", _text(content)[:200]])


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


def _without_zeros(content: bytes) -> bytes:
    """No argument of a process has one."""
    return content.replace(b"\0", b"")


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

TARGETS = (
    Target("header", "headers of programs", _headers, _read_header, damaged_text),
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
        _without_zeros,
        weight=0.1,
        allowed=(click.ClickException, click.exceptions.Exit, click.Abort),
    ),
    Target("file_list", "lists of files: @LIST", _listed(_LISTS), _read_list, damaged_text),
    Target("baseline", "baselines of testbed check", _baselines, _read_baseline, damaged_json),
    Target("scores", "the scores of known unwinders", _scores, _read_scores, damaged_json),
)
