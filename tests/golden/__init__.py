"""Golden counts: how many sites of each cell are exact, and by which clause the others go wrong. Never a pc.

A *set* of counts is a folder. `OURS` is the set of the matrix, `REFEREES` that of the real unwinders::

    programs/NAME.json   one file per program: {"ARCH-RECIPE": {"UNWINDER": counts}}, a line per cell
    summary.txt          the sums over all programs and recipes, per unwinder and architecture: what a person reviews
    tools.json           the versions of the tools that made what was counted: {"ARCH": "versions"}; of the
                         real unwinders themselves, {"UNWINDER": "version"}

``pytest --update-golden`` writes all three, the summary from the files of the programs (`write_summary`). The counts of
a cell are a JSON object: ``sites``, ``exact`` and ``transition`` are numbers of sites, ``callers`` is [said, true,
found], ``failed`` is {"clause outcome": sites} of those that are not exact, or {"outcome": sites} where no clause
fails. ``luck`` and ``open`` are numbers of sites by `Accord`, and left out where there are none.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from testbed.arch import ARCHES
from testbed.campaign.cells import Cell, Unit

Counts = Mapping[str, Any]
UPDATE = "pytest --update-golden tests/campaign/test_matrix.py"
UPDATE_REFEREES = "pytest -n0 --update-golden tests/referee/test_golden.py"


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A set of golden counts, by the folder that holds it; ``update`` is the command that writes it."""

    folder: Path
    update: str

    @property
    def summary(self) -> Path:
        return self.folder / "summary.txt"

    @property
    def tools(self) -> Path:
        return self.folder / "tools.json"

    def program(self, name: str) -> Path:
        return self.folder / "programs" / f"{name}.json"

    def programs(self) -> tuple[str, ...]:
        """The programs that have a file, by name."""
        return tuple(sorted(path.stem for path in self.folder.glob("programs/*.json")))


OURS = GoldenSet(Path(__file__).parent, UPDATE)
REFEREES = GoldenSet(Path(__file__).parent / "referees", UPDATE_REFEREES)


def counted(cell: Cell) -> Counts:
    """The golden counts of a cell."""
    return {
        "sites": cell.sites,
        "exact": cell.exact,
        "transition": cell.transition,
        "callers": [cell.callers.said, cell.callers.true, cell.callers.found],
        "failed": dict(sorted(_failed(cell).items())),
        **{name: number for name in _ACCORDS if (number := getattr(cell, name))},
    }


def _failed(cell: Cell) -> Counter[str]:
    found = Counter[str]()
    for kind, number in cell.kinds.items():
        if not kind.exact:
            found[f"{kind.clause} {kind.outcome.value}".strip()] += number
    return found


@cache
def of_program(golden: GoldenSet, program: str) -> Mapping[str, Mapping[str, Counts]]:
    """What a program's file says, {"ARCH-RECIPE": {unwinder: counts}}; nothing where there is none."""
    path = golden.program(program)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def of_unit(golden: GoldenSet, unit: Unit) -> Mapping[str, Counts]:
    """The counts of a unit, by unwinder; nothing where the unit is not in the set."""
    return of_program(golden, unit.program).get(_key(unit), {})


def all_cells(golden: GoldenSet) -> Iterator[tuple[Unit, str, Counts]]:
    """Every cell of a set: unit, unwinder, counts."""
    for program in golden.programs():
        for key, cells in of_program(golden, program).items():
            arch, _, recipe = key.partition("-")
            for unwinder, counts in cells.items():
                yield Unit(program, arch, recipe), unwinder, counts


@cache
def tools_of_set(golden: GoldenSet) -> Mapping[str, str]:
    """The versions of the tools that made what a set counts."""
    return json.loads(golden.tools.read_text(encoding="utf-8")) if golden.tools.exists() else {}


def write_program(golden: GoldenSet, program: str, counts: Mapping[Unit, Mapping[str, Counts]]) -> None:
    """Write a program's file, in the order given; without any counts there is no file."""
    units = {
        _key(unit): ",\n".join(f'  "{unwinder}": {json.dumps(each)}' for unwinder, each in cells.items())
        for unit, cells in counts.items()
        if cells
    }
    path = golden.program(program)
    if units:
        path.parent.mkdir(parents=True, exist_ok=True)
        blocks = ",\n".join(f' "{key}": {{\n{lines}\n }}' for key, lines in units.items())
        path.write_text(f"{{\n{blocks}\n}}\n", encoding="utf-8")
    else:
        path.unlink(missing_ok=True)
    of_program.cache_clear()


def write_tools(golden: GoldenSet, tools: Mapping[str, str]) -> None:
    """Write the versions of the tools."""
    golden.tools.write_text(json.dumps(tools, indent=1) + "\n", encoding="utf-8")
    tools_of_set.cache_clear()


def write_summary(golden: GoldenSet) -> None:
    """Write the summary of what the files of the programs say."""
    golden.summary.write_text(summary_of(all_cells(golden), golden.update), encoding="utf-8")


def summary_of(cells: Iterable[tuple[Unit, str, Counts]], update: str = UPDATE) -> str:
    """The sums over all programs and recipes: a line per unwinder and count, a column per architecture.

    Lines are sorted and columns have fixed widths, so that a line changes only where one of its counts does. ``-``:
    the unwinder has no cell on that architecture, or no site there shows that pair.
    """
    sums: dict[str, dict[str, Counter[str]]] = {}
    for unit, unwinder, counts in cells:
        of_arch = sums.setdefault(unwinder, {}).setdefault(unit.arch, Counter())
        of_arch.update(cells=1, sites=counts["sites"], exact=counts["exact"], transition=counts["transition"])
        of_arch.update(dict(zip(_CALLERS, counts["callers"], strict=True)))
        of_arch.update(counts["failed"])
        of_arch.update({name: counts[name] for name in _ACCORDS if name in counts})
    lines = [f"# {update} writes this from the counts of the programs.", _line("unwinder", "count", ARCHES)]
    for unwinder in sorted(sums):
        by_arch = [sums[unwinder].get(arch, Counter()) for arch in ARCHES]
        pairs = sorted({name for counter in by_arch for name in counter} - {*_TOTALS, *_ACCORDS})
        for name in (*_TOTALS, *pairs, *_ACCORDS):
            lines.append(_line(unwinder, name, (str(each[name]) if name in each else "-" for each in by_arch)))
    return "\n".join(lines) + "\n"


_CALLERS = ("callers said", "callers true", "callers found")
_ACCORDS = ("luck", "open", "undecided")
_TOTALS = ("cells", "sites", "exact", "transition", *_CALLERS)


def _key(unit: Unit) -> str:
    return f"{unit.arch}-{unit.recipe}"


def _line(unwinder: str, name: str, columns: Iterable[str]) -> str:
    return f"{unwinder:<24}{name:<46}" + "".join(f"{column:>10}" for column in columns)
