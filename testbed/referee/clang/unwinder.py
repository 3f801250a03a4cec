"""The compiler that writes the tables of the C programs: no unwinder, but what believes its tables lies with them.

Its findings are shown by unwinders of ours, which read what is there.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from testbed.referee.model import Found, Referee, read_findings


def find() -> Found | None:
    """The compiler inside the `ziglang` wheel."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    try:
        return Found(f"of ziglang {version('ziglang')}", spec.origin)
    except PackageNotFoundError:
        return None


REFEREE = Referee(
    name="clang",
    summary="no unwinder: the compiler that wrote the tables of the C programs",
    package="pip install ziglang",
    find=find,
    unwinders=(),
    findings=read_findings(__file__),
)
