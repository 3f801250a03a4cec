"""The catalogues on the terminal, a name and a sentence per line, and as plain data (``schema/list.json``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from testbed.report.narrow_tables import WordTable
from testbed.words.errors import UsageError
from testbed.words.traits import TRAPS

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
    from rich.console import RenderableType

    from testbed.arch import Arch
    from testbed.campaign.findings import Reproduction
    from testbed.contract.unwinder import Unwinder
    from testbed.program.model import Program
    from testbed.referee import Referee
    from testbed.referee.read_reports import UpstreamReport


# Findings against real tools for the terminal, and reports of them that the tools' authors can use.


def write_report(report: UpstreamReport, folder: Path) -> tuple[Path, ...]:
    """Write ``report.md`` and its files; which they are. Raises UsageError where the folder is not empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: a report gets a folder of its own")
        files = {"report.md": report_markdown(report), **report.files}
        if report.diff:
            files["change.diff"] = report.diff
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from error
    return tuple(folder / name for name in files)


def report_markdown(report: UpstreamReport) -> str:
    """The text of a report: one block to paste into a shell, what that prints, and the cause."""
    return "\n\n".join(_paragraphs(report)) + "\n"


def _paragraphs(report: UpstreamReport) -> Iterator[str]:
    yield f"# {report.title}"
    yield f"Shows in {report.shows_in.strip()}."
    yield report.wrong.strip()
    made = "".join(f"cat > {name} <<'END'\n{text.rstrip()}\nEND\n" for name, text in report.files.items())
    yield f"```sh\n{made}{report.command.strip()}\n```"
    yield f"prints\n\n```\n{report.prints.strip()}\n```"
    yield f"**Expected:** {report.expected.strip()}"
    if report.ordinary:
        yield f"**Who meets it:** {report.ordinary.strip()}"
    yield f"**Where:** {report.place.strip()}"
    if report.diff:
        yield f"**A change:**\n\n```diff\n{report.diff.rstrip()}\n```"
    for text in (report.change, report.tests, report.search):
        if text:
            yield text.strip()


def print_findings(console: Console, shown: Sequence[Reproduction]) -> None:
    """Print each finding: what the tool says, what is true, why, and the command."""
    for each in (*mistakes(shown), *of_techniques(shown), *repaired(shown)):
        limit = "  (what the technique cannot know)" if each.finding.of_technique else ""
        console.print(Text(each.finding.title, style="bold") + Text(limit))
        console.print(Text(f"  {each.command}"))
        for name, text in facts(each):
            console.print(Text(f"  {name}: {text}"))
        console.print(Text(f"  {state_of(each)}", style="" if each.shows else "bold"))
        console.print()
    showing, missing = sum(each.shows for each in shown), sum(bool(each.missing) for each in shown)
    gone = sum(not (each.shows or each.missing) and each.as_recorded for each in shown)
    console.print(
        f"{len(shown)} findings: {showing} show, {len(shown) - showing - missing - gone} do not, "
        + (f"{gone} repaired, " if gone else "")
        + f"{missing} not tried"
    )


def mistakes(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What a tool gets wrong."""
    return [each for each in shown if not each.finding.of_technique and not each.repaired]


def of_techniques(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What no tool of its technique can know."""
    return [each for each in shown if each.finding.of_technique and not each.repaired]


def repaired(shown: Sequence[Reproduction]) -> list[Reproduction]:
    """What older versions show, and newer ones do not."""
    return [each for each in shown if each.repaired]


def facts(each: Reproduction) -> Iterator[tuple[str, str]]:
    """What is told of a finding, each by its noun."""
    finding = each.finding
    if each.verdict is not None:
        yield "at", f"{each.where} ({each.instruction}), {finding.program} on {finding.arch} by {finding.recipe}"
        yield "says", each.said
        yield "true", each.truth
        difference = f": {each.verdict.difference}" if each.verdict.difference else ""
        yield "which is", f"{each.verdict.outcome.value}{difference}"
    yield "because", finding.because
    yield "upstream", finding.upstream or "no report was found"
    yield "first seen", f"{finding.since}, with {finding.tool}"
    if finding.versions:
        yield "versions", finding.versions
    yield "id", finding.id


def state_of(each: Reproduction) -> str:
    """Whether it shows today."""
    if each.missing:
        return f"not tried: {each.missing}"
    if each.problem:
        return f"DOES NOT SHOW: {each.problem}"
    if each.shows:
        return f"shows with {each.tool}"
    gone = each.as_recorded
    return f"repaired: does not show with {each.tool}" if gone else f"DOES NOT SHOW any more with {each.tool}"


class CatalogueForm(NamedTuple):
    """How a catalogue is listed: the heads of its table, a value as a row, and as data."""

    heads: tuple[str, ...]
    row: Callable[[Any], tuple[str, ...]]
    data: Callable[[Any], dict[str, Any]]


def _what(unwinder: Unwinder) -> str:
    """What an unwinder does, and who walks stacks so."""
    return f"{unwinder.summary} (so do {unwinder.done_by})" if unwinder.done_by else unwinder.summary


def _where(referee: Referee) -> str:
    found = referee.find()
    where = str(found) if found else f"not installed: {referee.package}"
    there = _versions(referee)
    return f"{where}\nversions: {', '.join(there)} (-u {referee.name}@{there[-1]})" if there else where


def _versions(referee: Referee) -> list[str]:
    """The versions that can be asked beside that one; what is not here is brought when it is."""
    from testbed.referee.versions import of_tool

    return [each.version for each in of_tool(referee.name)]


def _assumption(unwinder: Unwinder) -> dict[str, Any]:
    assumed = unwinder.assumption
    return {
        "name": unwinder.name,
        "form": type(assumed).__name__ if assumed else None,
        "clauses": {clause.name: clause.holds for clause in assumed.clauses} if assumed else {},
        "held_to": unwinder.held_to.value,
    }


LISTED: Mapping[str, CatalogueForm] = {
    "programs": CatalogueForm(
        ("program", "sources", "what is interesting"),
        lambda p: (p.name, ", ".join(p.sources), p.summary),
        lambda p: {"name": p.name, "summary": p.summary, "sources": list(p.sources)},
    ),
    "unwinders": CatalogueForm(
        ("unwinder", "needs", "what it is"),
        lambda u: (u.name, ", ".join(sorted(u.needs | (u.arches or set()))) or "-", _what(u)),
        lambda u: {
            "name": u.name,
            "summary": u.summary,
            "arches": sorted(u.arches) if u.arches else None,
            "needs": sorted(u.needs),
        },
    ),
    "referees": CatalogueForm(
        ("referee", "unwinders", "what it is, and where"),
        lambda r: (r.name, ", ".join(u.name for u in r.unwinders), f"{r.summary}\n{_where(r)}"),
        lambda r: {
            "name": r.name,
            "summary": r.summary,
            "unwinders": [each.name for each in r.unwinders],
            "found": str(found) if (found := r.find()) else None,
            "package": r.package,
            "versions": _versions(r),
        },
    ),
    "recipes": CatalogueForm(
        ("recipe", "builds", "how"),
        lambda r: (r.name, r.tool.takes.value, r.summary),
        lambda r: {"name": r.name, "summary": r.summary, "builds": r.tool.takes.value},
    ),
    "arches": CatalogueForm(
        ("architecture", "instruction sets", "also called"),
        lambda a: (a.name, ", ".join(isa.name for isa in a.isas), ", ".join(a.aliases)),
        lambda a: {
            "name": a.name,
            "instruction_sets": [isa.name for isa in a.isas],
            "aliases": list(a.aliases),
        },
    ),
    "assumptions": CatalogueForm((), lambda u: (), _assumption),
}


def catalogue_table(what: str, values: Iterable[Any]) -> WordTable:
    """A catalogue, a value per row."""
    return WordTable(LISTED[what].heads, tuple(map(LISTED[what].row, values)))


def needed_by_recipes(arches: Iterable[Arch]) -> str:
    """What has to be installed for recipes beyond the wheels that come with the testbed."""
    from testbed.build.compile import OTHER_ZIG, is_installed, package_of

    lines = [
        "",
        "GCC's recipes need Debian's packages (g++ for gcc, where C++ is built); without them they are skipped:",
    ]
    for arch in arches:
        there = "installed" if is_installed(arch) else "not installed"
        lines.append(f"  {arch.name:<7} {package_of(arch)} ({there})")
    lines.append(f"clang-other-* need another ziglang wheel's zig binary, named by {OTHER_ZIG}; only --all has them")
    lines.append("Some recipes build only the programs that show what they are for: testbed matrix --all builds all")
    return "\n".join(lines)


# Assumptions on the terminal: what must hold of each frame for a technique to be right.


def assumptions_told(unwinder: Unwinder) -> Iterator[RenderableType]:
    """What one technique assumes: its form, and each clause as a sentence."""
    if unwinder.assumption is None:
        yield Text(f"{unwinder.name}: none is stated; {unwinder.held_to.value}")
        return
    form = next(iter((type(unwinder.assumption).__doc__ or "").splitlines()), "")
    yield Text.assemble((unwinder.name, "bold"), f": {form}")
    for clause in unwinder.assumption.clauses:
        yield Padding(Text(f"{clause.name}: {clause.holds}"), (0, 0, 0, 4))


@dataclass(frozen=True, slots=True)
class TrapInCorpus:
    """A trap in the corpus: the programs that show it, and every reference that one of them gives, once."""

    number: int
    programs: tuple[Program, ...]
    references: tuple[str, ...]


def shown_traps(programs: Mapping[str, Program]) -> tuple[TrapInCorpus, ...]:
    """Every trap, whether a program shows it or not."""
    found: dict[int, tuple[dict[str, Program], dict[str, None]]] = {number: ({}, {}) for number in TRAPS}
    for program in programs.values():
        for source in program.sources.values():
            for trap in source.header.traps:
                found[trap.number][0][program.name] = program
                found[trap.number][1].update(dict.fromkeys(trap.references))
    return tuple(TrapInCorpus(number, tuple(p.values()), tuple(r)) for number, (p, r) in found.items())


def traps_table(programs: Mapping[str, Program]) -> WordTable:
    """A line per trap: its number, what goes wrong, the programs, the references."""
    rows = (
        (
            str(trap.number),
            TRAPS[trap.number],
            ", ".join(program.name for program in trap.programs) or "-",
            ", ".join(trap.references) or "-",
        )
        for trap in shown_traps(programs)
    )
    return WordTable(("trap", "what goes wrong", "programs", "happened in"), tuple(rows))
