"""A judged process on the terminal: files, threads, every unwinder's shares, where each goes wrong, one sentence."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from testbed.image import LoadedImage, image_covering
from testbed.image.demangling import brief, told_apart
from testbed.naming.beside import folded_names
from testbed.naming.symbolize import name_of, names_at
from testbed.process import ProcessRun
from testbed.process.process_run import LongThread
from testbed.profiling.result import (
    CodePart,
    CodeShare,
    CountedProcess,
    CountedThread,
    ProcessCode,
    UnwinderShare,
    WatchedProcess,
    WatchedThread,
    WrongPlace,
    WrongReason,
    parts_of,
)
from testbed.report.narrow_tables import KEPT, ColumnBlocks, NumberedRow, NumberedTable, Paragraph, kept
from testbed.report.phrases import besides, count, share
from testbed.words.printable import printable

MOST_PLACES = 3
MOST_FUNCTIONS = 10
MOST_TOLD = 3  # unwinders in the answer
MOST_REASONS = 3  # of one place
MOST_CHILDREN, MOST_NAME = 20, 60  # programs of other processes, and characters of what one was started with


def process_page(
    process: WatchedProcess | CountedProcess,
    shares: Sequence[UnwinderShare],
    unasked: Sequence[str] = (),
    *,
    sampled: bool = False,
) -> RenderableType:
    """All that is said of a process: the answer, and what each unwinder shows in its own code, by function.

    ``sampled``: what a profiler sees is told, too.
    """
    parts: list[RenderableType] = [_title(process), _LabelledLines(tuple(_circumstances(process)))]
    parts.append(Text("\nWhich stack does each unwinder show in your code?", "bold"))
    parts.append(process_answer(process, shares, unasked))
    if shares:
        parts += _summary(process, shares)
        parts += _functions(process, shares)
    places = [part for each in shares for part in _places(process, each)]
    if places:
        parts.append(Text("\nWhere they go wrong: by the function of the frame, whatever runs on top of it", "bold"))
    return Group(*parts, *places, *_what_next(process, shares, sampled=sampled))


def _what_next(
    process: WatchedProcess | CountedProcess, shares: Sequence[UnwinderShare], *, sampled: bool
) -> Iterator[RenderableType]:
    """What shows more: of the first unwinder that goes wrong at frames of the program's own functions, where most."""
    run, whole = process.run, isinstance(process, WatchedProcess)
    own = ((each, [place for place in _wrong(each) if place.part is CodePart.OWN]) for each in shares)
    told = ["--sample 1000 -o FILE.html shows flame graphs beside the true one"] * (whole and not sampled)
    if first := next(((each, places) for each, places in own if places), None):
        by, place = first[0], max(first[1], key=lambda place: place.lies)
        step = f"{place.thread}:" * (len(process.threads) > 1) + f"@{place.first}"
        told.insert(0, f"--at {step} shows the true stack where {by.name} goes wrong at {brief(place.function)}")
    if run.signal and len(process.threads) == 1:
        told.insert(0, f"--at @{process.threads[0].steps - 1} shows the stack at which {_killer(run)} ended it")
    yield Text()
    yield Paragraph(f"{'; '.join((*told, '--json has all'))}.", "dim")


def _killer(run: ProcessRun) -> str:
    """The signal that ended a process, by name."""
    return run.why.split()[0].rstrip(":")


def others_of(run: ProcessRun, threads: Sequence[WatchedThread | LongThread]) -> list[str]:
    """What a page of the first thread does not show: a line for each other thread, and for each other program."""
    told = [f"thread {each.number}: {count(each.steps, 'step')}" for each in threads[1:]]
    return told + [f"{each.label} {each.text}" for each in _children(run)]


@dataclass(frozen=True, slots=True)
class _LabelledLine:
    """What a line is about, and what it says."""

    label: str
    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class _LabelledLines:
    """Lines that go on below what they say. No word is split: a path is copied as it stands."""

    lines: tuple[_LabelledLine, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        names = max((len(each.label) for each in self.lines), default=0) + 2
        whole = textwrap.TextWrapper(
            options.max_width, subsequent_indent=" " * names, break_long_words=False, break_on_hyphens=False
        )
        for each in self.lines:
            lines = whole.wrap(f"{each.label:<{names}}{kept(each.text)}")
            yield Text("\n".join(lines).replace(KEPT, " "), each.style, no_wrap=True, overflow="ignore")


def _title(process: WatchedProcess | CountedProcess) -> Text:
    run = process.run
    ending = run.ending if run.status is not None else f"ended by {_killer(run)}" if run.signal else "not to its end"
    ending += f" of {run.becomes}, which it became" if run.becomes else ""
    text = Text()
    text.append(f"{run.path.name} · {run.arch} · a process", style="bold")
    steps = count(process.steps + process.left, "step")
    steps = f"the first {process.steps:,} of {steps}" if process.left else steps
    text.append(f"   {steps}, {count(len(process.threads), 'thread')}, {ending}\n")
    return text


def _thread(thread: WatchedThread | CountedThread) -> _LabelledLine:
    said = f"{thread.number}: {count(thread.steps, 'step')}, {count(thread.activations, 'activation')}"
    unjudged = {"at which no one answer is right": thread.transition, "undecided": thread.undecided}
    parts = [f"{count(number, 'step')} {word}" for word, number in unjudged.items() if number]
    return _LabelledLine("thread", said + (f", not judged: {', '.join(parts)}" if parts else ""))


def _circumstances(process: WatchedProcess | CountedProcess) -> Iterator[_LabelledLine]:
    yield from map(_thread, process.threads)
    calls = process.run.calls
    most = ", ".join(f"{name} {n}" for name, n in sorted(calls.items(), key=lambda item: (-item[1], item[0]))[:8])
    made = count(sum(calls.values()), "system call") + (f": {most}" if calls else "")
    yield _LabelledLine("calls", made + (", ..." if len(calls) > 8 else ""))
    yield from _refused(process.run, "")
    for convention in process.run.conventions:
        yield _LabelledLine("judged", str(convention))
    for note in process.run.notes:
        yield _LabelledLine("note", note, "yellow")
    if isinstance(process, CountedProcess):
        yield _LabelledLine("pieces", f"{process.pieces}: watched and judged one after the other, and none is held")
    if process.run.status is None:
        yield _LabelledLine("ended", f"{process.run.why}; what ran until then is judged", "bold yellow")
    if isinstance(process, WatchedProcess) and process.run.signal and len(process.threads) == 1:
        yield _LabelledLine("stack", _last_stack(process.threads[0]), "yellow")
    yield from _children(process.run)


def _last_stack(thread: WatchedThread) -> str:
    """The true stack at a thread's last step, calls of the source with their lines: ``leaf (a.c:3) < main (a.c:9)``."""
    watched = thread.watched
    frames = watched.stack(thread.stop - 1).frames
    calls = chain(*(names_at(watched.trace.images, frame.pc, caller=frame.calling) for frame in frames))
    return folded_names(f"{call} ({call.line.name}:{call.line.line})" if call.line else str(call) for call in calls)


def _refused(run: ProcessRun, whose: str) -> Iterator[_LabelledLine]:
    """The system calls that a program was not let do, but for what a dynamic linker seldom finds."""
    linker = [each for each, part in zip(run.images, parts_of(run.images), strict=True) if part is CodePart.LINKER]
    for refused in run.refused:
        if refused.path and image_covering(run.images, refused.pc) in linker:
            continue
        said = f"{refused.name} at {refused.where}, step {refused.step}{whose}"
        path = printable(refused.path)
        shown = f", {path} is not shown (--folder {path}={path})" if path else ""
        yield _LabelledLine("refused", f"{said}: {refused.error}{shown}", "yellow")


def _children(run: ProcessRun) -> Iterator[_LabelledLine]:
    """The programs that other processes of the run executed, and what the first process became."""
    if run.becomes:
        yield _LabelledLine("becomes", f"{run.becomes}, by execve")
    processes = [list(programs) for _, programs in groupby(run.children, lambda child: child.number)]
    for *before, child in processes[:MOST_CHILDREN]:
        name = printable(" ".join((child.path.name, *child.arguments[1:])))
        name = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 3]}..."
        how = f"goes on as {child.becomes}" if child.becomes else child.ending
        first = "".join(f"; before it {each.path.name}: {count(each.steps, 'step')}" for each in before)
        parent = f", of {child.parent}" if child.parent else ", the same"
        said = f"{child.number}{parent}: {name}: {count(child.steps, 'step')}, {how}{first}"
        yield _LabelledLine("process", said)
        for each in (*before, child):
            yield from _refused(each, f" of process {each.number}")
    if rest := list(chain(*processes[MOST_CHILDREN:])):
        refused = sum(any(_refused(each, "")) for each in rest)
        steps = f"{count(sum(each.steps for each in rest), 'step')}" + f", {refused} with refused calls" * bool(refused)
        yield _LabelledLine("and", f"{count(len(rest), 'other program')} of processes, {steps} (--json has them)")


def _summary(process: WatchedProcess | CountedProcess, shares: Sequence[UnwinderShare]) -> Iterator[RenderableType]:
    name, functions = process.run.path.name, {each.code for share in shares for each in share.code if _is_own(each)}
    own = max(each.of(CodePart.OWN).steps for each in shares)
    yield Text(f"\n{count(own, 'step')} in {count(len(functions), 'function')} of {name}\n")
    any_dead = any(each.dead for each in shares)
    beside = besides(shares)
    dead_head = ("no answer",) if any_dead else ()
    heads = ("your\ncallers", "right", "honest\nstops", "lies", *dead_head, *beside, "steps")
    rows = []
    for each in shares:
        one = each.of(CodePart.OWN)
        parts = [share(n, one.steps) for n in (one.right, one.steps - one.right - one.lies, one.lies)]
        counted = [f"{getattr(each, name):,}" for name in (*(("dead",) if any_dead else ()), *beside)]
        steps = f"{one.steps:,}" + (" sampled" if each.sampled else "")
        numbers = (share(one.within, one.called), *parts, *counted, steps)
        rows.append(NumberedRow((each.name,), numbers, "bold red" if each.unexplained else ""))
    yield NumberedTable(("unwinder",), heads, tuple(rows))
    right = "right: every caller is found, with its registers"
    yours = "your callers: those out to your outermost function, at steps that have any"
    yield Paragraph(f"{right}; {yours}" + _counted_everywhere((*dead_head, *beside)), "dim")
    elsewhere = []
    for part in (CodePart.LIBRARY, CodePart.LINKER):
        found = [each.of(part) for each in shares]
        if any(each.steps for each in found):
            told = ", ".join(
                f"{each.name} {share(one.right, one.steps)}" for each, one in zip(shares, found, strict=True)
            )
            steps = count(max(one.steps for one in found), "step")
            elsewhere.append(_LabelledLine(part.value, f"{steps}: right {told}", "dim"))
    yield _LabelledLines(tuple(elsewhere))


def _counted_everywhere(names: Sequence[str]) -> str:
    return f"; of the whole process: {', '.join(names)}" if names else ""


def _is_own(each: CodeShare) -> bool:
    return each.code.part is CodePart.OWN


def _functions(process: WatchedProcess | CountedProcess, shares: Sequence[UnwinderShare]) -> Iterator[RenderableType]:
    """Of each own function how often each unwinder finds all own callers; where no function has one, all callers.

    First those with most steps at which one misses some.
    """
    by_code = [{each.code: each for each in share.code if _is_own(each)} for share in shares]
    steps = {code: max(found[code].steps for found in by_code if code in found) for found in by_code for code in found}
    missing = [{each.code: n for each, n in _misses(share)} for share in shares]
    misses = {code: max(each.get(code, 0) for each in missing) for code in steps}
    most = sorted(steps, key=lambda code: (-misses[code], -steps[code], code.function))[:MOST_FUNCTIONS]
    if not most:
        return
    rows, names = [], told_apart(code.function for code in most)
    called = any(share.of(CodePart.OWN).called for share in shares)
    several = Counter(names[code.function] for code in most)
    for code in most:
        found = [each.get(code) for each in by_code]
        counts = [((one.within, one.called) if called else (one.right, one.steps)) if one else (0, 0) for one in found]
        said = [share(*both) for both in counts]
        name = names[code.function]
        name += f" at {code.start:#x}" * (several[name] > 1)
        rows.append((name, line_of(process.run.images, code), f"{steps[code]:,}", *said))
    yield Text()
    yield ColumnBlocks(
        ("your callers found in" if called else "right in", ""),
        ("steps", *(each.name for each in shares)),
        tuple(rows),
    )
    if len(steps) > len(most):
        rest = sum(steps.values()) - sum(steps[code] for code in most)
        missed = sum(misses.values()) - sum(misses[code] for code in most)
        miss = f", at most {missed:,} with a caller missed" if missed else ", no caller missed"
        yield Text(f"and {count(len(steps) - len(most), 'other function')}, {count(rest, 'step')}{miss}", "dim")
    if called and any("-" in row[3:] for row in rows):
        yield Text("-: no caller of yours is on its stack", "dim")
    if nameless := {code.file.name: None for code in most if code.file and code.function.startswith("+0x")}:
        yield Text(f"{' and '.join(nameless)} has no names for these: a debug file has (--debug-dir FOLDER)", "dim")


def line_of(images: Sequence[LoadedImage], code: ProcessCode) -> str:
    """The source line that a function begins at, ``server.c:4``; "" where nothing says it."""
    loaded = next((each for each in images if each.image.path == code.file), None)
    line = name_of((loaded,), code.start + loaded.bias).line if loaded is not None and code.start else None
    return f"{line.name}:{line.line}" if line is not None and line.line else ""


def _wrong(each: UnwinderShare) -> list[WrongPlace]:
    """The functions at whose frames an unwinder goes wrong, those with the most steps first."""
    return sorted((place for place in each.places if place.not_right), key=lambda place: -place.not_right)


def _told(each: UnwinderShare) -> list[WrongPlace]:
    """Those that are told one by one: of the program's own files, and all that nothing explains."""
    return [p for p in _wrong(each) if not p.explained or p.part is CodePart.OWN][:MOST_PLACES]


def _places(process: WatchedProcess | CountedProcess, each: UnwinderShare) -> Iterator[RenderableType]:
    """Where an unwinder goes wrong: at so many steps at frames of these functions, and of so many others."""
    told = _told(each)
    rest = [place for place in _wrong(each) if place not in told]
    if not told and not rest:
        return
    done_by = f", as {each.done_by} do," * bool(each.done_by)
    yield Text.assemble((f"\n{each.name}", "bold"), f"{done_by} goes wrong at a frame of")
    table = Table.grid(Column(justify="right", min_width=11), padding=(0, 2, 0, 0))
    names = told_apart(place.function for place in told)
    program = process.run.path.name
    for place in told:
        where = names[place.function] + f" in {place.library}" * (place.library != program)
        table.add_row(count(place.not_right, "step"), _place(place, where, several=len(process.threads) > 1))
    for part in CodePart:
        if there := [place for place in rest if place.part is part]:
            others = "other " * any(place.part is part for place in told)
            steps = count(sum(place.not_right for place in there), "step")
            table.add_row(steps, f"{count(len(there), f'{others}function')} of {part.value}", style="dim")
    yield table


def _place(place: WrongPlace, where: str, *, several: bool) -> RenderableType:
    lies = "lies" if place.lies == place.not_right else f"{place.lies:,} lies"
    text = Text(where).append(f" ({lies})" if place.lies else "", "dim")
    reasons = Table.grid(Column(justify="right"), "", padding=(0, 2, 0, 0)) if place.also else Table.grid("")
    for row in _reasons(place):
        reasons.add_row(*row, style="" if place.explained else "bold red")
    thread = f"{place.thread}:" if several else ""
    first = "first for the first reason" if place.also else "first"
    return Group(text, reasons, Text(f"{first} at {thread}@{place.first}, {place.where}", "dim"))


def _reasons(place: WrongPlace) -> Iterator[tuple[str, ...]]:
    """Why it goes wrong there, and of several reasons at which share of the steps each."""
    most, rest = place.also[: MOST_REASONS - 1], place.also[MOST_REASONS - 1 :]
    first = WrongReason(place.because, place.not_right - sum(each.steps for each in place.also))
    told = [*(first, *most), *([WrongReason("other reasons", sum(each.steps for each in rest))] if rest else ())]
    for each in told:
        often = (share(each.steps, place.not_right),) if place.also else ()
        yield (*often, each.because or f"UNEXPLAINED: {place.unforeseen}")


def process_answer(
    process: WatchedProcess | CountedProcess, shares: Sequence[UnwinderShare], unasked: Sequence[str] = ()
) -> Paragraph:
    """One sentence: who is best in your code, who misses your callers most, and where; or what is unexplained.

    ``unasked`` are the unwinders that an interrupt left out.
    """
    if not shares:
        return Paragraph("No unwinder was asked: nothing is judged.", "bold")
    left = "".join(f" {each}" for each in _unjudged(process, unasked))
    if not any(each.of(CodePart.OWN).steps for each in shares):
        why = "" if process.left or unasked else f": {process.run.ending}"
        return Paragraph(f"No step of your code was judged{why}.{left}", "bold")
    best = max(shares, key=lambda each: _points(each.of(CodePart.OWN)))
    said = f"{best.name} {_rightly(best)}"
    if unexplained := [each for each in shares if each.unforetold]:
        first = next((place for place in unexplained[0].places if not place.explained), None)
        at = f", most at {brief(first.function)} in {first.library}" if first else ""
        names = ", ".join(each.name for each in unexplained)
        return Paragraph(f"{said}; UNEXPLAINED: {names}{at}.", "bold red")
    own = [(each, each.of(CodePart.OWN)) for each in shares]
    wrong = [each for each, mine in own if mine.lies or (each is not best and any(n for _, n in _misses(each)))]
    wrong.sort(key=lambda each: (each is not best, _reach(each.of(CodePart.OWN))))
    told = [f"it {_lies(each)}" if each is best else f"{each.name} {_wrongly(each)}" for each in wrong[:MOST_TOLD]]
    told += [f"{each.name} gives no answer at {each.dead:,}" for each in shares if each.dead]
    nobody = "" if any(mine.lies for _, mine in own) else ", and nobody lies there"
    return Paragraph(f"{'; '.join([said + nobody, *told])}.{left}", "bold")


def _unjudged(process: WatchedProcess | CountedProcess, unasked: Sequence[str]) -> Iterator[str]:
    """What the answer is not about, in sentences."""
    if process.run.status is None:
        yield f"{_killer(process.run)} ended it." if process.run.signal else "The program did not come to its end."
    if process.left:
        yield f"Interrupted: not judged, {count(process.left, 'step')} at the end."
    if unasked:
        yield f"Interrupted: not asked, {' and '.join(unasked)}."
    if others := len({child.number for child in process.run.children}):
        name = next((each.path.name for each in process.run.children if _brought(each)), "NAME")
        yield f"Not judged: what {others:,} process{'es' * (others > 1)} did besides (--child {name} judges one)."


def _brought(child: ProcessRun) -> bool:
    """Whether a program lies elsewhere than what is installed."""
    return not any(child.path.is_relative_to(folder) for folder in ("/usr", "/bin", "/lib"))


def _wrongly(each: UnwinderShare) -> str:
    """How an unwinder goes wrong in your code, and in which function most."""
    own = each.of(CodePart.OWN)
    found = [f"finds your callers at {share(own.within, own.called)}"] if own.called else []
    if own.lies:
        return " and ".join((*found, _lies(each)))
    worst, _ = max(_misses(each), key=lambda missed: missed[1])
    return f"{''.join(found) or 'stops'}, worst in {brief(worst.code.function)}"


def _lies(each: UnwinderShare) -> str:
    own, worst = each.of(CodePart.OWN), max(filter(_is_own, each.code), key=lambda code: code.lies).code.function
    return f"lies at {share(own.lies, own.steps)}, most often in {brief(worst)}"


def _rightly(each: UnwinderShare) -> str:
    own = each.of(CodePart.OWN)
    if not own.steps:
        return "was asked at no step of your code"
    steps = f"{count(own.steps, 'sampled step' if each.sampled else 'step')} of your code"
    if own.right == own.steps:
        return f"is right at all {steps}"
    if own.within * own.steps <= own.right * own.called or not own.called:
        return f"is right at {share(own.right, own.steps)} of the {steps}"
    yours, every = share(own.within, own.called), share(own.right, own.steps)
    return f"finds your callers at {yours} of the {steps}, and those of libraries below them at {every}"


def _misses(each: UnwinderShare) -> list[tuple[CodeShare, int]]:
    """Of each own function at how many steps a caller is not found: one of its own code, or if it has none any."""
    called = each.of(CodePart.OWN).called
    own = filter(_is_own, each.code)
    return [(code, code.called - code.within if called else code.steps - code.right) for code in own]


def _points(own: CodeShare) -> float:
    """The share of right steps without that of lies."""
    return (own.right - own.lies) / max(own.steps, 1)


def _reach(own: CodeShare) -> float:
    """At which share of its steps your callers are found."""
    return own.within / max(own.called, 1)
