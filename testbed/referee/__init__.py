"""The catalogue of real unwinders. One more: one file (or folder), and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.contract.unwinder import Unwinder
from testbed.referee.clang.strategy import REFEREE as CLANG
from testbed.referee.drgn.strategy import REFEREE as DRGN
from testbed.referee.gdb.strategy import GDB
from testbed.referee.libdw.strategy import REFEREE as LIBDW
from testbed.referee.libunwind.strategy import REFEREE as LIBUNWIND
from testbed.referee.lldb.strategy import LLDB
from testbed.referee.llvm_libunwind.strategy import REFEREE as LLVM_LIBUNWIND
from testbed.referee.minidump_stackwalk.strategy import REFEREE as MINIDUMP_STACKWALK
from testbed.referee.model import Finding, Found, Referee
from testbed.referee.profilers.strategy import GLIBC_BACKTRACE, LIBGCC_BACKTRACE, LLVM_BACKTRACE
from testbed.referee.symbolic.strategy import REFEREE as SYMBOLIC

__all__ = ["REFEREES", "Finding", "Found", "Referee", "present"]

_ALL: tuple[Referee, ...] = (
    LIBDW,
    LIBUNWIND,
    LLVM_LIBUNWIND,
    GDB,
    LLDB,
    DRGN,
    SYMBOLIC,
    MINIDUMP_STACKWALK,
    LIBGCC_BACKTRACE,
    GLIBC_BACKTRACE,
    LLVM_BACKTRACE,
    CLANG,
)
REFEREES: Mapping[str, Referee] = MappingProxyType({referee.name: referee for referee in _ALL})


def present() -> Mapping[str, Unwinder]:
    """The strategies of the referees that are installed, by name."""
    there = [referee for referee in REFEREES.values() if referee.find() is not None]
    return MappingProxyType({unwinder.name: unwinder for referee in there for unwinder in referee.unwinders})
