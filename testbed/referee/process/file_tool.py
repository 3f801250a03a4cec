"""One long-lived process of a tool that reads snapshot files: it is asked about one file after the other.

A file of a snapshot lives in a folder of this process's own, and only as long as the question. A tool that died or
hung is started again for the next snapshot; one that hangs at `PATIENCE` snapshots of a program is not asked about
that program any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.image import LoadedImage
from testbed.referee.process.json_lines import JsonProcess
from testbed.trace import Snapshot
from testbed.words.errors import ToolCrashed, ToolHung
from testbed.words.files import WorkFolder

PATIENCE = 3
SECONDS = 20.0  # for one snapshot


def python_script(script: Path, packages: str) -> Callable[[int, int], Sequence[str]]:
    """The command that runs a script with this Python, a folder of packages, and nothing of ours on its path."""
    return lambda requests, replies: [sys.executable, "-I", str(script), packages, str(requests), str(replies)]


@dataclass(slots=True)
class FileTool:
    """A tool's process, and where files for it lie. ``command`` starts it; ``seconds`` is its time for one answer."""

    command: Callable[[int, int], Sequence[str]]
    seconds: float = SECONDS
    child: JsonProcess | None = None
    hung: int = 0
    images: tuple[LoadedImage, ...] = ()
    folder: WorkFolder | None = field(default=None, repr=False)
    owner: int = 0

    def about(self, snapshot: Snapshot, content: bytes, request: Mapping[str, Any], *, key: str) -> Any:
        """The answer to a request whose ``key`` names a file with this content. Raises ToolCrashed or ToolHung."""
        if self.owner != os.getpid():  # forked since: folder and process are the parent's
            self.child, self.folder, self.owner = None, None, os.getpid()
        if self.images != snapshot.images:
            self.images, self.hung = snapshot.images, 0
        if self.hung >= PATIENCE:
            raise ToolHung(f"{self.hung} snapshots of this program got no answer; it is not asked any more")
        if self.folder is None:
            self.folder = WorkFolder("snapshot")
        path = self.folder.path / "snapshot"
        path.write_bytes(content)
        try:
            if self.child is None:
                self.child = JsonProcess(self.command)
            return self.child.ask({**request, key: str(path)}, seconds=self.seconds)
        except (ToolCrashed, ToolHung) as error:
            self.child = None
            self.hung += isinstance(error, ToolHung)
            raise
        finally:
            path.unlink(missing_ok=True)
