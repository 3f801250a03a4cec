"""A confined tool finds what it would find if it had been executed at once, and whoever starts it is not confined."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from testbed.build import confined
from testbed.build.confined import SYSTEM, _limit, start_confined
from testbed.build.confinement import Confinement

ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "PYTHONPATH": "/nowhere"}


def printed(folder: Path, *command: str, environment: dict[str, str] = ENVIRONMENT) -> str:
    readable = (*SYSTEM, Path("/proc"))  # not the place of Python's own library
    what = Confinement(10, 1 << 30, 1 << 20, readable, (folder,))
    with start_confined(command, what, environment=environment, cwd=folder, stdout=subprocess.PIPE) as child:
        out, _ = child.communicate()
    assert child.returncode == 0
    return out.decode()


def test_no_signal_is_ignored_in_the_tool(tmp_path: Path) -> None:
    status = dict(line.split(":\t") for line in printed(tmp_path, "cat", "/proc/self/status").splitlines())
    assert int(status["SigIgn"], 16) == 0, "SIGPIPE or SIGXFSZ is what Python ignores"
    assert status["NoNewPrivs"] == "1"


def test_the_tool_has_no_descriptors_but_the_three(tmp_path: Path) -> None:
    assert printed(tmp_path, "ls", "/proc/self/fd").split() == ["0", "1", "2", "3"], "the fourth is that of the folder"


@pytest.mark.parametrize("environment", [ENVIRONMENT, {"PATH": "/usr/bin:/bin"}, {"LC_CTYPE": "C", **ENVIRONMENT}])
def test_the_environment_is_what_was_given(tmp_path: Path, environment: dict[str, str]) -> None:
    said = printed(tmp_path, "env", environment=environment)
    assert dict(line.split("=", 1) for line in said.splitlines()) == environment


def test_what_cannot_be_executed_is_told_as_by_subprocess(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-tool"):
        printed(tmp_path, "no-such-tool")
    script = tmp_path / "tool"
    script.write_bytes(b"\x00 is no program")
    with pytest.raises(PermissionError):
        printed(tmp_path, str(script))
    script.chmod(0o755)
    with pytest.raises(OSError, match="tool") as found:
        printed(tmp_path, str(script))
    assert found.value.errno == errno.ENOEXEC


def test_who_starts_it_is_not_confined(tmp_path: Path) -> None:
    assert printed(tmp_path, "sh", "-c", f"touch {tmp_path.parent}/outside; echo tried") == "tried\n"
    assert not (tmp_path.parent / "outside").exists()
    (tmp_path.parent / "outside").touch()
    socket.socket().close()
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text(encoding="ascii")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1 << 20


def test_limits_hold_for_what_was_started_before_they_were_set() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout
        inner = int(shell.stdout.readline())
        try:
            _limit(shell.pid, ((resource.RLIMIT_CPU, 7, 8),))
            for process in (shell.pid, inner):
                assert resource.prlimit(process, resource.RLIMIT_CPU) == (7, 8)
        finally:
            os.kill(inner, signal.SIGKILL)


def test_an_interrupt_leaves_no_tool_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def interrupted(process: int, _: object) -> None:
        seen.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(confined, "_limit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        printed(tmp_path, "sleep", "60")
    assert os.waitstatus_to_exitcode(os.waitpid(seen[0], 0)[1]) == -signal.SIGKILL


def test_where_memory_is_limited_no_thread_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_AS)

    def no_thread(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(confined.Thread, "start", no_thread)
    with pytest.raises(AssertionError):
        printed(tmp_path, "true")
    resource.setrlimit(resource.RLIMIT_AS, (1 << 45, unlimited[1]))
    try:
        assert "NoNewPrivs:\t1" in printed(tmp_path, "cat", "/proc/self/status")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
