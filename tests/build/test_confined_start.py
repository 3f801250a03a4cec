"""A confined tool finds what it would find if it had been executed at once: no trace of the Python in between."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from testbed.build.confined import SYSTEM
from testbed.build.confined_start import start_confined
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
