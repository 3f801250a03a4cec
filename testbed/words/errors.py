"""Everything that can go wrong, as types.

Two families that never mix:

* ``TestbedError``: the testbed cannot do what it was asked (a typo in a header, a missing compiler, a
  corrupt file, a program that never ends). The command line prints it as one message and exits with 2.
* ``UnwindError``: an *unwinder* says why it stops. That is an honest answer, kept beside the frames it
  already found, and judged like any other answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self


class TestbedError(Exception):
    """Base of all errors of the testbed itself. Its text is one message that names the fix."""

    __test__ = False  # the name starts with "Test": not a pytest class


class UsageError(TestbedError):
    """A name or a location that does not exist; the message lists the nearest ones."""


class NothingAskedFor(UsageError):
    """A file has no code, or none of what was asked for by pattern. Of several files, another one may."""


class ProgramError(TestbedError):
    """A program of the corpus is malformed: ``path:line: detail``."""

    def __init__(self, path: Path | str, line: int, detail: str) -> None:
        super().__init__(f"{path}:{line}: {detail}")
        self.path, self.line, self.detail = path, line, detail


class DataFileError(TestbedError):
    """A catalogue in a TOML file is malformed: ``path: table: key: detail``."""


class DirectorError(TestbedError):
    """A director string spells no call shape: the text, a mark below the wrong place (``position``), the reason."""

    def __init__(self, text: str, position: int, detail: str) -> None:
        super().__init__(f"at position {position}: {detail}\n  {text}\n  {' ' * position}^")
        self.text, self.position, self.detail = text, position, detail


_MOST_LINES = 30


class BuildError(TestbedError):
    """A source did not become a file: the command that failed and what it printed, in the message its first lines."""

    def __init__(self, detail: str, *, command: Sequence[str] = (), output: str = "") -> None:
        text = detail
        lines = output.rstrip().splitlines()
        text += "".join(f"\n{line}" for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            text += f"\n... and {len(lines) - _MOST_LINES:,} more lines"
        if command:
            text += "\ncommand: " + " ".join(command)
        super().__init__(text)
        self.detail, self.command, self.output = detail, tuple(command), output


class ToolchainMissing(BuildError):
    """A tool that a recipe needs is not installed: its name and the package that brings it."""

    def __init__(self, tool: str, package: str) -> None:
        super().__init__(f"{tool} is not installed; install it with: {package}")
        self.tool, self.package = tool, package


class VersionMissing(TestbedError):
    """A version of a tool is not here and could not be brought, or does not start: which, why, and what to do."""

    def __init__(self, named: str, why: str, fix: str) -> None:
        super().__init__(f"{named}: {why}; {fix}")
        self.named, self.why, self.fix = named, why, fix


class _FileError(TestbedError):
    """What is wrong with a file, and where."""

    def __init__(self, path: Path | str, offset: int, detail: str) -> None:
        super().__init__(f"{path}: at offset {offset:#x}: {detail}")
        self.path, self.offset, self.detail = path, offset, detail


class ImageError(_FileError):
    """A program file cannot be read: ``path: at offset: detail``."""


class TraceFileError(_FileError):
    """A trace file cannot be read or written: ``path: at offset: detail``."""


class SnapshotFileError(_FileError):
    """A core file, minidump or JSON snapshot cannot be read: ``path: at offset: detail``, and what to do about it."""


class BudgetExceeded(TestbedError):
    """Reading a file costs more than a file of its size may: ``path: at offset: limit``, and the option to raise it.

    `testbed.words.budget` says what is counted.
    """

    def __init__(self, path: Path | str, offset: int, kind: str, most: float, option: str) -> None:
        self.detail = f"reading it takes more than {most:,.0f} {_COUNTED.get(kind, kind)}"
        super().__init__(f"{path}: at offset {offset:#x}: {self.detail}; if you trust the file: {option}")
        self.path, self.offset, self.kind, self.most, self.option = path, offset, kind, most, option

    def __reduce__(self) -> tuple[type[BudgetExceeded], tuple[Path | str, int, str, float, str]]:
        return type(self), (self.path, self.offset, self.kind, self.most, self.option)


_COUNTED = {
    "mapped": "bytes copied from it",
    "unpacked": "bytes unpacked from it",
    "entries": "entries",
    "parts": "segments or modules",
    "steps": "steps of interpretation",
    "seconds": "CPU seconds",
    "analysis": "CPU seconds of analysing its instructions",
}


class DebugInfoError(TestbedError):
    """Debug information breaks its format: ``path: section+offset: detail``. Names that need it are missing."""

    def __init__(self, path: Path | str, section: str, offset: int, detail: str) -> None:
        super().__init__(f"{path}: {section}+{offset:#x}: {detail}; build it again with -g")
        self.path, self.section, self.offset, self.detail = path, section, offset, detail


class EmulationError(TestbedError):
    """The program did not run to its exit: where (``pc``), why, and the last steps before it.

    What was recorded until then stays usable; the error travels as ``Trace.end``.
    """

    def __init__(self, pc: int, detail: str, *, where: str = "", last_steps: Sequence[str] = ()) -> None:
        text = f"at pc {pc:#x}{f' ({where})' if where else ''}: {detail}"
        if last_steps:
            text += "\nlast steps:\n" + "\n".join(f"  {line}" for line in last_steps)
        super().__init__(text)
        self.pc, self.detail, self.where, self.last_steps = pc, detail, where, tuple(last_steps)


class UnwindError(Exception):
    """Base of the reasons for which an unwinder stops. ``pc`` is the frame at which it stopped.

    The walk fills ``pc`` in, so a row or a memory read need not know it.
    """

    pc: int | None = None

    @property
    def reason(self) -> str:
        """The kind of stop, as reports name it."""
        return type(self).__name__

    def again(self) -> Self:
        """The same reason as an error of its own: one that was raised before has a pc and a traceback."""
        twin = type(self).__new__(type(self), *self.args)
        twin.__dict__.update(self.__dict__)
        twin.pc = None
        return twin


class NoUnwindInfo(UnwindError):
    """No table, entry or rule covers this pc."""


class CannotUnwind(NoUnwindInfo):
    """The table says of this code that it cannot be unwound."""


class UnknownRegister(UnwindError):
    """A rule needs a register whose value is not known in this frame."""

    def __init__(self, register: str) -> None:
        super().__init__(f"{register} is not known in this frame")
        self.register = register


class UnreadableMemory(UnwindError):
    """A rule needs memory that is not mapped."""

    def __init__(self, address: int, size: int) -> None:
        super().__init__(f"{size} bytes at {address:#x} are not mapped")
        self.address, self.size = address, size


class NotInSnapshot(UnwindError):
    """A dump does not have the memory from ``address`` on, and does not say that nothing was there."""

    def __init__(self, address: int) -> None:
        super().__init__(f"the snapshot has no memory at {address:#x}: whether the stack goes on there is not known")
        self.address = address


class NoProgress(UnwindError):
    """The caller's frame is not further out than this one: the walk would loop or run backwards."""


class UnsupportedRule(UnwindError):
    """The table says something that this unwinder, or its format, cannot express or evaluate."""


class ToolCrashed(UnwindError):
    """A real unwinder died at this snapshot: how, and the last thing that it printed."""


class ToolHung(UnwindError):
    """A real unwinder gave no answer within its time and was stopped."""


class BrokenAnswer(ToolCrashed):
    """A foreign unwinder wrote something that is no answer: what it was, and what was expected."""


class ForeignStop(UnwindError):
    """A foreign unwinder says that it does not go on from here, in its own words."""


class MalformedTable(UnwindError):
    """Bytes of an unwind table break their format: ``section+offset: detail``."""

    def __init__(self, section: str, offset: int, detail: str) -> None:
        super().__init__(f"{section}+{offset:#x}: {detail}")
        self.section, self.offset, self.detail = section, offset, detail


class TableTooCostly(MalformedTable):
    """A table would cost more to read than its file may: which limit, and the option that raises it."""

    def __init__(self, section: str, offset: int, why: BudgetExceeded) -> None:
        super().__init__(section, offset, f"{why.detail}; if you trust the file: {why.option}")
        self.why = why
