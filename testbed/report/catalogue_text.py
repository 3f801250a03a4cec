"""The catalogues on the terminal: a name and a sentence per line, and what each exists for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from testbed.report.narrow_tables import WordTable

if TYPE_CHECKING:  # what is listed is given: nothing else is loaded for one catalogue
    from rich.console import RenderableType

    from testbed.arch import Arch
    from testbed.build.recipes import Recipe
    from testbed.campaign.shares import Share
    from testbed.contract.unwinder import Limit, Unwinder
    from testbed.program.model import Program
    from testbed.referee import Referee


def programs_table(programs: Mapping[str, Program]) -> WordTable:
    rows = ((p.name, ", ".join(p.sources), p.summary) for p in programs.values())
    return _table(("program", "sources", "what is interesting"), rows)


def unwinders_table(unwinders: Mapping[str, Unwinder]) -> WordTable:
    needs = {u.name: ", ".join(sorted(u.needs | (u.arches or set()))) for u in unwinders.values()}
    return _table(("strategy", "needs", "what it is"), ((n, needs[n] or "-", u.summary) for n, u in unwinders.items()))


def referees_table(referees: Mapping[str, Referee]) -> WordTable:
    rows = ((r.name, ", ".join(u.name for u in r.unwinders), f"{r.summary}\n{_where(r)}") for r in referees.values())
    return _table(("referee", "strategies", "what it is, and where"), rows)


def recipes_table(recipes: Mapping[str, Recipe]) -> WordTable:
    return _table(("recipe", "builds", "how"), ((r.name, r.tool.takes.value, r.summary) for r in recipes.values()))


def arches_table(arches: Mapping[str, Arch]) -> WordTable:
    rows = ((a.name, ", ".join(isa.name for isa in a.isas), ", ".join(a.aliases)) for a in arches.values())
    return _table(("architecture", "instruction sets", "also called"), rows)


def needed_by_recipes(arches: Iterable[Arch]) -> str:
    """What has to be installed for recipes beyond the wheels that come with the testbed."""
    from testbed.build.compile import OTHER_ZIG
    from testbed.build.gnu import is_installed, package_of

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


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> WordTable:
    return WordTable(head, tuple(rows))


def _where(referee: Referee) -> str:
    found = referee.find()
    return str(found) if found else f"not installed: {referee.package}"


# Limits on the terminal: what each strategy cannot know, and how much that would hide.


def limits_overview(unwinders: Iterable[Unwinder]) -> Table:
    """A row per strategy: how many limits it declares, counted as `limits_told` tells them, and about what: the first
    trait of each, with how many there are of it if several."""
    table = Table("strategy", "limits", "about", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.columns[0].no_wrap = True
    table.columns[1].justify = "right"
    for unwinder in unwinders:
        told = _told_once(unwinder)
        about = Counter(limits[0].trait.name for limits in told.values())
        shown = ", ".join(name if count == 1 else f"{name}×{count}" for name, count in about.most_common())
        table.add_row(unwinder.name, str(len(told)), shown or "none")
    return table


def limits_told(unwinder: Unwinder) -> Iterator[RenderableType]:
    """One strategy's limits: each mechanism with its reason once, where it shows as which outcomes, who says so."""
    alike = _told_once(unwinder)
    yield Text(f"{unwinder.name}: {len(alike)} {'limit' if len(alike) == 1 else 'limits'}", style="bold")
    for (mechanism, because, reference), limits in alike.items():
        yield Padding(Text(mechanism), (1, 0, 0, 2))
        yield Padding(Text(because), (0, 0, 0, 4))
        for limit in limits:
            where = ", ".join(sorted(limit.arches)) if limit.arches else "everywhere"
            shown = ", ".join(sorted(outcome.value for outcome in limit.outcomes))
            yield Padding(Text(f"{where}: {shown}"), (0, 0, 0, 4))
        yield Padding(Text(reference, overflow="fold"), (0, 0, 0, 4))
    yield Text()


def _told_once(unwinder: Unwinder) -> dict[tuple[str, str, str], list[Limit]]:
    """A strategy's limits by what they say: one may be declared for each architecture apart, and is one."""
    alike: dict[tuple[str, str, str], list[Limit]] = {}
    for limit in unwinder.limits:
        alike.setdefault((limit.mechanism, limit.because, limit.reference), []).append(limit)
    return alike


def shares_table(found: Mapping[tuple[str, str], Share], names: Sequence[str], arches: Sequence[str]) -> Table:
    """The share of all sites at which a made-up lie would be explained, and of those without declared tables; of these,
    where the strategy really lies, and where it is not right ("-": it is not installed)."""
    table = Table("", *arches, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.columns[0].no_wrap = True
    table.title = "% of sites: a lie explained / the same, tables right / a lie told / a lie told, or no answer"
    for name in names:
        each = [found.get((name, arch)) for arch in arches]
        if any(each):
            table.add_row(name, *(_shares(share) if share else "" for share in each))
    return table


def _shares(share: Share) -> str:
    return " / ".join(_percent(each) for each in (share.of_all, share.of_plain, share.of_judged, share.not_right))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


# The catalogues as plain data, the shape of ``testbed list --json`` (``schema/list.json``): a name and facts each.

CatalogueData = list[dict[str, Any]]


def programs_data(programs: Mapping[str, Program]) -> CatalogueData:
    return [{"name": p.name, "summary": p.summary, "sources": list(p.sources)} for p in programs.values()]


def unwinders_data(unwinders: Mapping[str, Unwinder]) -> CatalogueData:
    return [_unwinder(unwinder) for unwinder in unwinders.values()]


def _unwinder(unwinder: Unwinder) -> dict[str, Any]:
    arches = sorted(unwinder.arches) if unwinder.arches else None
    return {"name": unwinder.name, "summary": unwinder.summary, "arches": arches, "needs": sorted(unwinder.needs)}


def referees_data(referees: Mapping[str, Referee]) -> CatalogueData:
    found: CatalogueData = []
    for referee in referees.values():
        here = referee.find()
        found.append(
            {
                "name": referee.name,
                "summary": referee.summary,
                "strategies": [each.name for each in referee.unwinders],
                "found": str(here) if here else None,
                "package": referee.package,
            }
        )
    return found


def recipes_data(recipes: Mapping[str, Recipe]) -> CatalogueData:
    return [{"name": r.name, "summary": r.summary, "builds": r.tool.takes.value} for r in recipes.values()]


def arches_data(arches: Mapping[str, Arch]) -> CatalogueData:
    return [
        {"name": a.name, "instruction_sets": [isa.name for isa in a.isas], "aliases": list(a.aliases)}
        for a in arches.values()
    ]


def limits_data(unwinders: Iterable[Unwinder], arches: Iterable[Arch]) -> CatalogueData:
    return [
        {
            "name": unwinder.name,
            "arch": arch.name,
            "mechanism": limit.mechanism,
            "outcomes": sorted(outcome.value for outcome in limit.outcomes),
            "because": limit.because,
            "reference": limit.reference,
        }
        for unwinder in unwinders
        for arch in arches
        for limit in unwinder.limits_on(arch)
    ]
