"""`python -m tests.process.defects`: results/processes-findings.md, defects of real libraries found again by running.

Every defect names a program of this folder and a table that gets it wrong: the program is built, run as a process and
judged; the function's row is looked for among the places that the run shows, and asked for again alone, by
`testbed check`. Exit status 1 where a defect is not found any more. The programs are compiled by GCC, those with musl
by `zig cc`, and kept in a folder that is given; the commands of the page begin there.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.process import run_process
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.result import WatchedProcess, WrongPlace
from tests.process.builds import PROGRAMS, built
from unwinders import UNWINDERS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "processes-findings.md"
_CHECK_SECONDS = 240
_ZIGS = re.compile(r"/\S*/ziglang/lib/libc/")  # where sources of musl lie is no matter of the defect
_MUSL = {"x86_64": "x86_64-linux-musl", "arm64": "aarch64-linux-musl", "arm32": "arm-linux-musleabihf"}


@dataclass(frozen=True, slots=True)
class LibraryDefect:
    """A wrong or missing row: ``functions`` and ``because`` are patterns for the place, ``title`` says what is wrong.

    ``by_design``: no table could say it, or the format promises nothing there. ``alone``: why the function alone does
    not show it, where it does not.
    """

    title: str
    whose: str
    program: str
    target: str
    link: str
    table: str
    functions: str
    because: str
    by_design: bool = False
    alone: str = ""

    @property
    def file(self) -> str:
        """What the program is called in the folder."""
        return "-".join((self.program, self.target, self.link))


@dataclass(frozen=True, slots=True)
class FoundDefect:
    """The same, as a run shows it; ``place`` is None where it does not. ``said`` is what the check alone says."""

    defect: LibraryDefect
    place: WrongPlace | None
    said: str


DEFECTS = (
    LibraryDefect(
        "The lazy resolver's rows leave out the 16 bytes that PLT0 pushed: the CFA is 16 too low, and every caller",
        *("glibc: `_dl_runtime_resolve`", "hello", "arm64", "dynamic", "eh_frame"),
        *(r"\+0x106dc|_dl_runtime_resolve", "CFA is .*true sp"),
    ),
    LibraryDefect(
        "`swapcontext` puts an address of its own into x30, and no row says that the caller's is in the context",
        *("glibc: `swapcontext`", "contexts", "arm64", "dynamic", "eh_frame"),
        *("swapcontext", "the return address is"),
    ),
    LibraryDefect(
        "`swapcontext` loads the other context's callee-saved registers before its stack pointer, without rows",
        *("glibc: `swapcontext`", "contexts", "x86_64", "dynamic", "eh_frame"),
        *("swapcontext", "r12 is still in r12|rbx is|rbp is|CFA is"),
    ),
    LibraryDefect(
        "A context's start code says that its return address is below the CFA, where nobody put one",
        *("glibc: `__start_context`", "contexts", "x86_64", "static", "eh_frame"),
        *("__start_context", "the return address is"),
        alone="a call puts a return address where the row says; `makecontext` has it entered by a return, without one",
    ),
    LibraryDefect(
        "Calls through IRELATIVE slots go through a `.plt` without rows",
        *("GNU ld: `.plt` of static programs", "hello", "x86_64", "static", "eh_frame"),
        *(r"\.plt.*|\*ABS\*.*", "the table has no row"),
    ),
    LibraryDefect(
        "Lazy binding goes through a `.plt` without rows",
        *("GNU ld: `.plt`", "hello", "arm64", "dynamic", "eh_frame"),
        *(r"\.plt.*", "the table has no row"),
    ),
    LibraryDefect(
        "Start and end code has no rows: what its destructors call has no root",
        *("GCC's crt files: `_init`, `__do_global_dtors_aux`", "hello", "x86_64", "static", "eh_frame"),
        *(
            "_init|_fini|__do_global_dtors_aux|frame_dummy|register_tm_clones|deregister_tm_clones",
            "the table has no row",
        ),
    ),
    LibraryDefect(
        "The dynamic linker's entry has no row, so no stack of a dynamic program has a root",
        *("glibc: `_start` of ld.so", "hello", "x86_64", "dynamic", "eh_frame"),
        *("_start", "the table has no row"),
    ),
    LibraryDefect(
        "No file has the trampoline that the kernel maps for handlers: without a vDSO the stack ends there",
        *("Linux: arm64's vDSO, left out", "signals", "arm64", "static", "eh_frame"),
        *("code", "no file has this code"),
        by_design=True,
        alone="no file has this code, so there is none to check",
    ),
    LibraryDefect(
        "A function that never returns does not save r4 to r10, and its table says that they are unchanged",
        *("glibc: `__libc_start_main`", "hello", "thumb", "static", "ehabi"),
        *("__libc_start_main.*|__libc_start_call_main", "r4 is|r5 is|r6 is|r7 is"),
        alone="`.ARM.exidx` promises rows at calls only, and called alone, without a process, the function makes none",
    ),
    LibraryDefect(
        "A frame in which another one is installed has the target's registers in its slots",
        *("libgcc: `_Unwind_RaiseException`, `_Unwind_Resume`", "exceptions", "x86_64", "dynamic", "eh_frame"),
        *("_Unwind_RaiseException|_Unwind_Resume.*", "was written over|.*since the call.*|.*"),
        by_design=True,
        alone="its rows are right: what it calls writes over its slots, and only while an exception is thrown",
    ),
    LibraryDefect(
        "The trampoline behind `sigaction` has no rows: the stack ends at every handler",
        *("musl (zig): `__restore_rt`", "signals", "x86_64", "musl", "eh_frame"),
        *("__restore_rt|__restore", "the table has no row"),
    ),
    LibraryDefect(
        "The trampoline lies right behind `sigaction`'s code: looked up one byte before, it has that function's row",
        *("musl (zig): `__restore_rt`", "signals", "arm64", "musl", "eh_frame"),
        *("__restore_rt|__restore|.*sigaction", ".*"),
    ),
    LibraryDefect(
        "`setjmp` and `longjmp` are assembler without rows",
        *("musl (zig): `setjmp`, `longjmp`", "jumps", "x86_64", "musl", "eh_frame"),
        *("_*(sig)?(setjmp|longjmp).*", "the table has no row"),
    ),
)


def defective(defect: LibraryDefect, folder: Path) -> Path:
    """The program that shows a defect, built into the folder. Raises ToolchainMissing."""
    output = folder / defect.file
    if output.exists():
        return output
    if defect.link != "musl":
        output.write_bytes(built(defect.program, defect.target, defect.link).read_bytes())
    else:
        source = next(path for path in PROGRAMS.iterdir() if path.stem == defect.program)
        command = [sys.executable, "-m", "ziglang", "cc", "-target", _MUSL[defect.target], "-static", "-O2", "-w"]
        subprocess.run([*command, f"-I{PROGRAMS}", "-o", output, source], check=True)
    output.chmod(0o755)
    return output


def found_in(defect: LibraryDefect, process: WatchedProcess) -> list[WrongPlace]:
    """The places that show a defect, in a process that was watched; those with the most steps first."""
    share = judge_process(process, UNWINDERS[defect.table])
    return [
        place
        for place in share.places
        if re.fullmatch(defect.functions, place.function) and re.search(defect.because, place.because)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.defects", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the programs are kept")
    parser.add_argument("--program", action="append", help="only defects that this one shows; repeatable")
    parser.add_argument("--link", action="append", help="only these: static, dynamic, musl; repeatable")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    watched: dict[Path, WatchedProcess] = {}
    found: list[FoundDefect] = []
    for defect in DEFECTS:
        if (given.program and defect.program not in given.program) or (given.link and defect.link not in given.link):
            continue
        path = defective(defect, given.folder.resolve())
        if path not in watched:
            watched = {path: watch_process(run_process(path))}
        found.append(_asked(defect, found_in(defect, watched[path])))
        told = f"{found[-1].place or 'NOT FOUND'}; {found[-1].said}"
        print(f"{defect.whose}, {defect.file}: {told}", file=sys.stderr, flush=True)
        given.page.write_text("\n".join(_page(found)) + "\n", encoding="utf-8")
    return int(any(each.place is None for each in found))


def _asked(defect: LibraryDefect, places: list[WrongPlace]) -> FoundDefect:
    """The first place that the check confirms, or the first of all: several functions may show one defect."""
    asked = [FoundDefect(defect, None, "not found")]
    for place in places:
        said = _alone(place)
        if said.startswith("confirmed"):
            return FoundDefect(defect, place, said)
        asked.append(FoundDefect(defect, place, f"{said}: {defect.alone}" if defect.alone else said))
    return asked[:2][-1]


def _alone(place: WrongPlace) -> str:
    """What `testbed check` says of the function alone."""
    if not place.command:
        return "not confirmed"
    command = [sys.executable, "-m", "testbed.cli", *place.command.split()[1:], "--jobs", "1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {_CHECK_SECONDS} s"
    said = [_ZIGS.sub("", line.strip()) for line in done.stdout.splitlines()]
    if done.returncode == 1:
        errors = [line for line in said if ": error: " in line]
        return f"confirmed: `{errors[0]}`" if errors else "confirmed"
    if place.because.startswith("the table has no row") and any("have no row" in line for line in said):
        return f"confirmed: {said[-1].partition(': ')[2].rstrip('.')}"
    answer = said[-1] if said else done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
    return f"not confirmed: {answer.rstrip('.')}"


_INTRODUCTION = """# Defects of real libraries, found by running

Made by `python -m tests.process.defects FOLDER`: programs of `tests/process/programs`, built into FOLDER, run as
processes and judged. Each entry is a function whose row is wrong or missing, the command that finds it, and what
`testbed check` says of that function alone, without the run. GCC and glibc are Debian 12's, musl is that of ziglang.
"""


def _page(found: list[FoundDefect]) -> Iterator[str]:
    yield _INTRODUCTION
    shown = [each for each in found if each.place]
    confirmed = sum(each.said.startswith("confirmed") for each in shown)
    yield f"{len(shown)} of {len(found)} are found; `testbed check` confirms {confirmed} of them by the function alone,"
    yield "and of each of the others it is said why it does not."
    for number, each in enumerate(found, 1):
        defect, place = each.defect, each.place
        yield f"\n## {number}. {defect.whose} ({defect.target}, `.{defect.table}`)\n".replace(
            "`.ehabi`", "`.ARM.exidx`"
        )
        yield f"{defect.title}.{' No table could say it.' if defect.by_design else ''}\n"
        if place is None:
            yield "**Not found.**"
            continue
        yield f"- `testbed run ./{defect.file} -u {defect.table}`: {place}: {place.because};"
        yield f"  {place.steps:,} steps, of which {place.lies:,} are told falsely; first at step {place.first},"
        yield f"  {place.where}."
        alone = (
            place.command.replace(str(place.file), f"./{defect.file}")
            if place.library == defect.file
            else place.command
        )
        yield f"- {f'`{alone}`: ' if alone else ''}{each.said}."


if __name__ == "__main__":
    sys.exit(main())
