"""What further commands print as JSON: judged processes, tried findings, generated programs, compared witnesses.

A form says what is written of a value, and its schema is made from it (`testbed.report.json_forms`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

from testbed.arch import Arch
from testbed.profiling.result import CodePart
from testbed.report import JsonVersion
from testbed.report.check_json import CalledFilesForm, CheckForm, ConventionForm, LintForm
from testbed.report.json_data import MatrixForm
from testbed.report.phrases import BESIDE
from testbed.store.codec import Keyword, Natural, schema_of, taken
from testbed.sweep.model import SweepReport
from testbed.words.outcome import Outcome

Positive = Annotated[int, Keyword("minimum", 1)]

MappedForm = TypedDict("MappedForm", {"file": Annotated[Path, taken("image.path")], "bias": int})
ThreadForm = TypedDict(
    "ThreadForm",
    {
        "number": Natural,
        "steps": Natural,
        "activations": Natural,
        "transition": Annotated[Natural, "Steps that have no single right answer."],
        "undecided": Annotated[Natural, "Steps of which no effect tells whose they are."],
    },
)
RefusedForm = TypedDict(
    "RefusedForm",
    {
        "name": str,
        "error": str,
        "step": Natural,
        "pc": Natural,
        "where": Annotated[str, "The pc by name."],
        "path": Annotated[str, "Of an open: what the host has and the run does not show."],
    },
)
ReasonForm = TypedDict("ReasonForm", {"because": str, "steps": Natural})
PlaceForm = TypedDict(
    "PlaceForm",
    {
        "function": str,
        "library": str,
        "part": Annotated[CodePart, "Whose code it is, as in `code`."],
        "because": Annotated[str, "Why, at most of the steps; empty where nothing explains it."],
        "also": Annotated[tuple[ReasonForm, ...], "The other reasons, of some of the steps."],
        "steps": Natural,
        "lies": Natural,
        "whole": Annotated[Natural, "Of the steps: every caller was found, no root was claimed."],
        "first": Annotated[Natural, "The first step of its thread with the reason `because`."],
        "thread": Natural,
        "where": str,
        "command": Annotated[str, "What checks this function's table without this run, or empty."],
    },
)
CodeForm = TypedDict(
    "CodeForm",
    {
        "part": Annotated[CodePart, taken("code.part"), "The program's own is told by function, all else as one."],
        "function": Annotated[str, taken("code.function")],
        "file": Annotated[Path | None, taken("code.file")],
        "start": Annotated[Natural, taken("code.start"), "The function's link-time address."],
        "steps": Annotated[Natural, "Those that are judged."],
        "right": Annotated[Natural, "Every caller was found."],
        "called": Annotated[Natural, "A caller is of the program's own code."],
        "within": Annotated[Natural, "Of these: every caller out to the outermost such one was found."],
        "lies": Natural,
    },
)
SharesForm = TypedDict(
    "SharesForm",
    {
        "name": str,
        "judged": Annotated[Natural, taken("sites"), "exact + whole + stops + lies + transition + undecided."],
        "exact": Natural,
        "whole": Annotated[Natural, "Every caller was found, and it was not said that the last one is the root."],
        "stops": Natural,
        "lies": Annotated[Natural, taken("lying")],
        "transition": Natural,
        "undecided": Annotated[Natural, BESIDE["undecided"]],
        "foretold": Natural,
        "luck": Annotated[Natural, BESIDE["luck"]],
        "open": Annotated[Natural, BESIDE["open"]],
        "unexplained": Annotated[Natural, BESIDE["unexplained"]],
        "sampled": Annotated[bool, "Only some steps were chosen, by the seed."],
        "outcomes": Mapping[Outcome, Natural],
        "code": tuple[CodeForm, ...],
        "places": tuple[PlaceForm, ...],
    },
)
ProfileForm = TypedDict(
    "ProfileForm",
    {
        "unwinder": Annotated[str, taken("name")],
        "samples": Natural,
        "own_samples": Annotated[Natural, taken("inner.samples"), "Those with functions of the program on the stack."],
        "own_misplaced": Annotated[
            Natural, taken("inner.misplaced"), "Those of them whose stack is false from its outermost function inward."
        ],
        "misplaced": Annotated[Natural, "Samples that would be counted in the wrong place."],
        "cut": Annotated[
            Natural, "Those of them whose innermost functions are right, and whose outer ones are missing."
        ],
    },
)
ChildForm = TypedDict(
    "ChildForm",
    {
        "number": Annotated[Natural, "of the process"],
        "parent": Annotated[Natural, "the process that made it"],
        "program": Annotated[Path, taken("path")],
        "arguments": tuple[str, ...],
        "steps": Natural,
        "status": Annotated[int | None, "Its exit status, or that of the program that it became; null for none."],
        "signal": Annotated[Natural, "The signal that ended it, or 0."],
        "ending": str,
        "becomes": Annotated[str, "The program that its process goes on as, by execve; empty where it does not."],
        "calls": Annotated[Mapping[str, Natural], "How often each system call was made."],
        "refused": tuple[RefusedForm, ...],
    },
)
ProcessForm = TypedDict(
    "ProcessForm",
    {
        "schema": JsonVersion,
        "program": Annotated[Path, taken("run.path")],
        "arguments": Annotated[tuple[str, ...], taken("run.arguments")],
        "arch": Annotated[Arch, taken("run.arch")],
        "steps": Annotated[Natural, taken("process.steps")],
        "status": Annotated[int | None, taken("run.status"), "Its exit status; null where it did not exit."],
        "signal": Annotated[Natural, taken("run.signal"), "The signal that ended it, or 0."],
        "ending": Annotated[str, taken("run.ending")],
        "complete": Annotated[bool, "False where an interrupt ended the run, or left steps or unwinders out."],
        "images": Annotated[tuple[MappedForm, ...], taken("run.images")],
        "threads": Annotated[tuple[ThreadForm, ...], taken("process.threads")],
        "calls": Annotated[Mapping[str, Natural], taken("run.calls"), "How often each system call was made."],
        "refused": Annotated[tuple[RefusedForm, ...], taken("run.refused")],
        "conventions": NotRequired[
            Annotated[
                tuple[ConventionForm, ...],
                taken("run.conventions"),
                "Calling conventions by which functions of its files are judged, where they are not the platform's.",
            ]
        ],
        "children": Annotated[
            tuple[ChildForm, ...],
            taken("run.children"),
            "The other programs that its processes executed, in the order of their numbers; they are not judged.",
        ],
        "unwinders": tuple[SharesForm, ...],
        "profiles": Annotated[tuple[ProfileForm, ...], "With --sample."],
    },
)

TriedFinding = TypedDict(
    "TriedFinding",
    {
        "id": Annotated[str, taken("finding.id"), "its name for `testbed matrix --known-bugs --report ID DIR`"],
        "title": Annotated[str, taken("finding.title")],
        "referee": Annotated[str, taken("referee.name")],
        "unwinder": Annotated[str, taken("finding.unwinder")],
        "program": Annotated[str, taken("finding.program")],
        "arch": Annotated[str, taken("finding.arch")],
        "recipe": Annotated[str, taken("finding.recipe")],
        "at": Annotated[str, taken("finding.at"), "a location, as `testbed run --at` takes it"],
        "command": Annotated[str, "shows it"],
        "tool": Annotated[str, "the version it was tried with now; empty where it is missing"],
        "said": Annotated[str, "what the tool says"],
        "truth": Annotated[str, "the true stack"],
        "outcome": Annotated[Outcome | None, taken(lambda each: each.verdict and each.verdict.outcome)],
        "difference": Annotated[str, taken(lambda each: each.verdict.difference if each.verdict else "")],
        "because": Annotated[str, taken("finding.because")],
        "upstream": Annotated[str, taken("finding.upstream"), "a report, or empty"],
        "seen_with": Annotated[str, taken("finding.tool")],
        "since": Annotated[str, taken("finding.since"), "the date it was seen first"],
        "of_technique": Annotated[
            bool, taken("finding.of_technique"), "true where it only shows a limit of the technique"
        ],
        "seen_in": Annotated[tuple[str, ...], taken("finding.seen_in"), "the versions of the tool that show it"],
        "not_in": Annotated[tuple[str, ...], taken("finding.not_in"), "those that were asked and do not show it"],
        "shows": bool,
        "repaired": Annotated[bool, "true where it does not show, in a version of `not_in`"],
        "missing": Annotated[str, "what is not installed, where it was not tried"],
        "problem": Annotated[str, "why it does not show, or empty"],
    },
)
TriedFindings = tuple[TriedFinding, ...]

FuzzFindingForm = TypedDict(
    "FuzzFindingForm",
    {
        "program": Annotated[str, taken("name"), "the director string that it was shrunk to"],
        "arch": Annotated[str, taken("seen.arch")],
        "recipe": Annotated[str, taken("seen.recipe")],
        "unwinder": Annotated[str, taken("failure.unwinder")],
        "outcome": Annotated[Outcome | None, taken("failure.outcome")],
        "seen": Annotated[str, taken("seen.program"), "the program that it was seen in first"],
        "sentence": Annotated[str, taken("failure.sentence")],
        "command": str,
    },
)
FuzzForm = TypedDict(
    "FuzzForm",
    {
        "schema": JsonVersion,
        "seeds": Annotated[
            tuple[int, int], taken(lambda said: (said["first"], said["report"].last_seed)), "the first and the last one"
        ],
        "units": Annotated[Natural, taken("report.units")],
        "skipped": Annotated[Natural, taken("report.skipped")],
        "sites": Annotated[Natural, taken("report.sites")],
        "mistakes": Annotated[
            Mapping[str, Positive],
            taken(lambda said: dict(sorted(said["report"].mistakes.items()))),
            "units in which a compiler's known mistake shows, by the program of the corpus that shows it",
        ],
        "findings": Annotated[tuple[FuzzFindingForm, ...], taken("report.findings")],
    },
)

DissentForm = TypedDict(
    "DissentForm",
    {
        "step": Natural,
        "steps": Annotated[Positive, "Neighbouring steps with the same two answers."],
        "where": str,
        "truth": Annotated[str, "The frames that were watched by effect, innermost first."],
        "witness": Annotated[str, "The frames by provenance."],
    },
)
ProofForm = TypedDict(
    "ProofForm",
    {
        "program": Annotated[str, taken("unit.program")],
        "arch": Annotated[str, taken("unit.arch")],
        "recipe": Annotated[str, taken("unit.recipe")],
        "steps": Annotated[Natural, taken(lambda each: each.proof.steps if each.proof else 0)],
        "disagreed": Annotated[Natural, taken(lambda each: each.proof.disagreed if each.proof else 0)],
        "unfollowed": Annotated[Natural, taken(lambda each: each.proof.unfollowed if each.proof else 0)],
        "skipped": Annotated[str, "Which tool is missing, or empty."],
        "failed": Annotated[str, "Why there is no comparison, or empty."],
        "dissents": Annotated[tuple[DissentForm, ...], taken(lambda each: each.proof.dissents if each.proof else ())],
    },
)
ProofsForm = TypedDict(
    "ProofsForm",
    {
        "schema": JsonVersion,
        "units": Annotated[Natural, taken("added.units"), "Runs asked for."],
        "skipped": Annotated[Natural, taken("added.skipped"), "Runs whose tools are missing."],
        "failed": Annotated[Natural, taken("added.failed"), "Runs that could not be built, run or compared."],
        "steps": Annotated[Natural, taken("added.steps"), "agreed + transition + undecided + disagreed."],
        "agreed": Annotated[Natural, taken("added.agreed")],
        "transition": Annotated[Natural, taken("added.transition"), "Different, where no single answer is right."],
        "undecided": Annotated[Natural, taken("added.undecided"), "Different, where no effect decides."],
        "disagreed": Annotated[Natural, taken("added.disagreed")],
        "unfollowed": Annotated[Natural, taken("added.unfollowed"), "Returns with a value that was not followed."],
        "seconds": Annotated[
            float,
            Keyword("minimum", 0),
            taken(lambda said: round(said["added"].seconds, 3)),
            "What following the values took.",
        ],
        "runs": Annotated[tuple[ProofForm, ...], taken("proofs")],
    },
)


# The JSON schemas of what commands print, made from the forms that it is printed by.
#
# The files in ``schema/`` are for readers: ``python -m testbed.report.json_forms`` writes them. Those of forms that are
# not ours, and of columns, are written by hand.

FOLDER = Path(__file__).with_name("schema")


class Printed(NamedTuple):
    """What a command prints: the form, the command, and what it is."""

    form: Any
    title: str
    description: str


PRINTED: Mapping[str, Printed] = {
    "check": Printed(CheckForm, "testbed check --format json", "What unwind tables say, held against what code does."),
    "check_unwinders": Printed(
        CalledFilesForm,
        "testbed check -u NAME --format json",
        "Unwinders at the instructions of functions that were called alone.",
    ),
    "findings": Printed(
        TriedFindings, "testbed matrix --known-bugs --json", "What real tools were seen to do wrong, each tried again."
    ),
    "fuzz": Printed(FuzzForm, "testbed fuzz --json", "Generated programs that were judged, and what nothing explains."),
    "check_executed": Printed(
        LintForm, "testbed check --executed --format json", "A program's unwind tables, held against a run of it."
    ),
    "matrix": Printed(MatrixForm, "testbed matrix --json", "Every unwinder on every (program, arch, recipe), counted."),
    "process": Printed(
        ProcessForm,
        "testbed run --json of a process",
        "A real Linux program, run and judged: its threads, and every unwinder over all steps of all of them.",
    ),
    "cross_check": Printed(
        ProofsForm,
        "testbed run --cross-check --json",
        "Two witnesses of the call stack, compared at each step.",
    ),
    "sweep": Printed(
        SweepReport, "testbed sweep --json", "Entries of many files' unwind tables, held against their instructions."
    ),
}


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of ``"run"``, ``"matrix"``, ``"check"``, and of whatever else stands in ``schema/``."""
    loaded: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def schema_text(printed: Printed) -> str:
    """The schema of a printed form as a file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": printed.title}
    made = {**head, "description": printed.description, **schema_of(printed.form)}
    return json.dumps(made, indent=1) + "\n"


if __name__ == "__main__":
    for name, printed in PRINTED.items():
        (FOLDER / f"{name}.json").write_text(schema_text(printed), encoding="utf-8")
