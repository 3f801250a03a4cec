"""Call shapes for property tests: every valid one that makes few calls."""

from __future__ import annotations

from hypothesis import strategies as st

from testbed.generate.evaluate import evaluate
from testbed.generate.shape import ALIGNMENTS, MOST_FRAME, How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.words.errors import DirectorError


@st.composite
def functions(draw: st.DrawFn, number: int, count: int) -> ShapeFunction:
    behind = st.integers(number + 1, count - 1)
    is_last = number + 1 == count
    calls = [] if is_last else draw(st.lists(st.builds(ShapeCall, st.sampled_from(How), behind), max_size=3))
    return ShapeFunction(
        frame=8 * draw(st.one_of(st.integers(0, 20), st.integers(0, MOST_FRAME // 8))),
        saved=draw(st.integers(0, 6)),
        pointer=draw(st.booleans()),
        sub_first=draw(st.booleans()),
        alloca=draw(st.one_of(st.just(0), st.integers(1, 64))),
        vla=draw(st.one_of(st.just(0), st.integers(1, 64))),
        align=draw(st.sampled_from((0, 0, *ALIGNMENTS))),
        early=draw(st.booleans()),
        ends=draw(st.booleans()),
        recursion=draw(st.sampled_from((0, 0, 0, 1, 2))),
        calls=tuple(calls),
        tail=None if is_last else draw(st.one_of(st.none(), behind)),
        stops=draw(st.sampled_from((False, False, False, True))),
    )


@st.composite
def _any_shapes(draw: st.DrawFn) -> Shape:
    count = draw(st.integers(1, 4))
    return Shape(tuple(draw(functions(number, count)) for number in range(count)))


def _runs(shape: Shape) -> bool:
    if why_not(shape) is not None:
        return False
    try:
        evaluate(shape)
    except DirectorError:
        return False
    return True


def shapes() -> st.SearchUnwinder[Shape]:
    return _any_shapes().filter(_runs)
