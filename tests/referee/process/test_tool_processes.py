"""Tools in processes of their own: a line of JSON at a time, or a forked library; files without their tables."""

import ctypes
import mmap
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.confined import has_seccomp, landlock_version
from testbed.build.recipes import recipe_named
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.image import Image, read_image
from testbed.referee.process.file_tool import JsonProcess
from testbed.referee.process.forked_library import forked
from testbed.referee.process.limits import MEMORY
from testbed.referee.process.without_tables import TABLES, file_of, strip_tables, without_tables
from testbed.runs.run import Run, judge, run_program
from testbed.trace import Snapshot
from testbed.words.errors import ImageError, ToolCrashed, ToolHung, UnreadableMemory
from testbed.words.outcome import Outcome
from testbed.words.table_formats import TABLE_FORMATS
from tests.corpus import tool
from tests.referee.process.echo import echo

EHABI = TABLE_FORMATS["ehabi"].sections
# A fake tool: it does what each request says.
_TOOL = """
import json, os, sys, time
requests, replies = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
for line in requests:
    request = json.loads(line)
    if "print" in request: print(request["print"], flush=True)
    if "sleep" in request: time.sleep(request["sleep"])
    if "abort" in request: os.abort()
    if "touch" in request:
        try: open(request["touch"], "w").close()
        except OSError as error: request["say"] = type(error).__name__
        else: request["say"] = os.environ["TMPDIR"]
    if "connect" in request:
        import socket
        try: socket.create_connection(("127.0.0.1", request["connect"]), timeout=5).close()
        except OSError as error: request["say"] = type(error).__name__
    if "raw" in request: replies.write(request["raw"])
    else: print(json.dumps({"pid": os.getpid(), "said": request.get("say")}), file=replies)
    replies.flush()
"""


def fake(requests: int, replies: int) -> Sequence[str]:
    return [sys.executable, "-c", _TOOL, str(requests), str(replies)]


@pytest.mark.parametrize(
    ("request_", "error", "told"),
    [
        ({"raw": "nonsense\n", "print": "noise"}, ToolCrashed, "its reply is none: noise"),
        ({"print": "internal error", "abort": 1}, ToolCrashed, "was killed by SIGABRT; it printed: internal error"),
        ({"sleep": 60}, ToolHung, "no answer within 3 s"),
    ],
)
def test_who_gives_no_reply_is_gone(request_: dict[str, Any], error: type[Exception], told: str) -> None:
    child = JsonProcess(fake)
    pid = child.ask({}, seconds=60)["pid"]
    with pytest.raises(error, match=told):
        child.ask(request_, seconds=3)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not child._folder.path.exists()


def test_a_tool_that_is_not_there_is_a_crash_too() -> None:
    with pytest.raises(ToolCrashed, match=r"no-such-tool does not start: No such file"):
        JsonProcess(lambda requests, replies: ["no-such-tool"])


@pytest.mark.skipif(not landlock_version(), reason="the kernel has no Landlock switched on")
def test_a_tool_writes_into_a_folder_of_its_own_that_goes_with_it(tmp_path: Path) -> None:
    child = JsonProcess(fake)
    assert child.ask({"touch": str(tmp_path / "x")}, seconds=30)["said"] == "PermissionError"
    folder = child.ask({"touch": f"{child._folder.path}/x"}, seconds=30)["said"]
    assert Path(folder, "x").exists()
    child.close()
    assert not Path(folder).exists()


@pytest.mark.skipif(not has_seccomp(), reason="no filters of system calls are known for this machine")
def test_a_tool_connects_to_the_port_that_it_is_given_only() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = one.getsockname()[1], other.getsockname()[1]
        with closing(JsonProcess(fake)) as child:
            assert child.ask({"connect": ports[0]}, seconds=30)["said"] == "PermissionError"
        with closing(JsonProcess(fake, ports=ports[:1])) as child:
            assert child.ask({"connect": ports[0]}, seconds=30)["said"] is None
            if landlock_version() >= 4:
                assert child.ask({"connect": ports[1]}, seconds=30)["said"] == "PermissionError"


# A library that dies or hangs takes its own process down, and nothing else.


NO_RESERVE = 0x4000  # MAP_NORESERVE, which the module mmap does not name


@pytest.fixture(scope="module")
def run() -> Run:
    return run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")


def test_one_child_answers_for_a_whole_run_from_the_memory_of_each_snapshot(run: Run) -> None:
    ask = forked(echo)
    answers = [ask(run[step]).frames[0] for step in range(len(run))]
    assert {frame.registers["rax"] for frame in answers} != {os.getpid()}
    assert len({frame.registers["rax"] for frame in answers}) == 1
    assert [frame.registers["rbx"] for frame in answers] == [
        run[step].memory.unsigned(run[step].sp, 8) for step in range(len(run))
    ]
    assert all(frame.cfa == 5 and frame.found_by == "echo" for frame in answers)


def test_a_large_process_leaves_its_child_room(run: Run) -> None:
    """The child is a copy of this process: what is mapped here is no use of its own."""

    def maps_more(snapshot: Snapshot) -> Backtrace:
        mmap.mmap(-1, 1 << 30).close()
        return echo(snapshot)

    reserved = mmap.mmap(-1, MEMORY + (1 << 30), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    try:
        assert forked(maps_more)(run[5]).stopped is None
    finally:
        reserved.close()


def test_memory_far_from_the_stack_is_asked_for_and_unmapped_memory_is_an_error_there(run: Run) -> None:
    def reach(snapshot: Snapshot) -> Backtrace:
        far = snapshot.memory.unsigned(snapshot.sp - 0x8000, 8)
        assert far == 0, "below the stack nothing was written"
        snapshot.memory.unsigned(0x10, 8)
        return echo(snapshot)

    said = forked(reach)(run[5])
    assert isinstance(said.stopped, ToolCrashed), "what the adapter does not catch is a crash of it"
    assert "16" in str(said.stopped) or "0x10" in str(said.stopped)


def test_a_typed_stop_comes_back_as_it_was(run: Run) -> None:
    def stops(snapshot: Snapshot) -> Backtrace:
        stop = UnreadableMemory(0x1234, 8)
        stop.pc = 7
        return Backtrace(echo(snapshot).frames, stop)

    said = forked(stops)(run[3])
    assert isinstance(said.stopped, UnreadableMemory)
    assert str(said.stopped) == "8 bytes at 0x1234 are not mapped"
    assert said.stopped.pc == 7


def test_a_dead_library_is_crashed_with_its_last_words_and_the_next_question_starts_another(run: Run) -> None:
    def dies_at_five(snapshot: Snapshot) -> Backtrace:
        if snapshot.pc == run[5].pc:
            os.write(2, b"assertion failed: five\n")
            ctypes.string_at(0)
        return echo(snapshot)

    ask = forked(dies_at_five)
    assert ask(run[4]).stopped is None
    said = ask(run[5])
    assert isinstance(said.stopped, ToolCrashed)
    assert str(said.stopped) == "was killed by SIGSEGV; it printed: assertion failed: five"
    assert [frame.pc for frame in said.frames] == [run[5].pc]
    assert judge(run, 5, said).outcome is Outcome.CRASHED
    assert ask(run[6]).stopped is None


def test_a_silent_library_is_hung_and_gone(run: Run) -> None:
    def sleeps_at_five(snapshot: Snapshot) -> Backtrace:
        if snapshot.pc == run[5].pc:
            time.sleep(60)
        return echo(snapshot)

    ask = forked(sleeps_at_five, seconds=0.5)
    child = ask(run[4]).frames[0].registers["rax"]
    began = time.monotonic()
    said = ask(run[5])
    assert time.monotonic() - began < 50
    assert isinstance(said.stopped, ToolHung)
    assert judge(run, 5, said).outcome is Outcome.HUNG
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert ask(run[6]).stopped is None


def test_other_images_get_another_child_and_the_first_one_ends(run: Run) -> None:
    def says_who(snapshot: Snapshot) -> Backtrace:
        registers = {snapshot.arch.pc: os.getpid()}
        return Backtrace((Frame(FrameKind.INTERRUPTED, snapshot.pc, registers),), None)

    ask = forked(says_who)
    other = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone")
    first, second = (ask(each[0]).frames[0].registers[each.arch.pc] for each in (run, other))
    assert first != second
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


# Copies of program files without their unwind tables.


CELLS = (
    ("leaf_call", "x86_64", "clang-asm", {".eh_frame", ".eh_frame_hdr"}),
    ("leaf_call", "arm64", "clang-asm", {".eh_frame", ".eh_frame_hdr"}),
    ("leaf_call", "arm32", "keystone", {".debug_frame", ".ARM.exidx"}),
    ("struct_return", "arm32", "clang-thumb-O2", {".debug_frame", ".ARM.exidx"}),
    ("struct_return", "x86_64", "clang-O2", {".eh_frame", ".eh_frame_hdr"}),
)


def image_of(program: str, arch: str, recipe: str) -> Image:
    chosen = PROGRAMS[program]
    return build(chosen, ARCHES[arch], recipe_named(recipe, chosen, ARCHES[arch])).image


def readelf(path: Path, *options: str) -> str:
    done = subprocess.run(
        [tool("readelf", "binutils"), "-W", *options, path], capture_output=True, text=True, check=True
    )
    assert "rror" not in done.stderr and "arning" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(("program", "arch", "recipe", "tables"), CELLS)
def test_tables_go_and_symbols_and_code_stay(program: str, arch: str, recipe: str, tables: set[str]) -> None:
    image = image_of(program, arch, recipe)
    assert tables <= image.sections.keys()
    path = without_tables(image.path)
    assert without_tables(image.path) == path
    copy = read_image(path)
    assert not copy.sections.keys() & TABLES
    assert image.sections.keys() - copy.sections.keys() >= tables
    assert copy.symbols == image.symbols and copy.isa_marks == image.isa_marks and copy.entry == image.entry
    for ours, theirs in zip(copy.segments, image.segments, strict=True):
        assert (ours.address, ours.size) == (theirs.address, theirs.size)
        assert not ours.executable or ours.data == theirs.data
    for name, section in image.sections.items():
        if name in tables:
            assert any(section.data) and not any(path.read_bytes()[section.offset :][: len(section.data)])
        elif name in copy.sections:
            assert copy.sections[name] == section


@pytest.mark.parametrize(("program", "arch", "recipe", "tables"), CELLS)
def test_readelf_sees_the_same_file_without_them(program: str, arch: str, recipe: str, tables: set[str]) -> None:
    image = image_of(program, arch, recipe)
    path = without_tables(image.path)
    before, after = readelf(image.path, "-S", "-l"), readelf(path, "-S", "-l")
    for name in tables:
        assert re.search(rf"\] {re.escape(name)} ", before)
        assert not re.search(rf"\] {re.escape(name)} ", after)
    assert not re.search(r"^\s+(GNU_EH_FRAME|EXIDX)", after, re.M)
    assert re.search(r"^\s+(GNU_EH_FRAME|EXIDX)", before, re.M)
    assert readelf(path, "--debug-dump=frames").strip() == ""
    assert "FDE" in readelf(image.path, "--debug-dump=frames")
    assert symbols_by_section_name(path) == symbols_by_section_name(image.path)


def symbols_by_section_name(path: Path) -> list[str]:
    return re.findall(r"^\s*\d+: .*$", readelf(path, "-s"), re.M)


def test_only_what_is_asked_for_goes() -> None:
    image = image_of("leaf_call", "arm32", "keystone")
    ehabi_only = read_image(without_tables(image.path, removed=TABLES - EHABI))
    assert ".ARM.exidx" in ehabi_only.sections and ".debug_frame" not in ehabi_only.sections
    dwarf_only = read_image(without_tables(image.path, removed=EHABI))
    assert ".debug_frame" in dwarf_only.sections and ".ARM.exidx" not in dwarf_only.sections
    everything = without_tables(image.path, removed=frozenset())
    assert everything.read_bytes() == image.path.read_bytes()


def test_a_file_that_is_no_elf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("not a program")
    with pytest.raises(ImageError, match=r"text: at offset 0x0: not a little-endian ELF file"):
        without_tables(path)
    with pytest.raises(ImageError, match="absent"):
        without_tables(tmp_path / "absent")


def test_a_cut_file_is_an_image_error_wherever_it_is_cut() -> None:
    image = image_of("leaf_call", "x86_64", "clang-asm")
    whole = image.path.read_bytes()
    refused = 0
    for size in range(0, len(whole), 7):
        try:
            assert len(strip_tables(image.path, whole[:size], TABLES)) == size
        except ImageError:
            refused += 1
    assert refused > 100  # the section headers are the last part of the file


def test_an_image_without_its_file_gets_one(tmp_path: Path) -> None:
    image = image_of("leaf_call", "arm64", "clang-asm")
    assert file_of(image) == image.path
    gone = read_image(tmp_path / "gone.elf", content=image.content)
    copy = file_of(gone)
    assert copy != gone.path and copy.read_bytes() == image.content
    other = tmp_path / "gone.elf"
    other.write_bytes(b"another file took its place")
    assert file_of(gone) == copy
