"""Groups of functions that an interrupted check had done: the next one goes on behind them.

Each group's result is a file of its own, in the folder of kept checks, under the name of the check and of its pieces.
They are written as they are done and removed when the whole check is, so a check that was killed loses what was in
work only.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

from testbed.checks.groups import Group, GroupResult
from testbed.checks.kept import GROUPS, check_key
from testbed.checks.options import CheckOptions

_MOST = 4096  # files of other interrupted checks that stay


@dataclass(frozen=True, slots=True)
class KeptGroups:
    """The groups of one check that were done: ``key`` is that of the whole."""

    key: str

    @classmethod
    def of(cls, program: Path, options: CheckOptions) -> KeptGroups:
        """Those of a program file, as it is loaded."""
        return cls(check_key(program.read_bytes(), options))

    def get(self, group: Group) -> GroupResult | None:
        """The result of a group; None where it is not there."""
        content = GROUPS.get(self._name(group))
        try:  # reading a pickle can run what it says: a store gives only what nobody else may have written
            found = None if content is None else pickle.loads(content)
        except Exception:  # whole, and yet not what this testbed wrote
            return None
        return found if isinstance(found, GroupResult) else None

    def keep(self, group: Group, result: GroupResult) -> None:
        """Keep the result of a group; nothing is kept where the folder cannot be written."""
        GROUPS.keep(self._name(group), pickle.dumps(result))

    def forget(self) -> None:
        """The whole is done: its groups go, and the oldest of others where they are many."""
        GROUPS.forget(f"{self.key}-*")
        GROUPS.forget_oldest(_MOST)

    def _name(self, group: Group) -> str:
        return f"{self.key}-{group.first}-{group.end}.group"
