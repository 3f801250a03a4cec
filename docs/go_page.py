"""results/processes-go.md: programs of Go by Go's convention, each step that is not exact by the clause that fails."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.process import ProcessRun
from testbed.profiling.judge import judge_process, watch_process
from testbed.profiling.result import UnwinderShare
from testbed.report.phrases import markdown_table, share
from testbed.verdicts.verdict import SiteKind
from tests.truth.processes.cases import Case, answers, compiled, go, gofile, newer_go, run_of
from unwinders import UNWINDERS

INTRODUCTION = """# Programs of Go

Made by `python docs/regenerate.py --go` on {date}. The sources are in `tests/truth/processes/sources`: `goroutines.go`
has goroutines, channels, stacks that grow, and a fault in a signal that becomes a panic, which is recovered;
`callers.go` has deferred functions, faults in assembly and `Goexit` besides; `cgo.go` calls C, which calls Go. Every
step is judged by Go's convention, C's functions by their platform's: `testbed/conventions/chosen.py` says which is
whose.

## Exact, honest stops, lies

In percent of the steps that are judged, exact / honest stops / lies.

{shares}

## What is not exact

At each such step one clause of the technique's assumption is the first that does not hold; `docs/techniques.md` says
what that means for Go. *unexplained* is what no clause foretells.

{clauses}

## Beside `runtime.Callers`

Go's own traceback, executed inside the process, at the step at which it returns: its addresses beside the true callers.

{callers}
"""
ASKED = ("gopclntab", "debug_frame", "fp_chain")
newer = ("{root}/go/bin/go", *go[1:])


@dataclass(frozen=True, slots=True)
class GoCase:
    """A program of Go, and by which version for which architecture it was made."""

    source: str
    newest: bool
    arch: str
    asks: bool = False  # it calls runtime.Callers, and keeps what that says

    @property
    def run(self) -> ProcessRun:
        """Its run. Raises ToolchainMissing."""
        has_c = "cgo" in self.source
        static = ("-ldflags=-extldflags=-static",) if has_c and self.arch != "x86_64" else ()  # no library to find
        command = [*(newer if self.newest else go), *(("-gcflags=-l",) if self.asks else ()), *static, self.source]
        cgo = "1" if has_c else "0"
        root = newer_go if self.newest else None
        environment = {"GOARCH": _GO_NAMES[self.arch], "CGO_ENABLED": cgo, "CC": _COMPILERS[self.arch]}
        return run_of(Case(self.source, compiled(*command, root=root, **environment)))


# What Go calls them, and what compiles the C of programs that have some.
_GO_NAMES = {"x86_64": "amd64", "arm64": "arm64"}
_COMPILERS = {"x86_64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}
CASES = (
    *(GoCase(gofile, newest, arch) for newest in (False, True) for arch in ("x86_64", "arm64")),
    *(GoCase("cgo.go", newest, arch) for newest in (False, True) for arch in ("x86_64", "arm64")),
    *(GoCase("callers.go", newest, arch, asks=True) for newest in (False, True) for arch in ("x86_64", "arm64")),
)


def go_pages() -> Iterator[str]:
    """The page after each run of a program: the last one has all."""
    shares: list[list[str]] = []
    clauses: list[list[str]] = []
    callers: list[list[str]] = []
    head = ("program", "Go", "architecture")
    for case in CASES:
        process = watch_process(case.run)
        name = [case.source.removesuffix(".go"), _version(process.run), case.arch]
        found = {technique: judge_process(process, UNWINDERS[technique]) for technique in ASKED}
        unexplained = sum(each.unexplained for each in found.values())
        told = (*(_share(each) for each in found.values()), str(unexplained))
        shares.append([*name, f"{process.run.steps:,}", *told])
        clauses += [[*name, f"`{technique}`", *row] for technique, each in found.items() for row in _clauses(each)]
        if case.asks:
            callers.append([*name, *_beside_callers(process.run)])
        yield INTRODUCTION.format(
            date=time.strftime("%Y-%m-%d"),
            shares=markdown_table((*head, "steps", *(f"`{name}`" for name in ASKED), "unexplained"), shares),
            clauses=markdown_table((*head, "unwinder", "clause", "honest stops", "lies", "unexplained"), clauses),
            callers=markdown_table((*head, "calls", "the same callers", "what differs"), callers),
        )


def _beside_callers(run: ProcessRun) -> tuple[str, str, str]:
    """How often Go's traceback was asked for, how often all callers are the same, and what differs."""
    asked = list(answers(run))
    differ = Counter(difference for each in asked for difference in each.differences)
    said = ", ".join(f"{what} ({count})" for what, count in differ.most_common())
    return str(len(asked)), str(sum(not each.differences for each in asked)), said or "nothing"


def _version(run: ProcessRun) -> str:
    """As Go's linker notes it: a string behind its length, in a section that it marks."""
    data = run.images[0].image.sections[".go.buildinfo"].data
    at = data.index(b"go1.") if b"go1." in data else -1
    if at < 0:  # before Go 1.18 it is a pointer
        return "?"
    return data[at + 2 : at + 2 + data[at - 1] - 2].decode()


def _kind(kind: SiteKind) -> str:
    return "unexplained" if kind.unexplained else "exact" if kind.exact else "lies" if kind.lying else "stops"


def _share(each: UnwinderShare) -> str:
    kinds = Counter[str]()
    for kind, count in each.kinds.items():
        kinds[_kind(kind)] += count
    return " / ".join(share(kinds[name], each.judged).removesuffix(" %") for name in ("exact", "stops", "lies"))


def _clauses(each: UnwinderShare) -> Iterator[Sequence[str]]:
    """What is not exact, by clause, the commonest first."""
    totals, kinds = Counter[str](), Counter[tuple[str, str]]()
    for kind, count in each.kinds.items():
        kinds[kind.clause, _kind(kind)] += count
        totals[kind.clause] += count * (_kind(kind) != "exact")
    for clause, count in totals.most_common():
        if count:
            yield (f"*{clause}*", *(f"{kinds[clause, name]:,}" for name in ("stops", "lies", "unexplained")))
