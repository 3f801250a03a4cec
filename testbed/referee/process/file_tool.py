"""One long-lived process of a tool that reads snapshot files: it is asked about one file after the other.

A file of a snapshot lives in a folder of this process's own, and only as long as the question. A tool that died or
hung is started again for the next snapshot; one that hangs at `PATIENCE` snapshots of a program is not asked about
that program any more.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.build.confined import confining
from testbed.image import LoadedImage
from testbed.referee.process.limits import agents_confinement
from testbed.trace import Snapshot
from testbed.words.child import started_beside
from testbed.words.errors import ToolCrashed, ToolHung
from testbed.words.files import WorkFolder

# A real tool in a process of its own: requests and replies are lines of JSON, apart from what it prints.
#
# It is kept to limits, writes into a temporary folder of its own, and connects to nothing but the ports
# that it is given.

_TO_BE_TOLD = 60.0  # seconds that a tool has to read what has no reply


class JsonProcess:
    """One process. ``command`` gets two file descriptors, of requests to read and of replies to write.

    ``standard_input``: the requests are its standard input, too. ``ports`` of this machine it may connect to.
    """

    def __init__(
        self,
        command: Callable[[int, int], Sequence[str]],
        *,
        environment: Mapping[str, str] | None = None,
        standard_input: bool = False,
        ports: tuple[int, ...] = (),
    ) -> None:
        self._folder = WorkFolder("agent")
        places = {**os.environ, "TMPDIR": str(self._folder.path), **(environment or {})}
        try:
            with confining(agents_confinement(self._folder.path, ports)) as confine:
                self._child = started_beside(
                    command, environment=places, confine=confine, standard_input=standard_input
                )
        except OSError as error:
            self._folder.remove()
            raise ToolCrashed(f"{command(0, 1)[0]} does not start: {error.strerror or error}") from error

    @property
    def ours(self) -> bool:
        """False in a process that was forked off since: the pipes belong to the parent."""
        return self._child.ours

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(self, request: Mapping[str, Any], *, seconds: float) -> Any:
        """The reply to a request. Raises ToolCrashed or ToolHung, after which this child is gone."""
        return self.ask_bytes(json.dumps(request).encode("ascii") + b"\n", seconds=seconds)

    def ask_bytes(self, request: bytes, *, seconds: float) -> Any:
        """The same for a tool whose requests are not JSON; its replies are."""
        until = time.monotonic() + seconds
        try:
            self._child.send(request, until)
            return json.loads(self._child.line(until, "a reply"))
        except ValueError as error:
            self.close()
            raise ToolCrashed(f"its reply is none: {self._child.last_words() or error}") from error
        except ToolHung as error:
            self.close()
            raise ToolHung(f"no answer within {seconds:g} s") from error
        except ToolCrashed:
            self.close()
            raise

    def tell(self, what: bytes) -> None:
        """Send what has no reply. A child that is gone is told by the next question."""
        with suppress(ToolCrashed, ToolHung):
            self._child.send(what, time.monotonic() + _TO_BE_TOLD)

    def close(self) -> None:
        """End the process at once, if it is not ended."""
        if self.ours:
            self._child.close()
            self._folder.remove()


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
