"""docs/results/referees.md: how real unwinders fare."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.referee import Referee
from testbed.report.phrases import markdown_table, share
from testbed.verdicts.verdict import NOTHING_COUNTED, Callers, Counts, SiteKind
from testbed.words.outcome import Outcome

_HEAD = """# Real unwinders

How software that everybody runs fares at the same snapshots as our unwinders, judged by the same truth. Written by
`docs/regenerate.py --referees` on {date} from

```
{command}
```

which is {sites:,} judged sites: every program of the corpus, one unit for each instruction set that it is built for,
and of each unit at most so many instructions, each at its first visit. They are the same ones in every run. What tools
say is kept, so a second run takes as long as judging it does, some minutes; the first takes an hour or two on one core.
Every instruction of every unit, by every recipe, is a job for a night, and goes on where it was interrupted:

```
testbed matrix --referees
```

Each field: the share of sites in percent that are *exact* / an honest *stop* (with crashes and hangs: `(X n)`) / a
*lie*; "-" where the tool does not exist for an instruction set or finds no table of its kind in any file. No
explanation is claimed of what is not exact, but of a tool that reads one table alone and has no fallback (`testbed list
assumptions`): outcomes are counted, and what was looked into is among the [findings](../FINDINGS.md).

These are programs made to be hard, not a sample of what people run. [Real processes](#real-processes) stand below; our
own unwinders are judged at every step of those: [processes-shares.md](processes-shares.md).
"""
PAGE = Path(__file__).with_name("results") / "referees.md"
_SECTION = re.compile(r"<!-- processes -->\n.*?<!-- end -->\n", re.S)


def with_section(page: str, section: str) -> str:
    """The page with its section on real processes made anew: `python -m tests.process.referees` writes it."""
    block = f"<!-- processes -->\n{section}\n<!-- end -->\n"
    return _SECTION.sub(lambda _: block, page) if _SECTION.search(page) else f"{page}\n{block}"


def section_of(page: str) -> str:
    """That section of a page, with its marks; "" where there is none."""
    found = _SECTION.search(page)
    return found[0] if found else ""


def referees_markdown(cells: Iterable[Mapping[str, Any]], referees: Mapping[str, Referee], command: str) -> str:
    """The page: a line per tool and mode, a column per instruction set, with the versions that were asked.

    ``cells`` are those of a matrix as JSON, which ``command`` judged.
    """
    lines: dict[str, dict[str, Counts]] = {}
    for cell in cells:
        by_isa = lines.setdefault(cell["unwinder"], {})
        isa = isa_of(cell["recipe"], cell["arch"])
        kinds = {SiteKind(Outcome(name)): number for name, number in cell["outcomes"].items()}
        callers = Callers(*(cell["callers"][name] for name in ("said", "true", "found")))
        by_isa[isa] = by_isa.get(isa, NOTHING_COUNTED) + Counts(kinds, callers=callers)
    sites = sum(counts.judged for by_isa in lines.values() for counts in by_isa.values())
    isas = [isa.name for arch in ARCHES.values() for isa in arch.isas]
    text = [_HEAD.format(command=command, sites=sites, date=time.strftime("%Y-%m-%d", time.gmtime()))]
    rows = []
    for referee in referees.values():
        for unwinder in referee.unwinders:
            fields = (_field(lines.get(unwinder.name, {}).get(isa, NOTHING_COUNTED)) for isa in isas)
            rows.append((referee.name, f"`{unwinder.name}`", unwinder.summary, *fields))
    text.append(markdown_table(("tool", "unwinder", "what it is", *isas), rows))
    text += ["", *_callers(lines, isas), "", "## Versions", ""]
    for referee in referees.values():
        found = referee.find()
        version = found.version if found else "not installed where this page was written"
        text.append(f"- {referee.name}: {version}; {referee.package}")
    return "\n".join(text) + "\n"


_CALLERS = """## Callers

The share of the callers said that are true (precision) / of the true ones that are said (recall), by pc alone:
a tool that lists every caller and does not recognise the end of the stack has all of them.
"""


def _callers(lines: Mapping[str, Mapping[str, Counts]], isas: Sequence[str]) -> Iterator[str]:
    """How much of the callers each found, whatever it made of the end of the stack and of registers."""
    yield _CALLERS
    rows = []
    for name, by_isa in lines.items():
        found = [by_isa[isa].callers if isa in by_isa else None for isa in isas]
        words = (f"{share(c.found, c.said)} / {share(c.found, c.true)}" if c else "-" for c in found)
        rows.append((f"`{name}`", *words))
    yield markdown_table(("unwinder", *isas), rows)


def isa_of(recipe: str, arch: str) -> str:
    """The instruction set that a recipe builds for on an architecture."""
    isa = RECIPES[recipe].isa_on(ARCHES[arch])
    assert isa is not None, (recipe, arch)
    return isa.name


def _field(counts: Counts) -> str:
    if not counts.judged:
        return "-"
    shares = " / ".join(f"{100 * n / counts.judged:.1f}" for n in (counts.exact, counts.stopped, counts.lying))
    return shares + (f" (X {counts.dead})" if counts.dead else "")
