"""gdb's own backtrace of the same file at the same place, inlined and tail-call frames included.

It runs natively, so on x86_64 only. gdb 13 knows tail calls from gcc's call sites and from clang's in DWARF 4; clang's
in DWARF 5 have no return address for a tail call, and gdb shows none.
"""

import platform
import re
import subprocess
from functools import cache

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.campaign.names import true_frames
from testbed.image import Image
from testbed.image.debug.tail_chains import Certainty
from testbed.naming.symbolize import NamedBacktrace, Origin, symbolize
from testbed.remote import ShownSnapshot, serving
from testbed.remote.snapshot_target import answer, description, layout
from testbed.runs.by_name import run_file
from testbed.runs.run import Run, judge_all
from testbed.words.outcome import Outcome
from tests.corpus import referees_unwinder, tool
from tests.image.debugged import DWARF_4, addr2line, built, built_by_gcc

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="gdb runs the program: Linux on x86_64"
)

_FRAME = re.compile(
    r"^#\d+\s+(?:0x(?P<pc>[0-9a-f]+) in )?(?P<name>[\w:]+) \(.* at (?:\./)*(?P<file>[^:]+):(?P<line>\d+)$"
)
Shown = tuple[str, int | None, int]  # function, the address that gdb shows, line


def gdb_stops(image: Image, locations: list[str], count: int) -> list[list[Shown]]:
    """The backtraces at the first ``count`` stops, down to main."""
    image.path.chmod(0o755)
    commands = ["set debuginfod enabled off", *(f"break *{at}" for at in locations), "run", "bt"]
    commands += ["continue", "bt"] * (count - 1)
    arguments = [part for command in commands for part in ("-ex", command)]
    done = subprocess.run(
        [tool("gdb", "gdb"), "-q", "-nx", "-batch", *arguments, image.path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    stops: list[list[Shown]] = []
    for line in done.stdout.splitlines():
        if line.startswith("#0"):
            stops.append([])
        if match := _FRAME.match(line):
            stops[-1].append((match["name"], int(match["pc"], 16) if match["pc"] else None, int(match["line"])))
    if not stops:
        pytest.skip(f"gdb cannot run programs here: {done.stderr.strip()[:200]}")
    assert len(stops) == count, done.stdout + done.stderr
    return stops


def our_stops(image: Image, locations: list[str], count: int) -> list[NamedBacktrace]:
    run = run_file(image.path)
    places = {symbol.address for at in locations if (symbol := image.symbol_named(at))}
    assert len(places) == len(locations)
    steps = [step for step, pc in enumerate(run.trace.pc.tolist()) if pc in places][:count]
    return [symbolize(run.trace.images, true_frames(run, step)) for step in steps]


def simple(name: str) -> str:
    return name.partition("(")[0]


def down_to_main(named: NamedBacktrace) -> list[Shown]:
    frames = [(simple(f.function), f.pc, f.line.line if f.line else 0) for f in named.frames]
    return frames[: [name for name, _, _ in frames].index("main") + 1]


def agree(theirs: list[Shown], ours: list[Shown]) -> bool:
    """Names and lines equal, and the address wherever gdb shows one."""
    return len(theirs) == len(ours) and all(
        (a[0], a[2]) == (b[0], b[2]) and a[1] in (None, b[1]) for a, b in zip(theirs, ours, strict=True)
    )


def agreed_stops(image: Image, locations: list[str], count: int) -> tuple[list[list[Shown]], list[NamedBacktrace]]:
    """gdb's stops and ours, which agree."""
    theirs, ours = gdb_stops(image, locations, count), our_stops(image, locations, count)
    for their, our in zip(theirs, ours, strict=True):
        assert agree(their, down_to_main(our)), (their, down_to_main(our))
    return theirs, ours


FILES = {
    "gcc DWARF 4": lambda program: built_by_gcc(program, "x86_64", 4),
    "gcc DWARF 5": lambda program: built_by_gcc(program, "x86_64", 5),
    "clang DWARF 4": lambda program: built(program, "x86_64", "clang-O2", DWARF_4),
}


@pytest.mark.parametrize("made_by", FILES)
def test_a_unique_chain_of_tail_calls_is_the_same_frame_by_frame(made_by: str) -> None:
    theirs, ours = agreed_stops(FILES[made_by]("tail_chain"), ["second", "last", "leaf"], 3)
    assert [name for name, _, _ in theirs[-1]] == ["leaf", "last", "second", "first", "main"]
    assert [f.origin for f in ours[-1].frames].count(Origin.TAIL_CALL) == 2


@pytest.mark.parametrize("made_by", FILES)
def test_where_branches_meet_neither_shows_a_guess(made_by: str) -> None:
    theirs, ours = agreed_stops(FILES[made_by]("tail_branches"), ["leaf"], 2)
    for their, our in zip(theirs, ours, strict=True):
        assert [name for name, _, _ in their] == ["leaf", "meet", "main"]
        unsure = our.unsure_at(1)
        assert unsure is not None and unsure.certainty is Certainty.AMBIGUOUS
        assert sorted(unsure.candidates) == [("choose", "left"), ("choose", "right")]


@pytest.mark.parametrize("made_by", FILES)
def test_of_a_cycle_gdb_shows_one_lap_and_we_say_that_it_is_ambiguous(made_by: str) -> None:
    """The one difference. Five calls were left here (ping, pong, ping, pong, ping); gdb shows one."""
    image = FILES[made_by]("tail_branches")
    [theirs], [ours] = gdb_stops(image, ["done"], 1), our_stops(image, ["done"], 1)
    assert [name for name, _, _ in theirs] == ["done", "ping", "main"]
    assert [f.function for f in ours.frames[:2]] == ["done", "main"]
    unsure = ours.unsure_at(0)
    assert unsure is not None and unsure.certainty is Certainty.AMBIGUOUS and "cycle" in unsure.because


@pytest.mark.parametrize("made_by", FILES)
def test_inlined_calls_are_the_same_frame_by_frame(made_by: str) -> None:
    image = FILES[made_by]("inline_chain")
    theirs, _ = agreed_stops(image, ["leaf", "at_deepest", "at_level2", "at_worker"], 6)
    assert max(map(len, theirs)) == 8


def test_cxx_names_and_their_tail_call_are_the_same() -> None:
    image = built("cxx_names", "x86_64", "clang-O2", DWARF_4)
    theirs, _ = agreed_stops(image, ["_ZN5shape4areaEi", "_ZN5shape4areaEii"], 2)
    assert [name for name, _, _ in theirs[1]] == ["shape::area", "shape::Box::wide", "main"]


# gdb's backtrace of a snapshot of any architecture, given to it by the remote protocol: nothing runs natively.

# gdb finds the frames itself, by the file's unwind tables; then names, lines, inlined and tail-called frames.
_SHOWN = re.compile(r"^#\d+\s+(?:0x(?P<pc>[0-9a-f]+) in )?(?P<name>\w+) \(.* at (?:\./)*[^:]+:(?P<line>\d+)$", re.M)
SNAPSHOTS = {
    "clang": lambda program, arch: built(program, arch, "clang-O2", DWARF_4),
    "clang Thumb": lambda program, arch: built(program, arch, "clang-thumb-O2", DWARF_4),
    "gcc": lambda program, arch: built_by_gcc(program, arch, 5),
}
PLACES = {
    "inline_chain": ("leaf#1", "leaf#2", "leaf#3", "at_deepest", "at_level2", "at_worker"),
    "tail_chain": ("first", "second", "last", "leaf"),
    "tail_branches": ("left", "meet#2", "leaf#1"),
}
CELLS = [
    (maker, arch, program, place)
    for maker, arch in (
        ("clang", "arm64"),
        ("clang", "arm32"),
        ("clang Thumb", "arm32"),
        ("gcc", "arm64"),
        ("gcc", "arm32"),
    )
    for program, places in PLACES.items()
    for place in places
    # clang lists only tail calls for Thumb; without the other call sites there is no chain to find.
]


@cache
def run_of(maker: str, arch: str, program: str) -> Run:
    return run_file(SNAPSHOTS[maker](program, arch).path)


def gdb_says(run: Run, step: int) -> list[tuple[str, int | None, int]]:
    """(function, the address where gdb shows one, line), down to main."""
    with serving(lambda: ShownSnapshot(run[step]).answer) as port:
        commands = ("set debuginfod enabled off", f"target remote 127.0.0.1:{port}", "bt", "disconnect")
        arguments = [part for command in commands for part in ("-ex", command)]
        done = subprocess.run(
            [tool("gdb-multiarch", "gdb-multiarch"), "-q", "-nx", "-batch", run.built.path, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    found = [(m["name"], int(m["pc"], 16) if m["pc"] else None, int(m["line"])) for m in _SHOWN.finditer(done.stdout)]
    assert found, done.stdout + done.stderr
    names = [name for name, _, _ in found]
    return found[: names.index("main") + 1] if "main" in names else found


@pytest.mark.parametrize(("maker", "arch", "program", "place"), CELLS)
def test_names_lines_inlined_and_tail_calls_are_gdbs(maker: str, arch: str, program: str, place: str) -> None:
    run = run_of(maker, arch, program)
    step = run.step_at(place)
    theirs = gdb_says(run, step)
    named = symbolize(run.trace.images, true_frames(run, step))
    ours = [(f.function, f.pc, f.line.line if f.line else 0) for f in named.frames]
    ours = ours[: [name for name, _, _ in ours].index("main") + 1]
    assert [name for name, _, _ in theirs] == [name for name, _, _ in ours]
    for i, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        # Where gcc gives one address to two lines, gdb takes the one to stop at, binutils and we the one that has code.
        if their[2] != our[2]:
            assert maker == "gcc" and i == 0
            assert addr2line(run.built.image, [int(run.trace.pc[step])])[0][0][2] == our[2]
    assert all(a[1] in (None, b[1]) for a, b in zip(theirs, ours, strict=True))
    if program == "tail_chain" and maker != "clang Thumb":
        left = {"first": 0, "second": 1, "last": 2, "leaf": 2}[place]
        assert [f.origin for f in named.frames].count(Origin.TAIL_CALL) == left


# A debugger is told which bits of a return address are its signature, and takes them off.


@pytest.mark.parametrize("arch", ARCHES)
def test_the_masks_are_registers_of_their_own_where_addresses_are_signed(arch: str) -> None:
    at = testbed.run("leaf_call", arch=arch).at("leaf")
    signs = bool(ARCHES[arch].signature)
    assert ("org.gnu.gdb.aarch64.pauth" in description(ARCHES[arch])) == signs
    assert ("addressing_bits:48;" in (answer(at, "qHostInfo") or "")) == signs
    names = [name for name, _ in layout(ARCHES[arch])]
    assert ("pauth_cmask" in names) == signs
    if signs:
        said = answer(at, f"p{names.index('pauth_cmask'):x}")
        assert said == ARCHES[arch].signature.to_bytes(8, "little").hex()
        assert (answer(at, "g") or "").endswith(said * 2)


@pytest.mark.parametrize(("program", "recipe"), [("pac_ret", "clang-asm"), ("recursion", "clang-O2-fp-pac")])
def test_gdb_takes_signatures_off(program: str, recipe: str) -> None:
    with_tables = referees_unwinder("gdb", "gdb")
    run = testbed.run(program, arch="arm64", recipe=recipe)
    assert {verdict.outcome for verdict in judge_all(run, with_tables)} == {Outcome.EXACT}
