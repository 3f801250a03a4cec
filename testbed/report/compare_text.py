"""Several unwind formats of one file beside each other on the terminal: where they agree, where not, and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.arch import Arch
from testbed.contract.rows import SameValue, UnwindRow
from testbed.contract.unwinder import Limit
from testbed.report.phrases import count, share
from testbed.report.table_text import LEGEND, rule_text
from testbed.tables.compare import Agreement, Comparison, RowSpan, Site


def comparison_page(comparison: Comparison, *, why_not_run: str = "") -> RenderableType:
    """What agrees, as numbers; then every stretch of code where something has to be said, function by function."""
    whole = sum(span.end - span.start for span in comparison.spans)
    title = f"{comparison.image}: {', '.join(comparison.names)} side by side, {count(whole, 'byte')} of code"
    parts: list[RenderableType] = [Text(title, style="bold"), _summary(comparison, whole)]
    if why_not_run:
        parts.append(Text(f"Not run: {why_not_run}"))
    function: str | None = None
    for span in comparison.spans:
        if span.is_settled:
            continue
        if span.function != function:
            parts.append(Text(f"\n{span.function or '(no symbol)'}", style="bold"))
            function = span.function
        parts += _span(span, comparison.image.arch)
    limits = dict.fromkeys(_limits(comparison))
    if limits:
        parts.append(Text("\nDeclared limits of the formats:", style="bold"))
        parts += [Text(f"{name}, {li.mechanism}: {li.because} ({li.reference})") for name, li in limits]
    return Group(*parts, Text(f"\n{LEGEND}", style="dim"))


def _summary(comparison: Comparison, whole: int) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("the formats that have a row")
    table.add_column("bytes", justify="right")
    table.add_column("of code", justify="right")
    for agreement in Agreement:
        size = comparison.bytes_of(agreement)
        table.add_row(agreement.value, f"{size:,}", share(size, whole))
    for name in comparison.names:
        size = comparison.silent_bytes(name)
        if size:
            table.add_row(f"{name} has no row", f"{size:,}", share(size, whole))
    return table


def _span(span: RowSpan, arch: Arch) -> Iterator[RenderableType]:
    head = f"  {span.start:x}..{span.end:x}  "
    if span.agreement is Agreement.SAME or (span.silent and span.agreement is Agreement.EQUAL):
        yield Text(f"{head}nothing in {', '.join(span.silent)}; {span.agreement.value} in the rest")
    else:
        yield Text(f"{head}{span.agreement.value}", style="bold red" if span.agreement is Agreement.DIFFERENT else "")
    for name, row in span.rows.items():
        yield Text(f"    {name:<14} {_row(row, arch):<22}{_answer(name, span.site)}")
    if span.site:
        yield Text(f"    {'truth':<14} {'':<22}{_truth(span.site)}   at step {span.site.step}")


def _row(row: UnwindRow | None, arch: Arch) -> str:
    if row is None:
        return "(no row)"
    default = SameValue() if row.return_address == arch.link else None
    return f"CFA {rule_text(row.cfa)}, ra {rule_text(row.registers.get(row.return_address, default))}"


def _answer(name: str, site: Site | None) -> str:
    if site is None or name not in site.answers:
        return ""
    answer = site.answers[name]
    if answer.stopped:
        return f"stops: {answer.stopped}"
    said = _pair(answer.cfa, answer.caller)
    if name not in site.wrong:
        return f"{said}   true"
    return f"{said}   false, {answer.because.mechanism if answer.because else 'UNEXPLAINED'}"


def _truth(site: Site) -> str:
    return _pair(site.true_cfa, site.true_caller)


def _pair(cfa: int | None, caller: int | None) -> str:
    return f"CFA {'-' if cfa is None else f'{cfa:#x}'}, {'the root' if caller is None else f'to {caller:#x}'}"


def _limits(comparison: Comparison) -> Iterator[tuple[str, Limit]]:
    for span in comparison.spans:
        for name, answer in span.site.answers.items() if span.site else ():
            if answer.because is not None:
                yield name, answer.because
