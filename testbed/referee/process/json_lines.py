"""A real tool in a process of its own: requests and replies are lines of JSON, apart from what it prints.

The tool prints what it likes to its standard output, which goes to a file; the end of that is what a crash is told by.
It is in a session of its own, so that an interrupt at the terminal does not reach it, and ends when its requests do. It
is kept to limits, writes into a temporary folder of its own, and connects to nothing but the ports that it is given.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from testbed.build.confinement import confining
from testbed.referee.process.limits import agents_confinement
from testbed.words.errors import ToolCrashed, ToolHung
from testbed.words.temporary import WorkFolder

LONGEST = 1 << 24  # bytes of one reply: more is a tool that has run wild
_TOLD = 200  # characters of what a tool printed last


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
        self._owner = os.getpid()
        self._folder = WorkFolder("agent")
        self._printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as this does
        theirs_in, self._requests = os.pipe()
        self._replies, theirs_out = os.pipe()
        self._pending = b""
        arguments = command(theirs_in, theirs_out)
        try:
            with confining(agents_confinement(self._folder.path, ports)) as confine:
                self._process = subprocess.Popen(
                    arguments,
                    stdin=theirs_in if standard_input else subprocess.DEVNULL,
                    stdout=self._printed,
                    stderr=self._printed,
                    pass_fds=(theirs_in, theirs_out),
                    env={**os.environ, "TMPDIR": str(self._folder.path), **(environment or {})},
                    start_new_session=True,
                    preexec_fn=confine,
                )
        except OSError as error:
            self._shut()
            raise ToolCrashed(f"{arguments[0]} does not start: {error.strerror or error}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    @property
    def ours(self) -> bool:
        """False in a process that was forked off since: the pipes belong to the parent."""
        return self._owner == os.getpid()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Mapping[str, Any], *, seconds: float) -> Any:
        """The reply to a request. Raises ToolCrashed or ToolHung, after which this child is gone."""
        return self.ask_bytes(json.dumps(request).encode("ascii") + b"\n", seconds=seconds)

    def ask_bytes(self, request: bytes, *, seconds: float) -> Any:
        """The same for a tool whose requests are not JSON; its replies are."""
        try:
            self._write(request)
            return json.loads(self._line(time.monotonic() + seconds))
        except (BrokenPipeError, EOFError, ValueError) as error:
            how = f"{self._ending()}: {self._last_words() or error or type(error).__name__}"
            self.close()
            raise ToolCrashed(how) from error
        except TimeoutError as error:
            self.close()
            raise ToolHung(f"no answer within {seconds:g} s") from error

    def tell(self, what: bytes) -> None:
        """Send what has no reply. A child that is gone is told by the next question."""
        with suppress(BrokenPipeError):
            self._write(what)

    def close(self) -> None:
        """End the process at once, if it is not ended."""
        if not self.ours or self._printed.closed:
            return
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._shut()

    def _shut(self) -> None:
        for pipe in (self._requests, self._replies):
            with suppress(OSError):
                os.close(pipe)
        self._requests = self._replies = -1
        self._printed.close()
        self._folder.remove()

    def _write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._requests, rest) :]

    def _line(self, until: float) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise TimeoutError
                more = os.read(self._replies, 1 << 16)
                if not more:
                    raise EOFError("it ended")
                self._pending += more
                if len(self._pending) > LONGEST:
                    raise ValueError(f"a reply of more than {LONGEST} bytes")
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _ending(self) -> str:
        try:
            status = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "its reply is none"
        return f"killed by signal {-status}" if status < 0 else f"exit status {status}"

    def _last_words(self) -> str:
        self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, self._printed.tell() - _TOLD))
        lines = self._printed.read().decode("utf-8", "replace").split("\n")
        return " ".join(line.strip() for line in lines[-4:] if line.strip())
