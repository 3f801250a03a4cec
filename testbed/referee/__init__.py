"""The catalogue of real unwinders. One more: one file (or folder), and one line here.

A line says where the `Referee` is and how its unwinders are called, so that a command loads, and looks for, only the
tools that it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType

from testbed.contract.unwinder import Unwinder
from testbed.referee.model import Finding, Found, Referee
from testbed.words.catalogue import Catalogue, matches, value_of

__all__ = ["FOLDER_OF", "REFEREES", "REFEREE_OF", "Finding", "Found", "Referee", "present"]

_ALL = {  # the folder, the value in its unwinder.py, the unwinders
    "libdw": ("libdw", "REFEREE", "libdw"),
    "libunwind": ("libunwind", "REFEREE", "libunwind"),
    "llvm_libunwind": ("llvm_libunwind", "REFEREE", "llvm_libunwind llvm_libunwind_exact llvm_libunwind_compact"),
    "libunwindstack": ("libunwindstack", "REFEREE", "libunwindstack"),
    "perf": ("perf", "REFEREE", "perf"),
    "gdb": ("gdb", "GDB", "gdb gdb_exidx gdb_no_tables"),
    "lldb": ("lldb", "LLDB", "lldb lldb_no_tables"),
    "drgn": ("drgn", "REFEREE", "drgn drgn_debug_frame"),
    "symbolic": ("symbolic", "REFEREE", "symbolic symbolic_debug_frame symbolic_compact"),
    "minidump_stackwalk": ("minidump_stackwalk", "REFEREE", "minidump_stackwalk minidump_stackwalk_no_symbols"),
    "libgcc_backtrace": ("profilers", "LIBGCC_BACKTRACE", "libgcc_backtrace libgcc_forced"),
    "glibc_backtrace": ("profilers", "GLIBC_BACKTRACE", "glibc_backtrace"),
    "llvm_backtrace": ("profilers", "LLVM_BACKTRACE", "llvm_backtrace llvm_forced"),
    "nongnu_backtrace": ("profilers", "NONGNU_BACKTRACE", "nongnu_backtrace nongnu_backtrace_exidx"),
    "clang": ("clang", "REFEREE", ""),
    "gcc": ("gcc", "REFEREE", ""),
}
REFEREES: Mapping[str, Referee] = Catalogue(
    {name: partial(value_of, f"testbed.referee.{folder}.unwinder", value) for name, (folder, value, _) in _ALL.items()}
)
REFEREE_OF: Mapping[str, str] = MappingProxyType(
    {each: name for name, (_, _, unwinders) in _ALL.items() for each in unwinders.split()}
)

FOLDER_OF: Mapping[str, str] = MappingProxyType(
    {each: folder for folder, _, unwinders in _ALL.values() for each in unwinders.split()}
)
"""By unwinder: the folder of `testbed/referee` whose code asks the tool."""


def present(patterns: Iterable[str] = ()) -> Mapping[str, Unwinder]:
    """The unwinders of the referees that are installed, by name; with patterns, those that one of them matches.

    Only their referees are looked for, which starts programs.
    """
    listed = tuple(patterns)
    wanted = {each: name for each, name in REFEREE_OF.items() if matches(each, listed)}
    there = [REFEREES[name] for name in dict.fromkeys(wanted.values()) if REFEREES[name].find() is not None]
    unwinders = (unwinder for referee in there for unwinder in referee.unwinders)
    return MappingProxyType({unwinder.name: unwinder for unwinder in unwinders if unwinder.name in wanted})
