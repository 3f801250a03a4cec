"""The score card on the terminal. Words wrap where it is narrow; columns of digits keep their width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.text import Text

from testbed.campaign.score_card import Placed, ScoreCard
from testbed.campaign.version_history import ChangedSite, VersionHistory
from testbed.report import JSON_VERSION
from testbed.report.narrow_tables import NumberedRow, numbered_table
from testbed.report.page import page_text, render_page
from testbed.report.phrases import count, markdown_table, percent
from testbed.truth.phases import Phase
from testbed.verdicts.verdict import NOTHING_COUNTED, Counts
from testbed.words.outcome import Outcome
from testbed.words.traits import TRAPS

MOST_TRAPS = 6  # that are shown of an unwinder
BEST = 5  # of the known that are shown above
AROUND = 2  # of those on each side of one that was asked for
_PHASES = {
    Phase.ENTRY: "at entries",
    Phase.PROLOGUE: "in prologues",
    Phase.BODY: "in bodies",
    Phase.EPILOGUE: "in epilogues",
    Phase.CALL: "at calls",
}
_HEADS = ("exact %", "stop %", "lie %", "points", "place")
_UNCLAIMED = (
    "Where every caller is found, it stops more often than it claims the root: the frame whose return address the table"
    " calls undefined, or whose frame pointer is zero."
)
_LEGEND = "points: percent exact minus percent lies; place: among all that are known for the architecture"


def score_page(card: ScoreCard, commands: Commands, *, everything: bool, width: int) -> RenderableType:
    """The card: by architecture and phase, the neighbours, the traps; without a name asked for, the known alone."""
    sites = sum(sum(result.sites) for result in card.judged)
    which = "every unit" if everything else "a sample: each trap, and what compilers make; --everything takes all"
    parts: list[RenderableType] = [
        Text(f"{count(len(card.judged), 'program file')}, {count(sites, 'site')} ({which})", style="bold")
    ]
    for name in card.names:
        parts += [Text(f"\n{name}: {_in_words(card.overall(name))}", style="bold"), _by_phase(card, name, width)]
    for arch in card.arches:
        parts += [Text(f"\nbeside those that are known, on {arch}", style="bold"), *_board(card, arch, width)]
    parts.append(Text(_LEGEND, style="dim"))
    for name in card.names:
        parts += _traps(card, name, commands.get(name, ""), width)
    parts += _problems(card)
    parts += [_answer(card, name, commands.get(name, "")) for name in card.names if card.overall(name).judged]
    return Group(*parts)


def shares(share: Counts) -> tuple[str, str, str]:
    """The shares that are exact, that stopped and that lie, of what was judged, as percentages."""
    return tuple(percent(part, share.judged) for part in (share.exact, share.stopped, share.lying))  # type: ignore[return-value]


def _in_words(share: Counts) -> str:
    exact, _, lying = shares(share)
    stopped, dead = (percent(part, share.judged) for part in (share.stopped - share.dead, share.dead))
    whole = f" (at {percent(share.whole, share.judged)} % behind the last caller: no root is claimed)"
    crashes = f", {dead} % crashes or hangs (below they count as stops)" * bool(share.dead)
    return f"{exact} % exact, {stopped} % honest stops{whole * bool(share.whole)}, {lying} % lies{crashes}"


def _answer(card: ScoreCard, name: str, how: str) -> Text:
    """The card in one sentence: how often it is exact and lies, where most, and where to look first."""
    lying = [
        (placed.share.lying / placed.share.judged, f"{_PHASES[phase]} on {arch}", placed.share)
        for arch in card.arches
        for phase in Phase
        if (placed := card.place(name, arch, phase=phase)) is not None and placed.share.lying
    ]
    whole = card.overall(name)
    sites = count(whole.judged, "site")
    if whole.exact == whole.judged:
        return Text(f"\n{name} is exact at all {sites}.", "bold")
    said = f"{name} is exact at {shares(whole)[0]} % of {sites}"
    if whole.dead:
        said += f", crashes or hangs at {percent(whole.dead, whole.judged)} %"
    if lying:
        _, where, most = max(lying, key=lambda each: each[0])
        said += f", and lies at {shares(whole)[2]} %, most {where} ({shares(most)[2]} %)"
    else:
        said += ", and lies at none"
    misses = (miss_command(card, name, trap, how) for trap, _ in _wrong_traps(card, name))
    what, first = next(filter(None, misses), ("", ""))
    begin = Text.assemble(
        (f" See first: {what}" * bool(first), "bold"), (f"\n  {first}" if first else "", "dim"), overflow="fold"
    )
    root = Text(f"\n{_UNCLAIMED}" if whole.whole > whole.exact else "", overflow="fold")
    return Text(f"\n{said}.", "bold", overflow="fold") + begin + root


def _by_phase(card: ScoreCard, name: str, width: int) -> RenderableType:
    rows = []
    for arch in card.arches:
        for phase in (None, *Phase):
            placed = card.place(name, arch, phase=phase)
            if placed is not None and placed.share.judged:
                where = (arch, "all" if phase is None else phase.value)
                rows.append(NumberedRow(where, _digits(placed), "bold" if phase is None else ""))
    return numbered_table(("arch", "phase"), ("sites", *_HEADS), rows, width)


def _digits(placed: Placed) -> tuple[str, ...]:
    share = placed.share
    place = f"{placed.place} of {placed.of}"
    return (f"{share.judged:,}", *shares(share), f"{share.points:.1f}", place)


def _board(card: ScoreCard, arch: str, width: int) -> list[RenderableType]:
    """The best, and those around the ones that were asked for; everybody, where nobody was."""
    ranking = card.ranking(arch)
    mine = [i for i, placed in enumerate(ranking) if placed.name in card.names]
    rows, left_out = [], 0
    for i, placed in enumerate(ranking):
        own = placed.name in card.names
        if card.names and i >= BEST and not any(abs(i - at) <= AROUND for at in mine):
            left_out += 1
            continue
        rows.append(NumberedRow(("> " * own + placed.name,), _digits(placed)[1:], "bold" if own else ""))
    table = numbered_table(("",), _HEADS, rows, width)
    return [table, Text(f"{left_out} others: testbed score", style="dim")] if left_out else [table]


def _traps(card: ScoreCard, name: str, how: str, width: int) -> list[RenderableType]:
    """The traps on whose programs it lies most, else stops, and the first program of each with its command."""
    wrong = _wrong_traps(card, name)
    shown = wrong[:MOST_TRAPS]
    if not shown:
        return [Text(f"\ntraps: exact on the programs of {count(len(card.shown_traps()), 'trap')}", style="bold")]
    rest = len(wrong) - len(shown)
    more = f" ({rest} more: -o card.html, --json)" if rest else ""
    parts: list[RenderableType] = [Text(f"\ntraps on whose programs {name} is wrong most{more}", style="bold")]
    rows = [NumberedRow((str(trap), TRAPS[trap]), (f"{share.judged:,}", *shares(share))) for trap, share in shown]
    parts.append(numbered_table(("", "trap"), ("sites", *_HEADS[:3]), rows, width))
    firsts: dict[tuple[str, str], list[int]] = {}
    for trap, _ in shown:
        if first := miss_command(card, name, trap, how):
            firsts.setdefault(first, []).append(trap)
    for (what, command), traps in firsts.items():
        parts.append(Text(f"first of trap{'s' if len(traps) > 1 else ''} {', '.join(map(str, sorted(traps)))}: {what}"))
        parts.append(Text(f"  {command}", style="dim", overflow="fold"))
    return parts


def _wrong_traps(card: ScoreCard, name: str) -> list[tuple[int, Counts]]:
    """The traps on whose programs it is not exact: those where it lies most come first, then where it stops most."""
    found = [(trap, _on_trap(card, name, trap)) for trap in card.shown_traps()]
    wrong = [(trap, share) for trap, share in found if share.exact < share.judged]
    return sorted(wrong, key=lambda each: (-each[1].lying / each[1].judged, each[1].exact / each[1].judged, each[0]))


def _on_trap(card: ScoreCard, name: str, trap: int) -> Counts:
    """All sites of a trap's programs, on all architectures at which somebody was asked."""
    arches = (arch for arch in card.arches if name in card.everybody(arch))
    return sum((card.counts(name, arch, trap) for arch in arches), NOTHING_COUNTED)


def _problems(card: ScoreCard) -> list[RenderableType]:
    shown: list[RenderableType] = [
        Text.assemble(("FAILED ", "bold red"), f"{result.unit}: {result.failed}")
        for result in card.results
        if result.failed
    ]
    missing = dict.fromkeys(result.skipped for result in card.results if result.skipped)
    shown += [Text.assemble(("skipped ", "yellow"), reason) for reason in missing]
    if card.changed:
        what = f"{count(len(card.changed), 'program file')} left out: not as those that the known were judged on"
        shown.append(Text(f"{what} (other compilers)", style="yellow"))
    return shown


# A badge: one line of a score as a small SVG picture, for a README. No font is named that must be fetched.

_WIDTHS = {**dict.fromkeys("fijlrt.,:;!|'·1 ", 4.4), **dict.fromkeys("mwMW%", 10.0)}
_USUAL = 6.8  # pixels of a letter at 11 pixels, about: the text is stretched to fit exactly
_GOOD, _FAIR, _BAD = "#2f7d4f", "#8a6d00", "#b3263e"  # each with white text of contrast 4.5 and more


def badge(share: Counts, label: str = "unwinding") -> str:
    """The picture: ``unwinding | 97.3 % exact · 0 % lies``. Green: no lies; red: more than one in a hundred sites."""
    exact, lies = percent(share.exact, share.judged), percent(share.lying, share.judged)
    value = f"{exact} % exact · {lies} % lies"
    colour = _GOOD if not share.lying else _FAIR if 100 * share.lying <= share.judged else _BAD
    left, right = _width(label), _width(value)
    return _PICTURE.format(
        label=label,
        value=value,
        colour=colour,
        left=left,
        right=right,
        width=left + right,
        at=left + 6,
        left_text=left - 12,
        right_text=right - 12,
    )


def _width(text: str) -> int:
    return round(sum(_WIDTHS.get(letter, _USUAL) for letter in text)) + 12


_PICTURE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {value}">\n'
    "<title>{label}: {value}</title>\n"
    '<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>\n'
    '<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>'
    '<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>\n'
    '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="6" y="14" textLength="{left_text}">{label}</text>'
    '<text x="{at}" y="14" textLength="{right_text}">{value}</text></g>\n'
    "</svg>\n"
)


# The score card as one self-contained page: where an unwinder stands, by architecture, phase and trap. No network.


def score_html(card: ScoreCard, commands: Commands, *, everything: bool) -> str:
    """The page as text."""
    data = score_data(card, commands, everything=everything)
    return render_page(
        "score.html",
        css=page_text("page.css") + page_text("score.css"),
        data=data,
        names=card.names,
        arches=card.arches,
        answers={name: _answer(card, name, commands.get(name, "")) for name in card.names if card.overall(name).judged},
        badges={name: Markup(badge(card.overall(name))) for name in card.names},
        percent=lambda said, kind: percent(said[kind], said["sites"]),
    )


# Everybody who is known, as tables of Markdown: docs/results/scoreboard.md.


def score_markdown(card: ScoreCard) -> str:
    """A table of who they are, one of each architecture, and one of lies by phase."""
    known = card.known.known
    who = ((f"`{k.name}`", k.summary, k.tool.partition(" (")[0] or "ours") for k in known.values())
    lines = [markdown_table(("name", "what it is", "version"), who)]
    for arch in card.arches:
        rows = []
        for placed in card.ranking(arch):
            share = placed.share
            each = (percent(part, share.judged) for part in (share.exact, share.stopped, share.lying))
            by_phase = (_exact_and_lies(card, placed.name, arch, phase) for phase in Phase)
            rows.append((str(placed.place), f"`{placed.name}`", f"{share.points:.1f}", *each, *by_phase))
        head = ("place", "name", "points", "exact %", "stop %", "lie %", *(phase.value for phase in Phase))
        lines += ["", f"## {arch}", "", markdown_table(head, rows)]
    return "\n".join(lines) + "\n"


def _exact_and_lies(card: ScoreCard, name: str, arch: str, phase: Phase) -> str:
    """``97.3 / 0.2``."""
    placed = card.place(name, arch, phase=phase)
    if placed is None or not placed.share.judged:
        return "-"
    return f"{percent(placed.share.exact, placed.share.judged)} / {percent(placed.share.lying, placed.share.judged)}"


# A score card as values of JSON: everything by architecture, phase and trap. The page is made of them too.

Commands = Mapping[str, str]
"""The options by which the command line is told of each unwinder: ``-u fp_chain``, ``--unwinder-cmd ./mine``."""


def score_data(card: ScoreCard, commands: Commands, *, everything: bool) -> dict[str, Any]:
    """The card as JSON has it."""
    return {
        "schema": JSON_VERSION,
        "units": len(card.judged),
        "sites": sum(sum(result.sites) for result in card.judged),
        "sample": not everything,
        "phases": {phase.value: phase.meaning for phase in Phase},
        "unwinders": [_unwinder(card, name, commands.get(name, "")) for name in card.names],
        "board": {arch: [placed_data(placed) for placed in card.ranking(arch)] for arch in card.arches},
        "known": {k.name: {"summary": k.summary, "tool": k.tool} for k in card.known.known.values()},
        "left_out": [str(unit) for unit in card.changed],
        "skipped": {str(result.unit): result.skipped for result in card.results if result.skipped},
        "failed": {str(result.unit): result.failed for result in card.results if result.failed},
    }


def placed_data(placed: Placed) -> dict[str, Any]:
    """One line of a ranking."""
    return {"name": placed.name, **share_data(placed.share), "place": placed.place, "of": placed.of}


def share_data(share: Counts) -> dict[str, Any]:
    """Counts as values of JSON: ``schema/score.json``."""
    return {
        "sites": share.judged,
        "exact": share.exact,
        "stopped": share.stopped,
        "lying": share.lying,
        "points": round(share.points, 1),
    }


def miss_command(card: ScoreCard, name: str, trap: int, how: str) -> tuple[str, str] | None:
    """The first program of a trap on which somebody is not exact: what happens there, and the command that shows it."""
    found = card.first_miss(name, trap)
    if found is None:
        return None
    unit, miss = found.unit, found.miss
    what = f"{unit.program} on {unit.arch} by {unit.recipe}, step {miss.step} in {miss.where}: {miss.outcome.words}"
    return what, f"testbed run {unit.program} -a {unit.arch} -r {unit.recipe} --at @{miss.step} {how}".rstrip()


def _unwinder(card: ScoreCard, name: str, how: str) -> dict[str, Any]:
    arches = [arch for arch in card.arches if name in card.everybody(arch)]
    return {
        "name": name,
        "overall": share_data(card.overall(name)),
        "crashes_and_hangs": sum(card.counts(name, arch).dead for arch in arches),
        "arches": {arch: _standing(card, name, arch, None) for arch in arches},
        "traps": [_trap(card, name, arches, trap, how) for trap in card.shown_traps()],
    }


def _standing(card: ScoreCard, name: str, arch: str, trap: int | None) -> dict[str, Any] | None:
    """All phases together, and each."""
    whole = card.place(name, arch, trap=trap)
    if whole is None:
        return None
    phases = {}
    for phase in Phase:
        if card.counts(name, arch, trap, phase).judged and (placed := card.place(name, arch, phase=phase, trap=trap)):
            phases[phase.value] = placed_data(placed)
    return {**placed_data(whole), "phases": phases}


def _trap(card: ScoreCard, name: str, arches: list[str], trap: int, how: str) -> dict[str, Any]:
    first = miss_command(card, name, trap, how)
    return {
        "trap": trap,
        "meaning": TRAPS[trap],
        "arches": {arch: said for arch in arches if (said := _standing(card, name, arch, trap))},
        **({"first": first[0], "command": first[1]} if first else {}),
    }


# Versions of one real unwinder.


def history_page(history: VersionHistory, *, width: int) -> RenderableType:
    """How each version fares by architecture, and what changed between neighbours: of each kind the first site."""
    there = [each for each in history.units if not each.problem]
    arches = list(dict.fromkeys(each.unit.arch for each in there))
    sites = sum(len(each.places) for each in there)
    rows = [
        NumberedRow((name, arch), _by_outcome(history.counts(name, arch)))
        for arch in arches
        for name in history.names
        if history.counts(name, arch)
    ]
    parts: list[RenderableType] = [
        Text(f"{count(len(there), 'program file')}, {count(sites, 'site')}; all versions at the same", style="bold"),
        numbered_table(("version", "architecture"), ("exact", "stops", "lies", "crashes"), rows, width),
    ]
    for older, newer, changes in history.changes():
        parts += [Text(f"\n{older} to {newer}: {_in_short(changes)}", style="bold")]
        for what, some in _kinds(changes):
            if some:
                parts += [Text(f"first {what}: {_in_full(some[0])}"), Text(f"  {_command(some[0], older, newer)}")]
    if left_out := len(history.units) - len(there):
        parts.append(Text(f"{count(left_out, 'unit')} left out: {next(e.problem for e in history.units if e.problem)}"))
    return Group(*parts)


def _by_outcome(found: Counter[Outcome]) -> tuple[str, ...]:
    dead = found[Outcome.CRASHED] + found[Outcome.HUNG]
    lies = sum(number for outcome, number in found.items() if outcome.lying)
    exact = found[Outcome.EXACT]
    return tuple(f"{number:,}" for number in (exact, found.total() - exact - lies - dead, lies, dead))


def _kinds(changes: Sequence[ChangedSite]) -> Sequence[tuple[str, list[ChangedSite]]]:
    """Changes by what became of a site: exact now, not any more, or not exact in either version."""
    return (
        ("repaired", [each for each in changes if each.repaired]),
        ("broken", [each for each in changes if each.broke]),
        ("otherwise", [each for each in changes if not each.repaired and not each.broke]),
    )


def _in_short(changes: Sequence[ChangedSite]) -> str:
    told = ", ".join(f"{len(some):,} {what}" for what, some in _kinds(changes) if some)
    return f"{count(len(changes), 'site')} changed ({told})" if changes else "no site changed"


def _in_full(change: ChangedSite) -> str:
    unit = change.unit
    outcomes = f"{change.before.value}, then {change.after.value}"
    return f"{unit.program} on {unit.arch} by {unit.recipe}, {change.where}: {outcomes}"


def _command(change: ChangedSite, *names: str) -> str:
    unit = change.unit
    asked = " ".join(f"-u {name}" for name in names)
    return f"testbed run {unit.program} -a {unit.arch} -r {unit.recipe} --at @{change.step} {asked}"
