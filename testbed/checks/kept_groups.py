"""Groups of functions that an interrupted check had done: the next one goes on behind them.

Each group's result is a file of its own, in the folder of kept checks, under the name of the check and of its pieces::

    line 1   SHA-256 of the rest, in hexadecimal
    rest     the result, pickled

They are written as they are done and removed when the whole check is, so a check that was killed loses what was in
work only. A damaged file is none, nor is one that others may have written: reading a pickle can run what it says.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.checks.groups import Group, GroupResult
from testbed.checks.kept import folder, key_of
from testbed.checks.options import CheckOptions
from testbed.words.own_files import keep_own, own_content

SUFFIX = ".group"
_OTHERS = 4096  # files of other interrupted checks that stay


@dataclass(frozen=True, slots=True)
class KeptGroups:
    """Where the groups of one check are kept: the name that its whole would have."""

    name: str

    @classmethod
    def of(cls, program: Path, options: CheckOptions) -> KeptGroups:
        """Those of a program file, as it is loaded."""
        return cls(key_of(program.read_bytes(), options))

    def get(self, group: Group) -> GroupResult | None:
        """The result of a group; None where there is none that is whole."""
        body = own_content(self._place(group))
        if body is None:
            return None
        try:
            found = pickle.loads(body)
        except Exception:  # whole, and yet not what this testbed wrote: as if it were not there
            return None
        return found if isinstance(found, GroupResult) else None

    def keep(self, group: Group, result: GroupResult) -> None:
        """Keep the result of a group; nothing is kept where the folder cannot be written."""
        body = pickle.dumps(result)
        with suppress(OSError):
            keep_own(self._place(group), body)

    def forget(self) -> None:
        """The whole is done: its groups go, and the oldest of others where they are many."""
        for path in self._files():
            path.unlink(missing_ok=True)
        with suppress(OSError):
            others = sorted(folder().glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
            for path in others[:-_OTHERS]:
                path.unlink(missing_ok=True)

    def _files(self) -> Iterator[Path]:
        return folder().glob(f"{self.name}-*{SUFFIX}") if folder().is_dir() else iter(())

    def _place(self, group: Group) -> Path:
        return folder() / f"{self.name}-{group.first}-{group.end}{SUFFIX}"
