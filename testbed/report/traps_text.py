"""The traps: which programs show each, where it happened, and how the strategies fare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from testbed.campaign.results import Cell
from testbed.program.model import Program
from testbed.words.outcome import Outcome
from testbed.words.traps import TRAPS


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


def print_traps(console: Console, programs: Mapping[str, Program]) -> None:
    """Print a line per trap: its number, what goes wrong, the programs, the references."""
    table = Table(
        "trap", "what goes wrong", "programs", "happened in", box=SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for trap in shown_traps(programs):
        names = ", ".join(program.name for program in trap.programs) or "-"
        table.add_row(str(trap.number), TRAPS[trap.number], names, ", ".join(trap.references) or "-")
    console.print(table)


def traps_markdown(programs: Mapping[str, Program], cells: Iterable[Cell]) -> str:
    """The traps as a Markdown page; ``cells`` are the judged ones of the programs that show them."""
    by_program: dict[str, list[Cell]] = {}
    for cell in cells:
        by_program.setdefault(cell.unit.program, []).append(cell)
    lines = [
        "# Traps",
        "",
        "Mistakes that real unwinders and real tables made, and the programs that show each. Every number comes from",
        "runs: the share of executed instructions, over all architectures and recipes of these programs, at which a",
        "strategy lies, or stops honestly where it could have gone on. *Survives*: exact at every instruction. One",
        "that lies may do so for another reason: `testbed run PROGRAM` says at which instruction, and why.",
        "",
        "| | trap | programs | lie | stop | survive | happened in |",
        "|---|---|---|---|---|---|---|",
    ]
    for trap in shown_traps(programs):
        names = ", ".join(f"`{program.name}`" for program in trap.programs) or "-"
        of_trap = [cell for program in trap.programs for cell in by_program.get(program.name, ())]
        references = ", ".join(_link(reference) for reference in trap.references) or "-"
        what = " | ".join((TRAPS[trap.number], names, *_fates(of_trap), references))
        lines.append(f"| {trap.number} | {what} |")
    return "\n".join(lines) + "\n"


def _fates(cells: Iterable[Cell]) -> tuple[str, str, str]:
    """The strategies that lie, that stop, that survive."""
    sums: dict[str, tuple[int, int, int]] = {}
    for cell in cells:
        sites, lying, honest = sums.get(cell.unwinder, (0, 0, 0))
        stops = sum(
            count for outcome, count in cell.outcomes.items() if outcome.honest and outcome is not Outcome.EXACT
        )
        sums[cell.unwinder] = (sites + cell.sites - cell.transition, lying + cell.lying, honest + stops)
    lie = [f"`{name}` {_percent(lying, sites)}" for name, (sites, lying, _) in sums.items() if lying]
    stop = [f"`{name}` {_percent(stops, sites)}" for name, (sites, lying, stops) in sums.items() if stops and not lying]
    survive = [f"`{name}`" for name, (_, lying, stops) in sums.items() if not lying and not stops]
    return ", ".join(lie) or "-", ", ".join(stop) or "-", ", ".join(survive) or "-"


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "< 1 %"


def _link(reference: str) -> str:
    if reference.startswith("https://"):
        return f"[{reference.removeprefix('https://').partition('/')[0]}]({reference})"
    repository, _, number = reference.partition("#")
    return f"[{reference}](https://github.com/{repository}/issues/{number})"
