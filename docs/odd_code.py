"""docs/odd-code.md: code whose stack is easily told wrong, what the truth says of it, and the rules that hold it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from programs import PROGRAMS
from testbed.campaign.prove import prove
from testbed.campaign.results import Unit
from testbed.campaign.units import run_unit
from testbed.runs.by_name import named_run
from testbed.runs.judging import judge_all
from testbed.runs.run import Run
from testbed.words.errors import ToolchainMissing
from tests.mutation.taken_out import TAKEN_OUT, RemovedRule, kept_fates
from unwinders import UNWINDERS

RECIPES_OF = {
    "x86_64": (("x86_64", "keystone"),),
    "arm64": (("arm64", "keystone"),),
    "arm32": (("a32", "keystone"), ("thumb", "keystone-thumb")),
}


@dataclass(frozen=True, slots=True)
class OddShape:
    """A shape of code: what it does, ``programs`` of the corpus that have it, and its rules, by their names."""

    title: str
    text: str
    programs: tuple[str, ...]
    rules: tuple[str, ...]


SHAPES = (
    OddShape(
        "A function that moves its return address",
        "It writes its return address into the caller's frame, goes there with SP, and returns from there. "
        "Libraries that call functions by description do so; `ret 16` is a small case of it. Told wrong, the caller"
        " is gone after the move, and a right table looks like a liar. The CFA stays what it was before the call.",
        ("moved_return", "callee_pops"),
        ("moved", "arguments"),
    ),
    OddShape(
        "A return to a little behind the call",
        "Data, or the table of a switch, lies behind the call; the callee returns behind that, as GCC's "
        "`__gnu_thumb1_case_*` do. Told wrong, the call is taken for a jump and the caller is missing.",
        ("behind_call",),
        ("behind",),
    ),
    OddShape(
        "A jump to the function right behind the call",
        "Where a call never returns, the next function begins at its return address; the callee, a leaf, leaves by a "
        "jump to that one. pc, SP and all registers are then what they are after a return, so the jump is executed once"
        " more with other registers. Told wrong, the caller seems to go on, in a frame that is not its own.",
        ("right_behind",),
        ("right behind", "went on", "own function", "far branch"),
    ),
    OddShape(
        "A call in two instructions",
        "The return address is pushed, or put into the link register, and the callee is jumped to; on A32 `mov lr, "
        "pc` and `bx`, or `blx` through a veneer. Told wrong, no activation opens: who finds the caller is called a"
        " liar, and who misses it is exact. `push label; ret` is a jump and stays one.",
        ("two_step_call", "veneer", "push_ret"),
        ("promise", "pushed"),
    ),
    OddShape(
        "A callee that never returns, and a caller that is entered again",
        "The callee leaves for good by a jump to the caller's beginning, or the caller is called anew.",
        ("entered_again",),
        (),
    ),
    OddShape(
        "A stale word that is stored again",
        "A return address that an earlier call left on the stack misleads a scan as long as the word holds it: also"
        " where half of the word is written anew with what it was, as unoptimised code does with zeros. C code at "
        "-O0 shows it everywhere; the trait is `LEFTOVER`.",
        ("stale_addresses",),
        ("leftover",),
    ),
    OddShape(
        "A jump that loads FP before SP",
        "`__builtin_longjmp` loads the frame pointer first. From there on the frame is nobody's: these steps are "
        "transitions, and are counted apart.",
        ("longjmp",),
        ("pointer first",),
    ),
    OddShape(
        "Two stacks in one region; an address that comes off late",
        "Two rules of which it was once not shown that they are needed. A coroutine's stack lies above another one "
        "in the same memory. And a pushed address comes off the stack with the second instruction behind the push.",
        ("other_stack", "coroutine"),
        ("bottoms", "distance"),
    ),
)
JUDGING = (
    ("A program's declared frames are checked wherever it runs", ("declared",)),
    ("A reason that is printed is the reason", ("unlinked", "row begins")),
    ("One failure costs nothing else", ("crash", "run crash")),
    ("Each claim of an answer is judged", ("kind", "interrupted CFA")),
    ("A trait is never silently absent", ("column",)),
    ("A program file can be told what a header would say", ("records",)),
    ("What once survived a mutation", ("tail calls", "red zone", "page", "below SP", "mask")),
)

READING = (
    ("Program files", ("Thumb bit", "bias", "empty segment", "object file", "executable stack", "mapped in part")),
    (
        "What belongs to a stripped file and lies elsewhere",
        ("build id", "debug link", "CRC", "no folders", "mini debug info", "mini table"),
    ),
    (
        "Snapshots that lack something",
        ("signature bits", "unknown register", "invented zero", "pc and SP", "end of a dump"),
    ),
    ("Tables", ("legacy numbers", "one entry", "index")),
    (
        "Analysis of instructions",
        ("A64 store", "A32 store", "enclosing function", "megabytes", "seen saved", "landings"),
    ),
    (
        "Assemblers, and what they are given",
        (
            *("odd address", "second assembler", "no room", "size of a file", "host files"),
            *("further sources", "header flags", "AT&T syntax"),
        ),
    ),
)


def odd_code_page(introduction: str) -> str:
    """The page: per shape the true stacks, who tells them, and the rules with what became of them when taken out."""
    fates = kept_fates(Path(__file__).with_name("odd-code.json"), TAKEN_OUT)
    parts = [introduction.rstrip()]
    for shape in SHAPES:
        parts.append(f"## {shape.title}\n\n{shape.text}")
        parts += [_of_unit(unit, isa) for program in shape.programs for unit, isa in _units(program)]
        parts += [_of_rules(shape.rules, fates)] if shape.rules else []
    parts.append("## Shapes that are tests only\n\n" + _declared())
    parts.append("## How one is judged")
    parts += [f"**{title}.**\n\n{_of_rules(rules, fates)}" for title, rules in JUDGING]
    parts.append("## Files and code that others made\n\nWhat reads and builds them, by what it once had wrong.")
    parts += [f"**{title}.**\n\n{_of_rules(rules, fates)}" for title, rules in READING]
    return "\n\n".join(parts) + "\n"


def _units(program: str) -> Iterator[tuple[Unit, str]]:
    isas = set(PROGRAMS[program].sources)
    for arch, recipes in RECIPES_OF.items():
        yield from ((Unit(program, arch, recipe), isa) for isa, recipe in recipes if isa in isas)


def _of_unit(unit: Unit, isa: str) -> str:
    try:
        run = run_unit(unit, PROGRAMS)
    except ToolchainMissing as missing:
        return f"`{unit.program}`, {isa}: {missing}"
    proof = prove(run.watched)
    lines = [
        f"### `{unit.program}`, {isa}",
        "",
        f"`testbed run {unit.program} -a {unit.arch} -r {unit.recipe}`; both witnesses agree at {proof.agreed} of "
        f"{proof.steps} steps, {proof.disagreed} differ, {proof.transition} have no single answer.",
        "",
        "| at | the true stack |",
        "|---|---|",
        *(f"| `{where}` | {' < '.join(frames)} |" for where, frames in _stacks(run)),
        "",
        _answers(run, unit.arch),
    ]
    return "\n".join(lines)


def _stacks(run: Run) -> Iterator[tuple[str, Sequence[str]]]:
    """The declared places with the stacks that were watched there; a program without any, its deepest one."""
    assert run.disagreements == (), run.disagreements
    for each in run.built.source.header.frames:
        yield f"{each.location}{f'#{each.visit}' if each.visit else ''}", each.frames


def _answers(run: Run, arch: str) -> str:
    """Who is exact at every step, and what the others miss."""
    exact, others, sites = [], [], 0
    for name, unwinder in UNWINDERS.items():
        if not unwinder.applies_to(run.built.image):
            continue
        verdicts = [v for v in judge_all(run, unwinder) if not v.transition]
        sites = len(verdicts)
        right = sum(v.exact for v in verdicts)
        assert not any(v.unexplained for v in verdicts), name
        if right == sites:
            exact.append(f"`{name}`")
        else:
            missed = Counter(v.outcome.value for v in verdicts if not v.exact)
            told = ", ".join(f"{count} {outcome}" for outcome, count in missed.most_common(2))
            others.append(f"`{name}` {right} ({told})")
    return f"Exact at all {sites} steps: {', '.join(exact) or 'nobody'}. The others, exact at: {'; '.join(others)}."


def _of_rules(names: Sequence[str], fates: dict[str, bool]) -> str:
    lines = ["| rule | in | taken out |", "|---|---|---|"]
    return "\n".join([*lines, *(_of_rule(TAKEN_OUT[name], fates[name]) for name in names)])


def _of_rule(rule: RemovedRule, failed: bool) -> str:
    test = rule.test.replace("::", "`: `")
    return f"| {rule.what} | `{rule.module}` | {'noticed by' if failed else '**not noticed** by'} `{test}` |"


def _declared() -> str:
    lines = ["| program | summary | steps | both witnesses agree at |", "|---|---|---:|---:|"]
    for source in sorted((Path(__file__).parents[1] / "tests" / "truth" / "declared").glob("*.S")):
        run = named_run({}, str(source), None, None, seed=1, budget=10_000, fresh=False)
        assert run.disagreements == ()
        proof = prove(run.watched)
        name = source.name.removesuffix(".S")
        lines.append(f"| `{name}` | {run.built.source.header.summary} | {proof.steps} | {proof.agreed} |")
    return "`tests/truth/declared`: the right stacks are declared in each and watched.\n\n" + "\n".join(lines)
