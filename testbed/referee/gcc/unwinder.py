"""The other compiler that writes the tables of the C programs: its findings are shown by unwinders of ours."""

from __future__ import annotations

from testbed.arch import ARCHES
from testbed.build.compile import GENERATION, is_installed, package_of
from testbed.referee.model import Found, Referee, read_findings

FINDINGS = read_findings(__file__)


def find() -> Found | None:
    """GCC for every architecture with a finding."""
    there = all(is_installed(ARCHES[finding.arch]) for finding in FINDINGS)
    return Found(GENERATION, "the Debian packages") if there else None


REFEREE = Referee(
    name="gcc",
    summary="no unwinder: the other compiler that wrote the tables of the C programs",
    package="apt-get install " + " ".join(dict.fromkeys(package_of(ARCHES[finding.arch]) for finding in FINDINGS)),
    find=find,
    unwinders=(),
    findings=FINDINGS,
)
