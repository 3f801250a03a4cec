"""Checks as JSON: what ``testbed check --format json`` also with ``--executed``, writes, as types.

A form says what is written of a value, and its schema is made from it (`testbed.report.json_forms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NotRequired, TypedDict

from testbed.arch import Arch
from testbed.checks.model import FileCheck, FindingKind, HowKnown, Severity
from testbed.report import JsonVersion
from testbed.report.check_report import ReportedFinding
from testbed.report.check_words import answer, file_name, sentence, summary_line
from testbed.store.codec import OR_NULL, Keyword, Natural, taken
from testbed.words.outcome import Outcome

_TOTALS = ("instructions", "executed", "forced", "static", "never", "without_row", "lacked")


WrongThingForm = TypedDict(
    "WrongThingForm",
    {
        "what": Annotated[str, "CFA, a register, signature (of the return address), or row."],
        "says": Annotated[str, "What the row says."],
        "true": Annotated[str, "What is true."],
    },
)


LaterForm = TypedDict(
    "LaterForm",
    {
        "where": Annotated[str, "function+0x4"],
        "directives": tuple[str, ...],
    },
)


EditForm = TypedDict(
    "EditForm",
    {
        "file": str,
        "line": Natural,
        "column": Natural,
        "old": Annotated[str, "What stands there; empty: nothing is taken out. It may end a line."],
        "new": Annotated[str, "What is to stand there."],
    },
)


RepairForm = TypedDict(
    "RepairForm",
    {
        "directives": Annotated[
            tuple[str, ...],
            "What the table lacks at the place, or is to have for the directives replaced. The edits have the source's "
            "own words.",
        ],
        "replaced": Annotated[tuple[str, ...], "Directives of the function's frame that the new ones stand for."],
        "place": Annotated[
            str, "Where the directives belong, if they replace none: before it (the finding's instruction)."
        ],
        "remembered": Annotated[
            str | None,
            OR_NULL,
            "The instruction before which .cfi_remember_state belongs, if a directive is .cfi_restore_state.",
        ],
        "later": Annotated[
            tuple[LaterForm, ...],
            "What gives the old state back, before instructions further down.",
        ],
        "repaired": Annotated[Natural, "Instructions that were wrong and are right with them."],
        "edits": Annotated[
            tuple[EditForm, ...],
            "The same as changes of the assembly source, in its author's words; lines and columns from 1.",
        ],
        "no_patch": Annotated[str | None, OR_NULL, "Why there are no edits."],
    },
)


AlikeForm = TypedDict(
    "AlikeForm",
    {
        "function": str,
        "pc": Natural,
        "where": str,
        "source": Annotated[str | None, OR_NULL],
        "line": Annotated[Natural | None, OR_NULL],
        "instructions": Natural,
        "fingerprint": str,
    },
)


ConsequenceForm = TypedDict(
    "ConsequenceForm",
    {
        "what": Annotated[str, "What comes of it for who reads the stack."],
        "shown": Annotated[str, "The stack that a reader shows, innermost first."],
        "true": Annotated[str, "The true one."],
        "where": Annotated[str, "The instruction at which that is so: function+0x4"],
        "gone": Annotated[
            tuple[str, ...], "The registers of which the frame has no copy any more, if these alone are wrong."
        ],
    },
)


SourcePlaceForm = TypedDict(
    "SourcePlaceForm",
    {
        "file": str,
        "line": Natural,
        "column": Annotated[Natural, "From 1."],
        "text": Annotated[str, "The statement there, or the use of the macro."],
        "macro": Annotated[str | None, OR_NULL, "The macro that is used there, whose line it is."],
        "macro_file": Annotated[str | None, OR_NULL],
        "macro_line": Annotated[Natural | None, OR_NULL],
        "macro_text": Annotated[str | None, OR_NULL, "The macro's own line."],
    },
)


FindingForm = TypedDict(
    "FindingForm",
    {
        "kind": Annotated[FindingKind, taken("finding.kind")],
        "severity": Annotated[Severity, taken("finding.severity")],
        "known": Annotated[bool, "The baseline has it: it fails nothing."],
        "table": Annotated[str, taken("finding.table"), "The section: .eh_frame"],
        "function": Annotated[str, taken("finding.function")],
        "pc": Annotated[
            Natural, taken("finding.pc"), "The link-time address of the first instruction at which it shows."
        ],
        "where": Annotated[str, taken("finding.where"), "function+0x4"],
        "instruction": Annotated[str, taken("finding.instruction")],
        "source": Annotated[
            str | None,
            taken("finding.source"),
            OR_NULL,
            "The source file, where debug information or the source says so.",
        ],
        "line": Annotated[Natural | None, taken("finding.line"), OR_NULL, "The line of it."],
        "place": Annotated[
            SourcePlaceForm | None,
            taken("finding.place"),
            "Where the directive to change stands, or the instruction behind which one is missing.",
        ],
        "written": Annotated[str | None, taken("finding.written"), OR_NULL, "The instruction as its source has it."],
        "things": Annotated[tuple[WrongThingForm, ...], taken("finding.things")],
        "consequence": Annotated[
            ConsequenceForm | None,
            taken("finding.consequence"),
            "What decides the severity: computed from the row, with two callers that are made for it.",
        ],
        "evidence": Annotated[HowKnown, taken("finding.evidence"), "How it is known, the strongest first."],
        "instructions": Annotated[
            Natural,
            taken("finding.instructions"),
            "How many instructions are wrong by this cause; 0 of a table that cannot be read at all.",
        ],
        "functions": Annotated[
            Natural,
            Keyword("minimum", 1),
            taken("finding.functions"),
            "How many functions it stands for: those of a file that was built without tables are told once.",
        ],
        "bare": Annotated[bool, taken("finding.bare"), "No instruction of its function has a row."],
        "alike": Annotated[
            tuple[AlikeForm, ...],
            taken("finding.alike"),
            "These functions, where they are more than one: each is known to a baseline by its own fingerprint.",
        ],
        "repair": Annotated[
            RepairForm | None,
            taken("finding.repair"),
            "Directives that make the function right, tried on all of it; null where none was found.",
        ],
        "sentence": Annotated[str, taken(lambda told: sentence(told.finding)), "All of it for a person."],
        "fingerprint": Annotated[
            str,
            taken("finding.fingerprint"),
            "What a baseline knows it by: the same when code before the function grows.",
        ],
    },
)


FunctionForm = TypedDict(
    "FunctionForm",
    {
        "name": str,
        "start": Natural,
        "end": Natural,
        "instructions": Natural,
        "executed": Natural,
        "forced": Natural,
        "static": Natural,
        "never": Natural,
        "without_row": Natural,
        "lacked": Annotated[Natural, "Those that were passed over, since the emulator lacks them."],
        "calls": Annotated[Natural, "Runs that began here."],
        "returned": Annotated[Natural, "Those that came back."],
        "note": Annotated[str | None, OR_NULL, "Why nothing could be tried."],
    },
)


CoverageForm = TypedDict(
    "CoverageForm",
    {
        "functions": Natural,
        "called": Annotated[Natural, "Functions that were called at least once."],
        "parts": Annotated[
            Natural, "Places of code that are not called: parts of functions, and what nothing leads to."
        ],
        "instructions": Annotated[Natural, "executed + forced + static + never."],
        "executed": Annotated[Natural, "Executed on a natural path."],
        "forced": Annotated[Natural, "Executed only where a branch was turned, or a call answered by us."],
        "static": Annotated[Natural, "Never executed; the static pass held their rows against the code."],
        "never": Annotated[Natural, "Not tried."],
        "without_row": Annotated[Natural, "No checked table has a row for them; counted in the others too."],
        "lacked": Annotated[
            Natural,
            "Executed, and passed over: the emulator lacks them. They change no register that a row tells of.",
        ],
    },
)


def _coverage(check: FileCheck) -> Mapping[str, int]:
    called = sum(function.calls > 0 for function in check.functions)
    totals = {name: check.total(name) for name in _TOTALS}
    return {"functions": len(check.functions), "called": called, "parts": len(check.parts), **totals}


ConventionForm = TypedDict(
    "ConventionForm",
    {
        "name": str,
        "title": str,
        "instead": Annotated[str, "The platform's."],
        "why": Annotated[str, "Who or what said so."],
        "functions": Natural,
        "unwatched": Annotated[tuple[str, ...], "Saved registers of which not all bits are recorded."],
    },
)


CheckedFileForm = TypedDict(
    "CheckedFileForm",
    {
        "file": Annotated[Path, taken("check.path")],
        "arch": Annotated[Arch, taken("check.arch")],
        "tables": Annotated[tuple[str, ...], taken("check.tables"), "The sections that were checked."],
        "answer": Annotated[str, taken(lambda told: answer(file_name(told.check), [told.check])), "One sentence."],
        "seed": Annotated[int, taken("check.seed")],
        "runs": Annotated[Natural, taken("check.runs"), "Calls that were made."],
        "steps": Annotated[Natural, taken("check.steps"), "Instructions that these executed."],
        "compared": Annotated[
            Natural, taken("check.compared"), "Pairs of an instruction and a visit to it that were held against a row."
        ],
        "kept": Annotated[bool, taken("check.kept"), "Read back from an earlier check of the same content."],
        "notes": Annotated[tuple[str, ...], taken("check.notes")],
        "conventions": NotRequired[
            Annotated[
                tuple[ConventionForm, ...],
                taken("check.conventions"),
                "Calling conventions by which functions were judged, where they are not the platform's.",
            ]
        ],
        "coverage": Annotated[CoverageForm, taken(lambda told: _coverage(told.check))],
        "dropped": Annotated[
            Mapping[str, Natural],
            taken("check.dropped"),
            "Forced paths that no real run can take, by the reason; nothing of them counts.",
        ],
        "findings": Annotated[tuple[FindingForm, ...], "The heaviest first, then by address."],
        "functions": Annotated[tuple[FunctionForm, ...], taken("check.functions")],
        "parts": Annotated[
            tuple[FunctionForm, ...],
            taken("check.parts"),
            "Code that is not called: what functions jump to with their frame, and what nothing leads to.",
        ],
    },
)


BrokenForm = TypedDict(
    "BrokenForm",
    {
        "file": Annotated[Path, taken("path")],
        "function": Annotated[str | None, OR_NULL, "null: the whole file."],
        "reason": str,
    },
)


CheckForm = TypedDict(
    "CheckForm",
    {
        "schema": JsonVersion,
        "status": Annotated[
            Literal[0, 1, 2],
            "The exit status: 0 nothing new, 1 findings, 2 a file or a function that could not be checked.",
        ],
        "answer": Annotated[str, "One sentence over all files."],
        "findings": Annotated[Natural, taken(lambda report: len(list(report.findings)))],
        "failing": Annotated[Natural, "Findings that are new and heavy enough to fail (--fail-on)."],
        "known": Annotated[Natural, "Findings that the baseline has."],
        "files": tuple[CheckedFileForm, ...],
        "broken": Annotated[tuple[BrokenForm, ...], "Files, and functions of files, that could not be checked."],
        "gone": Annotated[tuple[str, ...], "Findings that the baseline has and the files have no more."],
    },
)


LintedTableForm = TypedDict(
    "LintedTableForm",
    {
        "unwinder": Annotated[str, "The unwinder that reads the table."],
        "table": Annotated[str, "Its section: .eh_frame; of one that cannot be read at all, the unwinder."],
        "at_calls": Annotated[bool, "The table promises rows at calls only; compared are calls."],
        "compared": Annotated[Natural, "Instructions that were compared, or found to have no row."],
        "visits": Annotated[
            Natural, taken(lambda said: int(said.checks.visits.sum())), "How often they were executed, together."
        ],
        "wrong": Annotated[Natural, "Instructions whose row is wrong, or cannot be read."],
        "without_row": Annotated[Natural, "Instructions without a row."],
        "untried": Annotated[Natural, "Instructions with a rule that could not be tried."],
        "answer": Annotated[str, taken(summary_line), "The same in one sentence."],
        "findings": Annotated[
            tuple[FindingForm, ...],
            taken(lambda said: map(ReportedFinding, said.findings)),
            "The heaviest first, then by address.",
        ],
    },
)


LintForm = TypedDict(
    "LintForm",
    {
        "schema": JsonVersion,
        "program": Annotated[str, taken("run.program.name")],
        "arch": Annotated[Arch, taken("run.arch")],
        "recipe": Annotated[str, taken("run.recipe.name")],
        "seed": Annotated[int, taken("run.trace.seed")],
        "steps": Annotated[Natural, taken(lambda said: len(said["run"])), "Instructions that the run executed."],
        "ending": Annotated[str, taken("run.ending")],
        "failure": Annotated[
            str | None,
            taken("run.failure"),
            OR_NULL,
            "Why the run did not get to its end: of what comes after that nothing is said.",
        ],
        "disagreements": Annotated[
            tuple[str, ...],
            taken("run.disagreements"),
            "Where the program's header declares other frames than were watched.",
        ],
        "status": Annotated[Literal[0, 1, 2], "The exit status: 1 where something is wrong."],
        "tables": tuple[LintedTableForm, ...],
    },
)


CalledLieForm = TypedDict(
    "CalledLieForm",
    {
        "address": Annotated[Natural, "the file's own"],
        "where": str,
        "outcome": str,
        "true": str,
        "said": str,
        "difference": str,
        "explained": Annotated[str, "the clause of the assumption that fails, as a sentence, or empty"],
        "forced": Annotated[bool, "on a path that was made to go another way at a branch"],
    },
)


CalledForm = TypedDict(
    "CalledForm",
    {
        "unwinder": str,
        "exact": Annotated[Natural, "every frame, and the root claimed"],
        "whole": Annotated[Natural, "every frame, and then an honest stop"],
        "stops": Annotated[Natural, "honest stops before the last frame"],
        "lying": Natural,
        "failed": Annotated[Natural, taken("dead"), "crashes, and no answer in time"],
        "transition": Annotated[Natural, "instructions with no single right answer, counted nowhere else"],
        "unexplained": Annotated[Natural, taken("unexcused"), "lies and failures that are not foretold"],
        "outcomes": Mapping[Outcome, Annotated[int, Keyword("minimum", 1)]],
        "lies": Annotated[
            tuple[CalledLieForm, ...], taken(lambda counted: counted.lies.values()), "one for each function"
        ],
        "judged": Annotated[Natural, "instructions: exact + whole + stops + lying + failed"],
    },
)


CalledFileForm = TypedDict(
    "CalledFileForm",
    {
        "file": Path,
        "unwinders": tuple[CalledForm, ...],
    },
)


CalledFilesForm = TypedDict(
    "CalledFilesForm",
    {
        "schema": JsonVersion,
        "status": Literal[0, 1, 2],
        "files": tuple[CalledFileForm, ...],
    },
)
