"""The traps: which programs show each, where it happened, and how the strategies fare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from testbed.program.model import Program
from testbed.report.narrow_tables import WordTable
from testbed.report.trap_fates import ALWAYS, ShownCell, TrapFate, controls_of, fates
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
    rows = tuple(
        (
            str(trap.number),
            TRAPS[trap.number],
            ", ".join(program.name for program in trap.programs) or "-",
            ", ".join(trap.references) or "-",
        )
        for trap in shown_traps(programs)
    )
    console.print(WordTable(("trap", "what goes wrong", "programs", "happened in"), rows), crop=False)


_HEAD = """# Traps

Mistakes that real unwinders and real tables made, and the programs that show each. Every number comes from runs, over
all architectures and recipes of these programs.

A strategy may lie on such a program for another reason: its frame record is not linked yet, as in every function. So
beside each trap stand *controls*: ordinary programs, and twins with right tables. What a strategy gets wrong there by
the same mechanism is not counted against the trap:

- **caught**: lies by a mechanism that no control shows; at that share of the executed instructions
- **stops**: honest stops by such a mechanism, and no such lie
- **as ever**: not exact, and for no other reason than on the controls
- **survive**: exact at every instruction

The command shows who is caught most: `testbed run` says at which instruction, and why.
"""


def traps_markdown(programs: Mapping[str, Program], cells: Iterable[ShownCell]) -> str:
    """The traps as a Markdown page; ``cells`` are the judged ones of the programs that show them, and of controls."""
    known = list(cells)
    return "\n".join([_HEAD, *("\n".join(_section(trap, known)) for trap in shown_traps(programs))])


def _section(trap: TrapInCorpus, cells: Sequence[ShownCell]) -> Iterator[str]:
    yield f"## {trap.number}. {TRAPS[trap.number]}\n"
    names = [program.name for program in trap.programs]
    controls = controls_of(trap.number, trap.programs)
    yield f"- programs: {_names(names)}; controls: {_names(controls)}"
    if trap.number in ALWAYS:
        yield f"- no controls for {_names(sorted(ALWAYS[trap.number]))}: to these all code is like that"
    found = fates(trap.number, names, controls, cells)
    for word, share_of in (("caught", "lies"), ("stops", "stops")):
        some = sorted((n for n in found if found[n].word == word), key=lambda n: -getattr(found[n], share_of))
        shares = (f"`{name}` {_percent(getattr(found[name], share_of), found[name].sites)}" for name in some)
        yield f"- {word}: {', '.join(shares) or 'nobody'}"
    for word in ("as ever", "survives"):
        yield f"- {word.removesuffix('s')}: {_names(n for n in found if found[n].word == word) or 'nobody'}"
    yield f"- happened in: {', '.join(_link(reference) for reference in trap.references) or '-'}\n"
    yield f"```\n{_command(names, found)}\n```\n"


def _command(names: Sequence[str], found: Mapping[str, TrapFate]) -> str:
    """The run that shows most of what the trap does."""
    caught = [name for name in found if found[name].clearest is not None]
    if not caught:
        return f"testbed run {names[0]}" if names else "testbed list programs --traps"
    worst = max(caught, key=lambda name: (found[name].lies, found[name].stops))
    unit = found[worst].clearest
    assert unit is not None
    return f"testbed run {unit.program} --arch {unit.arch} --recipe {unit.recipe} -u {worst}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "< 1 %"


def _link(reference: str) -> str:
    if reference.startswith("https://"):
        return f"[{reference.removeprefix('https://').partition('/')[0]}]({reference})"
    repository, _, number = reference.partition("#")
    return f"[{reference}](https://github.com/{repository}/issues/{number})"
