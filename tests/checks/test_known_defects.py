"""Defects of Debian's glibc 2.36 that are known from watching whole programs: the command finds them by name."""

from __future__ import annotations

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FindingKind, HowKnown
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from tests.checks.libraries import FOLDERS

# By architecture and function: what is found of it. `clone` ends its entry before the system call; `swapcontext` loads
# another context's registers without a directive; arm64's `rawmemchr` keeps the return address in x15 and says so for
# the instructions around, too.
KNOWN = {
    "x86_64": {"swapcontext": FindingKind.WRONG_ROW, "clone": FindingKind.NO_ROW},
    "arm64": {"swapcontext": FindingKind.WRONG_ROW, "rawmemchr": FindingKind.WRONG_ROW},
}


@pytest.mark.parametrize("arch", KNOWN)
def test_known_defects_of_glibc_are_found_by_name(arch: str) -> None:
    path = FOLDERS[arch] / "libc.so.6"
    if not path.exists() or b"GNU C Library (Debian GLIBC 2.36" not in path.read_bytes():
        pytest.skip("needs Debian 12's libc6 (for arm64: libc6-arm64-cross)")
    found = check_file(path, CheckOptions(functions=tuple(KNOWN[arch])), READERS)
    assert {(each.function, each.kind) for each in found.findings} == set(KNOWN[arch].items())
    executed = {each.function for each in found.findings if each.evidence is HowKnown.EXECUTED}
    assert executed == set(KNOWN[arch])
