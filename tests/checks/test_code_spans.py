"""Functions as ranges: by the sizes of symbols, up to the next function, and where nothing has a name."""

from __future__ import annotations

from pathlib import Path

from testbed.arch import ARCHES
from testbed.checks.table_findings import CodeSpan, span_at
from testbed.image import Image, Segment, Symbol


def image(*symbols: Symbol) -> Image:
    code = Segment(0x1000, bytes(0x100), 0x100, readable=True, writable=False, executable=True)
    return Image(Path("a"), ARCHES["x86_64"], 0x1000, (code,), {}, tuple(sorted(symbols, key=lambda s: s.address)))


def function(name: str, address: int, size: int) -> Symbol:
    return Symbol(name, address, size, is_function=True)


def test_a_function_with_a_size() -> None:
    assert span_at(image(function("f", 0x1010, 0x20)), 0x102F) == CodeSpan("f", 0x1010, 0x1030)


def test_a_function_without_a_size_reaches_to_the_next_one() -> None:
    code = image(function("f", 0x1010, 0), Symbol("loop", 0x1018, 0, is_function=False), function("g", 0x1040, 4))
    assert span_at(code, 0x1010) == span_at(code, 0x103F) == CodeSpan("f", 0x1010, 0x1040)
    assert span_at(image(function("f", 0x1010, 0)), 0x10FF) == CodeSpan("f", 0x1010, 0x1100)


def test_a_name_that_nobody_marked_as_a_function() -> None:
    code = image(
        Symbol("entry", 0x1020, 0, is_function=False),
        Symbol("here", 0x1028, 0, is_function=False, local=True),
        Symbol("table", 0x1030, 8, is_function=False, is_data=True),
    )
    assert span_at(code, 0x1034) == CodeSpan("entry", 0x1020, 0x1100)


def test_code_without_a_name_lies_between_functions() -> None:
    code = image(function("f", 0x1010, 0x10), function("g", 0x1040, 4))
    assert span_at(code, 0x1024) == CodeSpan("", 0x1020, 0x1040)
    assert span_at(code, 0x1044) == CodeSpan("", 0x1044, 0x1100)
    assert span_at(code, 0x5000) == CodeSpan("", 0x5000, 0x5001)
