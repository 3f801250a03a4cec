"""A run as one self-contained page: a stepper over all instructions. No network, no framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from testbed.campaign.cells import Cell, Unit, cell_of, run_unit
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.image.demangling import brief
from testbed.naming.beside import Alignment, beside
from testbed.naming.symbolize import inlined_at, with_places
from testbed.profiling.thread_run import ThreadRun
from testbed.program.model import Program
from testbed.report.answers import NOTHING, Answers, StepAnswers, answers_of, faults
from testbed.report.json_data import counts
from testbed.report.page import packed, page_text, render_page
from testbed.report.phrases import activation_name, count, share
from testbed.report.run_text import clauses_failed
from testbed.report.signal_frames import kept_registers, signal_frame_of
from testbed.report.stack_drawing import BELOW_SHOWN, WordKind, events_of, stack_end
from testbed.report.step_lines import TRANSITION, UNEXPLAINED, marks_of
from testbed.report.step_view import Move, listing, row_in_force
from testbed.report.table_text import LEGEND
from testbed.runs.run import Run
from testbed.trace.distinct_rows import distinct_rows
from testbed.truth.phases import PHASES, phases
from testbed.verdicts.trace import EXACT, LYING, STOPPED, counts_of, verdicts_on
from testbed.verdicts.verdict import Verdict
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

_SCRIPTS = ("page.js", "stepper_model.js", "stepper_time.js", "stepper_panels.js", "stepper_callers.js", "stepper.js")
# In the order of the buttons: the sign, and whether a phone does without it.
_SIGNS = {
    Move.FIRST: ("|◀", True),
    Move.BACK: ("◀", False),
    Move.NEXT: ("▶", False),
    Move.LAST: ("▶|", True),
    Move.NEXT_CALL: ("call", False),
    Move.OUT: ("out", False),
    Move.NEXT_DIFFERENCE: ("difference", False),
}


def stepper_html(
    run: Run, answers: Answers, cells: Sequence[Cell], others: Sequence[str] = (), opens: int | None = None
) -> str:
    """The page of a run as text; ``others`` are lines on the threads and processes that it does not show.

    It ``opens`` at the step of this number, or else at the one that its sentence is about.
    """
    facts, columns = stepper_data(run, answers, cells)
    facts["opens"] = opens
    return render_page(
        "stepper.html",
        css=page_text("page.css") + page_text("stepper.css"),
        script=Markup("\n").join(page_text(name) for name in _SCRIPTS),
        data=packed(facts, columns),
        title=facts["title"],
        summary=run.program.summary,
        steps=run.steps_shown if isinstance(run, ThreadRun) else f"{len(run):,} steps",
        ending=run.ending,
        seed=run.trace.seed,
        moves=[(move.name, move.key, move.does, *_SIGNS[move]) for move in _SIGNS],
        row_legend=LEGEND,
        outcomes=[o for o in Outcome if o is Outcome.EXACT or any(o in cell.outcomes for cell in cells)],
        glossary=[*clauses_failed(cells), *((word.name, word.value) for word in occurring(columns))],
        kinds=list(WordKind),
        others=others,
    )


def write_stepper(run: Run, answers: Answers, cells: Sequence[Cell], path: Path) -> None:
    """Write the page of a run to ``path``."""
    path.write_text(stepper_html(run, answers, cells), encoding="utf-8")


# The stepper of every unit of a matrix, as files beside its page: where every cell of it links to.


def pages_beside(page: Path) -> Path:
    """The folder of the steppers that a matrix page links to."""
    return page.with_name(f"{page.stem}-steppers")


def stepper_link(page: Path, unit: Unit) -> str:
    """Where the stepper of a unit is, from the matrix page."""
    return f"{quote(pages_beside(page).name)}/{quote(f'{unit}.html')}"


def write_unit_stepper(
    unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder], folder: Path
) -> None:
    """Judge a unit once more, for what its unwinders said at each step, and write its page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    run = run_unit(unit, programs)
    answers = answers_of(run, [each for each in unwinders if each.applies_to(run.built.image)])
    cells = [cell_of(run, each.unwinder, each.verdicts) for each in answers.each]
    (folder / f"{unit}.html").write_text(stepper_html(run, answers, cells), encoding="utf-8")


# A run as the stepper's page holds it: facts and columns, nothing per step that follows from something else.

# What an unwinder sees of a run, in one sentence, by what the instructions did to the frame.
#
# ::
#
#     sees leaf's caller from leaf+0x8 on: `mov x29, sp` links the frame record; loses it at leaf+0x10: `ldp x29, x30,
#     [sp], #0x10` unlinks the frame record
#
# The sentence is about one activation, in which the unwinder goes wrong by the clause that costs it most steps (a lie
# before an honest stop), the innermost of them. Where its verdict changes there, the instruction in front has made the
# clause hold or fail, and the clause says what the instruction did. Nothing is known of any program.

MOST_CHANGES = 3
MOST_GIVEN_UP = 1 << 16  # bytes of the stack that are looked at where an instruction gives them up
# What an instruction did in front of which a clause failed and behind which it holds, and the other way round.
_OF_POINTER = ("leads", "zero", "mapped")
_DID = {
    **dict.fromkeys(_OF_POINTER, ("links the frame record", "unlinks the frame record")),
    **dict.fromkeys(
        ("first", "reached", "room"), ("stores the return address", "takes the return address off the stack")
    ),
}


def unwinder_sentence(run: Run, verdicts: Sequence[Verdict]) -> str:
    """What an unwinder sees, told of one activation in which it goes wrong."""
    first = telling_step(run, verdicts)
    if first < 0:
        return "right at every instruction" + (f" of {run.whose}" if isinstance(run, ThreadRun) else "")
    verdict = verdicts[first]
    if verdict.frame:
        return _further_out(run, first, verdict)
    marks, (_, frame) = marks_of(verdicts), faults(verdicts)
    exact = marks % UNEXPLAINED == EXACT
    own = np.flatnonzero((run.watched.node == run.watched.node[first]) & (marks < TRANSITION))
    right = exact[own] | (frame[own] > 0)  # its caller is found: what goes wrong further out is another matter
    changed = np.flatnonzero(right[1:] != right[:-1])
    changes = list(zip(own[changed].tolist(), own[changed + 1].tolist(), strict=True))
    function = brief(run.function(int(run.trace.pc[first])))
    if verdict.outcome is Outcome.WRONG_REGISTER:
        return f"finds all callers, but not every register from {_where(run, first)} on: {_why(run, first, verdict)}"
    if not changes:
        opened = run.trace.pc[run.watched.activations.opened[run.watched.node]]
        alike = (opened == opened[first]) & (marks < TRANSITION)
        never = "does not always see" if (exact[alike] | (frame[alike] > 0)).any() else "never sees"
        return f"{never} {function}'s caller: {_why(run, first, verdict)}"
    whose = (f"{function}'s caller", *("it",) * (MOST_CHANGES - 1))
    told = [_told(run, verdicts, *change, of) for change, of in zip(changes, whose, strict=False)]
    more = len(changes) - len(told)
    return "; ".join(told) + (f"; changes {more} times more" if more > 1 else "; and once more" if more else "")


def _counted(run: Run, verdicts: Sequence[Verdict]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The steps that an unwinder's share is of, and those that are right: all judged ones, and the exact ones.

    Of a process, as on the terminal: those of the program's own code that have a caller in it, and those at which all
    such callers are found; where none has one, all of its own code, and those at which every caller is found.
    """
    marks = marks_of(verdicts)
    asked, outcome = marks < TRANSITION, marks % UNEXPLAINED
    if not isinstance(run, ThreadRun):
        return asked, outcome == EXACT
    if not run.called.any():
        return asked & run.own, _right(run, verdicts)
    reached = faults(verdicts)[1] >= run.thread.reach[run.watched.node]
    return asked & run.called, (outcome == EXACT) | ((STOPPED | LYING)[outcome] & reached)


def _right(run: Run, verdicts: Sequence[Verdict]) -> NDArray[np.bool_]:
    """The steps at which every caller is found, also where an unwinder stops behind the last one."""
    outcome, last = marks_of(verdicts) % UNEXPLAINED, run.watched.callers[run.watched.node]
    right: NDArray[np.bool_] = (outcome == EXACT) | (STOPPED[outcome] & (faults(verdicts)[1] == last))
    return right


def telling_step(run: Run, verdicts: Sequence[Verdict]) -> int:
    """The step to tell of, and to open a page at: by the clause that costs most steps, lies before stops, and of these
    the innermost; -1 where the unwinder is right everywhere.
    """
    marks, (clause, frame) = marks_of(verdicts), faults(verdicts)
    asked, found = _counted(run, verdicts)
    bad = np.flatnonzero(asked & ~found)
    if not len(bad) and isinstance(run, ThreadRun):
        bad = np.flatnonzero((marks < TRANSITION) & run.own & ~_right(run, verdicts))
    if not len(bad):
        return -1
    lies, kind = LYING[marks[bad] % UNEXPLAINED], clause[bad] * 2 + (frame[bad] > 0)
    if lies.any():
        bad, kind = bad[lies], kind[lies]
    _, first, times = np.unique(kind, return_index=True, return_counts=True)
    most = kind[min(zip((-times).tolist(), first.tolist(), strict=True))[1]]
    some = bad[kind == most]
    if isinstance(run, ThreadRun):  # in the function that has most of them
        entered = run.trace.pc[run.watched.activations.opened[run.watched.node[some]]]
        functions, times = np.unique(entered, return_counts=True)
        some = some[entered == functions[np.argmax(times)]]
    return int(some[np.argmax(run.watched.callers[run.watched.node[some]])])


def _further_out(run: Run, step: int, verdict: Verdict) -> str:
    """What goes wrong at a frame that is not the innermost one."""
    frames = run.truth(step).frames
    who = f" at {run.frame_names(frames)[verdict.frame]}" if verdict.frame < len(frames) else ""
    out = "1 frame" if verdict.frame == 1 else f"{verdict.frame} frames"
    return f"{'goes wrong' if verdict.outcome.lying else 'stops'}{who}, {out} further out: {_why(run, step, verdict)}"


def _told(run: Run, verdicts: Sequence[Verdict], before: int, after: int, whose: str) -> str:
    """One change, and whose caller it is of. Why it was not seen is told once."""
    found = verdicts[after].exact or verdicts[after].frame > 0
    wrong = verdicts[before] if found else verdicts[after]
    head = f"sees {whose} from {_where(run, after)} on" if found else f"loses {whose} at {_where(run, after)}"
    instruction = run.instruction(before)
    if wrong.clause not in _DID:
        return f"{head}, behind `{instruction}`"
    does = _moves_pointer if wrong.clause in _OF_POINTER else _moves_return_address
    if not does(run, before, after):
        why = "" if found and whose == "it" else f": {_why(run, before if found else after, wrong)}"
        return f"{head}, behind `{instruction}`{why}"
    return f"{head}: `{instruction}` {_DID[wrong.clause][not found]}"


def _moves_pointer(run: Run, before: int, after: int) -> bool:
    columns = [run.arch.index[name] for name in run.arch.frame_pointers]
    return bool((run.trace.registers[before, columns] != run.trace.registers[after, columns]).any())


def _moves_return_address(run: Run, before: int, after: int) -> bool:
    """True where an instruction writes the return address, or gives up the part of the stack that has it."""
    trace, word = run.trace, run.arch.word
    first, end = np.searchsorted(trace.writes.step, (before, after))
    low, size = int(trace.sp[before]), int(trace.sp[after]) - int(trace.sp[before])
    values = trace.writes.value[first:end].tolist()
    if 0 < size <= MOST_GIVEN_UP:
        places = np.arange(low, low + size, word, dtype=np.uint64)
        held, mapped = trace.words.at(np.full(len(places), before), places)
        values += held[mapped].tolist()
    kept = run.watched.activations[int(run.watched.node[before])].return_address
    return any(run.arch.without_signature(value) == kept for value in values)


def _where(run: Run, step: int) -> str:
    return run.where(int(run.trace.pc[step]))


def _why(run: Run, step: int, verdict: Verdict) -> str:
    return run.evidence(verdict.failed, step) if verdict.failed else run.difference(verdict)


# What unwinders said of a run, as the stepper's page holds it: outcomes, frames beside the truth, phases.

StepperColumns = dict[str, NDArray[Any]]
_SHAPE = {Alignment.TRUE: "=", Alignment.MISSING: "-", Alignment.FALSE: "+"}


def answer_data(run: Run, answers: Answers, cells: Sequence[Cell], columns: StepperColumns) -> dict[str, Any]:
    """Per step and unwinder: the outcome, how deep it is right, its callers. What is in words is told once for each
    kind of step: the clause that fails, what differs.

    ``besides`` are the ways in which frames lie beside the true ones, each named by a column of an unwinder:
    ``=3-1=2+1`` are three frames that both have, one that the answer lacks, two that both have, one that never was;
    the empty one: they are the same from the innermost frame on, as far as the answer goes.
    """
    notes: dict[str, int] = {"": 0}
    besides = _Besides(run, answers)
    phase = phases(run.watched)
    true_depth = 1 + run.watched.callers[run.watched.node]
    told, kind = np.unique(answers.speaker, return_inverse=True)
    columns["told"], columns["kind"] = told.astype(np.uint32), kind.astype(np.uint32)
    columns["transition"] = run.watched.transition.astype(np.uint8)
    shown = []
    for i, (answer, cell) in enumerate(zip(answers.each, cells, strict=True)):
        verdicts = answer.verdicts
        asked, found = _counted(run, verdicts)
        by_phase = map(counts_of(verdicts, phase).within, PHASES)
        marks, spoken = marks_of(verdicts), list(verdicts_on(verdicts, told.tolist()))
        columns[f"s{i}outcome"] = marks % UNEXPLAINED
        columns[f"s{i}unexplained"] = marks // UNEXPLAINED % 2
        why = [run.why(verdict, step) for step, verdict in zip(told.tolist(), spoken, strict=True)]
        columns[f"s{i}why"] = np.array([notes.setdefault(each, len(notes)) for each in why], np.uint32)
        note = [run.difference(verdict) for verdict in spoken]
        columns[f"s{i}note"] = np.array([notes.setdefault(each, len(notes)) for each in note], np.uint32)
        beyond = np.array([verdict.depth - verdict.frame for verdict in spoken], np.int64)
        depth = np.where(marks % UNEXPLAINED == EXACT, true_depth, faults(verdicts)[1] + beyond[kind])
        columns[f"s{i}depth"] = np.minimum(depth, 65535).astype(np.uint16)
        columns[f"s{i}callers"] = answer.callers
        columns[f"s{i}cfa"] = answer.cfa
        columns[f"s{i}beside"] = besides.of(answer)
        shown.append(
            {
                "name": answer.unwinder.name,
                "summary": answer.unwinder.summary,
                "sentence": unwinder_sentence(run, verdicts),
                "at": telling_step(run, verdicts),
                "phases": [[each.judged, each.exact, each.stopped, each.lying] for each in by_phase],
                "counts": counts(cell),
                "share": share(int((asked & found).sum()), int(asked.sum())),
            }
        )
    columns["frame_pc"], columns["frame_cfa"], columns["frame_outer"] = answers.pc, answers.cfa, answers.outer
    return {"unwinders": shown, "notes": list(notes), "besides": list(besides.ways)}


class _Besides:
    """How answers lie beside the truth, each pair of a true stack and an answer compared once."""

    def __init__(self, run: Run, answers: Answers) -> None:
        self.run, self.answers = run, answers
        self.ways: dict[str, int] = {"": 0}
        self._known: dict[tuple[int, int], int] = {}

    def of(self, answer: StepAnswers) -> NDArray[np.uint32]:
        """For every step the number of a way."""
        found = np.zeros(len(self.run), np.uint32)
        steps = np.flatnonzero((marks_of(answer.verdicts) % UNEXPLAINED != EXACT) & (answer.callers != NOTHING))
        pairs = np.stack((self.run.watched.node[steps], answer.callers[steps]), axis=1).astype(np.int64)
        first, place = distinct_rows(pairs)
        ways = []
        for step in steps[first].tolist():
            key = int(self.run.watched.node[step]), int(answer.callers[step])
            if key not in self._known:
                self._known[key] = self.ways.setdefault(self._way(step, key[1]), len(self.ways))
            ways.append(self._known[key])
        found[steps] = np.array(ways, np.uint32)[place]
        return found

    def _way(self, step: int, callers: int) -> str:
        true = self.run.truth(step).pcs
        said = (true[0], *self.answers.chain(callers)[0])
        if said == true[: len(said)]:
            return ""
        compared = (each.alignment for each in beside(true, said))
        return "".join(f"{_SHAPE[kind]}{len(list(same))}" for kind, same in groupby(compared))


_OF_OUTCOMES = ("mark", "label", "family", "lying", "meaning")


def stepper_data(run: Run, answers: Answers, cells: Sequence[Cell]) -> tuple[dict[str, Any], StepperColumns]:
    """Facts (JSON) and columns of a run and what its unwinders said."""
    columns: StepperColumns = {}
    facts: dict[str, Any] = {
        "title": f"{run.program.name} · {run.arch} · {run.recipe.name}",
        "summary": run.program.summary,
        "ending": run.ending,
        "seed": run.trace.seed,
        "steps": len(run.shown),
        "begins": run.shown.start,
        "unseen": run.unseen,
        "first": run.number_of(run.shown.start),
        "word": run.arch.word,
        "outcomes": [{"name": o.value, **{name: getattr(o, name) for name in _OF_OUTCOMES}} for o in Outcome],
        "words": [{"name": word.name, "meaning": word.value} for word in Trait],
        "phases": [{"name": phase.value, "meaning": phase.meaning} for phase in PHASES],
        "kinds": [{"name": kind.name, "mark": kind.mark, "meaning": kind.value} for kind in WordKind],
        "moves": {move.name: [move.key, move.does] for move in Move},
        "row_legend": LEGEND,
        "below_shown": BELOW_SHOWN,
        "red_zone": platform(run.arch).red_zone,
        "signal_registers": {str(offset): name for offset, name in kept_registers(run.arch).items()},
        "pushes": run.arch.link is None,
        "code_mask": str(run.arch.without_signature(run.arch.word_mask)),
    }
    own = run.own if isinstance(run, ThreadRun) else np.ones(len(run), np.bool_)
    columns["own"] = own.astype(np.uint8)
    facts["share_means"] = _share_means(run)
    facts["registers"] = _registers(run, columns)
    facts["code"] = _code(run, columns)
    facts["functions"] = _activations(run, columns)
    _events(run, columns)
    _words(run, answers, columns)
    facts["tables"] = _tables(run, [answer.unwinder for answer in answers.each], columns)
    facts |= answer_data(run, answers, cells, columns)
    facts["ends"] = [with_places(run.trace.images, end) for end in answers.ends]
    facts["names"], facts["inlined"] = _names(run, answers)
    return facts, columns


def _share_means(run: Run) -> str:
    if not isinstance(run, ThreadRun):
        return "of all steps, those at which it is exact"
    if not run.called.any():
        return (
            f"of the {count(int(run.own.sum()), 'step')} of {run.whose} that are shown, those with every caller found"
        )
    steps = f"{count(int(run.called.sum()), 'step')} of your code that are shown and have a caller in it"
    return f"of the {steps}, those at which every caller out to your outermost function is found"


def _registers(run: Run, columns: StepperColumns) -> list[dict[str, Any]]:
    """Each register as the steps that changed it and the values it then had."""
    arch = run.arch
    out = []
    for i, register in enumerate(arch.registers):
        values = run.trace.registers[:, i]
        changes = np.flatnonzero(np.diff(values, prepend=values[:1] ^ np.uint64(1)))
        columns[f"r{i}s"] = changes.astype(np.uint32)
        columns[f"r{i}v"] = values[changes].astype(np.uint64)
        role = "sp" if register.name == arch.sp else "pc" if register.name == arch.pc else ""
        role = "fp" if register.name in arch.frame_pointers else "link" if register.name == arch.link else role
        kept = register.name in platform(arch).preserved
        out.append({"name": register.name, "bits": register.bits, "role": role, "kept": kept})
    return out


def _code(run: Run, columns: StepperColumns) -> list[list[Any]]:
    """The listing; a step names its line."""
    lines = listing(run).lines
    pcs = np.array([line.pc for line in lines], np.uint64)
    columns["line"] = (np.searchsorted(pcs, run.trace.pc, side="right") - 1).astype(np.uint32)
    return [
        [
            line.pc,
            line.where,
            line.function,
            line.text,
            int(line.executed),
            f"{line.source.name}:{line.source.line}" if line.source else "",
            line.source_text,
        ]
        for line in lines
    ]


def _activations(run: Run, columns: StepperColumns) -> list[str]:
    """The tree of activations; ``extent`` is where the frames of an activation's stack may lie."""
    activations = run.watched.activations
    names: dict[str, int] = {}
    function = [names.setdefault(activation_name(run, a.index), len(names)) for a in activations]
    columns["node"] = run.watched.node.astype(np.int32)
    columns["parent"] = np.array([-1 if a.parent is None else a.parent for a in activations], np.int32)
    columns["entry_sp"] = np.array([a.entry_sp for a in activations], np.float64)
    columns["cfa"] = np.array([-1 if a.cfa is None else a.cfa for a in activations], np.float64)
    columns["ra"] = np.array([-1 if a.return_address is None else a.return_address for a in activations], np.float64)
    columns["opened"] = np.array([a.opened for a in activations], np.uint32)
    ends = [stack_end(run, a) for a in activations]
    columns["stack_end"] = np.array([end for end, _ in ends], np.float64)
    columns["alone"] = np.array([alone for _, alone in ends], np.uint8)
    signals = [signal_frame_of(run, a) if a.signal else None for a in activations]
    columns["signal_frame"] = np.array([-1 if place is None else place.frame for place in signals], np.float64)
    columns["red_zone"] = np.array([-1 if place is None else place.red_zone for place in signals], np.float64)
    columns["function"] = np.array(function, np.uint32)
    columns["region_low"] = np.array([region.address for region in run.trace.initial], np.float64)
    columns["region_high"] = np.array([region.end for region in run.trace.initial], np.float64)
    return list(names)


def _events(run: Run, columns: StepperColumns) -> None:
    events = events_of(run)
    columns["event_step"] = events.step
    columns["event_address"] = events.address.astype(np.float64)
    columns["event_value"] = events.value
    columns["event_saved"] = events.saved


def _words(run: Run, answers: Answers, columns: StepperColumns) -> None:
    """One bit per word about the innermost frame of each step that speaks for others, in the order of the enum; each 32
    of them in a column: ``words0``, ``words1``, ... Outer frames differ among those that it speaks for."""
    bit = {word: 1 << i for i, word in enumerate(Trait)}
    bits = []
    for k in np.unique(answers.speaker).tolist():
        outer = {word for word, number in run.watched.frames_of_traits(k).items() if number}
        bits.append(sum(bit[word] for word in run.words(k) - outer))
    for number in range(-(-len(bit) // 32)):
        columns[f"words{number}"] = np.array([all_ >> 32 * number & 0xFFFF_FFFF for all_ in bits], np.uint32)


def occurring(columns: StepperColumns) -> list[Trait]:
    """The words about some step: what a page has to explain."""
    bits = [int(np.bitwise_or.reduce(columns[f"words{i}"])) for i in range(-(-len(Trait) // 32))]
    return [word for i, word in enumerate(Trait) if bits[i // 32] >> i % 32 & 1]


def _tables(run: Run, unwinders: Sequence[Unwinder], columns: StepperColumns) -> list[dict[str, Any]]:
    """The rows in force at each line of the listing, for every unwinder that is a table."""
    tables: list[dict[str, Any]] = []
    for unwinder in unwinders:
        if unwinder.rows is None:
            continue
        known: dict[tuple[str, str, str], int] = {}
        of_line = []
        for line in listing(run).lines:
            said = row_in_force(run, unwinder, line.pc)
            of_line.append(known.setdefault(said, len(known)) if said and said[0] else -1)
        columns[f"t{len(tables)}"] = np.array(of_line, np.int32)
        tables.append({"name": unwinder.name, "rows": [list(said) for said in known]})
    return tables


def _names(run: Run, answers: Answers) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Where each return address is, said by the truth or by an unwinder, by its decimal value; and what was inlined.

    The calls that were inlined at an address, innermost first, are under ``@`` and the address where an instruction
    of the listing is executed, and under the address alone where a call returns to it.
    """
    activations, images = run.watched.activations, run.trace.images
    said = {int(pc) for pc in answers.pc} | {a.return_address for a in activations if a.return_address}
    names = {str(pc): run.where(pc, caller=pc not in run.uncalled) for pc in sorted(said)}
    calls = {str(pc): inlined_at(images, pc, caller=pc not in run.uncalled) for pc in sorted(said)}
    calls |= {f"@{line.pc}": inlined_at(images, line.pc) for line in listing(run).lines}
    return names, {key: list(found) for key, found in calls.items() if found}
