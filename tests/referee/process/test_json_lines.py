"""A tool in a process of its own: its replies, its folder, its ports, and what becomes of one that gives no reply."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from testbed.build.confinement import has_seccomp, landlock_version
from testbed.referee.process.json_lines import JsonProcess
from testbed.words.errors import ToolCrashed, ToolHung

# A fake tool: it does what each request says.
_TOOL = """
import json, os, sys, time
requests, replies = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
for line in requests:
    request = json.loads(line)
    if "print" in request: print(request["print"], flush=True)
    if "sleep" in request: time.sleep(request["sleep"])
    if "abort" in request: os.abort()
    if "touch" in request:
        try: open(request["touch"], "w").close()
        except OSError as error: request["say"] = type(error).__name__
        else: request["say"] = os.environ["TMPDIR"]
    if "connect" in request:
        import socket
        try: socket.create_connection(("127.0.0.1", request["connect"]), timeout=5).close()
        except OSError as error: request["say"] = type(error).__name__
    if "raw" in request: replies.write(request["raw"])
    else: print(json.dumps({"pid": os.getpid(), "said": request.get("say")}), file=replies)
    replies.flush()
"""


def fake(requests: int, replies: int) -> Sequence[str]:
    return [sys.executable, "-c", _TOOL, str(requests), str(replies)]


def test_replies_come_apart_from_what_the_tool_prints() -> None:
    child = JsonProcess(fake)
    assert child.ask({"print": "noise", "say": 1}, seconds=30)["said"] == 1
    assert child.ask({"say": "x" * 200_000}, seconds=30)["said"] == "x" * 200_000
    child.close()
    child.close()  # twice is once


@pytest.mark.parametrize(
    ("request_", "error", "told"),
    [
        ({"raw": "nonsense\n", "print": "noise"}, ToolCrashed, "its reply is none: noise"),
        ({"print": "internal error", "abort": 1}, ToolCrashed, "was killed by SIGABRT; it printed: internal error"),
        ({"sleep": 60}, ToolHung, "no answer within 3 s"),
    ],
)
def test_who_gives_no_reply_is_gone(request_: dict[str, Any], error: type[Exception], told: str) -> None:
    child = JsonProcess(fake)
    pid = child.ask({}, seconds=60)["pid"]
    with pytest.raises(error, match=told):
        child.ask(request_, seconds=3)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not child._folder.path.exists()


def test_a_tool_that_is_not_there_is_a_crash_too() -> None:
    with pytest.raises(ToolCrashed, match=r"no-such-tool does not start: No such file"):
        JsonProcess(lambda requests, replies: ["no-such-tool"])


@pytest.mark.skipif(not landlock_version(), reason="the kernel has no Landlock switched on")
def test_a_tool_writes_into_a_folder_of_its_own_that_goes_with_it(tmp_path: Path) -> None:
    child = JsonProcess(fake)
    assert child.ask({"touch": str(tmp_path / "x")}, seconds=30)["said"] == "PermissionError"
    folder = child.ask({"touch": f"{child._folder.path}/x"}, seconds=30)["said"]
    assert Path(folder, "x").exists()
    child.close()
    assert not Path(folder).exists()


@pytest.mark.skipif(not has_seccomp(), reason="no filters of system calls are known for this machine")
def test_a_tool_connects_to_the_port_that_it_is_given_only() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = one.getsockname()[1], other.getsockname()[1]
        with closing(JsonProcess(fake)) as child:
            assert child.ask({"connect": ports[0]}, seconds=30)["said"] == "PermissionError"
        with closing(JsonProcess(fake, ports=ports[:1])) as child:
            assert child.ask({"connect": ports[0]}, seconds=30)["said"] is None
            if landlock_version() >= 4:
                assert child.ask({"connect": ports[1]}, seconds=30)["said"] == "PermissionError"
